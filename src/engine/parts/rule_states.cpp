// SPDX-License-Identifier: MIT
#include "engine/parts/rule_states.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/judging/evaluate.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {

bool other_actions(const RuleIdentity& before, const RuleIdentity& now) {
  return before.text != now.text && before.actions != now.actions;
}

bool RuleStates::any_failed(ServiceId id) const {
  return std::ranges::any_of(of(id), [](const RuleState& rule) { return rule.status == RuleStatus::Failed; });
}

// ---- plain tests --------------------------------------------------------------------------------------------------

RuleStates::PlainTest RuleStates::plain_test(const Rule& rule) {
  const Test* only = rule->condition->only();
  if (const auto* test = std::get_if<Compare>(only); test != nullptr && test->also->empty())
    return {test->value, test->comparison, test->what, PlainTest::Kind::Figure};
  if (const auto* test = std::get_if<Present>(only); test != nullptr && !test->wanted)
    return {.kind = PlainTest::Kind::Gone};
  return {};
}

/// Those of its rules, behind those that are there.
void RuleStates::add_tests(const ServiceBlock& block) {
  for (const Rule& rule : block.rules) tests_.push_back(&*plain_tests_.insert(plain_test(rule)).first);
}

bool RuleStates::passes(ServiceId id, const Evidence& seen) const {
  const Place& place = places_[id.index()];
  if (!place.resting || seen.outcome != Outcome::Exited || seen.answer != Answer::Present) return false;
  for (std::size_t i = place.first; i < place.first + place.count; ++i) {
    const PlainTest& test = *tests_[i];
    if (test.kind == PlainTest::Kind::Other) return false;
    if (test.kind == PlainTest::Kind::Figure) {
      const std::optional<double> value = value_of(seen, test.what);
      if (!value) continue;  // nothing is told of it
      if (compare(test.comparison, *value, test.value)) return false;
    }
    if (!states_[i].judged) return false;
  }
  return true;
}

// ---- runs ---------------------------------------------------------------------------------------------------------

Judgement RuleStates::judge(ServiceId id, const JudgedRun& run) {
  const std::span<RuleState> states = edit(id);
  Judgement judgement = engine::judge(run, states);
  places_[id.index()].resting = std::ranges::all_of(states, &RuleState::resting);
  return judgement;
}

std::vector<RuleDecision> RuleStates::recover(ServiceId id, const Seen* seen, WallTime now) {
  const ServiceBlock& block = graph_->at(id);
  const std::span<RuleState> states = edit(id);
  std::vector<RuleDecision> decisions;
  for (std::uint32_t i = 0; i < states.size(); ++i) {
    const Rule& rule = block.rules[i];
    if (rule->mode != Mode::Latched) continue;
    const bool failed = states[i].status == RuleStatus::Failed;
    const std::optional<EventKind> fired_as = states[i].past->event;
    const Notified notified = states[i].notified;
    const WallTime fired = states[i].past->changed.value_or(WallTime{});
    states[i] = RuleState{.status = RuleStatus::Ok,
                          .accepted = states[i].accepted,
                          .judged = true,
                          .born = states[i].born,
                          .past = RulePast{.changed = failed ? Slim(now) : states[i].past->changed}};
    if (!failed || seen == nullptr) continue;
    decisions.push_back({.rule = i,
                         .what = RuleDecision::What::Recover,
                         .notified = notified,
                         .fired = fired,
                         .cause = cause_of(block, rule, *seen, fired_as.value_or(rule->event), true, now)});
  }
  places_[id.index()].resting = std::ranges::all_of(states, &RuleState::resting);
  return decisions;
}

void RuleStates::notified(ServiceId id, std::uint32_t rule) { edit(id)[rule].notified = Notified::Alerted; }

void RuleStates::job_done(ServiceId id) {
  const std::vector<Rule>& rules = graph_->at(id).rules;
  const std::span<RuleState> states = edit(id);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!rules[i]->action.is_job()) continue;
    states[i].past.set(&RulePast::again, {});
    states[i].past.set(&RulePast::failing_since, {});
  }
}

// ---- people -------------------------------------------------------------------------------------------------------

bool RuleStates::acknowledge(ServiceId id) {
  bool any = false;
  for (RuleState& rule : edit(id)) {
    if (rule.status != RuleStatus::Failed) continue;
    rule.notified = Notified::Acknowledged;
    any = true;
  }
  return any;
}

