// SPDX-License-Identifier: MIT
// What a script expects of its simulation.
#include <spdlog/fmt/fmt.h>
#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "simulation/simulator.hpp"
#include "support/process_world.hpp"

namespace expectation_test {

using namespace healer;
using namespace healer::test;

namespace {

/// "web" heals at the third failed run; "shop" is a process that is started again, and given up after two restarts.
RuleSet rules() {
  auto web = service("web", {status_rule(Comparison::NotEqual, 0, {3, 3, Duration{0}})});
  *web->recipients = {{.address = "ops@example.org"}};
  return rule_set({web, process("shop", {missing_rule(), restarts_rule(2, 5)})}, seconds{30});
}

Timeline play(const std::string& text) {
  const RuleSet set = rules();
  const ScriptReading reading = read_script(text, set);
  for (const ScriptError& error : reading.errors) UNSCOPED_INFO(format(error, "script", text));
  REQUIRE(reading.errors.empty());
  return simulate(set, reading.script);
}

/// Fails at its third run, and is well again at the sixth.
const std::string kWeb = "web: 1 1 1 1 1 0\n";

/// What is not met, a line each.
std::string unmet(const std::string& expectations, const std::string& script = kWeb) {
  std::string all;
  for (const ScriptError& error : play(script + expectations).unmet)
    all += fmt::format("{}:{} {}\n", error.line, error.column, error.message);
  return all;
}

std::string complaint(const std::string& text) {
  const RuleSet set = rules();
  std::string all;
  for (const ScriptError& error : read_script(text, set).errors) all += format(error, "s", text);
  return all;
}

}  // namespace

TEST_CASE("what comes as it was expected is met", "[engine][script]") {
  CHECK(unmet("expect fired web exec at run 3\n"
              "expect fired web at run 3\n"
              "expect fired web by 1 minute\n"
              "expect fired web alert 2 times\n"
              "expect fired web exec 1 time\n"
              "expect not fired web exec at run 2\n"
              "expect not fired web exec by 00:00:59\n"
              "expect not fired web restart\n"
              "expect recovered web at run 6\n"
              "expect not recovered web at run 5\n"
              "expect web failing at 30 seconds\n"
              "expect web failed at 1 minute\n"
              "expect not web running at 2 minutes\n"
              "expect web running\n")
            .empty());
}

TEST_CASE("what does not come is told with its place, and what came instead", "[engine][script]") {
  CHECK(unmet("expect fired web exec at run 4\n"
              "  expect not fired web alert\n"
              "expect fired web restart\n"
              "expect recovered web by 2 minutes\n"
              "expect fired web exec 2 times\n"
              "expect web running at 1 minute\n"
              "expect web failed\n"
              "expect web failed at 1 hour\n") ==
        "2:1 expected web to fire exec at run 4: it happened at run 3 (00:01:00)\n"
        "3:3 expected web not to fire alert: it happened at run 3 (00:01:00), run 6 (00:02:30)\n"
        "4:1 expected web to fire restart: it never happened\n"
        "5:1 expected web to recover by 00:02:00: it happened at run 6 (00:02:30)\n"
        "6:1 expected web to fire exec 2 times: it happened at run 3 (00:01:00)\n"
        "7:1 expected web to be running at 00:01:00: it is failed\n"
        "8:1 expected web to be failed: it is running\n"
        "9:1 expected web to be failed at 01:00:00: the simulation ended earlier, at 00:02:30\n");
}

TEST_CASE("starts, and that a service was given up, can be expected", "[engine][script]") {
  const std::string script = "at 5 minutes shop dies\nat 6 minutes shop dies\nrun for 10 minutes\n";
  CHECK(unmet("expect fired shop restart 2 times\n"
              "expect fired shop unmonitor\n"
              "expect not fired shop exec\n"  // its start program is no exec of a rule
              "expect shop unmonitored\n",
              script)
            .empty());
  const Timeline timeline = play(script);
  std::string programs;
  for (const TimelineEntry& entry : timeline.entries)
    if (entry.kind == "exec") programs += entry.program + ": " + entry.text + "\n";
  CHECK(programs == "start: /start shop\nstart: /start shop\n");
}

TEST_CASE("what a line of expectation must say is told", "[engine][script]") {
  CHECK(complaint("expect\n") ==
        "s:1:7: error: the name of a service is missing\n  expect\n        ^\n  note: write expect fired NAME exec at "
        "run 3, "
        "or expect NAME failed at 5 minutes\n");
  CHECK(complaint("expect web faild\n") ==
        "s:1:12: error: the state of the service is missing\n  expect web faild\n             ^\n  note: did you mean "
        "'failed'?\n");
  CHECK(
      complaint("expect fired wbe exec\n") ==
      "s:1:14: error: the rules have no service 'wbe'\n  expect fired wbe exec\n               ^\n  note: did you mean "
      "'web'?\n");
  CHECK(complaint("expect fired web exec at run 3 soon\n") ==
        "s:1:32: error: unexpected 'soon'\n  expect fired web exec at run 3 soon\n" + std::string(33, ' ') + "^\n");
}

}  // namespace expectation_test
