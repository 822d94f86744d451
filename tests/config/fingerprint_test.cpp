// SPDX-License-Identifier: MIT
#include "config/compile/fingerprint.hpp"
#include "engine/rules/service.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <set>

namespace fingerprint_test {

using namespace healer;
using namespace healer::config;
using namespace healer::engine;

namespace {

ServiceBlock block() {
  ServiceBlock result;
  result.name = "x";
  result.program->command.arguments = {"/bin/a", "b"};
  result.program->patterns = {"re"};
  result.groups = {"g"};
  *result.recipients = {{.address = "a@b", .format = {}}};
  Rule rule;
  rule->condition = RuleCondition{{Compare{}}};
  rule->text = "if status != 0 then alert";
  result.rules = {rule};
  return result;
}

ForegroundSpec foreground() { return {.command = {}, .stop = {{}}}; }

}  // namespace

TEST_CASE("every field of a block but its place is in the fingerprint", "[fingerprint]") {
  const std::vector<std::function<void(ServiceBlock&)>> changes{
      [](ServiceBlock&) {},
      [](ServiceBlock& b) { b.name = "y"; },
      [](ServiceBlock& b) { b.program->command.arguments = {"/bin/a b"}; },
      [](ServiceBlock& b) {
        b.program->command.arguments = {"/bin/ab", ""};
      },
      [](ServiceBlock& b) { b.program->command.identity.edit().uid = 0; },
      [](ServiceBlock& b) { b.program->command.identity.edit().gid = 0; },
      [](ServiceBlock& b) { b.program->command.identity.edit().user = "u"; },
      [](ServiceBlock& b) { b.program->command.identity.edit().home = "u"; },
      [](ServiceBlock& b) { b.program->command.identity.edit().group = "u"; },
      [](ServiceBlock& b) { b.program->command.timeout = seconds{1}; },
      [](ServiceBlock& b) {
        b.program->patterns = {"r", "e"};
      },
      [](ServiceBlock& b) { b.program->output_limit = 1; },
      [](ServiceBlock& b) { b.kind = kind_named("process"); },
      [](ServiceBlock& b) { b.process->pid_file = "p"; },
      [](ServiceBlock& b) { b.process->pattern = "p"; },
      [](ServiceBlock& b) { b.process->foreground = foreground(); },
      [](ServiceBlock& b) { (b.process->foreground = foreground())->command.arguments = {"/f"}; },
      [](ServiceBlock& b) { (b.process->foreground = foreground())->stop[0].number = 2; },
      [](ServiceBlock& b) { (b.process->foreground = foreground())->stop[0].within = seconds{2}; },
      [](ServiceBlock& b) { (b.process->foreground = foreground())->stop.emplace_back(); },
      [](ServiceBlock& b) { (b.process->foreground = foreground())->ready_after = seconds{2}; },
      [](ServiceBlock& b) { (b.process->foreground = foreground())->by_notice = true; },
      [](ServiceBlock& b) { b.programs.edit().start.emplace(); },
      [](ServiceBlock& b) { b.programs.edit().start = Command{.arguments = {"/s"}, .identity = {}}; },
      [](ServiceBlock& b) { b.programs.edit().stop.emplace(); },
      [](ServiceBlock& b) { b.programs.edit().restart.emplace(); },
      [](ServiceBlock& b) { b.depends = {"d"}; },
      [](ServiceBlock& b) { (*b.recipients)[0].listed = true; },
      [](ServiceBlock& b) { b.schedule->kind = Schedule::Kind::NotCron; },
      [](ServiceBlock& b) { b.schedule->cycles = 2; },
      [](ServiceBlock& b) { b.schedule->interval = seconds{2}; },
      [](ServiceBlock& b) { b.schedule->cron.minutes = 1; },
      [](ServiceBlock& b) { b.schedule->cron.hours = 1; },
      [](ServiceBlock& b) { b.schedule->cron.month_days = 1; },
      [](ServiceBlock& b) { b.schedule->cron.months = 1; },
      [](ServiceBlock& b) { b.schedule->cron.weekdays = 1; },
      [](ServiceBlock& b) { b.schedule->text = "t"; },
      [](ServiceBlock& b) { b.groups = {}; },
      [](ServiceBlock& b) { b.on_reboot = ServiceBlock::OnReboot::LastState; },
      [](ServiceBlock& b) { b.activity = ServiceBlock::Activity::Passive; },
      [](ServiceBlock& b) { b.recipients = {}; },
      [](ServiceBlock& b) { (*b.recipients)[0].address = "c@d"; },
      [](ServiceBlock& b) { (*b.recipients)[0].events.reset(3); },
      [](ServiceBlock& b) { (*b.recipients)[0].reminder = 3; },
      [](ServiceBlock& b) { (*b.recipients)[0].digest = true; },
      [](ServiceBlock& b) { (*b.recipients)[0].format.from = ""; },
      [](ServiceBlock& b) { (*b.recipients)[0].format.reply_to = ""; },
      [](ServiceBlock& b) { (*b.recipients)[0].format.subject = ""; },
      [](ServiceBlock& b) { (*b.recipients)[0].format.message = ""; },
      [](ServiceBlock& b) { b.rules.push_back(b.rules[0]); },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Compare{Metric::Status, Comparison::Less, 0};
      },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Compare{Metric::Status, Comparison::NotEqual, 1};
      },
      [](ServiceBlock& b) { b.rules[0]->condition->tests[0] = Changed{Attribute::Status}; },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Matches{0, false};
      },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Matches{0, true};
      },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Matches{1, false};
      },
      [](ServiceBlock& b) { b.rules[0]->condition->tests[0] = Present{}; },
      [](ServiceBlock& b) { b.rules[0]->condition->tests[0] = Linked{}; },
      [](ServiceBlock& b) { b.rules[0]->condition->tests[0] = Linked{true}; },
      [](ServiceBlock& b) { b.rules[0]->condition->tests[0] = Total{}; },
      [](ServiceBlock& b) { b.rules[0]->condition->tests[0] = Total{.span = hours{1}}; },
      [](ServiceBlock& b) { b.kind = kind_named("network"); },
      [](ServiceBlock& b) {
        b.kind = kind_named("network");
        b.other.edit().interface.name = "a";
      },
      [](ServiceBlock& b) {
        b.kind = kind_named("network");
        b.other.edit().interface.address = "a";
      },
      [](ServiceBlock& b) { b.rules[0]->condition->tests[0] = Present{true}; },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Compare{Metric::Cpu, Comparison::Greater};
      },
      [](ServiceBlock& b) { b.rules[0]->condition->tests[0] = Compare{.what = Metric::Swap}; },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Compare{Metric::Cpu, Comparison::Less};
      },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Compare{Metric::Cpu, Comparison::Greater, 0.5};
      },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Compare{Metric::Cpu, Comparison::Greater, 0.25};
      },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Differs{Attribute::Uid, 0};
      },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Differs{Attribute::Gid, 0};
      },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Differs{Attribute::Uid, 1};
      },
      [](ServiceBlock& b) { b.rules[0]->condition->tests[0] = Changed{Attribute::Pid}; },
      [](ServiceBlock& b) { b.rules[0]->condition->tests[0] = Changed{Attribute::Parent}; },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Differs{Attribute::Security, std::string()};
      },
      [](ServiceBlock& b) {
        b.rules[0]->condition->tests[0] = Differs{Attribute::Security, std::string("a")};
      },
      [](ServiceBlock& b) { b.rules[0]->condition->tests[0] = Restarts{}; },
      [](ServiceBlock& b) {
        b.rules[0]->condition->postfix = {Op::Leaf, Op::Not};
      },
      [](ServiceBlock& b) { b.rules[0]->tolerance.count = 2; },
      [](ServiceBlock& b) { b.rules[0]->tolerance.window = 2; },
      [](ServiceBlock& b) { b.rules[0]->tolerance.held = seconds{2}; },
      [](ServiceBlock& b) { b.rules[0]->action.kind = ActionKind::Exec; },
      [](ServiceBlock& b) { b.rules[0]->action.command->arguments = {"x"}; },
      [](ServiceBlock& b) { b.rules[0]->action.repeat = 2; },
      [](ServiceBlock& b) { b.rules[0]->action.overlapping = true; },
      [](ServiceBlock& b) { b.rules[0]->recovery->tolerance.count = 2; },
      [](ServiceBlock& b) { b.rules[0]->recovery->action.implied = false; },
      [](ServiceBlock& b) { b.rules[0]->mode = Mode::EachMatch; },
      [](ServiceBlock& b) { b.rules[0]->event = EventKind::Content; },
      [](ServiceBlock& b) { b.rules[0].key.low = 1; },
      [](ServiceBlock& b) { b.rules[0]->dormant = true; },
      [](ServiceBlock& b) { b.rules[0]->text = "other"; },
  };
  std::set<Hash128> seen;
  for (const auto& change : changes) {
    ServiceBlock changed = block();
    change(changed);
    CHECK(seen.insert(fingerprint(changed)).second);
  }

  ServiceBlock moved = block();
  moved.place.line = 7;
  moved.rules[0].place.line = 9;
  CHECK(fingerprint(moved) == fingerprint(block()));
}

TEST_CASE("the key of a rule is the same on every machine and in every version", "[fingerprint]") {
  CHECK(to_string(rule_key("web", "if status != 0 then alert", 0)) == "83907f83ff3f84be5eb4de83966fdcbe");
  CHECK(rule_key("WEB", "if status != 0 then alert", 0) == rule_key("web", "if status != 0 then alert", 0));
  CHECK(rule_key("web", "if status != 0 then alert", 1) != rule_key("web", "if status != 0 then alert", 0));
  CHECK(rule_key("web2", "if status != 0 then alert", 0) != rule_key("web", "if status != 0 then alert", 0));
}

}  // namespace fingerprint_test
