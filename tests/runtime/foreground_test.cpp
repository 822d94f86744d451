// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <ctime>
#include <filesystem>

#include "runtime/action_bench.hpp"
#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/process/detached_processes.hpp"
#include "runtime/process/ready_socket.hpp"

namespace foreground_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::processes_with;
using healer::test::read_file;
using healer::test::reap_all;
using healer::test::run_for;
using healer::test::run_until;

namespace {

/// Programs in the foreground; those of one test are told by a word in their environment.
struct Bench : test::ActionBench {
  Bench() {
    foreground = true;
    environment.push_back(mark);
    // No groups, and marks that no other test has: whatever bears one is ended, wherever it is.
    options.groups = std::make_shared<const ControlGroups>(state(), GroupTree{});
  }
  std::string state() const { return directory.path().filename().string(); }
  std::string action_mark(std::uint64_t id) const { return "HEALER_ACTION=" + state() + ":" + std::to_string(id); }
  /// Starts a script and waits until it has written "begun".
  void begin(std::uint64_t id, const std::string& script) {
    shell(id, script);
    REQUIRE(run_until(loop, [&] { return started.count(id) != 0 && output(id).find("begun\n") != std::string::npos; }));
  }
  std::string output(std::uint64_t id) const { return read_file(file(std::to_string(id) + ".out")); }
  std::size_t alive() const { return processes_with(mark).size(); }
  void adopt(std::uint64_t id) {
    new_daemon();
    runner->adopt(ActionId(id), true);
  }
  /// A process of its own that would be one of the session: the test is its parent, not the runner.
  pid_t pid(std::uint64_t id) const { return static_cast<pid_t>(started.at(id)); }

  std::string mark = "HEALER_TEST=" + directory.path().string();
};

/// As Bench, with a socket to say so.
struct ReadyBench : Bench {
  ReadyBench() { environment.push_back("NOTIFY_SOCKET=" + path); }
  void open() {
    socket.reset();
    auto opened = ReadySocket::open(loop, path, [this](const Notice& notice) { runner->on_notice(notice); });
    REQUIRE(opened);
    socket = std::move(*opened);
  }
  bool is_ready(std::uint64_t id) {
    return run_until(loop, [&] { return ready[id] != 0; });
  }

  std::string path = (directory.path() / "notify").string();
  std::unique_ptr<ReadySocket> socket;
};

/// What sends READY=1, and waits until it was taken.
constexpr auto kNotify = "systemd-notify --ready";

bool no_systemd_notify() {
  if (std::filesystem::exists("/usr/bin/systemd-notify")) return false;
  WARN("SKIPPED: no systemd-notify");
  return true;
}

}  // namespace

TEST_CASE("a foreground process runs without a timeout until it exits, and is told by its number and start time",
          "[foreground]") {
  Bench bench;
  const std::string gate = (bench.directory.path() / "gate").string();
  bench.shell(1, "echo begun; while [ ! -e " + gate + " ]; do sleep 0.02; done; echo over; exit 3", Duration{100});
  REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty(); }));
  CHECK(bench.start_ticks[1] == read_proc_stat(bench.pid(1))->start_ticks);
  run_for(bench.loop, Duration{300});
  CHECK(bench.ended.empty());
  test::write_with_mode(gate, "", 0644);
  CHECK(bench.end(1).outcome == Outcome::Exited);
  CHECK(bench.end(1).status == 3);
  CHECK_FALSE(bench.end(1).unseen);
  CHECK(bench.end(1).output == "begun\nover\n");
  CHECK(bench.end(1).elapsed >= Duration{300});
  CHECK_FALSE(test::has_children());
}

TEST_CASE("the start time of an ordinary action is told too", "[action]") {
  Bench bench;
  bench.foreground = false;
  bench.shell(1, "sleep 600");
  REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty(); }));
  CHECK(bench.start_ticks[1] == read_proc_stat(bench.pid(1))->start_ticks);
  bench.runner->end(ActionId(1));
  bench.end(1);
}

