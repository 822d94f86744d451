// SPDX-License-Identifier: MIT
#include "engine/parts/hearing/occurrences.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/healing/variables.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/parts/judge.hpp"
#include "engine/parts/maintenance.hpp"
#include "engine/parts/pauses.hpp"
#include "engine/parts/programs.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "engine/words/occurrence.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr std::uint16_t kRefused = 422;
/// So many events are judged in one turn: the loop has other things to do, too.
constexpr int kMostInOneTurn = 64;
constexpr std::size_t kMostQueuedExecs = 100;  // of a service, beyond which its events wait
constexpr Duration kSoon{1};
constexpr int kMostTries = 10;  // to have the filters of an event asked, a cycle apart

const EventSpec& event_of(const Graph& graph, ServiceId id) { return graph.at(id).other->event; }

const std::string* value_of(const EventFields& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &std::pair<std::string, std::string>::first);
  return found == fields.end() ? nullptr : &found->second;
}

std::size_t size_of(const Occurrence& occurrence) { return occurrence.document ? occurrence.document->size() : 0; }

Hash128 key_of(const std::string& key) { return hash128(key); }

}  // namespace

// ---- view -----------------------------------------------------------------------------------------------------------

const Occurrence* Occurrences::find(std::uint64_t number) const {
  const auto found = all_.find(number);
  return found == all_.end() ? nullptr : &found->second;
}

const Occurrences::Known* Occurrences::known(ServiceId id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : &found->second;
}

std::size_t Occurrences::waiting(ServiceId id) const {
  const Known* const its = known(id);
  return its == nullptr ? 0 : its->waiting.size();
}

const Occurrence* Occurrences::under_way(ServiceId id) const {
  const Known* const its = known(id);
  return its == nullptr || !its->departed || its->waiting.empty() ? nullptr : find(its->waiting.front());
}

const Occurrence* Occurrences::newest(ServiceId id) const {
  const Known* const its = known(id);
  return its == nullptr ? nullptr : find(its->newest);
}

std::string Occurrences::held(ServiceId id, Instant now) const {
  if (pauses_.of(id, now)) return "paused";
  if (maintenance_.in_force(id, now)) return "maintenance";
  const std::size_t queued = programs_.queued_of(graph_->at(id).name).size();
  return queued < kMostQueuedExecs ? "" : fmt::format("{} programs wait for their turn", queued);
}

bool Occurrences::stands(ServiceId id, Hash128 rule, std::string_view target) const {
  const Known* const its = known(id);
  return its != nullptr && its->standing.contains({rule, to_lower(target)});
}

std::vector<std::pair<std::string, WallTime>> Occurrences::standing(ServiceId id) const {
  std::vector<std::pair<std::string, WallTime>> all;
  if (const Known* const its = known(id))
    for (const auto& [until, key] : its->ends) all.emplace_back(key.second, until);
  return all;
}

EventSeen Occurrences::see(ServiceId id, Instant now) const {
  EventSeen seen;
  if (const Occurrence* const event = under_way(id)) {
    seen.number = event->number;
    seen.key = event->key;
    seen.state = event->state;
  }
  std::size_t most = 0;
  for (const Rule& rule : graph_->at(id).rules)
    for (const Test& test : rule->condition->tests)
      if (const auto* const count = std::get_if<EventCount>(&test))
        most = std::max<std::size_t>(most, count->above + 1);
  const Known* const its = known(id);
  if (its == nullptr) return seen;
  for (auto when = its->distinct.rbegin(); when != its->distinct.rend() && seen.ages.size() < most; ++when)
    seen.ages.push_back(std::max(now.wall - *when, Duration{0}));
  return seen;
}

std::optional<Duration> Occurrences::next() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

std::string Occurrences::target_of(const ServiceBlock& block, const HealOrder& order, const EventFields& fields) const {
  if (order.target.empty()) return block.target();
  Variables variables(fields.begin(), fields.end());
  variables.insert_or_assign("SERVICE", block.name);
  variables.insert_or_assign("TARGET", block.target());
  if (block.row != nullptr)
    for (const auto& [name, value] : block.row->variables) variables.insert_or_assign(name, value);
  std::string target = fill(order.target, variables).text;
  if (!healings_.targets().services_of(*graph_, target).empty()) return target;
  const std::optional<ServiceId> service = graph_->find(target);  // by its name, whose target may be another
  return service ? graph_->at(*service).target() : target;
}

