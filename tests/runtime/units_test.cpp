// SPDX-License-Identifier: MIT
// Units over a bus of their own, with a systemd that does what the test says (support/mock_systemd).
#include "runtime/units/units.hpp"

#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/judging/evaluate.hpp"
#include "runtime/clock.hpp"
#include "support/paths.hpp"
#include "support/processes.hpp"

namespace units_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::Child;
using healer::test::eventually;
using healer::test::read_file;
using healer::test::run_for;
using healer::test::run_until;
using healer::test::TemporaryDirectory;

namespace {

constexpr std::string_view kUnit = "nginx.service";

bool has_bus() { return std::system("command -v dbus-daemon > /dev/null 2>&1") == 0; }

/// A bus, a systemd on it, and units that are looked at over it.
struct Bench {
  Bench()
      : units(
            loop,
            {.address = address(),
             .call_timeout = Duration{2'000},
             .first_pause = Duration{20},
             .longest_pause = Duration{100}},
            [this](Event event) { take(event); },
            [this](bool is_well, const std::string& text) { reports.push_back((is_well ? "+ " : "- ") + text); }) {}

  [[nodiscard]] std::string path(const std::string& name) const { return (directory.path() / name).string(); }
  [[nodiscard]] std::string address() const { return "unix:path=" + path("bus"); }

  void start_bus() {
    std::filesystem::remove(path("bus"));
    test::write_file(directory.path() / "bus.conf",
                     "<busconfig><type>session</type><listen>" + address() +
                         "</listen><auth>EXTERNAL</auth><policy context='default'><allow send_destination='*'/>"
                         "<allow receive_sender='*'/><allow own='*'/><allow user='*'/></policy></busconfig>");
    bus = std::make_unique<Child>(
        std::vector<std::string>{"dbus-daemon", "--nofork", "--nopidfile", "--config-file=" + path("bus.conf")});
    REQUIRE(eventually([&] { return std::filesystem::exists(path("bus")); }));
  }
  void start_systemd() {
    const std::string command = "exec env DBUS_SYSTEM_BUS_ADDRESS=" + address() + " " + test::build_folder() +
                                "/mock_systemd >> " + path("calls");
    std::filesystem::remove(path("calls"));
    systemd = ::popen(command.c_str(), "we");
    REQUIRE(eventually([&] { return calls().starts_with("ready"); }));
  }
  void start() {
    start_bus();
    start_systemd();
  }
  void tell(const std::string& line) const {
    std::fputs((line + "\n").c_str(), systemd);
    std::fflush(systemd);
  }
  /// Has systemd do something, and waits until it has.
  void say(const std::string& line) {
    const std::string answer = "pong" + std::to_string(++said);
    tell(line + "\nping " + answer);
    REQUIRE(run_until(loop, [&] { return calls().find(answer) != std::string::npos; }));
  }
  void end_systemd() {
    if (systemd != nullptr) ::pclose(std::exchange(systemd, nullptr));
  }
  ~Bench() { end_systemd(); }

  [[nodiscard]] std::string calls() const { return read_file(directory.path() / "calls"); }
  [[nodiscard]] std::size_t count(std::string_view call) const {
    const std::string all = calls();
    std::size_t times = 0;
    for (std::size_t at = 0; (at = all.find(call, at)) != std::string::npos; at += call.size()) ++times;
    return times;
  }

  void take(const Event& event) {
    if (const auto* measured = std::get_if<event::Measured>(&event))
      seen[measured->run.number()] = measured->evidence;
    else if (const auto* died = std::get_if<event::ProcessDied>(&event))
      hints.push_back(died->service.number());
    else if (const auto* ended = std::get_if<event::ActionEnded>(&event))
      ends.insert_or_assign(ended->action.number(), *ended);
    else if (const auto* started = std::get_if<event::ActionStarted>(&event))
      begun.push_back(started->action.number());
    else if (const auto* waits = std::get_if<event::ActionWaits>(&event))
      waiting.push_back(waits->why);
  }

  std::uint64_t ask(const std::string& unit = std::string(kUnit), std::uint32_t service = 1,
                    measure::ReadUnit wanted = {}) {
    units.read({.service = ServiceId{service}, .run = RunId{++last}}, wanted, unit);
    return last;
  }
  const Evidence& see(const std::string& unit = std::string(kUnit), std::uint32_t service = 1,
                      const measure::ReadUnit& wanted = {}) {
    const std::uint64_t run = ask(unit, service, wanted);
    REQUIRE(run_until(loop, [&] { return seen.contains(run); }));
    return *seen.at(run);
  }
  std::string standing(const std::string& unit = std::string(kUnit), std::uint32_t service = 1) {
    const Evidence& found = see(unit, service);
    if (found.answer == Answer::Unknown) return "unknown: " + *found.output;
    return format_value(attribute_of(found, Attribute::UnitStanding).value_or(std::string("nothing")));
  }
  /// How an action ends: "done", or why it has failed.
  std::string end_of(std::uint64_t action) {
    REQUIRE(run_until(loop, [&] { return ends.contains(action); }));
    const event::ActionEnded& end = ends.at(action);
    CHECK((end.status == 0) == end.output.empty());
    return end.status != 0 ? end.output : end.unseen ? "unseen" : "done";
  }
  std::string act(std::uint64_t action, UnitVerb verb, const std::string& unit = std::string(kUnit)) {
    units.start(ActionId{action}, {verb, unit});
    return end_of(action);
  }

  TemporaryDirectory directory;
  std::unique_ptr<Child> bus;
  std::FILE* systemd = nullptr;
  int said = 0;
  Loop loop;
  std::map<std::uint64_t, std::shared_ptr<const Evidence>> seen;
  std::vector<std::uint32_t> hints;
  std::map<std::uint64_t, event::ActionEnded> ends;
  std::vector<std::uint64_t> begun;
  std::vector<std::string> waiting;
  std::vector<std::string> reports;
  std::uint64_t last = 0;
  Units units;
};

std::optional<double> figure(const Evidence& seen, Metric metric) { return value_of(seen, metric); }

}  // namespace

#define NEEDS_BUS()                                \
  if (!has_bus()) {                                \
    WARN("SKIPPED: dbus-daemon is not installed"); \
    return;                                        \
  }

TEST_CASE("A unit tells its state, restarts, memory and tasks", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("unit nginx.service restarts=3 memory=1048576 tasks=5 cpu=1000");
  const Evidence& seen = bench.see();
  CHECK(seen.answer == Answer::Present);
  CHECK(attribute_of(seen, Attribute::UnitState) == Value(std::string("active")));
  CHECK(attribute_of(seen, Attribute::UnitSubstate) == Value(std::string("running")));
  CHECK(attribute_of(seen, Attribute::UnitStanding) == Value(std::string("active (running)")));
  CHECK(figure(seen, Metric::UnitRestarts) == 3);
  CHECK(figure(seen, Metric::MemoryBytes) == 1048576);
  CHECK(figure(seen, Metric::Tasks) == 5);
  CHECK_FALSE(figure(seen, Metric::Cpu));  // a rate takes two looks
  CHECK(bench.count("GetAll") == 1);
  CHECK(bench.reports.empty());
}

TEST_CASE("What is not accounted for is not known", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("unit nginx.service");
  const Evidence& seen = bench.see();
  CHECK_FALSE(figure(seen, Metric::MemoryBytes));
  CHECK_FALSE(figure(seen, Metric::MemoryPercent));
  CHECK_FALSE(figure(seen, Metric::Tasks));
  run_for(bench.loop, UnitReader::kShortestRate);
  CHECK_FALSE(figure(bench.see(), Metric::Cpu));
  CHECK(figure(seen, Metric::UnitRestarts) == 0);
}

TEST_CASE("Processor time is a part of all cores, and begins again with the unit", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("quiet nginx.service cpu=1000000000");
  bench.see();
  run_for(bench.loop, UnitReader::kShortestRate + Duration{100});
  bench.say("quiet nginx.service cpu=1100000000");
  const auto cpu = figure(bench.see(), Metric::Cpu);
  REQUIRE(cpu);
  CHECK(*cpu > 0);
  CHECK(*cpu < 12);
  bench.say("quiet nginx.service cpu=5");
  CHECK_FALSE(figure(bench.see(), Metric::Cpu));
}

TEST_CASE("How a unit stands is told in systemd's words", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("unit nginx.service active=failed sub=failed result=exit-code");
  CHECK(bench.standing() == "failed (exit-code)");
  bench.say("unit nginx.service active=activating sub=auto-restart result=exit-code");
  CHECK(bench.standing() == "activating (auto-restart)");
  CHECK(left_to_systemd(*bench.seen.at(bench.last)) == "systemd restarts it by itself (auto-restart)");
  bench.say("unit nginx.service active=failed sub=failed-before-auto-restart");
  CHECK(bench.standing() == "activating (failed-before-auto-restart)");
  bench.say("unit nginx.service active=reloading sub=reload");
  CHECK(bench.standing() == "active (reloading)");
  bench.say("unit nginx.service load=masked active=inactive sub=dead");
  CHECK(bench.standing() == "inactive (masked)");
  CHECK(bench.standing("none.service", 2) == "failed (no such unit)");
}

TEST_CASE("Restarts within a time are their growth in it", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  const measure::ReadUnit wanted{.spans = {Duration{1'500}, hours{1}}};
  const auto grown = [&](Duration span) {
    return value_of(bench.see(std::string(kUnit), 1, wanted), Total{.what = Metric::UnitRestarts, .span = span});
  };
  bench.say("quiet nginx.service restarts=7");
  CHECK(grown(hours{1}) == 0);  // what was before the first look nobody knows the time of
  bench.say("quiet nginx.service restarts=9");
  CHECK(grown(hours{1}) == 2);
  CHECK(grown(Duration{1'500}) == 2);
  run_for(bench.loop, Duration{1'600});
  CHECK(grown(Duration{1'500}) == 0);
  CHECK(grown(hours{1}) == 2);
  bench.say("quiet nginx.service restarts=1");  // it was started by hand, and has failed once since
  CHECK(grown(hours{1}) == 3);
  CHECK(grown(Duration{1'500}) == 1);
}

TEST_CASE("A change asks for a look at once, also of a unit with another name", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("unit sshd.service id=ssh.service");
  bench.standing("sshd.service", 4);
  bench.hints.clear();
  bench.say("unit sshd.service active=failed sub=failed");
  REQUIRE(run_until(bench.loop, [&] { return !bench.hints.empty(); }));
  CHECK(bench.hints == std::vector<std::uint32_t>{4});
  bench.standing("sshd.service", 4);
  bench.hints.clear();
  bench.say("unit sshd.service active=failed sub=failed");  // nothing new
  bench.say("unit other.service active=failed");            // of no rule
  run_for(bench.loop, UnitReader::kHintPause + Duration{300});
  CHECK(bench.hints.empty());
}

TEST_CASE("Many changes in a row ask for one look a second", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("unit nginx.service");
  bench.see();
  for (int i = 0; i < 50; ++i)
    bench.say(i % 2 == 0 ? "unit nginx.service active=failed sub=failed"
                         : "unit nginx.service active=active sub=running");
  run_for(bench.loop, Duration{500});
  CHECK(!bench.hints.empty());
  CHECK(bench.hints.size() <= 10);
}

TEST_CASE("After systemd has read its files again each unit is looked at", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("unit nginx.service");
  bench.standing("nginx.service", 1);
  bench.standing("none.service", 2);
  bench.say("reload");
  REQUIRE(run_until(bench.loop, [&] { return bench.hints.size() == 2; }));
  CHECK(bench.hints == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("A thousand units are looked at without asking for all at once", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("unit nginx.service");
  bench.see();
  const std::uint64_t first = bench.last;
  for (std::uint32_t service = 2; service <= 1'001; ++service)
    bench.ask("unit-" + std::to_string(service) + ".service", service);
  bench.units.cancel(RunId{first + 500});
  REQUIRE(run_until(bench.loop, [&] { return bench.seen.size() == 1'000; }));
  CHECK_FALSE(bench.seen.contains(first + 500));
  CHECK(bench.count("GetAll") == 1'000);
}

TEST_CASE("Units are started, stopped and restarted by jobs of systemd", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("unit nginx.service active=inactive sub=dead");
  CHECK(bench.act(1, UnitVerb::Start) == "done");
  CHECK(bench.standing() == "active (running)");
  CHECK(bench.act(2, UnitVerb::Restart) == "done");
  CHECK(bench.act(3, UnitVerb::Stop) == "done");
  CHECK(bench.standing() == "inactive (dead)");
  CHECK(bench.begun == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(bench.count("StartUnit nginx.service replace") == 1);
  CHECK(bench.count("RestartUnit nginx.service replace") == 1);
  CHECK(bench.count("StopUnit nginx.service replace") == 1);
}

TEST_CASE("A job that fails tells why in systemd's words", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("quiet nginx.service result=start-limit-hit");
  bench.say("jobs nginx.service failed");
  CHECK(bench.act(1, UnitVerb::Start) == "the job for nginx.service has failed: the unit is failed (start-limit-hit)");
  bench.say("jobs nginx.service dependency");
  CHECK(bench.act(2, UnitVerb::Start) == "a dependency of nginx.service could not be started");
  bench.say("jobs nginx.service timeout");
  CHECK(bench.act(3, UnitVerb::Start) == "the job for nginx.service has timed out");
  bench.say("jobs nginx.service assert");
  CHECK(bench.act(4, UnitVerb::Start) == "the job for nginx.service has ended: assert");
  bench.say("refuse nginx.service Unit nginx.service is masked.");
  CHECK(bench.act(5, UnitVerb::Restart) == "Unit nginx.service is masked.");
  CHECK(bench.act(6, UnitVerb::Start, "none.service") == "Unit none.service not found.");
  CHECK(bench.begun.size() == 4);
}

TEST_CASE("A job that is not wanted any more is cancelled", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("quiet nginx.service active=inactive");
  bench.say("jobs nginx.service hold");
  bench.units.start(ActionId{1}, {UnitVerb::Start, std::string(kUnit)});
  REQUIRE(run_until(bench.loop, [&] { return !bench.begun.empty(); }));
  CHECK(bench.units.end(ActionId{1}));
  CHECK(bench.end_of(1) == "the job for nginx.service was cancelled");
  CHECK_FALSE(bench.units.end(ActionId{1}));
  CHECK(bench.count("Cancel") == 1);
}

TEST_CASE("A job of an earlier daemon is followed to its end", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("quiet nginx.service active=inactive sub=dead");
  bench.say("jobs nginx.service hold");
  bench.units.start(ActionId{1}, {UnitVerb::Start, std::string(kUnit)});
  REQUIRE(run_until(bench.loop, [&] { return !bench.begun.empty(); }));
  {  // another daemon
    Bench next;
    std::vector<std::uint64_t> begun, ended;
    Units units(
        bench.loop, {.address = bench.address()},
        [&](const Event& event) {
          if (const auto* started = std::get_if<event::ActionStarted>(&event))
            begun.push_back(started->action.number());
          if (const auto* end = std::get_if<event::ActionEnded>(&event)) {
            CHECK(end->output.empty());
            ended.push_back(end->action.number());
          }
        },
        [](bool, const std::string&) {});
    units.adopt(ActionId{1}, {UnitVerb::Start, std::string(kUnit)});
    REQUIRE(run_until(bench.loop, [&] { return !begun.empty(); }));
    bench.say("end nginx.service done");
    REQUIRE(run_until(bench.loop, [&] { return !ended.empty(); }));
    // One that has ended meanwhile is judged by the unit.
    units.adopt(ActionId{2}, {UnitVerb::Restart, std::string(kUnit)});
    REQUIRE(run_until(bench.loop, [&] { return ended.size() == 2; }));
  }
  CHECK(bench.count("StartUnit") == 1);
  CHECK(bench.count("RestartUnit") == 0);
  CHECK(bench.end_of(1) == "done");
}

TEST_CASE("Without a bus nothing is known, which is told once, and it is tried again", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  CHECK(bench.standing() == "unknown: no connection to the system bus: No such file or directory");
  CHECK(bench.standing().starts_with("unknown: "));
  run_for(bench.loop, Duration{300});
  CHECK(bench.reports ==
        std::vector<std::string>{"- units cannot be checked until systemd answers: no connection to the system bus: No "
                                 "such file or directory"});
  bench.start_bus();  // without a systemd
  run_for(bench.loop, Duration{300});
  CHECK(bench.standing().starts_with("unknown: "));
  bench.start_systemd();
  bench.say("unit nginx.service");
  REQUIRE(run_until(bench.loop, [&] { return bench.reports.size() == 2; }));
  CHECK(bench.reports[1] == "+ systemd answers again");
  CHECK(bench.standing() == "active (running)");
}

TEST_CASE("A bus that dies is found again, and what it has not told of a job is asked", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("quiet nginx.service active=inactive sub=dead");
  bench.say("jobs nginx.service hold");
  CHECK(bench.standing() == "inactive (dead)");
  bench.units.start(ActionId{1}, {UnitVerb::Start, std::string(kUnit)});
  REQUIRE(run_until(bench.loop, [&] { return !bench.begun.empty(); }));
  bench.bus->send(SIGKILL);
  REQUIRE(run_until(bench.loop, [&] { return bench.reports.size() == 1; }));
  CHECK(bench.standing().starts_with("unknown: "));
  bench.end_systemd();
  bench.start();
  bench.say("quiet nginx.service active=active sub=running");
  REQUIRE(run_until(bench.loop, [&] { return bench.reports.size() == 2; }));
  CHECK(bench.end_of(1) == "done");
  CHECK(bench.count("StartUnit") == 0);
  bench.hints.clear();
  CHECK(bench.standing() == "active (running)");
  bench.say("unit nginx.service active=failed sub=failed");  // it is heard again, too
  REQUIRE(run_until(bench.loop, [&] { return !bench.hints.empty(); }));
}

TEST_CASE("A job that cannot be asked for waits for systemd, and is done once", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.units.start(ActionId{1}, {UnitVerb::Restart, std::string(kUnit)});
  REQUIRE(run_until(bench.loop, [&] { return !bench.waiting.empty(); }));
  bench.start();
  bench.say("unit nginx.service");
  // Between the two the unit may not be known: then it is refused, in which case nothing was restarted.
  const std::string end = bench.end_of(1);
  CHECK((end == "done" || end == "Unit nginx.service not found."));
  CHECK(bench.count("RestartUnit") == 1);
  // Nobody waits for one that was given up.
  bench.end_systemd();
  bench.bus.reset();
  REQUIRE(run_until(bench.loop, [&] { return !bench.reports.empty() && bench.reports.back().starts_with("- "); }));
  bench.waiting.clear();
  bench.units.start(ActionId{2}, {UnitVerb::Start, std::string(kUnit)});
  REQUIRE(run_until(bench.loop, [&] { return !bench.waiting.empty(); }));
  CHECK(bench.units.end(ActionId{2}));
  CHECK(bench.end_of(2) == bench.waiting.back());
}

TEST_CASE("A systemd that does not answer makes readings unknown, and holds nobody up", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("unit nginx.service");
  bench.see();
  bench.tell("hang 4000");
  const Duration begun = mono_now();
  CHECK(bench.standing() == "unknown: systemd does not answer");
  CHECK(mono_now() - begun >= Duration{1'500});
  bench.say("reload");  // it has gone on
  CHECK(bench.standing() == "active (running)");
}

TEST_CASE("Without a unit there is no connection", "[runtime][units]") {
  NEEDS_BUS();
  Bench bench;
  bench.start();
  bench.say("unit nginx.service");
  bench.see();
  bench.units.forget(ServiceId{1});
  bench.bus->send(SIGKILL);
  run_for(bench.loop, Duration{300});
  CHECK(bench.reports.empty());
}

}  // namespace units_test
