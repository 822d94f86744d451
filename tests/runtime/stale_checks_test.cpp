// SPDX-License-Identifier: MIT
#include "runtime/programs/stale_checks.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "actions/environment.hpp"
#include "runtime/clock.hpp"
#include "runtime/process/child.hpp"
#include "runtime/process/launch.hpp"
#include "runtime/runner_bench.hpp"
#include "support/processes.hpp"

namespace stale_checks_test {

using namespace healer;
using namespace healer::runtime;
using healer::test::run_for;
using healer::test::run_until;

namespace {

using Bench = test::RunnerBench;

std::string new_mark() {
  static int number = 0;
  return actions::check_mark("test-" + std::to_string(::getpid()) + "-" + std::to_string(++number));
}

/// A check program of a daemon that has gone. It must come to have so many processes.
class Left {
 public:
  Left(std::string mark, const std::string& service, const std::string& script, std::size_t processes = 1) {
    Launcher launcher({});
    LaunchProgress progress;
    Launch launch;
    launch.arguments = {"/bin/sh", "-c", script};
    variable_ = "HEALER_TEST=" + new_mark();
    launch.environment = {"PATH=/usr/bin:/bin", "HEALER_SERVICE=" + service, variable_};
    launch.mark = std::move(mark);
    launch.output = Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    auto started = launcher.start(std::move(launch), progress);
    REQUIRE(started);
    pid_ = started->pid;
    REQUIRE(test::eventually([&] { return alive() == processes; }));
    ::usleep(20'000);  // it began before whatever follows by the clock of the kernel, too
  }
  ~Left() {
    for (const pid_t pid : test::processes_with(variable_)) ::kill(pid, SIGKILL);
    reap();
  }
  Left(const Left&) = delete;
  Left& operator=(const Left&) = delete;

  void reap() {
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::size_t alive() const { return test::processes_with(variable_).size(); }

 private:
  std::string variable_;
  pid_t pid_ = -1;
};

using Processes = std::vector<std::pair<std::string, pid_t>>;

ProcessRunner::Options options(const std::string& mark, Processes& reported) {
  return {.mark = mark,
          .search_patience = minutes{10},  // however busy the machine is
          .stale_check = [&reported](const std::string& service, pid_t pid) { reported.emplace_back(service, pid); }};
}

constexpr const char* kStubborn = "trap '' TERM; timeout 600 sleep 600 & while :; do sleep 600; done";

}  // namespace

TEST_CASE("a check program bears the mark with its own number", "[stale-checks]") {
  Processes reported;
  Bench bench(options("HEALER_CHECK=me:", reported));
  const auto run = bench.shell("echo $HEALER_CHECK $$");
  const std::string number = bench.output(run).substr(bench.output(run).find(' ') + 1);
  CHECK(bench.output(run) == "me:" + number.substr(0, number.size() - 1) + " " + number);
  CHECK(number.size() > 1);
}

TEST_CASE("what a former daemon has left is ended with its session before its service runs again", "[stale-checks]") {
  const std::string mark = new_mark();
  const Left stubborn(mark, "web", kStubborn, 4);
  const Left obedient(mark, "web", "exec sleep 600");
  Processes reported;
  Bench bench(options(mark, reported));
  const Duration began = mono_now();
  bench.name = "web";
  const auto again = bench.shell("exit 3");
  bench.name = "mail";
  const auto other = bench.shell("exit 4");
  CHECK(bench.result(other).status == 4);
  CHECK(stubborn.alive() > 0);  // nobody else has waited for it
  CHECK(bench.result(again).status == 3);
  CHECK(bench.arrived.at(again) - began >= Child::kGrace);
  CHECK(stubborn.alive() == 0);
  CHECK(obedient.alive() == 0);
  CHECK_THAT(reported, Catch::Matchers::UnorderedEquals(Processes{{"web", stubborn.pid()}, {"web", obedient.pid()}}));
  CHECK(bench.idle());
}

TEST_CASE("a run that waits for what a former daemon has left can be cancelled", "[stale-checks]") {
  const std::string mark = new_mark();
  const Left stubborn(mark, "web", kStubborn, 4);
  Processes reported;
  Bench bench(options(mark, reported));
  bench.name = "web";
  const auto first = bench.shell("exit 3", Duration{0}, 7);
  const auto second = bench.shell("exit 4", Duration{0}, 7);
  REQUIRE(run_until(bench.loop, [&] { return !reported.empty(); }));
  bench.runner.cancel(engine::RunId(first));
  CHECK(bench.result(second).status == 4);
  CHECK(stubborn.alive() == 0);
  CHECK(bench.seen.count(first) == 0);
  CHECK(bench.idle());
}

TEST_CASE("A process that is no check program of a former daemon is left alone", "[stale-checks]") {
  const std::string mark = new_mark();
  const Left stale_check(mark, "web", "setsid sleep 600 & exec sleep 600",
                         2);  // the one in a session of its own has left
  Left rest(mark, "web", "sleep 600 & exit 0");
  rest.reap();
  const Left strangers(new_mark(), "web", "exec sleep 600");
  const Left longer(mark + "0", "web", "exec sleep 600");
  const Left unmarked({}, "web", "exec sleep 600");
  Processes reported;
  Bench bench(options(mark, reported));
  bench.name = "web";
  const auto own = bench.shell("sleep 0.3; exit 5");
  CHECK(bench.result(own).status == 5);
  CHECK(reported == Processes{{"web", stale_check.pid()}});
  CHECK(stale_check.alive() == 1);
  CHECK(rest.alive() == 1);
  CHECK(strangers.alive() == 1);
  CHECK(longer.alive() == 1);
  CHECK(unmarked.alive() == 1);
}

TEST_CASE("a daemon that ends waits for the end of what the one before has left", "[stale-checks]") {
  const std::string mark = new_mark();
  const Left stubborn(mark, "web", kStubborn, 4);
  Processes reported;
  Bench bench(options(mark, reported));
  REQUIRE(run_until(bench.loop, [&] { return !reported.empty(); }));
  bool stopped = false;
  bench.runner.stop([&] { stopped = true; });
  REQUIRE(run_until(bench.loop, [&] { return stopped; }));
  CHECK(stubborn.alive() == 0);
}

}  // namespace stale_checks_test
