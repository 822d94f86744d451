// SPDX-License-Identifier: MIT
#include "runtime/programs/action_runner.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>

#include "runtime/action_bench.hpp"
#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"

namespace action_runner_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::own_mark;
using healer::test::processes_with;
using healer::test::read_file;
using healer::test::reap_all;
using healer::test::run_for;
using healer::test::run_until;
using Bench = healer::test::ActionBench;

TEST_CASE("an action reports its start, its end and its output, and the output stays in a file", "[action]") {
  Bench bench;
  bench.shell(7, "echo $WORD; echo bad >&2; exit 4");
  bench.environment.push_back("WORD=hello");
  bench.shell(8, "echo $WORD; kill -9 $$");
  CHECK(bench.end(7).outcome == Outcome::Exited);
  CHECK(bench.end(7).status == 4);
  CHECK_FALSE(bench.end(7).unseen);
  CHECK(bench.end(7).output == "\nbad\n");
  CHECK(bench.started[7] > 0);
  CHECK(bench.end(8).outcome == Outcome::Signalled);
  CHECK(bench.end(8).status == 9);
  CHECK(bench.end(8).output == "hello\n");
  CHECK(read_file(bench.file("8.out")) == "hello\n");
  struct stat facts {};
  REQUIRE(::stat(bench.file("8.out").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777) == 0600);
  REQUIRE(::stat(bench.file("").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777) == 0700);
  CHECK(bench.runner->running() == 0);
  CHECK_FALSE(test::has_children());
}

TEST_CASE("an action that cannot be started says why, in event and file", "[action]") {
  Bench bench;
  bench.start(1, {"/no/such/program"});
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
  CHECK(bench.end(1).status == 127);
  CHECK(bench.end(1).output == "cannot execute /no/such/program: No such file or directory");
  CHECK(bench.started.empty());
  CHECK(read_file(bench.file("1.out")) == bench.end(1).output + "\n");
}

TEST_CASE("an action runs as its user, who can open the standard output anew", "[action]") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: not root");
    return;
  }
  Bench bench;
  bench.identity.uid = 65534;
  bench.identity.gid = 65534;
  bench.shell(1, "id -u; id -g; echo again >> /dev/stdout");
  CHECK(bench.end(1).output == "65534\n65534\nagain\n");
}

TEST_CASE("an action whose file exists is not started a second time", "[action]") {
  Bench bench;
  const std::string mark = (bench.directory.path() / "mark").string();
  bench.shell(5, "echo x >> " + mark);
  bench.end(5);
  bench.new_daemon();
  bench.shell(5, "echo x >> " + mark);
  CHECK(bench.end(5).outcome == Outcome::Exited);  // what the first daemon wrote down
  CHECK_FALSE(bench.end(5).unseen);
  CHECK(read_file(mark) == "x\n");

  // The daemon died between making the file and starting the program: nobody can know, so it is not started.
  test::write_with_mode(bench.file("6.out"), "", 0600);
  bench.shell(6, "echo y >> " + mark);
  CHECK(bench.end(6).unseen);
  CHECK(bench.started.count(6) == 0);
  CHECK(read_file(mark) == "x\n");
}

TEST_CASE("a new daemon finds a running action and sees its end", "[action]") {
  Bench bench;
  const std::string gate = (bench.directory.path() / "gate").string();
  bench.shell(3, "echo begun; while [ ! -e " + gate + " ]; do sleep 0.02; done; echo done");
  REQUIRE(run_until(bench.loop, [&] { return read_file(bench.file("3.out")) == "begun\n"; }));
  const std::size_t before = test::open_descriptors();
  bench.new_daemon();
  bench.runner->adopt(ActionId(3));
  run_for(bench.loop, Duration{200});
  CHECK(bench.ended.empty());
  CHECK(bench.started.size() == 1);  // it still runs: its number is told
  test::write_with_mode(gate, "", 0644);
  CHECK(bench.end(3).unseen);
  CHECK(bench.end(3).output == "begun\ndone\n");
  CHECK(bench.end(3).elapsed >= Duration{200});
  CHECK(test::open_descriptors() < before);  // the pidfd has gone
  CHECK(reap_all());
}

