// SPDX-License-Identifier: MIT
// Programs that run under a waiter: what is known of their end, whether or not a daemon is there.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <future>
#include <string>

#include <spdlog/fmt/fmt.h>

#include "runtime/action_bench.hpp"
#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/inspection/proc_table.hpp"
#include "support/child.hpp"
#include "support/small_disk.hpp"

namespace waiter_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::read_file;
using healer::test::reap_all;
using healer::test::run_for;
using healer::test::run_until;

namespace {

/// A bench whose programs have a waiter, and a gate that they wait at.
struct WaitedBench : healer::test::ActionBench {
  WaitedBench() { waited = true; }

  std::string gate = (directory.path() / "gate").string();

  /// Starts a program that says that it has begun, waits at the gate, and then does `rest`.
  void begin(std::uint64_t id, const std::string& rest, Duration timeout = Duration{0}) {
    shell(id, "echo begun; while [ ! -e " + gate + " ]; do sleep 0.02; done; " + rest, timeout);
    REQUIRE(run_until(loop, [&] {
      return started.contains(id) && read_file(options.directory + fmt::format("/{}.out", id)) == "begun\n";
    }));
  }
  void open_gate() const { test::write_with_mode(gate, "", 0644); }
  [[nodiscard]] ActionFiles::Trace trace(std::uint64_t id) const {
    auto found = ActionFiles(options.directory).read(ActionId(id));
    REQUIRE(found);
    return *found;
  }
  [[nodiscard]] std::string record(std::uint64_t id) const { return file(std::to_string(id) + ".end"); }
  /// The daemon goes, and what happens meanwhile is over when this returns.
  void end_while_away(std::uint64_t id) {
    runner.reset();
    open_gate();
    await_waiter(id);
  }
  void await_waiter(std::uint64_t id) const {
    REQUIRE(test::eventually([&] { return !find_process(trace(id).waiter.pid, trace(id).waiter.start_ticks); }));
  }
  void lose_waiter(std::uint64_t id) const {
    REQUIRE(signal_process(trace(id).waiter.pid, trace(id).waiter.start_ticks, SIGKILL));
    await_waiter(id);
  }
};

}  // namespace

TEST_CASE("a program under a waiter ends as any other while its daemon lives", "[waiter]") {
  WaitedBench bench;
  SECTION("by itself") {
    bench.shell(1, "echo said; exit 3");
    CHECK(bench.end(1).outcome == Outcome::Exited);
    CHECK(bench.end(1).status == 3);
    CHECK(bench.end(1).output == "said\n");
  }
  SECTION("by a signal") {
    bench.shell(1, "kill -9 $$");
    CHECK(bench.end(1).outcome == Outcome::Signalled);
    CHECK(bench.end(1).status == 9);
  }
  SECTION("at its timeout, with what has a group of its own") {
    bench.shell(1, "trap '' TERM; set -m; sleep 600 & wait; sleep 600", Duration{300});
    CHECK(bench.end(1).outcome == Outcome::TimedOut);
    CHECK(bench.end(1).status == 9);
    CHECK(bench.end(1).elapsed >= Duration{300});
  }
  SECTION("when it is ended") {
    bench.begin(1, "");
    bench.runner->end(ActionId(1));
    CHECK(bench.end(1).outcome == Outcome::Signalled);
    CHECK(bench.end(1).status == SIGTERM);
  }
  SECTION("when it does not begin") {
    bench.start(1, {"/nonexistent/program"});
    CHECK(bench.end(1).outcome == Outcome::NotStarted);
    CHECK(bench.end(1).status == 127);
    CHECK(bench.end(1).output == "cannot execute /nonexistent/program: No such file or directory");
    CHECK(read_file(bench.file("1.out")) == bench.end(1).output + "\n");
  }
  CHECK_FALSE(bench.end(1).unseen);
  CHECK(bench.runner->has_record(ActionId(1)));
  CHECK(std::filesystem::exists(bench.record(1)));
  bench.runner->settle({ActionId(1)});
  CHECK(run_until(bench.loop, [&] { return !std::filesystem::exists(bench.record(1)); }));
  CHECK_FALSE(bench.runner->has_record(ActionId(1)));
  CHECK_FALSE(test::has_children());
}