TEST_CASE("a foreground process that is killed has ended by that signal", "[foreground]") {
  Bench bench;
  bench.begin(1, "echo begun; sleep 600 & wait");
  ::kill(bench.pid(1), SIGSEGV);
  CHECK(bench.end(1).outcome == Outcome::Signalled);
  CHECK(bench.end(1).status == SIGSEGV);
  CHECK(bench.alive() == 0);
  CHECK_FALSE(test::has_children());
}

TEST_CASE("a foreground process that cannot be started says why", "[foreground]") {
  Bench bench;
  bench.start(1, {"/no/such/program"});
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
  CHECK(bench.end(1).output == "cannot execute /no/such/program: No such file or directory");
  CHECK(bench.started.empty());
}

TEST_CASE("a stop sends the signals in turn, each for its time, to the main process alone", "[foreground]") {
  Bench bench;
  const std::string script =
      "(trap 'echo child' INT TERM; while :; do sleep 0.05; done) & "
      "trap 'echo int' INT; trap 'echo quit' QUIT; trap 'echo term; exit 5' TERM; echo begun; "
      "while :; do sleep 0.02; done";
  // What runs in the background ignores SIGINT from the start; SIGTERM it would hear.
  bench.begin(1, script);
  const Duration begin = mono_now();
  bench.runner->end(ActionId(1), {{SIGINT, Duration{300}}, {SIGQUIT, Duration{300}}, {SIGTERM, Duration{20'000}}});
  bench.runner->end(ActionId(1), {{SIGKILL, Duration{0}}});  // it is ending already
  CHECK(bench.end(1).outcome == Outcome::Exited);
  CHECK(bench.end(1).status == 5);
  CHECK(bench.end(1).output == "begun\nint\nquit\nterm\n");
  CHECK(mono_now() - begin >= Duration{600});
  CHECK(mono_now() - begin < Duration{20'000});
  CHECK(bench.alive() == 0);
  CHECK_FALSE(test::has_children());
}

TEST_CASE("each signal of a sequence can be the one that ends it", "[foreground]") {
  Bench bench;
  const std::vector<StopSignal> signals{{SIGINT, Duration{500}}, {SIGTERM, Duration{500}}, {SIGQUIT, Duration{500}}};
  // A program in the background of a shell ignores SIGINT and SIGQUIT, so that python sets what it wants.
  const auto ignoring = [&](std::uint64_t id, const std::string& names) {
    bench.start(id, {"/usr/bin/python3", "-c",
                     "import signal,sys\nfor name in '" + names +
                         "'.split(): signal.signal(getattr(signal,name),signal.SIG_IGN)\n"
                         "if 'SIGINT' not in '" +
                         names +
                         "': signal.signal(signal.SIGINT,signal.SIG_DFL)\n"
                         "print('begun',flush=True)\nwhile True: signal.pause()"});
    // One that is not known to run yet is killed.
    REQUIRE(run_until(bench.loop, [&] { return bench.started.count(id) != 0 && bench.output(id) == "begun\n"; }));
  };
  ignoring(1, "");
  ignoring(2, "SIGINT");
  ignoring(3, "SIGINT SIGTERM");
  ignoring(4, "SIGINT SIGTERM SIGQUIT");
  for (std::uint64_t id = 1; id <= 4; ++id) bench.runner->end(ActionId(id), signals);
  const int expected[] = {SIGINT, SIGTERM, SIGQUIT, SIGKILL};
  for (std::uint64_t id = 1; id <= 4; ++id) {
    CHECK(bench.end(id).outcome == Outcome::Signalled);
    CHECK(bench.end(id).status == expected[id - 1]);
    CHECK(bench.end(id).elapsed >= Duration{500} * static_cast<int>(id - 1));
  }
  CHECK_FALSE(test::has_children());
}

TEST_CASE("A process that ignores every signal is killed with its session", "[foreground]") {
  Bench bench;
  bench.begin(1,
              "trap '' TERM; (trap '' TERM; timeout 600 sh -c 'trap \"\" TERM; sleep 600; :') & echo begun; "
              "while :; do sleep 0.05; done");
  REQUIRE(run_until(bench.loop, [&] { return bench.alive() >= 4; }));
  bench.runner->end(ActionId(1), {{SIGTERM, Duration{200}}});
  CHECK(bench.end(1).status == SIGKILL);
  CHECK(bench.alive() == 0);
  CHECK_FALSE(test::has_children());
}

TEST_CASE("Leftovers of a foreground process are gone when its end is reported", "[foreground]") {
  Bench bench;
  // Children in its group, in groups of their own, and twice forked ones; all deaf.
  bench.begin(1,
              "trap '' TERM HUP; sleep 600 & timeout 600 sleep 600 & (sleep 600 & exec true); "
              "(timeout 600 sh -c 'sleep 600; :' &) ; echo begun; while [ ! -e " +
                  (bench.directory.path() / "gate").string() + " ]; do sleep 0.02; done; exit 4");
  REQUIRE(run_until(bench.loop, [&] { return bench.alive() >= 7; }));
  test::write_with_mode(bench.directory.path() / "gate", "", 0644);
  bool all_gone = false;
  CHECK(run_until(bench.loop, [&] {
    if (bench.ended.empty()) return false;
    all_gone = bench.alive() == 0;
    return true;
  }));
  CHECK(all_gone);
  CHECK(bench.end(1).status == 4);
  CHECK_FALSE(test::has_children());
}

TEST_CASE("what has gone to the background has ended when the end of a foreground process is told", "[foreground]") {
  Bench bench;
  bench.environment.push_back(bench.action_mark(1));
  const std::string stopped = bench.file("stopped");
  const std::string ready = bench.file("ready");
  bench.shell(1, "setsid -f sh -c 'trap \"echo > " + stopped + "; exit\" TERM; echo > " + ready +
                     "; while :; do sleep 0.02; done'; while [ ! -e " + ready + " ]; do sleep 0.02; done");
  bool all_gone = false;
  REQUIRE(run_until(bench.loop, [&] {
    if (bench.ended.empty()) return false;
    all_gone = bench.alive() == 0;
    return true;
  }));
  CHECK(all_gone);
  CHECK(bench.end(1).status == 0);
  CHECK(bench.end(1).left > 0);
  CHECK(bench.end(1).left != bench.pid(1));
  CHECK(bench.end(1).elapsed < Duration{2000});
  CHECK(std::filesystem::exists(stopped));  // it was told to first
  CHECK(reap_all());
}

TEST_CASE("A background process that ignores signals is killed after a grace period", "[foreground]") {
  Bench bench;
  bench.environment.push_back(bench.action_mark(1));
  bench.begin(1, "setsid -f sh -c 'trap \"\" TERM; echo begun; while :; do sleep 0.02; done'; sleep 600");
  const Duration begin = mono_now();
  bench.runner->end(ActionId(1), {{SIGTERM, Duration{5000}}});
  CHECK(bench.end(1).status == SIGTERM);
  CHECK(bench.end(1).left > 0);
  CHECK(bench.alive() == 0);
  CHECK(mono_now() - begin >= DetachedProcesses::kGrace);
  CHECK(reap_all());
}

TEST_CASE("A process that bears the mark of another action is left alone", "[foreground]") {
  Bench bench;
  for (const std::uint64_t id : {1, 11, 2}) {
    bench.environment.push_back(bench.action_mark(id));
    bench.begin(id, "echo begun; exec setsid -w sleep 600");
    bench.environment.pop_back();
  }
  ::kill(bench.pid(1), SIGKILL);
  CHECK(bench.end(1).status == SIGKILL);
  run_for(bench.loop, Duration{100});
  CHECK(bench.ended.size() == 1);
  for (const std::uint64_t id : {11, 2}) {
    CHECK(read_proc_stat(bench.pid(id)));
    bench.runner->end(ActionId(id), {{SIGTERM, Duration{5000}}});
    bench.end(id);
  }
  CHECK(bench.alive() == 0);
  CHECK(reap_all());
}

TEST_CASE("Leftovers that cannot be searched for are not taken for gone", "[foreground]") {
  Bench bench;
  bench.environment.push_back(bench.action_mark(1));
  bench.begin(1, "setsid -f sh -c 'echo begun; exec sleep 600'; sleep 600");
  {
    const test::FewDescriptors none;
    ::kill(bench.pid(1), SIGKILL);
    run_for(bench.loop, SessionSweeper::kPatience + Duration{500});
    CHECK(bench.ended.empty());
  }
  CHECK(bench.end(1).left > 0);
  CHECK(bench.alive() == 0);
  CHECK(reap_all());
}

TEST_CASE("the next daemon ends what has gone to the background, whether it saw the process or not", "[foreground]") {
  Bench bench;
  bench.environment.push_back(bench.action_mark(1));
  bench.begin(1, "setsid -f sh -c 'echo begun; exec sleep 600'; sleep 600");
  REQUIRE(run_until(bench.loop, [&] { return bench.alive() == 3; }));
  const pid_t pid = bench.pid(1);
  SECTION("it did") {
    bench.adopt(1);
    REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty(); }));
    ::kill(pid, SIGKILL);
  }
  SECTION("it did not") {
    bench.new_daemon();
    ::kill(pid, SIGKILL);
    CHECK(test::eventually([&] { return ::waitpid(pid, nullptr, WNOHANG) == pid; }));
    CHECK(bench.alive() >= 1);
    bench.runner->adopt(ActionId(1), true);
  }
  CHECK(bench.end(1).left > 0);
  CHECK(bench.alive() == 0);
  CHECK(reap_all());
}

TEST_CASE("a foreground process that is to end while it is being started is not started, or ended", "[foreground]") {
  Bench bench;
  for (std::uint64_t id = 1; id <= 20; ++id) {
    bench.shell(id, "sleep 600");
    if (id % 2 == 0) run_for(bench.loop, Duration{static_cast<std::int64_t>(id) / 4});
    bench.runner->end(ActionId(id), {{SIGTERM, Duration{5000}}});
  }
  for (std::uint64_t id = 1; id <= 20; ++id) {
    const Outcome outcome = bench.end(id).outcome;
    CHECK(outcome == (bench.started.count(id) != 0 ? Outcome::Signalled : Outcome::NotStarted));
  }
  CHECK(bench.alive() == 0);
  CHECK_FALSE(test::has_children());
}

// ---- the next daemon

TEST_CASE("a new daemon finds a foreground process, and sees its end and what it leaves behind", "[foreground]") {
  Bench bench;
  bench.begin(1, "sleep 600 & timeout 600 sleep 600 & echo begun; sleep 600");
  REQUIRE(run_until(bench.loop, [&] { return bench.alive() == 5; }));
  const pid_t pid = bench.pid(1);
  const auto ticks = bench.start_ticks[1];
  bench.adopt(1);
  REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty(); }));
  CHECK(bench.pid(1) == pid);
  CHECK(bench.start_ticks[1] == ticks);
  run_for(bench.loop, Duration{100});
  CHECK(bench.ended.empty());
  const std::size_t open = test::open_descriptors();
  ::kill(pid, SIGKILL);
  CHECK(bench.end(1).unseen);
  CHECK(bench.end(1).output == "begun\n");
  CHECK(bench.alive() == 0);
  CHECK(test::open_descriptors() < open);
  CHECK(bench.runner->running() == 0);
  CHECK(reap_all());
}