TEST_CASE("a new daemon is told how an adopted program ended, and writes it down", "[action]") {
  const bool foreground = GENERATE(false, true);
  const bool reaped = GENERATE(false, true);  // at once, as by the system's first process
  if (reaped && !ExitStatusReader::pidfds_report()) {
    WARN("SKIPPED: pidfds tell no status before Linux 6.15");
    return;
  }
  Bench bench;
  bench.foreground = foreground;
  bench.options.exits = &bench.exits;
  const std::string gate = (bench.directory.path() / "gate").string();
  const std::string wait = "echo begun; while [ ! -e " + gate + " ]; do sleep 0.02; done; ";
  bench.shell(1, wait + "exit 3");
  bench.shell(2, wait + "ulimit -c 0; kill -SEGV $$");
  bench.shell(3, wait + "exit 0");
  REQUIRE(run_until(bench.loop, [&] { return bench.started.size() == 3; }));
  bench.new_daemon();
  for (const std::uint64_t id : {1, 2, 3}) bench.runner->adopt(ActionId(id), foreground);
  REQUIRE(run_until(bench.loop, [&] { return bench.started.size() == 3; }));
  test::write_with_mode(gate, "", 0644);
  REQUIRE(run_until(bench.loop, [&] {
    if (reaped) ::waitpid(-1, nullptr, WNOHANG);
    return bench.ended.size() == 3;
  }));
  CHECK(reap_all());
  for (const bool again : {false, true}) {
    CAPTURE(again);
    CHECK(bench.end(1).outcome == Outcome::Exited);
    CHECK(bench.end(1).status == 3);
    CHECK(bench.end(2).outcome == Outcome::Signalled);
    CHECK(bench.end(2).status == SIGSEGV);
    CHECK(bench.end(3).status == 0);
    for (const std::uint64_t id : {1, 2, 3}) {
      CHECK_FALSE(bench.end(id).unseen);
      CHECK(bench.end(id).elapsed > Duration{0});
      CHECK(bench.end(id).output == "begun\n");
    }
    bench.new_daemon();
    for (const std::uint64_t id : {1, 2, 3}) bench.runner->adopt(ActionId(id), foreground);
  }
}

TEST_CASE("an Exec that is handed out again while its program runs is adopted", "[action]") {
  Bench bench;
  const std::string gate = (bench.directory.path() / "gate").string();
  const std::string script = "echo x; while [ ! -e " + gate + " ]; do sleep 0.02; done";
  bench.shell(3, script);
  REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty(); }));
  const auto pid = bench.started[3];
  bench.new_daemon();
  bench.shell(3, script);
  REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty(); }));
  CHECK(bench.started[3] == pid);
  test::write_with_mode(gate, "", 0644);
  CHECK(bench.end(3).unseen);
  CHECK(bench.end(3).output == "x\n");
  CHECK(reap_all());
}

TEST_CASE("an action that ended while no daemon was there has ended unseen", "[action]") {
  Bench bench;
  const std::string gate = (bench.directory.path() / "gate").string();
  bench.shell(3, "while [ ! -e " + gate + " ]; do sleep 0.02; done");
  REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty(); }));
  bench.new_daemon();
  test::write_with_mode(gate, "", 0644);
  CHECK(reap_all());
  bench.runner->adopt(ActionId(3));
  bench.runner->adopt(ActionId(99));  // of which there is nothing at all
  CHECK(bench.end(3).unseen);
  CHECK(bench.end(99).unseen);
}

TEST_CASE("a process with the number of an action but another start time, or of another boot, is not taken for it",
          "[action]") {
  Bench bench;
  bench.new_daemon();
  const auto own = read_proc_stat(::getpid());
  REQUIRE(own);
  const auto write = [&](const std::string& name, std::uint64_t boot, std::uint64_t ticks) {
    test::write_with_mode(bench.file(name + ".out"), "", 0600);
    test::write_with_mode(bench.file(name + ".pid"),
                          "boot " + std::to_string(boot) + "\ndeadline 1\n" + std::to_string(::getpid()) +
                              " (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 " + std::to_string(ticks) + " 0\n",
                          0600);
  };
  write("1", now().boot, own->start_ticks + 1);
  write("2", now().boot + 1, own->start_ticks);
  bench.runner->adopt(ActionId(1));  // were it believed, its deadline, long past, would end this test program
  bench.runner->adopt(ActionId(2));
  CHECK(bench.end(1).unseen);
  CHECK(bench.end(2).unseen);
  run_for(bench.loop, Duration{50});
}

TEST_CASE("an action with a timeout ends with all its processes", "[action]") {
  Bench bench;
  bench.environment.push_back(own_mark("action-timeout"));
  std::uint64_t id = 0;
  REQUIRE(test::begins_in_time(Duration{1000}, [&](Duration timeout) {
    bench.shell(++id, "trap '' TERM; echo x; (trap '' TERM; sleep 300; :) & while :; do sleep 300; done", timeout);
    return bench.end(id).output == "x\n";
  }));
  CHECK(bench.end(id).outcome == Outcome::TimedOut);
  CHECK(bench.end(id).status == 9);
  CHECK(run_until(bench.loop, [] { return processes_with(own_mark("action-timeout")).empty(); }));
  CHECK_FALSE(test::has_children());
}

