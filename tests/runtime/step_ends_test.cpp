// SPDX-License-Identifier: MIT
// What steps of healings leave in sessions of their own, and waiters that do not end their programs. (With control
// groups, and with a whole healer: tests/e2e/healing_end_test.py.)
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <memory>
#include <string>

#include <spdlog/fmt/fmt.h>

#include "actions/environment.hpp"
#include "runtime/action_bench.hpp"
#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "support/child.hpp"

namespace step_ends_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::read_file;
using healer::test::run_for;
using healer::test::run_until;

namespace {

bool lives_on(pid_t pid) {
  const auto stat = read_proc_stat(pid);
  return stat && !stat->zombie();
}

/// A bench whose programs have a waiter, and leave a process in a session of its own that does not heed SIGTERM.
struct LeavingBench : healer::test::ActionBench {
  LeavingBench() {
    waited = true;
    options.groups = std::make_shared<const ControlGroups>(ControlGroups(state, {}));
  }
  LeavingBench(const LeavingBench&) = delete;
  LeavingBench& operator=(const LeavingBench&) = delete;
  ~LeavingBench() {
    if (left > 0) ::kill(left, SIGKILL);
    test::reap_all();
  }

  const std::string state = fmt::format("step-ends-test-{}", ::getpid());
  const std::string number = (directory.path() / "left").string();
  pid_t left = -1;

  void begin(std::uint64_t id, const std::string& rest, Duration timeout = Duration{0}) {
    environment.push_back(actions::action_mark(state, ActionId(id)));
    shell(id,
          fmt::format("setsid sh -c 'trap \"\" TERM; echo $$ > {0}.new; mv {0}.new {0}; while :; do sleep 0.05; done' "
                      "> /dev/null 2>&1 & while [ ! -e {0} ]; do sleep 0.02; done; {1}",
                      number, rest),
          timeout);
    REQUIRE(run_until(loop, [&] { return started.contains(id) && !read_file(number).empty(); }));
    left = static_cast<pid_t>(std::stoi(read_file(number)));
  }
  [[nodiscard]] ProcessIdentity waiter(std::uint64_t id) const {
    auto found = ActionFiles(options.directory).read(ActionId(id));
    REQUIRE(found);
    return found->waiter;
  }
  void signal_waiter(std::uint64_t id, int number_of_signal) const {
    REQUIRE(signal_process(waiter(id).pid, waiter(id).start_ticks, number_of_signal));
  }
};

}  // namespace

TEST_CASE("All processes of a step are gone when its end is reported", "[waiter]") {
  LeavingBench bench;
  const Duration before = mono_now();
  SECTION("at its timeout") {
    bench.begin(1, "sleep 600", Duration{500});
    CHECK(bench.end(1).outcome == Outcome::TimedOut);
  }
  SECTION("when it is cancelled") {
    bench.begin(1, "sleep 600");
    bench.runner->end(ActionId(1));
    CHECK(bench.end(1).outcome == Outcome::Signalled);
  }
  SECTION("though its waiter was lost") {
    bench.begin(1, "sleep 600");
    bench.signal_waiter(1, SIGKILL);
    bench.runner->end(ActionId(1));
    (void)bench.end(1);
  }
  SECTION("by the next daemon, though its waiter was lost") {
    bench.begin(1, "sleep 600", Duration{1500});
    bench.signal_waiter(1, SIGKILL);
    bench.new_daemon();
    bench.runner->adopt(ActionId(1));
    CHECK(bench.end(1).outcome == Outcome::TimedOut);
  }
  CHECK_FALSE(lives_on(bench.left));
  CHECK(mono_now() - before >= runtime::Child::kGrace);  // it had its time
  CHECK(bench.end(1).left == 0);
}

TEST_CASE("Processes left by a step that ended by itself are not touched, and are reported if it failed", "[waiter]") {
  LeavingBench bench;
  SECTION("failed") {
    bench.begin(1, "exit 3");
    CHECK(bench.end(1).status == 3);
    CHECK(bench.end(1).left == bench.left);
    CHECK(bench.end(1).left_command.find("sh -c trap") != std::string::npos);
  }
  SECTION("done") {
    bench.begin(1, "exit 0");
    CHECK(bench.end(1).status == 0);
    CHECK(bench.end(1).left == 0);
  }
  SECTION("failed while no daemon was there") {
    bench.begin(1, "sleep 0.3; exit 3");
    bench.runner.reset();
    REQUIRE(test::eventually([&] { return !find_process(bench.waiter(1).pid, bench.waiter(1).start_ticks); }));
    bench.new_daemon();
    bench.runner->adopt(ActionId(1));
    CHECK(bench.end(1).status == 3);
    CHECK(bench.end(1).left == bench.left);
  }
  CHECK(lives_on(bench.left));
}

TEST_CASE("A step that does not end when requested is reported once", "[waiter]") {
  LeavingBench bench;
  bench.options.notify_lingering = Duration{500};
  bench.options.waiter_slack = Duration{100};
  bench.options.waiter_patience = Duration{200};
  bench.begin(1, "trap '' TERM; while :; do sleep 0.05; done");
  bench.runner->end(ActionId(1));
  (void)bench.end(1);
  CHECK(test::eventually([&] { return !lives_on(bench.left); }));
  REQUIRE(bench.waits.size() == 1);
  CHECK(bench.waits.front().starts_with("process "));
}

TEST_CASE("a waiter that was stopped ends its program all the same", "[waiter]") {
  LeavingBench bench;
  SECTION("at its timeout") {
    bench.begin(1, "sleep 600", Duration{500});
    bench.signal_waiter(1, SIGSTOP);
    CHECK(bench.end(1).outcome == Outcome::TimedOut);
  }
  SECTION("when it is cancelled") {
    bench.begin(1, "sleep 600");
    bench.signal_waiter(1, SIGSTOP);
    bench.runner->end(ActionId(1));
    CHECK(bench.end(1).outcome == Outcome::Signalled);
  }
  CHECK(test::eventually([&] { return !lives_on(bench.left); }));
}

}  // namespace step_ends_test