/// Whether a rule knows a target: a service is of it, or has its name.
bool Occurrences::is_known(const std::string& target) const {
  return graph_->find(target).has_value() || !healings_.targets().services_of(*graph_, target).empty();
}

/// Whether its fields and its targets are what its rules ask for.
EventVerdict Occurrences::judge(ServiceId id, const event::Arrived& arrived) const {
  const ServiceBlock& block = graph_->at(id);
  for (const std::string& name : block.other->event.fields) {
    const std::string* const value = value_of(arrived.fields, name);
    if (value == nullptr) return {kRefused, fmt::format("it has no plain value ${{{}}}", printable(name))};
    if (has_controls(*value))
      return {kRefused, fmt::format("the value of ${{{}}} has control characters", printable(name))};
  }
  for (const Rule& rule : block.rules)
    for (const Action* const action : {&rule->action, &rule->recovery->action}) {
      if (action->heal == nullptr || action->heal->target.empty()) continue;
      const std::string target = target_of(block, *action->heal, arrived.fields);
      if (!is_plain_name(target))
        return {kRefused, fmt::format("'{}' is not a name of a target: it has letters, digits and . _ : @ -, begins "
                                      "with a letter or digit, and is at most {} characters long",
                                      printable(target.substr(0, 60)), kLongestPlainName)};
      if (!action->heal->any_target && !is_known(target))
        return {kRefused, fmt::format("no rule knows the target {} ('any target' would let it be healed)", target)};
    }
  return {.text = fmt::format("{} has taken it", block.name)};
}

/// The event that it is again: the newest with its id has its state, and came within the window.
const Occurrence* Occurrences::same(ServiceId id, const event::Arrived& arrived, WallTime now) const {
  const Known* const its = known(id);
  if (its == nullptr || arrived.again != 0) return nullptr;
  const auto current = its->current.find(key_of(arrived.key));
  const Occurrence* const event = current == its->current.end() ? nullptr : find(current->second);
  const bool is_same = event != nullptr && event->key == arrived.key && event->state == arrived.state;
  return is_same && now < event->first + event_of(*graph_, id).within ? event : nullptr;
}

EventVerdict Occurrences::preview(const event::Arrived& arrived, Instant now) const {
  const Occurrence* const event = same(arrived.service, arrived, now.wall);
  if (event != nullptr && event->status == 202)
    return {202,
            fmt::format("it is {} again, which came {} ago", name_of(*event),
                        format_duration(std::max(now.wall - event->first, Duration{0}))),
            event->number};
  if (event != nullptr && arrived.refused != 0) return {event->status, event->answer, event->number};
  EventVerdict verdict = judge(arrived.service, arrived);
  // One that was refused is another event when it has been mended, or the rules have.
  if (event != nullptr && verdict.status != 202) return {verdict.status, std::move(verdict.text), event->number};
  if (verdict.status == 202 &&
      (waiting_ >= kMostWaiting || waiting_bytes_ + arrived.document->size() > kMostWaitingBytes))
    return {429, "too many events wait to be judged"};
  return verdict;
}

// ---- what it hears --------------------------------------------------------------------------------------------------

