// SPDX-License-Identifier: MIT
#include "engine/parts/composites.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "engine/judging/evaluate.hpp"
#include "engine/parts/rule_states.hpp"
#include "engine/parts/timetable.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"

namespace healer::engine {
namespace {

constexpr std::string_view kHealths[] = {"ok", "failed", "unknown", "not judged", "unmonitored", "given up"};

}  // namespace

std::string_view to_string(Health health) { return kHealths[static_cast<std::size_t>(health)]; }

Health Composites::health(ServiceId id) const {
  const ServiceState& state = services_[id.index()];
  if (!state.monitored)
    return state.trouble->taken_out && state.trouble->taken_out->given_up() ? Health::GivenUp : Health::Unmonitored;
  if (state.initialising) return Health::Unjudged;
  if (rules_.any_failed(id)) return Health::Failed;
  if (!state.trouble->unknown) return Health::Ok;
  return graph_->at(id).has_members() ? Health::Unjudged : Health::Unknown;
}

Evidence Composites::check(ServiceId id, bool counts_nameless) const {
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
  evidence.answer = seen.whole > 0 ? Answer::Present : Answer::Unknown;
  evidence.output = std::make_shared<const std::string>(describe(seen));
  auto facts = std::make_shared<Facts>();
  facts->further.edit().members = std::move(seen);
  evidence.facts = std::move(facts);
  return evidence;
}

/// Whether nothing would speak against a service in its last run if that had not been without name servers.
bool Composites::fails_nameless(ServiceId id) const {
  const std::vector<Rule>& all = graph_->at(id).rules;
  const std::span<const RuleState> states = rules_.of(id);
  bool fails = false;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].status != RuleStatus::Failed) continue;
    if (!holds_nameless(id, all[i])) return false;
    fails = true;
  }
  return fails;
}

bool Composites::holds_nameless(ServiceId id, const Rule& rule) const {
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
           !holds_in(check(id, false));
  if (state.trouble->unknown || !state.last || !asks.operator()<Reached>()) return false;
  const std::optional<Evidence> other = without_nameless(*state.last);
  return other && !holds_in(*other);
}

bool Composites::waits(ServiceId id, std::uint32_t& awaited) const {
  const std::optional<Duration> own_due = timetable_.times(id).due;
  const std::span<const ServiceId> members = graph_->members[id.index()];
  for (; awaited < members.size(); ++awaited) {
    const ServiceState& state = services_[members[awaited].index()];
    const std::optional<Duration> due = timetable_.times(members[awaited]).due;
    if (state.flight) return true;
    if (state.monitored && state.initialising && own_due && due && *due < *own_due) return true;
  }
  return false;
}

void Composites::want(ServiceId id) { due_.emplace(graph_->ranks[id.index()], id); }

void Composites::note(ServiceId id) {
  const std::span<const ServiceId> owners = graph_->owners[id.index()];
  if (owners.empty()) return;
  const Health now = health(id);
  const bool changed = std::exchange(known_[id.index()], now) != now;
  for (const ServiceId owner : owners) {
    const ServiceState& state = services_[owner.index()];
    const std::span<const ServiceId> members = graph_->members[owner.index()];
    const std::uint32_t at = state.flight ? state.flight->awaited : 0;
    const bool awaited = state.flight && (at >= members.size() || members[at] == id);
    if (changed || awaited) want(owner);
  }
}

void Composites::reload() {
  due_.clear();
  for (const ServiceId id : graph_->order) {
    if (graph_->at(id).has_members()) want(id);
    known_[id.index()] = health(id);
  }
}

void Composites::drain(const std::function<void(ServiceId)>& judge) {
  if (due_.empty()) return;
  std::set<std::pair<std::uint32_t, ServiceId>> judged, left;
  while (!due_.empty()) {
    auto next = due_.extract(due_.begin());
    const ServiceId id = next.value().second;
    if (judged.contains(next.value())) {
      left.insert(std::move(next));
      continue;
    }
    judged.insert(std::move(next));
    judge(id);
  }
  due_ = std::move(left);
}

}  // namespace healer::engine