TEST_CASE("the end of a program that has a waiter is known though no daemon was there", "[waiter]") {
  WaitedBench bench;
  bench.begin(1, "echo done; exit 3");
  bench.end_while_away(1);
  struct stat facts {};
  REQUIRE(::stat(bench.record(1).c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777) == 0600);
  REQUIRE(::stat(bench.file("").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777) == 0700);
  for (int i = 0; i < 2; ++i) {  // it is told to each daemon until one of them has settled it
    bench.new_daemon();
    bench.runner->adopt(ActionId(1));
    CHECK_FALSE(bench.end(1).unseen);
    CHECK(bench.end(1).outcome == Outcome::Exited);
    CHECK(bench.end(1).status == 3);
    CHECK(bench.end(1).output == "begun\ndone\n");
  }
  bench.runner->settle({ActionId(1)});
  CHECK(run_until(bench.loop, [&] { return !std::filesystem::exists(bench.record(1)); }));
  CHECK(reap_all());
}

TEST_CASE("the end of a program is known though the disk was full when it came, and no daemon was there", "[waiter]") {
  test::SmallDisk disk;
  if (!disk.works()) {
    WARN("SKIPPED: no file system can be mounted here");
    return;
  }
  WaitedBench bench;
  bench.options.directory = disk.file("actions");
  bench.begin(1, "exit 3");
  disk.fill();
  bench.end_while_away(1);
  CHECK_FALSE(std::filesystem::exists(disk.file("actions/1.end.new")));
  bench.new_daemon();
  bench.runner->adopt(ActionId(1));
  CHECK_FALSE(bench.end(1).unseen);
  CHECK(bench.end(1).outcome == Outcome::Exited);
  CHECK(bench.end(1).status == 3);
  CHECK(reap_all());
}

TEST_CASE("a waiter ends its program at the timeout though no daemon is there", "[waiter]") {
  WaitedBench bench;
  const std::string mark = test::own_mark("WAITED");
  bench.environment.push_back(mark);
  bench.shell(1, "trap '' TERM; set -m; sleep 600 & echo begun; wait; sleep 600", Duration{1000});
  REQUIRE(run_until(bench.loop, [&] { return bench.started.contains(1); }));
  bench.runner.reset();
  bench.await_waiter(1);
  CHECK(test::processes_with(mark).empty());
  bench.new_daemon();
  bench.runner->adopt(ActionId(1));
  CHECK(bench.end(1).outcome == Outcome::TimedOut);
  CHECK_FALSE(bench.end(1).unseen);
  CHECK(bench.end(1).elapsed >= Duration{1000});
  CHECK(reap_all());
}

TEST_CASE("a program that still runs is awaited by the next daemon, and is ended by it", "[waiter]") {
  WaitedBench bench;
  bench.begin(1, "exit 4");
  const pid_t pid = bench.trace(1).pid;
  bench.new_daemon();
  bench.runner->adopt(ActionId(1));
  REQUIRE(run_until(bench.loop, [&] { return bench.started.contains(1); }));
  CHECK(bench.started[1] == pid);
  SECTION("it ends") {
    bench.open_gate();
    CHECK(bench.end(1).outcome == Outcome::Exited);
    CHECK(bench.end(1).status == 4);
  }
  SECTION("it is ended") {
    bench.runner->end(ActionId(1));
    CHECK(bench.end(1).outcome == Outcome::Signalled);
    CHECK(bench.end(1).status == SIGTERM);
  }
  CHECK_FALSE(bench.end(1).unseen);
  CHECK(reap_all());
}

TEST_CASE("without its waiter a program goes on, and how it ends nobody may know", "[waiter]") {
  WaitedBench bench;
  SECTION("no daemon is there") {
    bench.begin(1, "exit 4");
    bench.runner.reset();
    const auto trace = bench.trace(1);
    bench.lose_waiter(1);
    bench.open_gate();
    CHECK(test::eventually([&] { return !find_process(trace.pid, trace.start_ticks); }));
    bench.new_daemon();
    bench.runner->adopt(ActionId(1));
    CHECK(bench.end(1).unseen);
  }
  SECTION("a daemon is there, which ends it at the timeout") {
    bench.begin(1, "exit 4", Duration{3000});
    bench.lose_waiter(1);
    CHECK(bench.end(1).outcome == Outcome::TimedOut);
    CHECK_FALSE(find_process(bench.trace(1).pid, bench.trace(1).start_ticks));
  }
  SECTION("a daemon is there, which is to end it") {
    bench.begin(1, "exit 4");
    bench.lose_waiter(1);
    bench.runner->end(ActionId(1));
    bench.end(1);
    CHECK_FALSE(find_process(bench.trace(1).pid, bench.trace(1).start_ticks));
  }
  CHECK(reap_all());
}

