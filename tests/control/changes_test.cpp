// SPDX-License-Identifier: MIT
// What a reload does, in words.
#include <catch2/catch.hpp>

#include "control/changes.hpp"
#include "control/daemon_world.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/workflow.hpp"

namespace changes_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;

namespace {

std::shared_ptr<ServiceBlock> placed(std::shared_ptr<ServiceBlock> block, std::uint32_t line) {
  block->place = {.file = 0, .column = 1, .line = line};
  return block;
}

Rule alerting(std::int64_t status) {
  Rule rule = status_rule(Comparison::NotEqual, status);
  rule->text = "if status != " + std::to_string(status) + " then alert";
  return rule;
}

ChangesView changes(RuleSet before, RuleSet after) {
  const auto graph = make_graph(std::move(before));
  return view_changes(*graph, *plan_swap(*graph, std::move(after)));
}

}  // namespace

TEST_CASE("a reload tells which services come, go, change and stay, and which rules keep what they counted",
          "[control]") {
  const ChangesView view =
      changes(rule_set({placed(service("web", {alerting(0), alerting(1)}), 1), placed(service("old", {}), 5),
                        placed(service("same", {alerting(0)}), 9)}),
              rule_set({placed(service("web", {alerting(0), alerting(2)}), 2), placed(service("new", {}), 6),
                        placed(service("same", {alerting(0)}), 10)}));
  CHECK(view.kept == 1);  // it has only moved
  CHECK(changes_text(view) ==
        "added    new (test.rules:6)\n"
        "removed  old (test.rules:5)\n"
        "changed  web (test.rules:2)\n"
        "           keeps        if status != 0 then alert\n"
        "           starts over  if status != 2 then alert\n"
        "           is gone      if status != 1 then alert\n"
        "1 added, 1 removed, 1 changed, 1 kept");
}

TEST_CASE("where only the program or the settings change, that is said", "[control]") {
  auto before = placed(service("web", {alerting(0)}), 1);
  auto after = placed(service("web", {alerting(0)}), 1);
  after->program->command.arguments = {"/bin/other"};
  after->key = hash128("another");
  RuleSet next = rule_set({after}, seconds{5});
  CHECK(changes_text(changes(rule_set({before}), std::move(next))) ==
        "changed  web (test.rules:1): its rules keep what they have counted\n"
        "changed settings: set daemon\n"
        "0 added, 0 removed, 1 changed, 0 kept");
  CHECK(changes_text(changes(rule_set({before}), rule_set({before}))) == "nothing has changed");
  RuleSet healing = rule_set({before});
  healing.workflows.push_back(std::make_shared<const engine::Workflow>());
  CHECK(changes_text(changes(rule_set({before}), std::move(healing))) ==
        "the workflows have changed: a healing that is under way keeps its original workflow\n"
        "0 added, 0 removed, 0 changed, 1 kept");
}

TEST_CASE("a reload names each statement of the settings that has changed", "[control]") {
  RuleSet next = rule_set({});
  next.settings.mail.recipients.push_back({.address = "ops@example.org"});
  next.settings.healing.only_while = {"gateway"};
  next.settings.dry_run = true;
  const ChangesView view = changes(rule_set({}), std::move(next));
  CHECK(view.changed_settings == std::vector<std::string>{"set alert", "set healing only while", "set dry run"});
}

TEST_CASE("a reload says that a foreground process keeps its former program until it is restarted", "[control]") {
  const auto block = [](const char* program) {
    auto made = placed(service("web", {}), 1);
    made->process->foreground = engine::ForegroundSpec{.command = {.arguments = {program}}, .stop = {}};
    made->key = hash128(program);
    return made;
  };
  CHECK(changes_text(changes(rule_set({block("/bin/old")}), rule_set({block("/bin/new")}))) ==
        "changed  web (test.rules:1)\n"
        "           a process that runs keeps its former program until `healerctl restart web`\n"
        "0 added, 0 removed, 1 changed, 0 kept");
}

}  // namespace changes_test
