// SPDX-License-Identifier: MIT
#include "actions/environment.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

namespace environment_test {

using namespace healer;
using namespace healer::actions;

namespace {

using Entries = std::vector<std::string>;

std::string value(const Entries& environment, const std::string& name) {
  std::string found = "(unset)";
  for (const std::string& entry : environment)
    if (entry.starts_with(name + "=")) {
      REQUIRE(found == "(unset)");  // never twice
      found = entry.substr(name.size() + 1);
    }
  return found;
}

engine::effect::Cause cause() {
  engine::effect::Cause result;
  result.service = "ping_5";
  result.event_text = "Status failed";
  result.action_text = "exec";
  result.description = "status failed (1) -- no answer\nfrom 10.0.0.5";
  result.when = WallTime{seconds{1'795'234'764}};
  result.program_status = 1;
  return result;
}

}  // namespace

TEST_CASE("A check program gets a clean base and the name of its service") {
  BaseEnvironment base;
  base.home = "/root";
  base.host = "vm";
  CHECK(check_environment(base, {}, "ping_5") ==
        Entries{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8",
                "MONIT_SERVICE=ping_5", "HEALER_SERVICE=ping_5"});
}

TEST_CASE("A program of another user gets that user's home") {
  BaseEnvironment base;
  base.home = "/root";
  engine::Identity nobody;
  nobody.uid = 65534;
  nobody.home = "/nonexistent";
  CHECK(value(check_environment(base, nobody, "s"), "HOME") == "/nonexistent");
}

TEST_CASE(
    "A foreground process gets what a check program gets, the host, where to say that it is ready, and its mark") {
  BaseEnvironment base;
  base.host = "vm";
  base.state = "state";
  base.written = {{"NOTIFY_SOCKET", "/another"}, {"MODE", "fast"}};
  CHECK(foreground_environment(base, {}, "web", "/run/healer/notify", engine::ActionId(7)) ==
        Entries{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LANG=C.UTF-8",
                "NOTIFY_SOCKET=/run/healer/notify", "MODE=fast", "MONIT_SERVICE=web", "HEALER_SERVICE=web",
                "MONIT_HOST=vm", "HEALER_HOST=vm", "HEALER_ACTION=state:7"});
  base.written.clear();
  CHECK(value(foreground_environment(base, {}, "web", "", engine::ActionId(7)), "NOTIFY_SOCKET") == "(unset)");
}

TEST_CASE("The program of an action learns the cause, under both names") {
  BaseEnvironment base;
  base.host = "vm";
  const Entries environment = action_environment(base, {}, cause(), utc_civil);
  for (const std::string prefix : {"MONIT_", "HEALER_"}) {
    CHECK(value(environment, prefix + "SERVICE") == "ping_5");
    CHECK(value(environment, prefix + "EVENT") == "Status failed");
    CHECK(value(environment, prefix + "DESCRIPTION") == "status failed (1) -- no answer\nfrom 10.0.0.5");
    CHECK(value(environment, prefix + "DATE") == "Sat, 21 Nov 2026 04:19:24");
    CHECK(value(environment, prefix + "HOST") == "vm");
    CHECK(value(environment, prefix + "PROGRAM_STATUS") == "1");
  }
  CHECK(environment.size() == 3 + 12);
}

TEST_CASE("The program of an action learns of the process, under both names") {
  engine::effect::Cause alive = cause();
  alive.program_status.reset();
  alive.process = {.pid = 29853, .memory_kb = 3084, .children = 0, .cpu_percent = 46.8};
  const Entries environment = action_environment({}, {}, alive, utc_civil);
  for (const std::string prefix : {"MONIT_", "HEALER_"}) {
    CHECK(value(environment, prefix + "PROCESS_PID") == "29853");
    CHECK(value(environment, prefix + "PROCESS_MEMORY") == "3084");
    CHECK(value(environment, prefix + "PROCESS_CHILDREN") == "0");
    CHECK(value(environment, prefix + "PROCESS_CPU_PERCENT") == "46.8");
  }
  CHECK(environment.size() == 3 + 18);  // no status of a program
}

TEST_CASE("The program of an action of the system learns of no process and no program, as by Monit 5.33") {
  engine::effect::Cause of_system = cause();
  of_system.program_status.reset();
  for (const bool of_job : {false, true}) {
    const Entries environment = action_environment({}, {}, of_system, utc_civil, of_job);
    CHECK(value(environment, "MONIT_EVENT") == "Status failed");
    CHECK(value(environment, "MONIT_PROGRAM_STATUS") == "(unset)");
    CHECK(value(environment, "HEALER_PROGRAM_STATUS") == "(unset)");
    CHECK(environment.size() == 3 + 10);
  }
}

TEST_CASE("What is not known of a process is not set, but told to the programs that start and stop it") {
  engine::effect::Cause gone = cause();
  gone.program_status.reset();
  gone.process = decltype(gone.process)::value_type{};
  const Entries exec = action_environment({}, {}, gone, utc_civil);
  CHECK(value(exec, "MONIT_PROCESS_MEMORY") == "0");
  CHECK(exec.size() == 3 + 12);
  const Entries start = action_environment({}, {}, gone, utc_civil, true);
  for (const std::string prefix : {"MONIT_", "HEALER_"}) {
    CHECK(value(start, prefix + "PROCESS_PID") == "-1");
    CHECK(value(start, prefix + "PROCESS_MEMORY") == "0");
    CHECK(value(start, prefix + "PROCESS_CHILDREN") == "-1");
    CHECK(value(start, prefix + "PROCESS_CPU_PERCENT") == "-1.0");
  }
  CHECK(start.size() == 3 + 18);
}

TEST_CASE("the programs of actions bear a mark, which what they leave behind inherits") {
  const auto action = engine::ActionId(12);
  const Entries environment = action_environment({.state = "ab"}, {}, cause(), utc_civil, true, action);
  CHECK(value(environment, "HEALER_ACTION") == "ab:12");
  CHECK(std::ranges::find(environment, action_mark("ab", action)) != environment.end());
  CHECK(std::ranges::find(environment, action_mark("b", action)) == environment.end());
  CHECK(value(environment, "MONIT_ACTION") == "(unset)");
}

TEST_CASE("What is written in the rules replaces the base but not what healer says") {
  BaseEnvironment base;
  base.host = "vm";
  base.written = {{"PATH", "/opt/bin"}, {"ANSIBLE_CONFIG", "/etc/a.cfg"}, {"MONIT_SERVICE", "forged"}, {"PATHS", "x"}};
  const Entries environment = action_environment(base, {}, cause(), utc_civil);
  CHECK(value(environment, "PATH") == "/opt/bin");
  CHECK(value(environment, "PATHS") == "x");
  CHECK(value(environment, "ANSIBLE_CONFIG") == "/etc/a.cfg");
  CHECK(value(environment, "MONIT_SERVICE") == "ping_5");
}

TEST_CASE("A description cannot make the environment too long to start a program") {
  engine::effect::Cause big = cause();
  big.description = std::string(10'000'000, 'x');
  const Entries environment = action_environment({}, {}, big, utc_civil);
  CHECK(value(environment, "MONIT_DESCRIPTION").size() == kMaxDescription);
  big.description = std::string("before\0after", 12);
  CHECK(value(action_environment({}, {}, big, utc_civil), "MONIT_DESCRIPTION") == "before");
}

TEST_CASE("The programs of a row are told its values, but never in place of healer's own") {
  engine::Row row;
  row.variables = {{"NODE", "db1"}, {"NODE.ip", "10.0.0.1"}, {"NODE.rack-no", "7"}, {"SERVICE", "x"}};
  Entries environment = check_environment({}, {}, "ping_5");
  add_row(environment, row);
  CHECK(value(environment, "HEALER_NODE") == "db1");
  CHECK(value(environment, "HEALER_NODE_IP") == "10.0.0.1");
  CHECK(value(environment, "HEALER_NODE_RACK_NO") == "7");
  CHECK(value(environment, "HEALER_SERVICE") == "ping_5");
}

}  // namespace environment_test