TEST_CASE("the timeout binds an adopted action too", "[action]") {
  Bench bench;
  bench.environment.push_back(own_mark("adopted-timeout"));
  const auto alive = [] { return processes_with(own_mark("adopted-timeout")).size(); };
  std::uint64_t id = 0;
  REQUIRE(test::begins_in_time(Duration{2000}, [&](Duration timeout) {
    REQUIRE(run_until(bench.loop, [&] { return alive() == 0; }));
    bench.shell(++id, "trap '' TERM; (trap '' TERM; sleep 300; :) & while :; do sleep 300; done", timeout);
    return run_until(bench.loop, [&] { return alive() >= 4 || bench.ended.contains(id); }) && !bench.ended.contains(id);
  }));
  bench.new_daemon();
  bench.runner->adopt(ActionId(id));
  CHECK(bench.end(id).outcome == Outcome::TimedOut);
  CHECK(run_until(bench.loop, [] { return processes_with(own_mark("adopted-timeout")).empty(); }));
  CHECK(reap_all());
}

TEST_CASE("an action that is to end gets SIGTERM, with all its processes, and SIGKILL where that does not help",
          "[action]") {
  Bench bench;
  bench.shell(1, "echo begun; sleep 600");
  bench.environment.push_back("HEALER_TEST=" + bench.directory.path().string());
  bench.shell(2, "trap '' TERM; setsid -w true; timeout 600 sleep 600 & echo begun; while :; do sleep 0.05; done");
  REQUIRE(run_until(bench.loop, [&] {
    return bench.started.size() == 2 && read_file(bench.file("1.out")) == "begun\n" &&
           read_file(bench.file("2.out")) == "begun\n";
  }));
  const Duration begin = mono_now();
  bench.runner->end(ActionId(1));
  bench.runner->end(ActionId(1));
  bench.runner->end(ActionId(2));
  bench.runner->end(ActionId(77));  // of which nobody knows
  CHECK(bench.end(1).outcome == Outcome::Signalled);
  CHECK(bench.end(1).status == SIGTERM);
  CHECK(bench.end(2).status == SIGKILL);
  CHECK(mono_now() - begin >= Duration{2000});
  CHECK(test::eventually([&] { return processes_with(bench.environment.back()).empty(); }));
  bench.runner->end(ActionId(2));  // it is gone
  CHECK(bench.runner->running() == 0);
  CHECK_FALSE(test::has_children());
}

TEST_CASE("an action that is to end while its timeout is near has been ended, not timed out", "[action]") {
  Bench bench;
  std::uint64_t id = 0;
  REQUIRE(test::begins_in_time(Duration{1900}, [&](Duration timeout) {
    const Duration near = mono_now() + timeout - Duration{1500};  // SIGTERM has two seconds
    bench.shell(++id, "trap '' TERM; echo begun; while :; do sleep 0.05; done", timeout);
    const auto begun = [&] { return read_file(bench.file(std::to_string(id) + ".out")) == "begun\n"; };
    REQUIRE(run_until(bench.loop,
                      [&] { return bench.ended.contains(id) || (bench.started.contains(id) && mono_now() >= near); }));
    return begun() && !bench.ended.contains(id) && mono_now() < near + Duration{1000};
  }));
  bench.runner->end(ActionId(id));
  CHECK(bench.end(id).outcome == Outcome::Signalled);
}

TEST_CASE("an adopted action can be ended, also before it is found", "[action]") {
  Bench bench;
  bench.environment.push_back("HEALER_TEST=" + bench.directory.path().string());
  bench.shell(1, "trap '' TERM; echo begun; while :; do sleep 0.05; done");
  bench.shell(2, "echo begun; sleep 600");
  REQUIRE(run_until(bench.loop, [&] {
    return bench.started.size() == 2 && read_file(bench.file("1.out")) == "begun\n" &&
           read_file(bench.file("2.out")) == "begun\n";
  }));
  bench.new_daemon();
  bench.runner->adopt(ActionId(1));
  run_for(bench.loop, Duration{100});
  const Duration begin = mono_now();
  bench.runner->end(ActionId(1));
  bench.runner->adopt(ActionId(2));
  bench.runner->end(ActionId(2));
  CHECK(bench.end(2).unseen);
  CHECK(bench.end(1).unseen);
  CHECK(mono_now() - begin >= Duration{2000});
  CHECK(test::eventually([&] { return processes_with(bench.environment.back()).empty(); }));
  CHECK(reap_all());
}