TEST_CASE("a record that is not whole, or not healer's, is none", "[waiter]") {
  WaitedBench bench;
  bench.begin(1, "exit 0");
  bench.end_while_away(1);
  const std::string good = read_file(bench.record(1));
  REQUIRE(good.starts_with("ended 0 0 "));
  const auto is_whole = [&](const std::string& text) {
    test::write_with_mode(bench.record(1), text, 0600);
    bench.new_daemon();
    bench.runner->adopt(ActionId(1));
    return !bench.end(1).unseen;
  };
  CHECK(is_whole(good));
  for (std::size_t size = 0; size < good.size(); ++size) CHECK_FALSE(is_whole(good.substr(0, size)));
  for (const std::string bad :
       {"ended 9 0 0 0 \n", "ended -1 0 0 0 \n", "ended 0 0 -1 0 \n", "ended 0 x 0 0 \n", "begun 0 0 0 0 \n",
        "ended 0 99999999999999999999 0 0 \n", "ended 0 0 0 0 a b\n", "ended 0 0 0 0 \nended 0 0 0 0 \n"})
    CHECK_FALSE(is_whole(bad));
  CHECK_FALSE(is_whole(std::string(5000, 'x') + "\n"));
  CHECK_FALSE(is_whole(std::string(100, '\0')));
  CHECK(is_whole(good));
  if (::geteuid() == 0) {
    REQUIRE(::chown(bench.record(1).c_str(), 65534, 65534) == 0);
    bench.new_daemon();
    bench.runner->adopt(ActionId(1));
    CHECK(bench.end(1).unseen);
  }
  std::filesystem::remove(bench.record(1));
  std::filesystem::create_directory(bench.record(1));
  bench.new_daemon();
  bench.runner->adopt(ActionId(1));
  CHECK(bench.end(1).unseen);
  CHECK(reap_all());
}

TEST_CASE("Records that somebody will ask for are kept", "[waiter]") {
  WaitedBench bench;
  bench.new_daemon();
  for (const char* name : {"1.end", "2.end", "3.end.new", "2.end.new", "2.out", "end"})
    test::write_with_mode(bench.file(name), "", 0600);
  bench.runner->files().remove_records({2});
  CHECK_FALSE(std::filesystem::exists(bench.file("1.end")));
  CHECK(std::filesystem::exists(bench.file("2.end")));
  CHECK(std::filesystem::exists(bench.file("2.end.new")));  // a waiter may be at it
  CHECK_FALSE(std::filesystem::exists(bench.file("3.end.new")));
  CHECK(std::filesystem::exists(bench.file("2.out")));
  CHECK(std::filesystem::exists(bench.file("end")));
}

TEST_CASE("files whose record is not settled stay, however many actions follow", "[waiter]") {
  WaitedBench bench;
  bench.options.kept = 1;
  bench.shell(1, "exit 0");
  bench.end(1);
  for (std::uint64_t id = 2; id < 5; ++id) {
    bench.shell(id, "exit 0");
    bench.end(id);
    bench.runner->settle({ActionId(id)});
  }
  REQUIRE(run_until(bench.loop, [&] { return !std::filesystem::exists(bench.file("2.out")); }));
  CHECK(std::filesystem::exists(bench.file("1.out")));
  CHECK(std::filesystem::exists(bench.record(1)));
}

TEST_CASE("a program gets from its waiter what it gets from the daemon, and nothing else", "[waiter]") {
  WaitedBench bench;
  if (::geteuid() == 0) bench.identity.uid = bench.identity.gid = 65534;
  bench.environment.emplace_back("TOKEN=hunter2");
  const std::string check =
      "ls /proc/$$/fd; env | grep -c TOKEN=hunter2; readlink /proc/$$/fd/0; ulimit -n; umask; pwd; "
      "grep -E 'Sig(Blk|Ign)' /proc/self/status; [ $(cut -d' ' -f6 /proc/$$/stat) = $$ ] && echo leads; id -u; id -G";
  bench.shell(1, check);
  const std::string with = bench.end(1).output;
  bench.waited = false;
  bench.shell(2, check);
  CHECK(with == bench.end(2).output);
  CHECK(with.starts_with("0\n1\n2\n"));
}

