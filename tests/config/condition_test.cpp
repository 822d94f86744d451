// SPDX-License-Identifier: MIT
// `and`, `or`, `not` and parentheses in conditions, and tests of JSON.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/check.hpp"
#include "config/compile/fingerprint.hpp"
#include "config/load.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/fake_environment.hpp"

namespace condition_test {

using namespace healer;
using namespace healer::config;

namespace {

const std::string kMain = "/etc/main";
const std::string kProgram = "check program x with path \"/bin/true\"\n";
const std::string kSystem = "check system x\n";

LoadResult load_text(const std::string& text, const LoadOptions& options = {}) {
  test::FakeEnvironment machine;
  machine.files[kMain] = text;
  return load(kMain, options, machine);
}

std::string messages_of(const LoadResult& result) { return format_all(result.diagnostics, result.sources, false); }

engine::Rule rule(const std::string& header, const std::string& condition) {
  const LoadResult result = load_text(header + "if " + condition + " then alert\n");
  INFO(condition << "\n" << messages_of(result));
  REQUIRE(result.ok());
  return result.rules->services.at(0)->rules.at(0);
}

/// A condition of statuses as healer writes it, which reads back as itself.
std::string written(const std::string& condition, const std::string& header = kProgram) {
  const engine::Rule one = rule(header, condition);
  constexpr std::size_t kIf = 3;
  const std::string text = one->text.substr(kIf, one->text.find(" then ") - kIf);
  const engine::Rule again = rule(header, text);
  CHECK(again->text == one->text);
  CHECK(again->condition->postfix == one->condition->postfix);
  CHECK(again.identity().condition == one.identity().condition);
  return text;
}

/// For which statuses from 0 to 9 a condition holds.
std::string holding(const std::string& condition) {
  const engine::Rule one = rule(kProgram, condition);
  const engine::Memory memory;
  std::string statuses;
  for (int status = 0; status < 10; ++status) {
    const engine::Evidence run{.status = status, .output = std::make_shared<const std::string>()};
    if (engine::holds(*one->condition, engine::Seen{run, memory}) == true) statuses += std::to_string(status);
  }
  return statuses;
}

std::string first_line(const LoadResult& result) {
  const std::string all = messages_of(result);
  return all.substr(0, all.find('\n'));
}

std::string trouble(const std::string& condition, const std::string& header = kProgram) {
  return messages_of(load_text(header + "if " + condition + " then alert\n"));
}

}  // namespace

TEST_CASE("parentheses group, 'and' binds tighter than 'or', 'not' tighter than both", "[condition]") {
  CHECK(holding("status = 1 or status > 2 and status < 5") == "134");
  CHECK(holding("(status = 1 or status > 2) and status < 5") == "134");
  CHECK(holding("(status = 6 or status > 2) and status < 5") == "34");
  CHECK(holding("status = 6 or status > 2 and status < 5") == "346");
  CHECK(holding("status < 3 and (status = 1 or status = 2 or status = 7)") == "12");
  CHECK(holding("not status = 1 and status < 4") == "023");
  CHECK(holding("not (status = 1 or status > 3)") == "023");
  CHECK(holding("not (status > 1 and status < 8)") == "0189");
  CHECK(holding("not not status = 4") == "4");
  CHECK(holding("not (not (status = 4) or status = 5)") == "4");
  CHECK(holding("status = 9 or not (status > 1 and not (status = 5 or (status > 6 and status < 9)))") == "015789");
  CHECK(holding("(status > 2) (status < 5)") == "34");  // side by side is `and`, as everywhere
  CHECK(holding("((status = 1) or ((status = 2)))") == "12");
}

TEST_CASE("a condition is written with the parentheses that it needs", "[condition]") {
  CHECK(written("(status = 1)") == "status = 1");
  CHECK(written("(status = 1 and status = 2) or status = 3") == "status = 1 and status = 2 or status = 3");
  CHECK(written("(status = 1 or status = 2) and status = 3") == "(status = 1 or status = 2) and status = 3");
  CHECK(written("status = 1 or (status = 2 or status = 3)") == "status = 1 or status = 2 or status = 3");
  CHECK(written("status = 1 and (status = 2 and status = 3)") == "status = 1 and status = 2 and status = 3");
  CHECK(written("not (status = 1)") == "not status = 1");
  CHECK(written("not (status = 1 and (status = 2))") == "not (status = 1 and status = 2)");
  CHECK(written("not (not status = 1)") == "not not status = 1");
  CHECK(written("((status = 1) # a comment with )\n or (status = 2))") == "status = 1 or status = 2");
  CHECK(written("(cpu (user) > 5% or loadavg (1min) > 3) and memory > 1%", kSystem) ==
        "(cpu(user) > 5% or loadavg(1min) > 3) and memory > 1%");
}

TEST_CASE("a parenthesis within a test holds all of it", "[condition]") {
  CHECK(written("(status = 1 or status (= 2) and status = 3)") == "status = 1 or status = 2 and status = 3");
  CHECK(written("(status = 1 or status = 2 for) 3 cycles").starts_with("status = 1 or status = 2"));
  CHECK(written("status = 3 and status (= 1 or status = 2)") == "status = 3 and (status = 1 or status = 2)");
  CHECK(written("status = 1 () or status = 2") == "status = 1 or status = 2");
}

TEST_CASE("a rule without parentheses is the rule that it was", "[condition]") {
  // By these a state that was saved before finds its rules again.
  const engine::Rule one = rule(kSystem, "cpu > 50% or memory > 5% and swap > 3%");
  const std::string text = "if cpu > 50% or memory > 5% and swap > 3% then alert";
  CHECK(one->text == text);
  CHECK(one.key == rule_key("x", text, 0));
  CHECK(to_string(one.key) == "92642141223bab2a3b79d5629603604d");
  CHECK(to_string(one.identity().condition) == "a0fdf16871f56fa2a2befda66926a920");
  // Those in parentheses that need none are the same rule; others are another.
  CHECK(rule(kSystem, "(cpu > 50%) or (memory > 5% and (swap > 3%))").key == one.key);
  const engine::Rule other = rule(kSystem, "(cpu > 50% or memory > 5%) and swap > 3%");
  CHECK(other.key != one.key);
  CHECK(other.identity().condition != one.identity().condition);
}

TEST_CASE("what Monit calls 'not exist' and 'not match' stays that", "[condition]") {
  const std::string process = "check process x with pidfile /tmp/x\n";
  for (const char* text : {"not exist", "not (exist)", "(not exist)", "(not (exist))", "does not exist"}) {
    const engine::Rule one = rule(process, text);
    INFO(text);
    CHECK(one->text == "if does not exist then alert");
    CHECK(one->condition->postfix.empty());
    CHECK(load_text("set daemon 5\n" + process + "if " + text + " then alert\n", {.monit_dialect = MonitVersion::V5_33})
              .ok());
  }
  CHECK(written("not (exist and cpu > 5%)", process) == "not (exist and cpu > 5%)");
  const std::string file = "check file x with path /tmp/x\n";
  CHECK(rule(file, "not match \"a\"")->text == "if content != \"a\" then alert");
  CHECK(rule(file, "not (match \"a\")")->text == "if content != \"a\" then alert");
  CHECK(rule(file, "not (match \"a\" or match \"b\")")->text ==
        "if not (content = \"a\" or content = \"b\") then alert");
}

TEST_CASE("Conditions that Monit accepts are accepted, and others are reported", "[condition]") {
  const auto monit = [](const std::string& condition) {
    return first_line(load_text("set daemon 5\n" + kSystem + "if " + condition + " then alert\n",
                                {.monit_dialect = MonitVersion::V5_33}));
  };
  CHECK(monit("(cpu > 5% or memory > 6%) and swap > 3%").find("error") == std::string::npos);
  CHECK(monit("not cpu > 5%") == "/etc/main:3:4: error: only healer understands 'not' before a test");
  CHECK(monit("not (cpu > 5% or memory > 6%)") == "/etc/main:3:4: error: only healer understands 'not' before a test");
}

TEST_CASE("a parenthesis without its other half is an error, and a warning in what Monit takes", "[condition]") {
  CHECK(trouble("(not status = 1 or status = 2") ==
        "/etc/main:2:4: error: this '(' is not closed\n"
        "  if (not status = 1 or status = 2 then alert\n"
        "     ^\n"
        "  note: write ')' where it should end\n");
  CHECK(trouble("not status = 1) or status = 2") ==
        "/etc/main:2:18: error: this ')' closes nothing\n"
        "  if not status = 1) or status = 2 then alert\n"
        "                   ^\n"
        "  note: remove it, or write '(' where it should begin\n");
  CHECK(trouble("(status = 1") ==
        "/etc/main:2:4: warning: this '(' is not closed: no parenthesis of this condition counts\n"
        "  if (status = 1 then alert\n"
        "     ^\n"
        "  note: write ')' where it should end\n");
  CHECK(load_text("set daemon 5\n" + kSystem + "if (cpu > 5% and memory > 6% then alert\n",
                  {.monit_dialect = MonitVersion::V5_33})
            .ok());
}

TEST_CASE("'not' without a test is told of", "[condition]") {
  CHECK(trouble("status = 1 and not") ==
        "/etc/main:2:23: error: unexpected 'then', expected a test such as 'status != 0' or 'cpu > 80%'\n"
        "  if status = 1 and not then alert\n"
        "                        ^~~~\n"
        "  note: write behind 'not' what is not to hold, as in: not status = 0\n");
  CHECK(trouble("(status = 1 and not) status = 2")
            .starts_with("/etc/main:2:20: error: this 'not' has no test within its parentheses\n"));
}

TEST_CASE("conditions are nested so deep and no deeper", "[condition]") {
  const auto nested = [](std::size_t depth) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += i % 2 == 0 ? "status = 1 and (" : "status = 2 or (";
    text += "status = 3";
    return text + std::string(depth, ')');
  };
  CHECK(load_text(kProgram + "if " + nested(engine::kDeepestCondition - 1) + " then alert\n").ok());
  CHECK(first_line(load_text(kProgram + "if " + nested(engine::kDeepestCondition) + " then alert\n")) ==
        "/etc/main:2:4: error: the parentheses are nested more than 32 deep");
  // What is nested without need is not deep.
  CHECK(written(std::string(100, '(') + "status = 1" + std::string(100, ')')) == "status = 1");
}