void Occurrences::take(const event::Arrived& arrived, Turn& turn) {
  const ServiceId id = arrived.service;
  const ServiceBlock* const block = graph_->block(id);
  const auto reply = [&](std::uint16_t status, std::string text, std::uint64_t number) {
    turn.replies.push_back({arrived.command, status == 202, std::move(text), status, number});
  };
  if (block == nullptr || !block->is_event() || arrived.document == nullptr)
    return reply(404, "there is no such check event any more", 0);
  EventVerdict verdict = preview(arrived, turn.now);
  turn.commit().by_person = true;
  if (verdict.known != 0) {
    Occurrence& event = all_.at(verdict.known);
    ++event.count;
    event.last = turn.now.wall;
    turn.occurrences.push_back(event.number);
    return reply(verdict.status, std::move(verdict.text), event.number);
  }
  if (arrived.refused != 0) verdict = {arrived.refused, arrived.evidence->output ? *arrived.evidence->output : ""};
  if (verdict.status == 429) {
    if (!std::exchange(is_full_, true))
      turn.tell(fact::EventRefused{
          id, fmt::format("{} events wait to be judged: until some are, others are refused", waiting_)});
    return reply(verdict.status, std::move(verdict.text), 0);
  }
  Known& its = known_[id];
  Occurrence event{.number = ids_.occurrence(),
                   .service = block->name,
                   .key = arrived.key,
                   .state = arrived.state,
                   .sender = arrived.sender,
                   .remark = arrived.remark,
                   .first = turn.now.wall,
                   .last = turn.now.wall,
                   .again = arrived.again,
                   .status = verdict.status,
                   .answer = verdict.text};
  if (arrived.refused == 0) event.document = arrived.document;
  const std::uint64_t number = event.number;
  turn.new_occurrence = number;
  turn.occurrences.push_back(number);
  its.current.insert_or_assign(key_of(event.key), number);
  const bool is_taken = verdict.status == 202;
  const bool is_noted = arrived.refused != 0;  // by who has read it: it is nothing that has happened
  const bool is_judged = is_taken && !is_noted && services_[id.index()].monitored;
  if (is_judged)
    event.fields = unshadowed(arrived.fields, block->other->event.fields);
  else if (is_taken)
    event.outcome = is_noted ? verdict.text : fmt::format("not judged: {} is not monitored", block->name);
  if (!is_judged) event.stage = is_taken ? OccurrenceStage::Dropped : OccurrenceStage::Refused;
  const Occurrence& kept = all_.emplace(number, std::move(event)).first->second;
  if (is_taken && !is_noted) {
    its.newest = number;
    its.distinct.push_back(turn.now.wall);
    if (its.distinct.size() > kMostCountedEvents + 1) its.distinct.pop_front();
  }
  if (is_judged) {
    queue(its, kept);
    poke(id, its, turn);
  } else {
    keep_document(kept);
    // Whoever is not let in, or sends anything, has nobody called: it is found among the events.
    if (!is_taken && (!is_noted || verdict.status == kRefused))
      turn.tell(fact::EventRefused{id, fmt::format("{} is refused: {}", name_of(kept), verdict.text)});
  }
  plan(id, its, turn.now);
  reply(verdict.status, std::move(verdict.text), number);
  bound_documents(turn);
  prune(turn);
}

void Occurrences::queue(Known& its, const Occurrence& event) {
  its.waiting.push_back(event.number);
  ++waiting_;
  waiting_bytes_ += size_of(event);
}

/// The first of a queue leaves it.
void Occurrences::leave(Known& its) {
  const Occurrence& event = all_.at(its.waiting.front());
  its.waiting.pop_front();
  its.departed = false;
  --waiting_;
  waiting_bytes_ -= size_of(event);
  if (waiting_ < kMostWaiting / 2 && waiting_bytes_ < kMostWaitingBytes / 2) is_full_ = false;
  keep_document(event);
}

/// Has the first of a queue judged, where nothing holds it back.
void Occurrences::poke(ServiceId id, Known& its, Turn& turn) {
  if (its.waiting.empty() || !services_[id.index()].monitored || !held(id, turn.now).empty()) return;
  if (judged_at_ != turn.now.mono) judged_then_ = 0;
  judged_at_ = turn.now.mono;
  if (judged_then_ < kMostInOneTurn) turn.tell(fact::RunDue{id});
}

void Occurrences::plan(ServiceId id, Known& its, Instant now) {
  if (its.planned) due_.erase({*its.planned, id});
  its.planned.reset();
  const auto at = [&](Duration when) { its.planned = its.planned ? std::min(*its.planned, when) : when; };
  const auto at_wall = [&](WallTime when) { at(now.mono + std::max(when - now.wall, kSoon)); };
  if (!its.ends.empty()) at_wall(its.ends.begin()->first);
  if (its.recount) at(std::max(*its.recount, now.mono + kSoon));
  if (!its.waiting.empty() && services_[id.index()].monitored) {
    const bool is_many = judged_at_ == now.mono && judged_then_ >= kMostInOneTurn;
    at(now.mono + (is_many ? kSoon : graph_->settings->cycle_length()));
    if (!its.departed) at_wall(all_.at(its.waiting.front()).first + event_of(*graph_, id).valid);
  }
  if (!programs_.queued_of(graph_->at(id).name).empty()) at(now.mono + graph_->settings->cycle_length());
  if (its.planned) due_.emplace(*its.planned, id);
}