TEST_CASE("Nobody else can read what is sent to a waiter", "[waiter]") {
  WaitedBench bench;
  bench.environment.emplace_back("TOKEN=hunter2");
  bench.begin(1, "");
  const pid_t waiter = bench.trace(1).waiter.pid;
  CHECK(command_line(waiter) == "healer-waiter --wait-for-program");
  CHECK(read_file("/proc/" + std::to_string(waiter) + "/environ").empty());
  std::size_t open = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(waiter) + "/fd")) {
    ++open;
    CHECK(std::filesystem::read_symlink(entry.path()).string().find("memfd") == std::string::npos);
  }
  CHECK(open <= 7);  // three, its signals, its timer, the folder, the program
  const auto stat = read_proc_stat(waiter);
  REQUIRE(stat);
  CHECK(stat->session == waiter);
  bench.open_gate();
  bench.end(1);
}

TEST_CASE("No text passed to a program can be taken for another", "[waiter]") {
  WaitedBench bench;
  SECTION("an argument") { bench.start(1, {"/bin/echo", std::string("x\0/bin/evil", 11)}); }
  SECTION("a variable") {
    bench.environment.push_back(std::string("A=x\0LD_PRELOAD=/evil.so", 23));
    bench.start(1, {"/bin/echo", "said"});
  }
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
  CHECK(bench.end(1).output == "cannot tell a waiter what to start: Invalid argument");
}

TEST_CASE("what a program writes stays small while no daemon is there", "[waiter]") {
  WaitedBench bench;
  bench.begin(1, "yes filler | head -c 200000000; echo; echo last; sleep 600");
  bench.runner.reset();
  bench.open_gate();
  constexpr off_t kWhole = 200'000'000 + sizeof("begun\n\nlast\n") - 1;
  const auto blocks = [&] {
    struct stat facts {};
    return ::stat(bench.file("1.out").c_str(), &facts) == 0 && facts.st_size == kWhole ? facts.st_blocks * 512 : -1;
  };
  CHECK(run_until(bench.loop, [&] { return blocks() >= 0 && blocks() < 1'000'000; }));
  bench.new_daemon();
  bench.runner->adopt(ActionId(1));
  REQUIRE(run_until(bench.loop, [&] { return bench.started.contains(1); }));
  bench.runner->end(ActionId(1));
  const std::string output = bench.end(1).output;
  CHECK(output.starts_with("begun\n"));
  CHECK(output.ends_with("last\n"));
  CHECK(reap_all());
}

TEST_CASE("a secret that a program has written goes when its end is settled", "[waiter]") {
  WaitedBench bench;
  bench.output = ActionFiles::Shown::Nothing;
  bench.begin(1, "echo hunter2");
  CHECK(bench.runner->hides_output(ActionId(1)));
  const bool away = GENERATE(false, true);
  if (away) {
    bench.end_while_away(1);
    bench.new_daemon();
    bench.runner->adopt(ActionId(1));
  }
  bench.open_gate();
  CHECK(bench.end(1).output.empty());
  CHECK(bench.runner->hides_output(ActionId(1)));
  CHECK(bench.runner->files().kept(ActionId(1)) == "begun\nhunter2\n");
  const std::string gone = "[its output held a secret, and is not kept]\n";
  SECTION("by the daemon that has seen it") {
    bench.runner->settle({ActionId(1)});
    CHECK(run_until(bench.loop, [&] { return !bench.runner->hides_output(ActionId(1)); }));
    CHECK_FALSE(std::filesystem::exists(bench.record(1)));
  }
  SECTION("by the next one, where that one has died before it could") {
    bench.runner.reset();
    ActionFiles((bench.directory.path() / "actions").string()).remove_records({});
  }
  CHECK(read_file(bench.file("1.out")) == gone);
  CHECK(reap_all());
}