void RuleStates::accept(ServiceId id, const Origin& by, Turn& turn) {
  const ServiceBlock& block = graph_->at(id);
  for (std::size_t i = 0; i < block.rules.size(); ++i) {
    RuleState& state = edit(id)[i];
    if (!block.rules[i]->dormant || state.accepted) continue;
    state = RuleState{.window = state.window, .accepted = true, .judged = state.judged, .born = state.born};
    places_[id.index()].resting = false;
    turn.save(id);
    turn.record(RecordKind::Accepted, Severity::Info, block.name,
                fmt::format("accepted by {}: {}", words_of(by), block.rules[i]->text))
        .rule = block.rules[i].key;
  }
}

void RuleStates::forget(ServiceId id) {
  for (RuleState& rule : edit(id)) rule = RuleState{.accepted = rule.accepted, .born = rule.born};
  places_[id.index()].resting = false;
}

// ---- life ---------------------------------------------------------------------------------------------------------

void RuleStates::reserve(std::size_t rules) {
  states_.reserve(rules);
  tests_.reserve(rules);
}

void RuleStates::adopt(ServiceId id, std::uint64_t born) {
  const ServiceBlock& block = graph_->at(id);
  live_ += block.rules.size();
  places_[id.index()] = {.first = static_cast<std::uint32_t>(states_.size()),
                         .count = static_cast<std::uint32_t>(block.rules.size())};
  states_.resize(states_.size() + block.rules.size(), RuleState{.born = born});
  add_tests(block);
}

void RuleStates::replace(ServiceId id, const ServiceBlock& before, std::span<const std::int32_t> from,
                         std::uint64_t born) {
  const std::uint32_t old_first = places_[id.index()].first;
  live_ -= places_[id.index()].count;
  adopt(id, born);
  const ServiceBlock& block = graph_->at(id);
  for (std::size_t i = 0; i < block.rules.size(); ++i) {
    if (from[i] < 0) continue;
    const auto old = static_cast<std::uint32_t>(from[i]);
    RuleState& kept = states_[places_[id.index()].first + i];
    kept = states_[old_first + old];
    if (other_actions(before.rules[old].identity(), block.rules[i].identity())) kept.accepted = false;
  }
}

void RuleStates::remove(ServiceId id) {
  live_ -= places_[id.index()].count;
  places_[id.index()] = {};
}

bool RuleStates::restore(ServiceId id, const SavedService& saved, bool go_on) {
  const ServiceBlock& block = graph_->at(id);
  const std::span<RuleState> states = edit(id);
  bool judged = false;
  std::unordered_map<Hash128, std::size_t> places;  // where the rules are not as they were, one after the other
  const auto place_of = [&](std::size_t at) {
    const Hash128& key = block.rules[at].key;
    if (at < saved.rules.size() && saved.rules[at].key == key) return saved.rules.begin() + at;
    if (places.empty())
      for (std::size_t i = 0; i < saved.rules.size(); ++i) places.emplace(saved.rules[i].key, i);
    const auto found = places.find(key);
    return found == places.end() ? saved.rules.end() : saved.rules.begin() + found->second;
  };
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto same = place_of(i);
    if (same == saved.rules.end()) continue;
    states[i] = same->state;
    states[i].accepted = same->state.accepted && !other_actions(same->identity, block.rules[i].identity());
    judged = judged || same->state.judged;
    if (go_on) continue;
    // As after a firing, and as after a recovery: what is to come is counted, and recovery must be earned.
    states[i].window = {states[i].status == RuleStatus::Failed ? 1U : 0U};
    // Where only runs since then count as clear, they are counted from here.
    if (block.rules[i]->newer_counting && states[i].status == RuleStatus::Failed) states[i].since_fired = 1;
    states[i].past.set(&RulePast::failing_since, {});
    states[i].past.set(&RulePast::clear_since, {});
    states[i].past.set(&RulePast::again, {});
  }
  return judged;
}

void RuleStates::save(ServiceId id, const ServiceBlock& block, SavedService& out) const {
  const std::span<const RuleState> states = of(id);
  out.rules.reserve(states.size());
  for (std::size_t i = 0; i < states.size(); ++i)
    out.rules.push_back({block.rules[i].key, block.rules[i].identity(), states[i]});
}

void RuleStates::compact() {
  if (states_.size() < 2 * live_ + 1024) return;
  std::vector<RuleState> compacted;
  compacted.reserve(live_);
  tests_ = {};
  tests_.reserve(live_);
  plain_tests_.clear();
  for (const ServiceId id : graph_->order) {
    const std::span<const RuleState> states = of(id);
    add_tests(graph_->at(id));
    places_[id.index()].first = static_cast<std::uint32_t>(compacted.size());
    compacted.insert(compacted.end(), states.begin(), states.end());
  }
  states_ = std::move(compacted);
}

}  // namespace healer::engine