TEST_CASE("An action that is ended while starting is not started, or is ended once started", "[action]") {
  Bench bench;
  const std::string mark = (bench.directory.path() / "mark").string();
  for (std::uint64_t id = 1; id <= 20; ++id) {
    bench.shell(id, "sleep 600; echo x >> " + mark);
    if (id % 2 == 0) run_for(bench.loop, Duration{static_cast<std::int64_t>(id) / 4});
    bench.runner->end(ActionId(id));
  }
  for (std::uint64_t id = 1; id <= 20; ++id) {
    const event::ActionEnded& end = bench.end(id);
    if (end.outcome == Outcome::NotStarted) {
      CHECK(end.output == "not started: it was cancelled before");
      CHECK(bench.started.count(id) == 0);
    } else {
      CHECK(end.outcome == Outcome::Signalled);
      CHECK(bench.started.count(id) == 1);
    }
  }
  CHECK_FALSE(std::filesystem::exists(mark));
  CHECK_FALSE(test::has_children());
}

TEST_CASE("an action that waits for descriptors and is to end is not started", "[action]") {
  Bench bench;
  bench.new_daemon();
  {
    const test::FewDescriptors none;
    bench.shell(1, "true");
    run_for(bench.loop, Duration{150});
    bench.runner->end(ActionId(1));
    run_for(bench.loop, Duration{50});
  }
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
  CHECK(bench.started.empty());
}

TEST_CASE("actions of one line are started in their order", "[action]") {
  Bench bench;
  bench.line = "web";
  bench.new_daemon();
  std::vector<std::uint64_t> wanted;
  for (std::uint64_t id = 1; id <= 30; ++id) {
    bench.start(id, {"/bin/true"});
    wanted.push_back(id);
  }
  for (const std::uint64_t id : wanted) bench.end(id);
  CHECK(bench.order == wanted);
}

TEST_CASE("an action that cannot be started now is not overtaken by the next of its line", "[action]") {
  Bench bench;
  bench.new_daemon();
  bench.line = "web";
  {
    const test::FewDescriptors none;
    bench.start(1, {"/bin/true"});
    REQUIRE(run_until(bench.loop, [&] { return !bench.waits.empty(); }));
  }
  bench.start(2, {"/bin/true"});  // nothing is lacking any more, but the first is tried again only in a while
  bench.line = "db";
  bench.start(3, {"/bin/true"});
  for (const std::uint64_t id : {1, 2, 3}) bench.end(id);
  CHECK(bench.order == std::vector<std::uint64_t>{3, 1, 2});
}

TEST_CASE("An action that cannot start, or is to end, does not hold up its line", "[action]") {
  Bench bench;
  bench.line = "web";
  bench.start(1, {"/nowhere"});
  bench.start(2, {"/bin/true"});
  bench.start(3, {"/bin/true"});
  bench.runner->end(ActionId(2));
  CHECK(bench.end(3).status == 0);
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
  CHECK(bench.end(2).outcome == Outcome::NotStarted);
  CHECK(bench.order == std::vector<std::uint64_t>{3});
}

TEST_CASE("output files stay bounded, with head and tail, however much is written", "[action]") {
  Bench bench;
  bench.shell(1, "echo the head; head -c 300000000 /dev/zero | tr '\\0' x; echo; echo the tail");
  const auto& end = bench.end(1);
  CHECK(end.status == 0);
  const std::string kept = read_file(bench.file("1.out"));
  CHECK(kept.size() <= ActionFiles::kHead + ActionFiles::kTail + 100);
  CHECK(kept.rfind("the head\n", 0) == 0);
  CHECK(kept.find("\n[... output left out ...]\n") != std::string::npos);
  CHECK(kept.substr(kept.size() - 10) == "\nthe tail\n");
  CHECK(end.output.size() <= ActionFiles::kExcerpt);
  CHECK(end.output.rfind("the head\n", 0) == 0);
  CHECK(end.output.substr(end.output.size() - 10) == "\nthe tail\n");
}