TEST_CASE("tests of JSON are queries of what a program writes", "[condition]") {
  const engine::Rule one = rule(kProgram, "json '.worst' > 90 and json '.name' = \"a b\" for 2 cycles");
  CHECK(one->text == "if json \".worst\" > 90 and json \".name\" = \"a b\" for 2 cycles then alert");
  CHECK(one->mode == engine::Mode::Latched);
  CHECK(one->event == engine::EventKind::Content);
  CHECK(std::get<engine::Queried>(one->condition->tests.at(0)).test ==
        engine::JsonTest{.filter = ".worst", .comparison = engine::Comparison::Greater, .value = "90"});
  CHECK(std::get<engine::Queried>(one->condition->tests.at(1)).test ==
        engine::JsonTest{.filter = ".name", .value = "a b", .quoted = true});
  const LoadResult result =
      load_text(kProgram + "if json '.a' > 1 then alert\nif json '.b' = true or json '.a' < 0 then alert\n");
  REQUIRE(result.ok());
  CHECK(result.rules->services[0]->program->filters == std::vector<std::string>{".a", ".b"});
  CHECK(written("not (json '.a' = null or status != 0)") == "not (json \".a\" = null or status != 0)");
  CHECK(rule(kProgram, "json '.a' = 1 for 2 cycles").key != rule(kProgram, "json '.a' = \"1\" for 2 cycles").key);
}

