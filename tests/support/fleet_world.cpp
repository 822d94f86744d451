// SPDX-License-Identifier: MIT
#include "support/fleet_world.hpp"

#include <algorithm>
#include <utility>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"

namespace healer::test {
namespace {

Step program(const std::string& name, std::uint32_t retries = 0) {
  return {.name = name,
          .what = step::Program{.command = Command{.arguments = {"/bin/" + name, "${TARGET}"}}},
          .timeout = minutes{20},
          .retries = retries,
          .pause = milliseconds{100}};
}

Guard guard(const std::string& name) {
  return {.program = {.command = Command{.arguments = {"/bin/" + name, "${TARGET}"}}}, .timeout = seconds{10}};
}

/// As OpenStack is asked: a token that nobody is to see, a mark, and an update that takes its time.
std::vector<Step> calls() {
  step::Http token{
      .request = {.method = "POST", .url = "https://keystone.example/v3/auth/tokens", .body = "{}"},
      .expect = {201},
      .saves = {{.from = Saving::From::Header, .what = "X-Subject-Token", .name = "TOKEN", .secret = true}}};
  step::Http mark{.request = {.method = "PATCH",
                              .url = "https://heat.example/v1/resources/${TARGET}",
                              .headers = {"X-Auth-Token: ${TOKEN}"},
                              .body = R"({"mark_unhealthy": true})"},
                  .expect_json = {{.filter = ".marked", .value = "true"}}};
  step::Http update{.request = {.method = "PATCH",
                                .url = "https://heat.example/v1/stack",
                                .headers = {"X-Auth-Token: ${TOKEN}"},
                                .body = "{}"},
                    .expect = {202}};
  update.until = step::Until{
      .request = {.method = "GET", .url = "https://heat.example/v1/stack", .headers = {"X-Auth-Token: ${TOKEN}"}},
      .met = {{.filter = ".status", .value = "UPDATE_COMPLETE", .quoted = true}},
      .failed = {{.filter = ".status", .value = "UPDATE_FAILED", .quoted = true}}};
  return {{.name = "token", .what = token, .repeatable = true},
          {.name = "mark", .what = mark, .retries = 1, .pause = seconds{1}, .repeatable = true},
          {.name = "update", .what = update}};
}

Step recovered() { return {.name = "verify", .what = step::Recovered{.within = minutes{5}}}; }

}  // namespace

RuleSet fleet_rules(const Fleet& fleet) {
  std::vector<std::shared_ptr<ServiceBlock>> services;
  const auto order = std::make_shared<const HealOrder>(HealOrder{.workflow = "rebuild"});
  for (int i = 0; i < fleet.targets; ++i) {
    if (fleet.absent.contains(i)) continue;
    Rule rule = status_rule(Comparison::NotEqual, 0);
    rule->action = {.kind = ActionKind::Heal, .heal = order};
    auto block = service("n" + std::to_string(i), {rule});
    block->groups = {"nodes"};
    *block->recipients = {Recipient{.address = "ops@example"}};
    if (fleet.listed || fleet.of_rows) {
      const std::string name = fleet.of_rows ? "row" + std::to_string(i) : block->name;
      block->row = std::make_shared<const Row>(Row{.target = name, .variables = {{"NODE", name}}, .lists = {"NODE"}});
    }
    services.push_back(std::move(block));
  }
  if (fleet.sentinel) {
    Rule rule = status_rule(Comparison::NotEqual, 0);
    rule->action = {.kind = ActionKind::Alert};
    services.push_back(service(std::string(kSentinel), {rule}));
  }
  RuleSet rules = rule_set(std::move(services));
  if ((fleet.listed || fleet.of_rows) && !fleet.written) rules.lists = {"NODE"};
  rules.settings.healing.mode = fleet.over_all;
  if (fleet.maintenance)
    rules.settings.maintenance = {Maintenance{
        .begin = {.minutes = 1ULL << 30, .hours = ~0U, .month_days = ~0U, .months = 0xFFFF, .weekdays = 0xFF},
        .length = minutes{10}}};
  if (fleet.sentinel) rules.settings.healing.only_while = {std::string(kSentinel)};
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
                   .approval = fleet.approval,
                   .mode = fleet.mode,
                   .key = hash128("rebuild")};
  if (fleet.calls) {
    rebuild.steps = calls();
    rebuild.steps.push_back(recovered());
  }
  if (fleet.escalate) rebuild.on_failure = {{.name = "escalate", .what = step::Escalate{.workflow = "redeploy"}}};
  if (!fleet.tell.empty()) rebuild.on_failure = {{.name = "tell", .what = step::Tell{.text = fleet.tell}}};
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

FleetWorld::FleetWorld(std::shared_ptr<const Graph> graph, SavedState left, std::vector<bool> states, Instant at,
                       bool granted)
    : World(std::move(graph), std::move(left), at), failed(std::move(states)) {
  grants = granted;
  answer = [this](ServiceId id) -> std::optional<std::int64_t> {
    const std::string& name = engine->graph()->at(id).name;
    const bool is_target = name.starts_with('n');
    const bool fails =
        name == kSentinel ? sentinel_failed : is_target && failed[static_cast<std::size_t>(std::stoi(name.substr(1)))];
    if (judged) judged(name, !fails);
    return fails ? 1 : 0;
  };
  start();
}

std::string FleetWorld::wait_for(std::string_view program) {
  for (int i = 0; i < 18'000 && (taken >= execs.size() || last_program() != program); ++i) advance(milliseconds{100});
  if (taken >= execs.size() || last_program() != program) return {};
  taken = execs.size();
  handle(event::ActionStarted{.action = execs.back().action, .pid = 100, .start_ticks = 1});
  return execs.back().command.arguments.at(1);
}

ActionId FleetWorld::wait_for_request(std::string_view method, std::string_view end) {
  const auto is_there = [&] {
    return requests_taken < requests.size() && requests.back().method == method && requests.back().shown.ends_with(end);
  };
  for (int i = 0; i < 18'000 && !is_there(); ++i) advance(milliseconds{100});
  if (!is_there()) return {};
  requests_taken = requests.size();
  return requests.back().request;
}

void FleetWorld::answer_request(std::uint16_t status, std::vector<std::optional<std::string>> values,
                                std::vector<std::optional<std::string>> kept) {
  handle(event::Answered{.request = requests.back().request,
                         .status = status,
                         .elapsed = milliseconds{120},
                         .values = std::move(values),
                         .saved = std::move(kept)});
}

void FleetWorld::fail_request(event::Answered::Kind kind, const std::string& why) {
  handle(event::Answered{.request = requests.back().request, .kind = kind, .why = why});
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