TEST_CASE("the output of a program that runs on takes little of the disk meanwhile", "[action]") {
  Bench bench;
  bench.shell(1, "echo the head; head -c 5000000 /dev/zero | tr '\\0' x; echo the tail; sleep 300");
  const auto on_disk = [&] {
    struct stat facts {};
    return ::stat(bench.file("1.out").c_str(), &facts) == 0 ? facts.st_blocks * 512 : 0;
  };
  const auto all_written = [&] {
    std::error_code error;
    return std::filesystem::file_size(bench.file("1.out"), error) == 5'000'018 && !error;
  };
  CHECK(run_until(bench.loop, [&] { return all_written() && on_disk() < 200'000; }));
  ::kill(static_cast<pid_t>(-bench.started[1]), SIGKILL);
  CHECK(bench.end(1).outcome == Outcome::Signalled);
  const std::string kept = read_file(bench.file("1.out"));
  CHECK(kept.size() < 70'000);
  CHECK(kept.rfind("the head\n", 0) == 0);
  CHECK(kept.substr(kept.size() - 10) == "xthe tail\n");
}

TEST_CASE("output that has grown for months stays within what a file can be", "[action]") {
  const test::TemporaryDirectory directory;
  const ActionFiles files(directory.path().string());
  auto opened = files.create(ActionId(1), {.boot = 1}, std::nullopt);
  REQUIRE(opened);
  const auto append = [&](const std::string& text) {
    return ::write(opened->output.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  };
  const std::string head = "the head\n" + std::string(ActionFiles::kHead, 'h');
  const std::string tail = std::string(3 * ActionFiles::kTail, 't') + "the tail\n";
  REQUIRE(append(head));
  if (::ftruncate(opened->output.get(), static_cast<off_t>(ActionFiles::kLongest)) != 0) {
    WARN("SKIPPED: no files of that size here");
    return;
  }
  REQUIRE(append(tail));
  REQUIRE(files.thin(ActionId(1)).thinned);
  struct stat facts {};
  REQUIRE(::fstat(opened->output.get(), &facts) == 0);
  if (static_cast<std::size_t>(facts.st_size) > ActionFiles::kLongest) {
    WARN("SKIPPED: this file system does not let a hole be taken out");
    return;
  }
  CHECK(append("and more\n"));  // the program that writes notices nothing
  const std::string kept = read_file(files.output_path(ActionId(1)));
  CHECK(kept.size() < 20 * (ActionFiles::kHead + ActionFiles::kTail));
  CHECK(kept.substr(0, ActionFiles::kHead) == head.substr(0, ActionFiles::kHead));
  CHECK(kept.find('\0') != std::string::npos);
  const std::string end = tail.substr(tail.size() - ActionFiles::kTail) + "and more\n";
  CHECK(kept.substr(kept.size() - end.size()) == end);
}

TEST_CASE("only the files of the newest actions are kept", "[action]") {
  Bench bench;
  bench.options.kept = 5;
  bench.shell(1, "sleep 300");
  REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty(); }));
  for (std::uint64_t id = 2; id <= 20; ++id) {
    bench.start(id, {"/bin/true"});
    bench.end(id);
  }
  const auto names = [&] {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(bench.file(""))) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  };
  const std::vector<std::string> expected{"1.out",  "1.pid",  "16.out", "16.pid", "17.out", "17.pid",
                                          "18.out", "18.pid", "19.out", "19.pid", "20.out", "20.pid"};
  run_until(bench.loop, [&] { return names() == expected; });
  CHECK(names() == expected);
  ::kill(static_cast<pid_t>(-bench.started[1]), SIGKILL);
  bench.end(1);
}

TEST_CASE("an action for which there are no descriptors is started when there are some again", "[action]") {
  Bench bench;
  bench.start(1, {"/bin/true"});
  bench.end(1);
  {
    const test::FewDescriptors none;
    bench.shell(2, "echo here");
    run_for(bench.loop, Duration{250});
    CHECK(bench.ended.count(2) == 0);
  }
  REQUIRE(bench.waits.size() == 1);  // though it was tried more often
  CHECK_THAT(bench.waits[0], Catch::EndsWith("Too many open files"));
  CHECK(bench.end(2).status == 0);
  CHECK(bench.end(2).output == "here\n");
}

TEST_CASE("/proc/PID/stat is read whatever the name of the process", "[action]") {
  const auto stat = parse_proc_stat("42 (a) S 1 (x) R 7 8 9 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0");
  REQUIRE(stat);
  CHECK(stat->pid == 42);
  CHECK(stat->state == 'R');
  CHECK(stat->group == 8);
  CHECK(stat->session == 9);
  CHECK(stat->start_ticks == 12345);
  CHECK_FALSE(parse_proc_stat(""));
  CHECK_FALSE(parse_proc_stat("x (y) S 1"));
  CHECK_FALSE(parse_proc_stat("42 (y) S 1 2"));
}

}  // namespace action_runner_test