/// Mono: when a test that counts events, and holds now, does not hold any more, unless others come; none: none holds.
Slim<Duration> Occurrences::counts_until(ServiceId id, const Known& its, Instant now) const {
  Slim<Duration> first;
  for (const Rule& rule : graph_->at(id).rules)
    for (const Test& test : rule->condition->tests) {
      const auto* const count = std::get_if<EventCount>(&test);
      if (count == nullptr || its.distinct.size() <= count->above) continue;
      const WallTime ends = its.distinct[its.distinct.size() - 1 - count->above] + count->within;
      if (ends <= now.wall) continue;
      const Duration when = now.mono + (ends - now.wall);
      first = first ? std::min(*first, when) : when;
    }
  return first;
}

void Occurrences::hear_time(Turn& turn) {
  const Duration now = turn.now.mono;
  while (!due_.empty() && due_.begin()->first <= now) {
    const ServiceId id = due_.begin()->second;
    Known& its = known_.at(id);
    expire(id, its, turn);
    if (!programs_.queued_of(graph_->at(id).name).empty()) turn.tell(fact::ExecsDue{id});
    poke(id, its, turn);
    if (its.recount && *its.recount <= now) {
      its.recount.reset();
      turn.tell(fact::RunDue{id});
    }
    plan(id, its, turn.now);
  }
}

/// What waits, and what stands, goes when `valid` is over. What is being judged stays.
void Occurrences::expire(ServiceId id, Known& its, Turn& turn) {
  const Duration valid = event_of(*graph_, id).valid;
  const auto is_over = [&] {
    return !its.waiting.empty() && !its.departed && turn.now.wall >= all_.at(its.waiting.front()).first + valid;
  };
  if (is_over()) {
    const std::string hold = held(id, turn.now);
    const std::string why =
        fmt::format("it was not judged within {}{}{}", format_duration(valid), hold.empty() ? "" : ": ", hold);
    std::string text = name_of(all_.at(its.waiting.front()));  // the first, for people
    int count = 0;
    for (; count < kMostInOneTurn && is_over(); ++count) drop_first(id, its, OccurrenceStage::Dropped, why, turn);
    text += count == 1 ? " is dropped: " + why : fmt::format(" and {} more are dropped: {}", count - 1, why);
    turn.tell(fact::EventRefused{id, std::move(text)});
  }
  while (!its.ends.empty() && its.ends.begin()->first <= turn.now.wall) {
    const StandKey key = its.ends.begin()->second;
    erase(its, key, turn);
    turn.tell(
        fact::StandingEnded{id, key.first, key.second,
                            fmt::format("nothing more was heard of {} within {}", key.second, format_duration(valid))});
  }
}

void Occurrences::drop_first(ServiceId /*id*/, Known& its, OccurrenceStage stage, std::string outcome, Turn& turn) {
  Occurrence& event = all_.at(its.waiting.front());
  event.stage = stage;
  event.outcome = std::move(outcome);
  event.fields.clear();
  turn.occurrences.push_back(event.number);
  leave(its);
}

void Occurrences::go_on(Turn& turn) {
  for (auto& [id, its] : known_) {
    if (its.waiting.empty()) continue;
    expire(id, its, turn);
    poke(id, its, turn);
    plan(id, its, turn.now);
  }
}

void Occurrences::begin(ServiceId id, Turn& turn) {
  Known& its = known_[id];
  if (!services_[id.index()].flight) its.departed = false;
  poke(id, its, turn);
  its.recount = counts_until(id, its, turn.now);
  plan(id, its, turn.now);
}

void Occurrences::stop(ServiceId id, const std::string& why, Turn& turn) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  Known& its = found->second;
  while (!its.waiting.empty()) drop_first(id, its, OccurrenceStage::Dropped, "not judged: " + why, turn);
  while (!its.standing.empty()) {
    const StandKey key = its.standing.begin()->first;
    erase(its, key, turn);
  }
  its.recount.reset();
  plan(id, its, turn.now);
}

const Occurrence* Occurrences::depart(ServiceId id, Turn& turn) {
  Known& its = known_[id];
  its.departed = !its.waiting.empty() && held(id, turn.now).empty();
  return its.departed ? find(its.waiting.front()) : nullptr;
}

void Occurrences::erase(Known& its, const StandKey& key, Turn& turn) {
  const auto stand = its.standing.find(key);
  if (stand == its.standing.end()) return;
  its.ends.erase({stand->second.until, key});
  if (const auto event = all_.find(stand->second.number); event != all_.end()) {
    std::erase_if(event->second.standing,
                  [&](const Standing& one) { return one.rule == key.first && iequals(one.target, key.second); });
    turn.occurrences.push_back(event->first);
  }
  its.standing.erase(stand);
}