TEST_CASE("a filter sees the names of its rows, and no text is put into it", "[condition]") {
  const LoadResult result = load_text(
      "for each NODE in \"n1\", \"n2\" {\n check program p_${NODE} with path \"/bin/true\"\n"
      "  if json '.[$NODE].load' > 4 then alert\n}\n");
  INFO(messages_of(result));
  REQUIRE(result.ok());
  CHECK(result.rules->services.at(1)->program->filters == std::vector<std::string>{"\"n2\" as $NODE | .[$NODE].load"});
  CHECK(first_line(load_text("for each NODE in \"n1\" {\n check program p_${NODE} with path \"/bin/true\"\n"
                             "  if json '.${NODE}.load' > 4 then alert\n}\n")) ==
        "/etc/main:3:11: error: a jq filter takes no '${...}'");
}

TEST_CASE("a filter that is none, or asks for more than its text, is refused", "[condition]") {
  CHECK(first_line(load_text(kProgram + "if json '.a |' > 1 then alert\n"))
            .starts_with("/etc/main:2:9: error: '.a |' is not a valid jq filter: "));
  for (const char* filter : {"env", "$ENV.HOME", "input", "import \"a\" as a; .", "include \"a\"; .", "halt"}) {
    INFO(filter);
    CHECK_FALSE(load_text(kProgram + "if json '" + filter + "' = 1 then alert\n").ok());
  }
  CHECK(first_line(load_text(kProgram + "if json '.a' > abc then alert\n")) ==
        "/etc/main:2:16: error: 'abc' is not a JSON value");
  CHECK(first_line(load_text("check system x\nif json '.a' > 1 then alert\n")) ==
        "/etc/main:2:4: error: 'check system' has no test of JSON");
  std::string many = kProgram;
  for (std::size_t i = 0; i <= engine::kMaxFilters; ++i)
    many += "if json '.a" + std::to_string(i) + "' > 1 then alert\n";
  CHECK(first_line(load_text(many)) ==
        "/etc/main:1:1: error: 'x' has 17 different filters of jq: at most 16 are possible");
  CHECK(first_line(load_text("set daemon 5\n" + kProgram + "if json '.a' > 1 then alert\n",
                             {.monit_dialect = MonitVersion::V5_33})) ==
        "/etc/main:3:4: error: only healer understands a test of JSON");
}

}  // namespace condition_test
