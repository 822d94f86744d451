// SPDX-License-Identifier: MIT
#include "support/fleet_world.hpp"

#include <algorithm>
#include <utility>

#include "engine/diff.hpp"

namespace healer::test {
namespace {

Step program(const std::string& name, std::uint32_t retries = 0) {
  return {.name = name,
          .what = step::Program{.command = {.arguments = {"/bin/" + name, "${TARGET}"}}},
          .timeout = minutes{20},
          .retries = retries,
          .pause = milliseconds{100}};
}

Guard guard(const std::string& name) {
  return {.program = {.command = {.arguments = {"/bin/" + name, "${TARGET}"}}}, .timeout = seconds{10}};
}

Step recovered() { return {.name = "verify", .what = step::Recovered{.within = minutes{5}}}; }

}  // namespace

RuleSet fleet_rules(const Fleet& fleet) {
  std::vector<std::shared_ptr<ServiceBlock>> services;
  const auto order = std::make_shared<const HealOrder>(HealOrder{.workflow = "rebuild"});
  for (int i = 0; i < fleet.targets; ++i) {
    Rule rule = status_rule(Comparison::NotEqual, 0);
    rule.action = {.kind = ActionKind::Heal, .heal = order};
    auto block = service("n" + std::to_string(i), {rule});
    block->groups = {"nodes"};
    block->recipients = {Recipient{.address = "ops@example"}};
    services.push_back(std::move(block));
  }
  RuleSet rules = rule_set(std::move(services));
  rules.settings.mail.recipients = {Recipient{.address = "ops@example"}};
  Workflow rebuild{.name = "rebuild",
                   .guard = guard("guard"),
                   .steps = {program("shutdown", 2), program("rebuild"), recovered()},
                   .on_cancel = {program("undo")},
                   .limits = fleet.limits,
                   .pauses = {PauseWhile{}},
                   .tries = fleet.tries,
                   .probation = fleet.probation,
                   .breaker = fleet.breaker,
                   .mode = fleet.mode,
                   .key = hash128("rebuild")};
  if (fleet.escalate) rebuild.on_failure = {{.name = "escalate", .what = step::Escalate{.workflow = "redeploy"}}};
  Workflow redeploy{.name = "redeploy",
                    .guard = guard("redeploy-guard"),
                    .steps = {program("redeploy"), recovered()},
                    .limits = {{.number = 1}},
                    .key = hash128("redeploy")};
  rules.workflows = {std::make_shared<const Workflow>(std::move(rebuild)),
                     std::make_shared<const Workflow>(std::move(redeploy))};
  return rules;
}

FleetWorld::FleetWorld(const Fleet& fleet)
    : FleetWorld(make_graph(fleet_rules(fleet)), {}, std::vector<bool>(static_cast<std::size_t>(fleet.targets)),
                 kStart) {}

FleetWorld::FleetWorld(std::shared_ptr<const Graph> graph, SavedState left, std::vector<bool> states, Instant at)
    : World(std::move(graph), std::move(left), at), failed(std::move(states)) {
  answer = [this](ServiceId id) -> std::optional<std::int64_t> { return failed[id.index()] ? 1 : 0; };
  start();
}

std::string FleetWorld::wait_for(std::string_view program) {
  for (int i = 0; i < 18'000 && (taken >= execs.size() || last_program() != program); ++i) advance(milliseconds{100});
  if (taken >= execs.size() || last_program() != program) return {};
  taken = execs.size();
  handle(event::ActionStarted{.action = execs.back().action, .pid = 100, .start_ticks = 1});
  return execs.back().command.arguments.at(1);
}

void FleetWorld::end_program(int status) {
  handle(event::ActionEnded{.action = execs.back().action,
                            .outcome = status < 0 ? Outcome::Signalled : Outcome::Exited,
                            .status = std::abs(status),
                            .elapsed = seconds{1}});
}

std::string FleetWorld::last_program() const {
  return execs.empty() ? std::string() : execs.back().command.arguments.front().substr(5);
}

std::size_t FleetWorld::programs(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      execs, [&](const effect::Exec& exec) { return exec.command.arguments.front() == "/bin/" + std::string(name); }));
}

std::size_t FleetWorld::alerts_of(std::string_view event) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(alerts, [&](const effect::Alert& alert) { return alert.cause->event_text == event; }));
}

}  // namespace healer::test
