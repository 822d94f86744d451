// SPDX-License-Identifier: MIT
// Services made of others: how a service is to those that judge others by it, and when composites are judged.
//
// A composite measures nothing: the engine sees its members itself. What changes in a turn is gathered, and at its end
// the composites that it concerns are judged, each once, members before what is made of them. A counted run that falls
// due while members are being looked at is judged when these are, at the latest when the next one falls due.
#include <algorithm>
#include <utility>

#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/timing/cron.hpp"
#include "engine/turn.hpp"

namespace healer::engine {
namespace {

constexpr std::string_view kHealths[] = {"ok", "failed", "unknown", "not judged", "unmonitored", "given up"};

}  // namespace

std::string_view to_string(Health health) { return kHealths[static_cast<std::size_t>(health)]; }

/// What was failed before a reboot is not judged before it was looked at; what was judged in this boot stays so.
Health Engine::health(ServiceId id) const {
  const ServiceState& state = services_[id.index()];
  if (!state.monitored) return given_up(id) != nullptr ? Health::GivenUp : Health::Unmonitored;
  if (state.initialising) return Health::Unjudged;
  const auto failed = [](const RuleState& rule) { return rule.status == RuleStatus::Failed; };
  if (std::ranges::any_of(rules(id), failed)) return Health::Failed;
  if (!state.trouble->unknown) return Health::Ok;
  return graph_->at(id).has_members() ? Health::Unjudged : Health::Unknown;
}

Evidence Engine::look_at_members(ServiceId id, bool counts_nameless) const {
  MembersSeen seen;
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (names.size() < MembersSeen::kNamed) names.push_back(name);
  };
  for (const ServiceId member : graph_->members[id.index()]) {
    const std::string& name = graph_->at(member).name;
    switch (health(member)) {
      case Health::Failed:
        if (counts_nameless || !fails_nameless(member)) {
          ++seen.failed;
          add(seen.failed_names, name);
        }
        ++seen.whole;
        break;
      case Health::GivenUp:
        ++seen.failed;
        add(seen.failed_names, name);
        [[fallthrough]];
      case Health::Ok:
      case Health::Unknown: ++seen.whole; break;
      case Health::Unjudged:
      case Health::Unmonitored:
        ++seen.left_out;
        add(seen.left_out_names, name);
        break;
    }
  }
  Evidence evidence;
  evidence.answer = seen.whole > 0 ? Answer::Told : Answer::Unknown;
  evidence.output = std::make_shared<const std::string>(describe(seen));
  auto facts = std::make_shared<Facts>();
  facts->further.edit().members = std::move(seen);
  evidence.facts = std::move(facts);
  return evidence;
}

/// Whether nothing would speak against a service in its last run if that had not been without name servers.
bool Engine::fails_nameless(ServiceId id) const {
  const std::vector<Rule>& all = graph_->at(id).rules;
  const std::span<const RuleState> states = rules(id);
  bool fails = false;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].status != RuleStatus::Failed) continue;
    if (!holds_nameless(id, all[i])) return false;
    fails = true;
  }
  return fails;
}

bool Engine::holds_nameless(ServiceId id, const Rule& rule) const {
  const ServiceState& state = services_[id.index()];
  const auto asks = [&]<typename T>() {
    return std::ranges::any_of(rule->condition->tests,
                               [](const Test& test) { return std::holds_alternative<T>(test); });
  };
  const auto holds_in = [&](const Evidence& run) {
    return holds(*rule->condition, Seen{run, state.memory, state.starts->restarted}) == true;
  };
  if (graph_->at(id).has_members())
    return asks.operator()<Members>() &&
           std::ranges::any_of(graph_->members[id.index()], [&](ServiceId one) { return fails_nameless(one); }) &&
           !holds_in(look_at_members(id, false));
  if (state.trouble->unknown || !state.last || !asks.operator()<Reached>()) return false;
  const std::optional<Evidence> other = without_nameless(*state.last);
  return other && !holds_in(*other);
}

/// Whether a member of it is being looked at, or will be for the first time before its next run. They are waited for in
/// their order: one that begins after it was passed over is not.
bool Engine::waits_for_members(ServiceId id) {
  std::uint32_t& awaited = services_[id.index()].flight->awaited;
  const std::optional<Duration> own_due = times(id).due;
  const std::span<const ServiceId> members = graph_->members[id.index()];
  for (; awaited < members.size(); ++awaited) {
    const ServiceState& state = services_[members[awaited].index()];
    const std::optional<Duration> due = times(members[awaited]).due;
    if (state.flight) return true;
    if (state.monitored && state.initialising && own_due && due && *due < *own_due) return true;
  }
  return false;
}

/// To be called wherever the health of a service may have changed, or a look at it has come to its end.
void Engine::tell_owners(ServiceId id) {
  const std::span<const ServiceId> owners = graph_->owners[id.index()];
  if (owners.empty()) return;
  const Health now = health(id);
  const bool changed = std::exchange(services_[id.index()].told, now) != now;
  for (const ServiceId owner : owners) {
    const ServiceState& state = services_[owner.index()];
    const std::span<const ServiceId> members = graph_->members[owner.index()];
    const std::uint32_t at = state.flight ? state.flight->awaited : 0;
    const bool awaited = state.flight && (at >= members.size() || members[at] == id);
    if (changed || awaited) composites_due_.emplace(graph_->ranks[owner.index()], owner);
  }
}

/// After a reload they may have other members.
void Engine::all_composites_due() {
  composites_due_.clear();
  for (const ServiceId id : graph_->order) {
    if (graph_->at(id).has_members()) composites_due_.emplace(graph_->ranks[id.index()], id);
    services_[id.index()].told = health(id);
  }
}

/// What an action of a composite changes in those that were judged before it is for the next turn.
void Engine::judge_composites(Turn& turn) {
  std::set<std::pair<std::uint32_t, ServiceId>> judged, left;
  while (!composites_due_.empty()) {
    auto next = composites_due_.extract(composites_due_.begin());
    const ServiceId id = next.value().second;
    if (judged.contains(next.value())) {
      left.insert(std::move(next));
      continue;
    }
    judged.insert(std::move(next));
    if (running_) judge_composite(id, turn);
  }
  composites_due_ = std::move(left);
}

void Engine::judge_composite(ServiceId id, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (!state.monitored) return;
  if (state.flight && !waits_for_members(id)) return end_composite_run(id, turn);
  const Schedule& schedule = *graph_->at(id).schedule;
  const bool rests = schedule.kind == Schedule::Kind::Cron ||
                     (schedule.kind == Schedule::Kind::NotCron && matches_at(schedule.cron, turn.now.wall, civil_));
  if (state.initialising || state.job || rests) return;
  const auto seen = std::make_shared<const Evidence>(look_at_members(id));
  take(id, seen, turn);
  judge(id, *seen, false, Reason::Member, turn);
}

/// Judges the run under way by how its members are now.
void Engine::end_composite_run(ServiceId id, Turn& turn) {
  ServiceState& state = services_[id.index()];
  const auto seen = std::make_shared<const Evidence>(look_at_members(id));
  const Flight flight = *std::exchange(state.flight, std::nullopt);
  state.last_run = flight.run;
  if (seen->answer == Answer::Told) state.initialising = false;
  take(id, seen, turn);
  ++state.runs;
  judge(id, *seen, flight.counted, flight.reason, turn);
}

}  // namespace healer::engine