TEST_CASE("an Exec of a foreground process that runs is adopted, not started again", "[foreground]") {
  Bench bench;
  bench.begin(1, "echo begun; sleep 600");
  const pid_t pid = bench.pid(1);
  bench.new_daemon();
  bench.shell(1, "echo begun; sleep 600");
  REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty(); }));
  CHECK(bench.pid(1) == pid);
  bench.runner->end(ActionId(1), {{SIGTERM, Duration{5000}}});
  CHECK(bench.end(1).unseen);
  CHECK(bench.output(1) == "begun\n");
  CHECK(reap_all());
}

TEST_CASE("an adopted foreground process is stopped by the same signals, also before it is found", "[foreground]") {
  Bench bench;
  const std::string script =
      "(trap '' TERM; while :; do sleep 0.05; done) & trap 'echo int' INT; "
      "trap 'echo term; exit 5' TERM; echo begun; while :; do sleep 0.02; done";
  bench.begin(1, script);
  bench.begin(2, "trap '' INT TERM; sleep 600 & timeout 600 sleep 600 & echo begun; while :; do sleep 0.02; done");
  bench.adopt(1);
  run_for(bench.loop, Duration{100});
  const Duration begin = mono_now();
  bench.runner->end(ActionId(1), {{SIGINT, Duration{300}}, {SIGTERM, Duration{20'000}}});
  bench.runner->adopt(ActionId(2), true);
  bench.runner->end(ActionId(2), {{SIGINT, Duration{300}}, {SIGTERM, Duration{1000}}});
  CHECK(bench.end(1).unseen);
  CHECK(mono_now() - begin >= Duration{300});
  CHECK(bench.output(1) == "begun\nint\nterm\n");
  CHECK(bench.end(2).unseen);
  CHECK(mono_now() - begin >= Duration{1300});
  CHECK(bench.alive() == 0);
  CHECK(reap_all());
}

TEST_CASE("a foreground process that ended while no daemon was there has ended unseen, and what it left goes too",
          "[foreground]") {
  Bench bench;
  bench.begin(1, "sleep 600 & timeout 600 sleep 600 >/dev/null 2>&1 & echo begun; sleep 600");
  REQUIRE(run_until(bench.loop, [&] { return bench.alive() == 5; }));
  const pid_t pid = bench.pid(1);
  bench.new_daemon();
  ::kill(pid, SIGKILL);
  CHECK(reap_all());
  CHECK(bench.alive() >= 3);
  bench.runner->adopt(ActionId(1), true);
  bench.runner->adopt(ActionId(9), true);  // of which there is nothing at all
  CHECK(bench.end(1).unseen);
  CHECK(bench.end(9).unseen);
  CHECK(bench.started.empty());
  CHECK(bench.alive() == 0);
}

TEST_CASE("an end that a former daemon has seen is told with its status", "[foreground]") {
  Bench bench;
  bench.shell(1, "exit 3");
  bench.end(1);
  bench.adopt(1);
  CHECK(bench.end(1).status == 3);
  CHECK_FALSE(bench.end(1).unseen);
}

TEST_CASE("a foreground process that cannot be looked at for want of descriptors has not ended", "[foreground]") {
  Bench bench;
  bench.begin(1, "echo begun; sleep 600");
  bench.new_daemon();
  {
    const test::FewDescriptors none;
    bench.runner->adopt(ActionId(1), true);
    REQUIRE(run_until(bench.loop, [&] { return !bench.waits.empty(); }));
    run_for(bench.loop, Duration{200});
  }
  CHECK(bench.ended.empty());
  REQUIRE(bench.waits.size() == 1);
  CHECK_THAT(bench.waits[0], Catch::EndsWith("Too many open files"));
  CHECK(run_until(bench.loop, [&] { return !bench.started.empty(); }));
  CHECK(bench.ended.empty());
  bench.runner->end(ActionId(1), {{SIGTERM, Duration{5000}}});
  CHECK(bench.end(1).unseen);
  CHECK(reap_all());
}

// ---- being ready

TEST_CASE("the main process says that it is ready, and is told so once", "[foreground]") {
  ReadyBench bench;
  bench.open();
  const std::string send =
      "import os,socket,time\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\n"
      "for i in range(3): s.sendto(b'STATUS=here\\nREADY=1\\n',os.environ['NOTIFY_SOCKET'])\n"
      "print('begun',flush=True)\ntime.sleep(600)";
  bench.start(1, {"/usr/bin/python3", "-c", send});
  bench.begin(2, "echo begun; sleep 600");
  REQUIRE(run_until(bench.loop, [&] { return bench.output(1) == "begun\n"; }));
  CHECK(bench.is_ready(1));
  run_for(bench.loop, Duration{100});
  CHECK(bench.ready[1] == 1);
  CHECK(bench.ready[2] == 0);
  for (const std::uint64_t id : {1, 2}) bench.runner->end(ActionId(id), {{SIGTERM, Duration{5000}}});
  for (const std::uint64_t id : {1, 2}) bench.end(id);
}

TEST_CASE("a descendant speaks for its foreground process, and its barrier lets it go", "[foreground]") {
  if (no_systemd_notify()) return;
  ReadyBench bench;
  bench.open();
  const std::string notify = kNotify;
  bench.shell(1, notify + " && echo told; sleep 600");
  // In a session of its own, but a descendant all the same.
  bench.shell(2, "setsid -w " + notify + " && echo told; sleep 600");
  // Twice forked: its parent has gone, its session has not.
  bench.shell(3, "(sh -c 'sleep 0.2; " + notify + " && echo told' &); sleep 600");
  bench.shell(4, "echo nothing; sleep 600");
  for (const std::uint64_t id : {1, 2, 3}) {
    CHECK(bench.is_ready(id));
    CHECK(run_until(bench.loop, [&] { return bench.output(id) == "told\n"; }));
  }
  CHECK(bench.ready[4] == 0);
  for (std::uint64_t id = 1; id <= 4; ++id) bench.runner->end(ActionId(id), {{SIGTERM, Duration{5000}}});
  for (std::uint64_t id = 1; id <= 4; ++id) bench.end(id);
}

TEST_CASE("A process that is ready before its start was reported is heard", "[foreground]") {
  ReadyBench bench;
  bench.open();
  bench.start(1, {"/bin/sleep", "600"});
  // The loop is not running, so its death may be reported before its start.
  REQUIRE(test::eventually([&] { return bench.alive() == 1; }));
  bench.runner->on_notice({.sender = processes_with(bench.mark).front(), .ready = true});
  CHECK(bench.ready.empty());
  CHECK(bench.is_ready(1));
  bench.runner->end(ActionId(1), {{SIGTERM, Duration{5000}}});
  bench.end(1);
}

TEST_CASE("A message of an unrelated process is ignored", "[foreground]") {
  if (no_systemd_notify()) return;
  ReadyBench bench;
  bench.open();
  bench.begin(1, "echo begun; sleep 600");
  // As an ordinary action beside it: a child of this process, but no foreground process.
  bench.foreground = false;
  bench.shell(2, kNotify);
  CHECK(bench.end(2).status == 0);  // its barrier is honoured
  bench.runner->on_notice({.sender = ::getpid(), .ready = true});
  bench.runner->on_notice({.sender = 1, .ready = true});
  run_for(bench.loop, Duration{100});
  CHECK(bench.ready.empty());
  bench.runner->end(ActionId(1), {{SIGTERM, Duration{5000}}});
  bench.end(1);
  bench.runner->on_notice({.sender = static_cast<pid_t>(bench.started[1]), .ready = true});  // it is gone
  CHECK(bench.ready.empty());
}

TEST_CASE("a flood of strangers takes little of the loop's time, whoever is waited for", "[foreground]") {
  ReadyBench bench;
  bench.start(1, {"/bin/sleep", "600"});
  bench.start(2, {"/bin/sleep", "600"});
  REQUIRE(run_until(bench.loop, [&] { return bench.started.size() == 2; }));
  const auto processor_time = [](const auto& work) {
    const std::clock_t before = std::clock();
    for (int i = 0; i < 20'000; ++i) work(i);
    return static_cast<double>(std::clock() - before);
  };
  const auto flood = [&](pid_t first, int strangers) {
    return processor_time([&](int i) { bench.runner->on_notice({.sender = first + i % strangers, .ready = true}); });
  };
  // What it would take to find out who each of them is.
  const double baseline = processor_time([&](int) { static_cast<void>(read_proc_stat(::getppid())); });
  const pid_t here = ::getppid();
  bench.runner->on_notice({.sender = bench.pid(1), .ready = true});
  CHECK(bench.ready[1] == 1);
  CHECK(flood(here, 1) < baseline);
  CHECK(flood(2, 30'000) < baseline);
  bench.runner->on_notice({.sender = bench.pid(2), .ready = true});  // heard all the same
  CHECK(bench.ready[2] == 1);
  CHECK(flood(here, 1) < baseline);  // nobody is waited for
  CHECK(bench.ready.size() == 2);
  for (const std::uint64_t id : {1, 2}) bench.runner->end(ActionId(id), {{SIGTERM, Duration{5000}}});
  for (const std::uint64_t id : {1, 2}) bench.end(id);
}

TEST_CASE("the next daemon hears that an adopted foreground process is ready", "[foreground]") {
  if (no_systemd_notify()) return;
  ReadyBench bench;
  bench.open();
  const std::string gate = (bench.directory.path() / "gate").string();
  bench.begin(1, "echo begun; while [ ! -e " + gate + " ]; do sleep 0.02; done; " + kNotify + "; sleep 600");
  bench.adopt(1);
  bench.open();
  REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty(); }));
  CHECK(bench.ready.empty());
  test::write_with_mode(gate, "", 0644);
  CHECK(bench.is_ready(1));
  bench.runner->end(ActionId(1), {{SIGTERM, Duration{5000}}});
  bench.end(1);
  CHECK(reap_all());
}

TEST_CASE("a program of another user can say that it is ready", "[foreground]") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: not root");
    return;
  }
  if (no_systemd_notify()) return;
  ReadyBench bench;
  bench.identity.uid = 65534;
  bench.identity.gid = 65534;
  bench.open();
  bench.shell(1, std::string(kNotify) + "; sleep 600");
  CHECK(bench.is_ready(1));
  bench.runner->end(ActionId(1), {{SIGTERM, Duration{5000}}});
  bench.end(1);
}

// ---- many

TEST_CASE("200 foreground processes live, are ready and die together", "[foreground]") {
  constexpr std::uint64_t kMany = 200;
  ReadyBench bench;
  bench.open();
  bench.start(kMany + 1, {"/bin/true"});  // so that all threads are there
  bench.end(kMany + 1);
  run_for(bench.loop, Duration{50});
  const std::size_t before = test::open_descriptors();
  const std::string send =
      "import os,signal,socket\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\n"
      "s.sendto(b'READY=1',os.environ['NOTIFY_SOCKET'])\ns.close()\n"
      "if os.fork() == 0: signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()";
  for (std::uint64_t id = 1; id <= kMany; ++id) bench.start(id, {"/usr/bin/python3", "-c", send});
  REQUIRE(run_until(bench.loop, [&] { return bench.ready.size() == kMany; }));
  REQUIRE(run_until(bench.loop, [&] { return bench.alive() == 2 * kMany; }));
  CHECK(std::ranges::all_of(bench.ready, [](const auto& word) { return word.second == 1; }));
  const Duration begin = mono_now();
  for (std::uint64_t id = 1; id <= kMany; ++id) {
    if (id % 2 == 0) {
      ::kill(bench.pid(id), SIGKILL);
    } else {
      bench.runner->end(ActionId(id), {{SIGTERM, Duration{20'000}}});
    }
  }
  REQUIRE(run_until(bench.loop, [&] { return bench.ended.size() == kMany + 1; }));
  CHECK(mono_now() - begin < Duration{20'000});
  for (std::uint64_t id = 1; id <= kMany; ++id) CHECK(bench.end(id).status == (id % 2 == 0 ? SIGKILL : SIGTERM));
  CHECK(bench.alive() == 0);
  CHECK_FALSE(test::has_children());
  CHECK(run_until(bench.loop, [&] { return test::open_descriptors() == before; }));
}

TEST_CASE("what begins to write after a long silence takes little of the disk", "[foreground]") {
  Bench bench;
  const std::string gate = (bench.directory.path() / "gate").string();
  bench.begin(1, "echo begun; while [ ! -e " + gate +
                     " ]; do sleep 0.02; done; head -c 50000000 /dev/zero | tr '\\0' x; echo the tail; sleep 600");
  run_for(bench.loop, Duration{3000});
  test::write_with_mode(gate, "", 0644);
  constexpr off_t kAll = 50'000'015;  // with what it says before and after
  const auto is_small = [&] {
    struct stat facts {};
    return ::stat(bench.file("1.out").c_str(), &facts) == 0 && facts.st_size == kAll && facts.st_blocks * 512 < 200'000;
  };
  CHECK(run_until(bench.loop, is_small));
  bench.runner->end(ActionId(1), {{SIGTERM, Duration{5000}}});
  const std::string& output = bench.end(1).output;
  CHECK(output.starts_with("begun\n"));
  CHECK(output.ends_with("the tail\n"));
}

}  // namespace foreground_test
