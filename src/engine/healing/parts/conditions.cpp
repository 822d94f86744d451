// SPDX-License-Identifier: MIT
#include "engine/healing/parts/conditions.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "engine/healing/parts/targets.hpp"
#include "engine/healing/world.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"

namespace healer::engine {

const HealOrder* order_of(const Graph& graph, const Trigger& trigger) {
  const std::optional<ServiceId> service = graph.find(trigger.service);
  if (!service) return nullptr;
  const std::vector<Rule>& rules = graph.at(*service).rules;
  const auto rule = std::ranges::find(rules, trigger.rule, &Rule::key);
  return rule == rules.end() ? nullptr : (*rule)->action.heal.get();
}

bool is_gone(const Graph& graph, const Trigger& trigger) {
  return trigger.rule == Hash128{} ? !graph.find(trigger.service) : order_of(graph, trigger) == nullptr;
}

bool is_gone(const HealingContext& world, const TargetIndex& index, const Healing& healing) {
  return index.services_of(world.graph(), healing.target).empty() && world.left_out(healing).empty();
}

bool trigger_stands(const HealingContext& world, const Healing& healing, const Trigger& trigger) {
  if (trigger.rule == Hash128{}) return true;  // a person's word
  const std::optional<ServiceId> service = world.graph().find(trigger.service);
  return service && world.health(*service) != Health::Unmonitored &&
         world.stands(*service, trigger.rule, healing.target);
}

bool any_trigger_stands(const HealingContext& world, const Healing& healing) {
  return trigger_stands(world, healing, {healing.service, healing.rule}) ||
         std::ranges::any_of(healing.also, [&](const Trigger& one) { return trigger_stands(world, healing, one); });
}

bool condition_stands(const HealingContext& world, const TargetIndex& index, const Healing& healing) {
  if (healing.escalated && healing.plan->only_alerts()) return true;
  if (!healing.escalated && healing.round == 0) return any_trigger_stands(world, healing);
  if (healing.cleared && !healing.by_person()) return false;
  // Once begun it goes by its plan, whatever became of the rule: it is over where all of the target that is monitored
  // is seen to be well.
  std::vector<ServiceId> services = index.services_of(world.graph(), healing.target);
  std::erase_if(services, [&](ServiceId one) {
    return world.health(one) == Health::Unmonitored || world.graph().at(one).is_event();
  });
  // While its recovery was awaited no run counted for its rules: they may not know yet that it fails again.
  const auto fails_now = [&](ServiceId one) {
    return std::ranges::any_of(world.graph().at(one).rules, [&](const Rule& rule) {
      return rule->mode == Mode::Latched && !rule->counts_restarts() && world.holds_now(one, rule.key) == true;
    });
  };
  return services.empty() || !std::ranges::all_of(services, [&](ServiceId one) {
           return world.health(one) == Health::Ok && !fails_now(one);
         });
}

bool nameless(const HealingContext& world, const Healing& healing) {
  if (healing.by_person()) return false;
  bool found = false;
  const auto says = [&](const Trigger& one) {
    if (!trigger_stands(world, healing, one)) return false;
    found = true;
    return !world.holds_nameless(*world.graph().find(one.service), one.rule);
  };
  return !says({healing.service, healing.rule}) && std::ranges::none_of(healing.also, says) && found;
}

std::vector<ServiceId> concerned(const HealingContext& world, const TargetIndex& index, const Healing& healing) {
  std::vector<ServiceId> all;
  const auto add = [&](auto&& self, ServiceId service) -> void {
    if (std::ranges::find(all, service) != all.end()) return;
    all.push_back(service);
    if (world.graph().at(service).has_members())
      for (const ServiceId member : world.graph().members[service.index()]) self(self, member);
  };
  const auto add_named = [&](const std::string& name) {
    if (const auto service = world.graph().find(name)) add(add, *service);
  };
  for (const ServiceId service : index.services_of(world.graph(), healing.target)) add(add, service);
  add_named(healing.service);
  for (const Trigger& one : healing.also) add_named(one.service);
  return all;
}

std::vector<ServiceId> checked_for(const HealingContext& world, const TargetIndex& index, std::string_view target) {
  std::vector<ServiceId> all;
  const auto add = [&](auto&& self, ServiceId service) -> void {
    if (std::ranges::find(all, service) != all.end()) return;
    all.push_back(service);
    for (const ServiceId member : world.graph().members[service.index()]) self(self, member);
  };
  for (const ServiceId service : index.services_of(world.graph(), target)) add(add, service);
  return all;
}

bool asks_guard(const Healing& healing) {
  const std::optional<Guard>& guard = healing.plan->guard;
  return guard && !(guard->once && healing.round > 0);
}

}  // namespace healer::engine