void Occurrences::stand(ServiceId id, const Rule& rule, const std::string& target, Turn& turn) {
  Known& its = known_.at(id);
  const StandKey key{rule.key, to_lower(target)};
  erase(its, key, turn);
  Occurrence& event = all_.at(its.waiting.front());
  const WallTime until = turn.now.wall + event_of(*graph_, id).valid;
  event.standing.push_back({rule.key, target, until});
  its.standing.emplace(key, Stand{until, event.number});
  its.ends.emplace(until, key);
  turn.occurrences.push_back(event.number);
}

void Occurrences::clear(ServiceId id, const Rule& rule, const std::string& target, Turn& turn) {
  erase(known_.at(id), {rule.key, to_lower(target)}, turn);
  turn.tell(fact::StandingEnded{id, rule.key, target, {}});
}

Evidence Occurrences::complete(ServiceId id, const Evidence& seen, Instant now) const {
  Evidence with = seen;
  auto facts = seen.facts ? std::make_shared<Facts>(*seen.facts) : std::make_shared<Facts>();
  EventSeen event = see(id, now);
  if (seen.answer != Answer::Unknown)
    with.output =
        std::make_shared<const std::string>(event.number == 0 ? std::string() : describe_event(event.key, event.state));
  facts->further.edit().event = std::move(event);
  with.facts = std::move(facts);
  return with;
}

void Occurrences::weigh(ServiceId id, const Seen& run, Turn& turn) {
  const Occurrence* const event = under_way(id);
  if (event == nullptr) return;
  const ServiceBlock& block = graph_->at(id);
  for (const Rule& rule : block.rules) {
    if (rule->action.heal == nullptr || rule->mode != Mode::EachMatch) continue;
    const std::string target = target_of(block, *rule->action.heal, event->fields);
    const std::optional<bool> is_met = holds(*rule->condition, run);
    if (is_met == true) stand(id, rule, target, turn);
    if (is_met == false) clear(id, rule, target, turn);
  }
}

void Occurrences::tell_cause(ServiceId id, std::vector<RuleDecision>& decisions) const {
  const Occurrence* const event = under_way(id);
  if (event == nullptr) return;
  for (RuleDecision& decision : decisions) {
    if (decision.cause == nullptr || decision.what == RuleDecision::What::Recover) continue;
    auto cause = std::make_shared<effect::Cause>(*decision.cause);
    cause->occurrence = event->number;
    cause->fields = event->fields;
    decision.cause = std::move(cause);
  }
}

void Occurrences::judged(ServiceId id, const Evidence& seen, std::size_t begin, Turn& turn) {
  Known& its = known_[id];
  if (its.departed && !its.waiting.empty()) {
    const bool is_unknown = seen.answer == Answer::Unknown;  // its filters could not be asked
    if (is_unknown && ++its.tries < kMostTries) {
      its.departed = false;
      return plan(id, its, turn.now);
    }
    its.tries = 0;
    std::string outcome = is_unknown ? fmt::format("it could not be judged: {}", *seen.output)
                                     : outcome_of(graph_->at(id), turn.commit().records, begin, seen);
    if (is_unknown)
      turn.tell(
          fact::EventRefused{id, fmt::format("{} is dropped: {}", name_of(all_.at(its.waiting.front())), outcome)});
    drop_first(id, its, is_unknown ? OccurrenceStage::Dropped : OccurrenceStage::Judged, std::move(outcome), turn);
    ++judged_then_;
  }
  its.departed = false;
  its.recount = counts_until(id, its, turn.now);
  poke(id, its, turn);
  plan(id, its, turn.now);
  bound_documents(turn);
}

// ---- what is kept ---------------------------------------------------------------------------------------------------

void Occurrences::keep_document(const Occurrence& event) {
  if (size_of(event) == 0) return;
  with_document_.push_back(event.number);
  kept_bytes_ += size_of(event);
}

/// The oldest documents that nothing waits for are dropped where there is too much of them.
void Occurrences::bound_documents(Turn& turn) {
  static const auto kNone = std::make_shared<const std::string>();
  while (kept_bytes_ > kMostKeptBytes && !with_document_.empty()) {
    const auto event = all_.find(with_document_.front());
    with_document_.pop_front();
    if (event == all_.end()) continue;
    kept_bytes_ -= size_of(event->second);
    event->second.document = kNone;
    turn.occurrences.push_back(event->first);
  }
}