TEST_CASE("a secret that a program was given is struck out of what it has written", "[waiter]") {
  WaitedBench bench;
  bench.output = ActionFiles::Shown::Struck;
  bench.late = [] { return Result<LateVariables>({.values = {{"TOKEN", "hunter2"}}, .hidden = {"hunter2"}}); };
  bench.begin(1, "echo no luck with $TOKEN");
  SECTION("by the daemon that gave it") {
    CHECK_FALSE(bench.runner->hides_output(ActionId(1)));
    CHECK(bench.runner->given_secrets(ActionId(1))() == std::vector<std::string>{"hunter2"});
    bench.open_gate();
    CHECK(bench.end(1).output == "begun\nno luck with *****\n");
    bench.runner->settle({ActionId(1)});
    CHECK(run_until(bench.loop, [&] { return !bench.runner->keeps_secrets(ActionId(1)); }));
    CHECK(read_file(bench.file("1.out")) == "begun\nno luck with *****\n");
  }
  SECTION("all of it by the next one, which does not know it") {
    bench.end_while_away(1);
    bench.new_daemon();
    bench.runner->adopt(ActionId(1));
    bench.open_gate();
    CHECK(bench.end(1).output.empty());
    CHECK(bench.runner->hides_output(ActionId(1)));
    bench.runner->settle({ActionId(1)});
    CHECK(run_until(bench.loop, [&] { return !bench.runner->keeps_secrets(ActionId(1)); }));
    CHECK(read_file(bench.file("1.out")) == "[its output held a secret, and is not kept]\n");
  }
  CHECK(reap_all());
}

TEST_CASE("The output of a program that could not be started contains no secrets", "[waiter]") {
  WaitedBench bench;
  bench.output = ActionFiles::Shown::Struck;
  bench.late = [] { return Result<LateVariables>(Error{0, "secret x: gone"}); };
  bench.shell(1, "echo said");
  CHECK(bench.end(1).output == "secret x: gone");
  CHECK_FALSE(bench.runner->keeps_secrets(ActionId(1)));
}

TEST_CASE("variables are read where a disk may be waited for, and replace others", "[waiter]") {
  WaitedBench bench;
  bench.environment = {"PATH=/usr/bin:/bin", "LANG=C"};
  SECTION("they are there") {
    bench.late = [] { return Result<LateVariables>({.values = {{"LANG", "other"}, {"TOKEN", "hunter2"}}}); };
    bench.shell(1, "env | grep -E '^(LANG|TOKEN)=' | sort");
    CHECK(bench.end(1).output == "LANG=other\nTOKEN=hunter2\n");
  }
  SECTION("they cannot be read") {
    bench.late = [] { return Result<LateVariables>(Error{0, "secret x: gone"}); };
    bench.shell(1, "echo said");
    CHECK(bench.end(1).outcome == Outcome::NotStarted);
    CHECK(bench.end(1).output == "secret x: gone");
  }
  SECTION("a disk hangs: others go on") {
    std::promise<void> answers;
    bench.late = [answered = answers.get_future().share()] {
      answered.wait();
      return Result<LateVariables>({.values = {{"TOKEN", "hunter2"}}});
    };
    bench.shell(1, "echo $TOKEN");
    bench.late = {};
    bench.shell(2, "echo other");
    CHECK(bench.end(2).output == "other\n");
    CHECK(bench.ended.count(1) == 0);
    answers.set_value();
    CHECK(bench.end(1).output == "hunter2\n");
  }
}

TEST_CASE("A waiter that is lost before its program began is reported", "[waiter]") {
  WaitedBench bench;
  SECTION("it knows no waiter") { bench.options.waiter = "/bin/true"; }
  SECTION("there is none") { bench.options.waiter = "/nonexistent/healerd"; }
  bench.shell(1, "echo x >> " + bench.file("acted"));
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
  CHECK(bench.end(1).output.find("waiter") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(bench.file("acted")));
  CHECK_FALSE(test::has_children());
}

TEST_CASE("A waiter without a request ends", "[waiter]") {
  WaitedBench bench;
  bench.waited = false;
  const std::string waiter = bench.options.waiter;
  bench.shell(1, "bash -c 'exec -a healer-waiter " + waiter + " --wait-for-program' < /dev/null");
  CHECK(bench.end(1).outcome == Outcome::Exited);
  CHECK(bench.end(1).status == 1);
}

}  // namespace waiter_test