/// Whether nothing is lost with it but that it was there.
bool Occurrences::may_go(const Occurrence& event, WallTime now) const {
  if (event.stage == OccurrenceStage::Waiting || !event.standing.empty()) return false;
  const std::optional<ServiceId> id = graph_->find(event.service);
  const Known* const its = id ? known(*id) : nullptr;
  if (its == nullptr || !graph_->at(*id).is_event() || event.number == its->newest) return its == nullptr;
  const auto current = its->current.find(key_of(event.key));
  const bool is_current = current != its->current.end() && current->second == event.number;
  return !is_current || now >= event.first + event_of(*graph_, *id).within;
}

/// Drops what nobody needs any more, beyond those that came last.
void Occurrences::prune(Turn& turn) {
  if (all_.size() < prune_at_) return;
  std::size_t left = all_.size();
  for (auto event = all_.begin(); event != all_.end() && left > kShownOccurrences;) {
    const bool is_too_much = left > kMostOccurrences && event->second.stage != OccurrenceStage::Waiting;
    if (!is_too_much && !may_go(event->second, turn.now.wall)) {
      ++event;
      continue;
    }
    if (const std::optional<ServiceId> id = graph_->find(event->second.service); id && known_.contains(*id)) {
      Known& its = known_.at(*id);
      if (const auto current = its.current.find(key_of(event->second.key));
          current != its.current.end() && current->second == event->first)
        its.current.erase(current);
    }
    kept_bytes_ -= event->second.stage == OccurrenceStage::Waiting ? 0 : size_of(event->second);
    turn.commit().forgotten_occurrences.push_back(event->first);
    event = all_.erase(event);
    --left;
  }
  std::erase_if(with_document_, [this](std::uint64_t number) { return !all_.contains(number); });
  prune_at_ = left + std::max(left / 4, kShownOccurrences / 4);
}

void Occurrences::restore(std::vector<Occurrence> saved, Instant /*now*/) {
  std::ranges::sort(saved, {}, &Occurrence::number);
  for (Occurrence& one : saved) {
    const std::uint64_t number = one.number;
    const Occurrence& event = all_.insert_or_assign(number, std::move(one)).first->second;
    const std::optional<ServiceId> id = graph_->find(event.service);
    if (!id || !graph_->at(*id).is_event()) {
      if (event.stage == OccurrenceStage::Waiting) {
        all_.at(number).stage = OccurrenceStage::Dropped;
        all_.at(number).outcome = fmt::format("not judged: {} is not in the rules any more", event.service);
      }
      all_.at(number).standing.clear();
      keep_document(event);
      continue;
    }
    Known& its = known_[*id];
    its.current.insert_or_assign(key_of(event.key), number);
    const bool is_noted = event.stage == OccurrenceStage::Dropped && event.outcome == event.answer;  // as in take()
    if (event.stage != OccurrenceStage::Refused && !is_noted) {
      its.newest = number;
      its.distinct.push_back(event.first);
      if (its.distinct.size() > kMostCountedEvents + 1) its.distinct.pop_front();
    }
    if (event.stage == OccurrenceStage::Waiting)
      queue(its, event);
    else
      keep_document(event);
    for (const Standing& standing : event.standing) {
      const StandKey key{standing.rule, to_lower(standing.target)};
      if (const auto before = its.standing.find(key); before != its.standing.end())
        its.ends.erase({before->second.until, key});
      its.standing.insert_or_assign(key, Stand{standing.until, number});
      its.ends.emplace(standing.until, key);
    }
  }
}

void Occurrences::remove(ServiceId id, const std::string& service, Turn& turn) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  const std::string why = fmt::format("{} is not in the rules any more", service);
  if (!found->second.waiting.empty())
    turn.record(RecordKind::EventRefused, Severity::Warning, service,
                fmt::format("{} event{} that waited to be judged {} dropped: {}", found->second.waiting.size(),
                            found->second.waiting.size() == 1 ? "" : "s",
                            found->second.waiting.size() == 1 ? "is" : "are", why));
  stop(id, why, turn);
  if (found->second.planned) due_.erase({*found->second.planned, id});
  known_.erase(found);
}

}  // namespace healer::engine
