// SPDX-License-Identifier: MIT
#include "runtime/process/process_runner.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "runtime/runner_bench.hpp"
#include "support/processes.hpp"

namespace process_runner_test {

using namespace healer;
using namespace std::string_view_literals;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::own_mark;
using healer::test::processes_with;
using healer::test::run_for;
using healer::test::run_until;

namespace {

using Bench = test::RunnerBench;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      result.push_back(std::exchange(line, {}));
    } else {
      line += c;
    }
  }
  return result;
}

}  // namespace

TEST_CASE("exit values, signals and output are observed", "[runner]") {
  Bench bench;
  const auto zero = bench.start({"/bin/true"});
  const auto seven = bench.shell("echo out; echo err >&2; exit 7");
  const auto killed = bench.shell("kill -SEGV $$");
  CHECK(bench.result(zero).outcome == Outcome::Exited);
  CHECK(bench.result(zero).status == 0);
  CHECK(bench.output(zero).empty());
  CHECK(bench.result(seven).status == 7);
  CHECK(bench.output(seven) == "err\nout\n");
  CHECK(bench.result(killed).outcome == Outcome::Signalled);
  CHECK(bench.result(killed).status == SIGSEGV);
  CHECK(bench.idle());
  CHECK_FALSE(test::has_children());
}

TEST_CASE("a program that cannot be started is reported with the exact reason", "[runner]") {
  Bench bench;
  test::TemporaryDirectory directory;
  const std::string plain = test::write_with_mode(directory.path() / "plain", "#!/bin/sh\n", 0644);
  const std::string text = test::write_with_mode(directory.path() / "text", "echo no interpreter line\n", 0755);
  const std::string orphan = test::write_with_mode(directory.path() / "orphan", "#!/no/such/interpreter\n", 0755);
  const auto reason = [&](const std::string& program) {
    const auto id = bench.start({program});
    CHECK(bench.result(id).outcome == Outcome::NotStarted);
    CHECK(bench.result(id).status == 127);
    return bench.output(id);
  };
  CHECK(reason("/no/such/program") == "cannot execute /no/such/program: No such file or directory");
  CHECK(reason("/etc") == "cannot execute /etc (it is a directory): Permission denied");
  CHECK(reason(plain) == "cannot execute " + plain + ": Permission denied");
  CHECK(reason(text) ==
        "cannot execute " + text + " (a script must begin with #! and its interpreter): Exec format error");
  CHECK(reason(orphan) == "cannot execute " + orphan + " (its interpreter is missing): No such file or directory");
  CHECK_FALSE(test::has_children());
}

TEST_CASE("a program becomes the user and group it is to run as, and nothing else", "[runner]") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: not root");
    return;
  }
  Bench bench;
  bench.identity.uid = 65534;
  bench.identity.gid = 12345;
  const auto both = bench.shell("id -u; id -g; id -G; grep -E '^(Uid|Gid|CapEff)' /proc/self/status");
  CHECK(bench.output(both) ==
        "65534\n12345\n12345\nUid:\t65534\t65534\t65534\t65534\nGid:\t12345\t12345\t12345\t12345\n"
        "CapEff:\t0000000000000000\n");
  const auto reopened = bench.shell("echo again > /dev/stderr; echo too > /dev/stdout");
  CHECK(bench.output(reopened) == "again\ntoo\n");
  bench.identity.gid.reset();
  const auto user_alone = bench.shell("id -u; id -g; id -G");
  CHECK(bench.output(user_alone) == "65534\n0\n0\n");
}

TEST_CASE("a program gets the environment given and nothing more", "[runner]") {
  Bench bench;
  bench.environment = {"MONIT_SERVICE=x", "EMPTY=", "WITH=a b\nc"};
  const auto id = bench.start({"/usr/bin/env", "-0"});
  CHECK(bench.output(id) == "MONIT_SERVICE=x\0EMPTY=\0WITH=a b\nc\0"sv);
}

TEST_CASE("arguments are passed as they are", "[runner]") {
  Bench bench;
  const auto id = bench.start({"/usr/bin/printf", "[%s]\n", "a b", "", "$HOME * ; |", "-x"});
  CHECK(bench.output(id) == "[a b]\n[]\n[$HOME * ; |]\n[-x]\n");
}

TEST_CASE("a program inherits three descriptors, default signals, umask 022, / and a session of its own", "[runner]") {
  // The daemon's own state is made different from what programs are to get.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const mode_t mask = ::umask(077);
  FILE* leak = ::fopen("/dev/null", "r");  // not close-on-exec
  Bench bench;
  bench.limit = 4096;
  const auto signals = bench.start({"/bin/cat", "/proc/self/status"});
  const auto descriptors = bench.shell("ls /proc/self/fd | sort -n | tr '\\n' ' '; readlink /proc/self/fd/0");
  const auto place = bench.shell("umask; pwd; ps -o pid=,pgid=,sid= -p $$ | tr -s ' '; echo $$");
  for (const std::string field : {"SigBlk", "SigIgn", "SigCgt"}) {
    CHECK(bench.output(signals).find(field + ":\t0000000000000000\n") != std::string::npos);
  }
  // 3 is the directory that ls itself has open
  CHECK(bench.output(descriptors) == "0 1 2 3 /dev/null\n");
  const auto parts = lines(bench.output(place));
  REQUIRE(parts.size() == 4);
  CHECK(parts[0] == "0022");
  CHECK(parts[1] == "/");
  CHECK(parts[2].find(parts[3] + " " + parts[3] + " " + parts[3]) != std::string::npos);
  ::fclose(leak);
  ::umask(mask);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGHUP, SIG_DFL);
}

TEST_CASE("a program gets the limits and the OOM score of the start, not those the daemon gave itself", "[runner]") {
  const LaunchDefaults at_start = [] {
    LaunchDefaults defaults = LaunchDefaults::capture();
    defaults.reset_oom_score = true;
    return defaults;
  }();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit raised = before;
  raised.rlim_cur = before.rlim_cur / 2;
  ::setrlimit(RLIMIT_NOFILE, &raised);
  const std::string score = test::read_file("/proc/self/oom_score_adj");
  std::ofstream("/proc/self/oom_score_adj") << 123;
  {
    Spawner::Options options;
    options.defaults = at_start;
    Bench bench({}, std::move(options));
    const auto id = bench.shell("ulimit -Sn; cat /proc/self/oom_score_adj");
    CHECK(bench.output(id) == std::to_string(before.rlim_cur) + "\n0\n");
    CHECK(test::read_file("/proc/self/oom_score_adj") == "123\n");
  }
  std::ofstream("/proc/self/oom_score_adj") << score;
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("output beyond the limit is read and dropped", "[runner]") {
  Bench bench;
  const auto many =
      bench.shell("head -c 100000000 /dev/zero | tr '\\0' e >&2; head -c 100000000 /dev/zero | tr '\\0' o; exit 3");
  CHECK(bench.result(many).status == 3);
  CHECK(bench.output(many) == std::string(512, 'e'));
  CHECK(*bench.result(many).telling == std::string(512, 'e'));
  bench.limit = 6;
  const auto both = bench.shell("printf 1234 >&2; printf abcdef");
  CHECK(bench.output(both) == "1234ab");
  CHECK(*bench.result(both).telling == "1234");
  bench.limit = 512;
  const auto late = bench.shell("seq 3000; echo 'fatal: no disk left'; seq 300; exit 2");
  CHECK(bench.output(late).ends_with("\n154\n155\n"));
  CHECK(*bench.result(late).telling == "fatal: no disk left");
  CHECK(bench.result(bench.shell("echo short")).telling == std::nullopt);
}

TEST_CASE("a background process that keeps the pipes open does not hold the result, and lives on", "[runner]") {
  Bench bench;
  bench.environment.push_back(own_mark("keeps-pipe"));
  const auto id = bench.shell("echo before; sleep 300 & exit 5");
  CHECK(bench.result(id).status == 5);
  CHECK(bench.output(id) == "before\n");
  CHECK(bench.idle());
  const auto left = processes_with(own_mark("keeps-pipe"));
  CHECK(left.size() == 1);
  for (const pid_t pid : left) ::kill(pid, SIGKILL);
}

TEST_CASE("a background process that writes for ever does not hold the result", "[runner]") {
  Bench bench;
  bench.environment.push_back(own_mark("writes-on"));
  const auto id = bench.shell("yes & exit 5");
  CHECK(bench.result(id).status == 5);
  CHECK(bench.idle());
  for (const pid_t pid : processes_with(own_mark("writes-on"))) ::kill(pid, SIGKILL);
}

TEST_CASE("a timeout is reported at once, with status 9 and the output so far", "[runner]") {
  Bench bench;
  bench.environment.push_back(own_mark("timeout"));
  Duration begin{0};
  Duration timeout{0};
  std::uint64_t id = 0;
  REQUIRE(test::begins_in_time(Duration{1000}, [&](Duration tried) {
    CHECK(bench.idle());
    begin = mono_now();
    timeout = tried;
    id = bench.shell("trap '' TERM; echo so far; while :; do sleep 1; done", timeout);
    return bench.output(id) == "so far\n";
  }));
  // Not only when the SIGKILL has done its work.
  CHECK(bench.runner.running() == 1);
  const Evidence& seen = bench.result(id);
  CHECK(seen.outcome == Outcome::TimedOut);
  CHECK(seen.status == 9);
  CHECK(seen.elapsed >= timeout);
  CHECK(bench.idle());
  CHECK(mono_now() - begin >= timeout + runtime::Child::kGrace);
  CHECK(run_until(bench.loop, [] { return processes_with(own_mark("timeout")).empty(); }));
  CHECK_FALSE(test::has_children());
}

TEST_CASE("what a program writes when it is told to end is told after its verdict", "[runner]") {
  Bench bench;
  const std::vector<std::string> patterns = GENERATE(std::vector<std::string>(), std::vector<std::string>{"hello"});
  std::uint64_t id = 0;
  REQUIRE(test::begins_in_time(Duration{500}, [&](Duration timeout) {
    CHECK(bench.idle());
    const std::string script = "trap 'echo bye; exit 3' TERM; echo hello; while :; do sleep 0.02; done";
    id = bench.start({"/bin/sh", "-c", script}, timeout, 0, patterns);
    return bench.output(id) == "hello\n";
  }));
  CHECK(bench.result(id).outcome == Outcome::TimedOut);
  CHECK(run_until(bench.loop, [&] { return bench.late.contains(id); }));
  CHECK_THAT(bench.late[id], Catch::EndsWith("hello\nbye\n"));  // the shell tells of the end of sleep before
  CHECK(bench.idle());
}

TEST_CASE("after a timeout no process of the tree is left, even where all ignore SIGTERM", "[runner]") {
  Bench bench;
  bench.environment.push_back(own_mark("tree"));
  const std::string stubborn = "trap '' TERM; (trap '' TERM; (trap '' TERM; sleep 300; :) & sleep 300; :) & ";
  std::uint64_t leader_stays = 0;
  std::uint64_t leader_goes = 0;
  REQUIRE(test::begins_in_time(Duration{2000}, [&](Duration timeout) {
    CHECK(bench.idle());
    leader_stays = bench.shell(stubborn + "while :; do sleep 300; done", timeout);
    // The leader obeys SIGTERM: the others go with it, without the grace.
    leader_goes = bench.shell("(trap '' TERM; sleep 300; :) & sleep 300", timeout);
    const auto over = [&] { return bench.seen.contains(leader_stays) || bench.seen.contains(leader_goes); };
    return run_until(bench.loop, [&] { return over() || processes_with(own_mark("tree")).size() >= 6; }) && !over();
  }));
  CHECK(bench.result(leader_stays).outcome == Outcome::TimedOut);
  CHECK(bench.result(leader_goes).outcome == Outcome::TimedOut);
  CHECK(bench.idle());
  CHECK(run_until(bench.loop, [] { return processes_with(own_mark("tree")).empty(); }));
  CHECK_FALSE(test::has_children());
}

TEST_CASE("processes in groups of their own end with the rest of their session", "[runner]") {
  Bench bench;
  bench.environment.push_back(own_mark("groups"));
  // timeout(1) makes itself a group; its child inherits that SIGTERM is ignored.
  std::uint64_t obeys = 0;
  std::uint64_t ignores = 0;
  REQUIRE(test::begins_in_time(Duration{2000}, [&](Duration timeout) {
    CHECK(bench.idle());
    obeys = bench.shell("timeout 300 sleep 300; :", timeout);
    ignores = bench.shell("(trap '' TERM; exec timeout 300 sh -c 'trap \"\" TERM; sleep 300; :') & wait", timeout);
    const auto over = [&] { return bench.seen.contains(obeys) || bench.seen.contains(ignores); };
    return run_until(bench.loop, [&] { return over() || processes_with(own_mark("groups")).size() >= 6; }) && !over();
  }));
  CHECK(bench.result(obeys).outcome == Outcome::TimedOut);
  CHECK(bench.result(ignores).outcome == Outcome::TimedOut);
  CHECK(bench.idle());
  CHECK(run_until(bench.loop, [] { return processes_with(own_mark("groups")).empty(); }));
  CHECK_FALSE(test::has_children());
}

TEST_CASE("without a pidfd the exit of a program is noticed all the same", "[runner]") {
  Loop loop;
  Spawner spawner(loop, {});
  Launcher launcher(LaunchDefaults::capture());
  LaunchProgress progress;
  Launch launch;
  launch.arguments = {"/bin/sh", "-c", "sleep 0.1; exit 6"};
  launch.output = Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  auto started = launcher.start(std::move(launch), progress);
  REQUIRE(started);
  started->pidfd.reset();
  std::optional<int> status;
  runtime::Child child(loop, spawner.sweeper(), std::move(*started),
                       [&](runtime::Child::Exit exit) { status = exit.status; });
  CHECK(run_until(loop, [&] { return status.has_value(); }));
  CHECK(status == 6);
  CHECK_FALSE(test::has_children());
}

TEST_CASE("a runner that goes leaves no process behind", "[runner]") {
  auto bench = std::make_unique<Bench>();
  bench->environment.push_back(own_mark("goes"));
  // The process can be seen before the runner has been told of it: but more than a pipe holds goes nowhere until then.
  const test::TemporaryDirectory directory;
  const std::string written = (directory.path() / "told").string();
  bench->start({"/bin/sh", "-c", "head -c 200000 /dev/zero; touch " + written + "; exec sleep 300"});
  CHECK(run_until(bench->loop,
                  [&] { return std::filesystem::exists(written) && processes_with(own_mark("goes")).size() == 1; }));
  bench.reset();
  CHECK(processes_with(own_mark("goes")).empty());
  CHECK_FALSE(test::has_children());
}

TEST_CASE("a new run of a service waits until the timed-out process is gone, and its timeout counts from its start",
          "[runner]") {
  Bench bench;
  std::uint64_t old = 0;
  REQUIRE(test::begins_in_time(Duration{1000}, [&](Duration timeout) {
    CHECK(bench.idle());
    old = bench.shell("trap '' TERM; echo x; while :; do sleep 0.1; done", timeout, 7);
    return bench.output(old) == "x\n";
  }));
  CHECK(bench.result(old).outcome == Outcome::TimedOut);
  REQUIRE(bench.runner.running() == 1);
  const auto next = bench.start({"/bin/true"}, Duration{1900}, 7);
  const auto other = bench.start({"/bin/true"}, Duration{0}, 8);
  CHECK(bench.runner.waiting() == 1);
  CHECK(bench.result(other).status == 0);
  CHECK(bench.seen.count(next) == 0);
  CHECK(bench.result(next).outcome == Outcome::Exited);
  CHECK(bench.arrived[next] - bench.arrived[old] >= runtime::Child::kGrace - Duration{50});
}

TEST_CASE("a cancelled run ends without a result", "[runner]") {
  Bench bench;
  bench.environment.push_back(own_mark("cancel"));
  const auto id = bench.shell("trap '' TERM; echo x; while :; do sleep 1; done", Duration{0}, 5);
  const auto held = bench.start({"/bin/true"}, Duration{0}, 5);
  const auto after = bench.start({"/bin/true"}, Duration{0}, 5);
  CHECK(run_until(bench.loop, [] { return !processes_with(own_mark("cancel")).empty(); }));
  bench.runner.cancel(RunId(id));
  bench.runner.cancel(RunId(held));
  bench.runner.cancel(RunId(987654));
  CHECK(bench.result(after).status == 0);
  CHECK(bench.idle());
  CHECK(bench.seen.size() == 1);
  CHECK(processes_with(own_mark("cancel")).empty());

  // Before the program runs, too.
  const auto early = bench.start({"/bin/sleep", "300"});
  bench.runner.cancel(RunId(early));
  CHECK(bench.idle());
  CHECK(bench.seen.count(early) == 0);
  CHECK_FALSE(test::has_children());
}

TEST_CASE("a zero byte hides nothing of the output from the patterns", "[runner]") {
  Bench bench;
  const auto id =
      bench.start({"/usr/bin/printf", "fine\\0disk failed"}, Duration{0}, 0, {"failed$", "^fine", "nothing"});
  CHECK(bench.result(id).matches == 0b011);
}

TEST_CASE("patterns see the output as Monit's do", "[runner]") {
  Bench bench;
  const auto all = bench.start({"/bin/sh", "-c", "echo 'disk 93%'; echo error >&2"}, Duration{0}, 0,
                               {"disk 9[0-9]%", "^error", "nothing like it", "(a|o)r", "^disk", "error$", "r.d", "%$"});
  CHECK(bench.result(all).matches == 0b11001011);
  const auto printed = [&](const char* text, const char* pattern) {
    const auto id = bench.start({"/usr/bin/printf", text}, Duration{0}, 0, {pattern});
    return bench.result(id).matches == 1;
  };
  // Each as measured with Monit 5.33.
  CHECK(printed("bb\\n\\n", "bb$"));
  CHECK_FALSE(printed("bb\\n\\n", "bb.$"));
  CHECK(printed("bb \\r\\n", "bb$"));
  CHECK_FALSE(printed("bb \\n", "bb $"));
  CHECK(printed("\\n bb", "^bb"));
  CHECK(printed("\\n", "^$"));
  CHECK(printed("", "^$"));
}

TEST_CASE("a pattern that is none is said to be, not silently missed", "[runner]") {
  Bench bench;
  const auto id = bench.start({"/bin/echo", "x"}, Duration{0}, 0, {"x", "(["});
  CHECK(bench.result(id).outcome == Outcome::Unmatched);
  CHECK(bench.output(id) == "the pattern \"([\" is invalid\nx\n");
}

TEST_CASE("hanging programs delay nobody", "[runner]") {
  Bench bench;
  std::vector<std::uint64_t> hanging;
  for (int i = 0; i < 20; ++i) hanging.push_back(bench.start({"/bin/sleep", "300"}));
  const auto quick = bench.start({"/bin/true"});
  CHECK(bench.result(quick).status == 0);
  CHECK(bench.seen.size() == 1);
  bool stopped = false;
  bench.runner.stop([&] { stopped = true; });
  CHECK(run_until(bench.loop, [&] { return stopped; }));
  CHECK_FALSE(test::has_children());
}

TEST_CASE("300 programs at once all come back, and nothing leaks", "[runner]") {
  Bench bench;
  std::size_t before = 0;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 300; ++i) {
      ids.push_back(bench.shell("sleep 0.2; echo " + std::to_string(i) + "; exit " + std::to_string(i % 200)));
    }
    for (int i = 0; i < 300; ++i) {
      const auto id = ids[static_cast<std::size_t>(i)];
      CHECK(bench.result(id).status == i % 200);
      CHECK(bench.output(id) == std::to_string(i) + "\n");
    }
    CHECK(bench.idle());
    if (round == 0) before = test::open_descriptors();  // the threads have opened what they keep
  }
  CHECK(test::open_descriptors() == before);
  CHECK_FALSE(test::has_children());
}

TEST_CASE("beyond the limit runs wait in order, and none is lost", "[runner]") {
  ProcessRunner::Options options;
  options.most_running = 2;
  Bench bench(options);
  const test::TemporaryDirectory directory;
  const auto file = [&](const char* what, std::size_t i) {
    return (directory.path() / what).string() + std::to_string(i);
  };
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < 20; ++i) {
    ids.push_back(
        bench.shell("> " + file("begun", i) + "; while [ ! -e " + file("gate", i) + " ]; do sleep 0.01; done"));
  }
  CHECK(bench.runner.running() == 2);
  CHECK(bench.runner.waiting() == 18);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    // Those whose turn it is, and no other.
    const auto has_begun = [&](std::size_t which) { return std::filesystem::exists(file("begun", which)); };
    const std::size_t next = std::min(i + 2, ids.size());
    for (std::size_t running = i; running < next; ++running) {
      CHECK(run_until(bench.loop, [&] { return has_begun(running); }));
    }
    for (std::size_t waiting = next; waiting < ids.size(); ++waiting) CHECK_FALSE(has_begun(waiting));
    test::write_with_mode(file("gate", i), "", 0644);
    CHECK(bench.result(ids[i]).status == 0);
  }
}

TEST_CASE("a service that runs each second does not wait for many that run each hour", "[runner]") {
  ProcessRunner::Options options;
  options.most_running = 1;
  Bench bench(options);
  const test::TemporaryDirectory directory;
  const std::string gate = (directory.path() / "gate").string();
  const std::string order = (directory.path() / "order").string();
  bench.every = hours{1};
  bench.shell("while [ ! -e " + gate + " ]; do sleep 0.01; done");
  for (int i = 0; i < 20; ++i) bench.shell("echo hour >> " + order);
  bench.every = seconds{1};
  bench.shell("echo second >> " + order);
  bench.every = {};
  bench.runner.set_cycle(seconds{5});
  bench.shell("echo cycle >> " + order);
  test::write_with_mode(gate, "", 0644);
  CHECK(bench.idle());
  const auto begun = lines(test::read_file(order));
  REQUIRE(begun.size() == 22);
  CHECK(begun[0] == "second");
  CHECK(begun[1] == "cycle");
  CHECK(begun[2] == "hour");
}

TEST_CASE("without descriptors runs wait, and are reported as not started when it lasts", "[runner]") {
  ProcessRunner::Options hasty;
  hasty.resource_patience = Duration{400};
  Bench gives_up(hasty);
  Bench bench;
  for (Bench* one : {&gives_up, &bench}) one->result(one->start({"/bin/true"}));
  const std::string why = "cannot make a pipe: Too many open files";
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  {
    const test::FewDescriptors none;
    const auto refused = gives_up.start({"/bin/true"});
    CHECK(gives_up.result(refused).outcome == Outcome::NotStarted);
    CHECK(gives_up.output(refused) == "not started: " + why);
    CHECK(gives_up.waits[refused] == std::vector<std::string>{why});
    first = bench.start({"/bin/true"});
    second = bench.start({"/bin/true"});
    run_for(bench.loop, Duration{150});
    CHECK(bench.seen.count(first) == 0);
    // Told at once, and once, though it is tried many times; also of who waits behind it.
    CHECK(bench.waits[first] == std::vector<std::string>{why});
    CHECK(bench.waits[second] == std::vector<std::string>{why});
  }
  for (const auto run : {first, second}) {
    CHECK(bench.result(run).outcome == Outcome::Exited);
    CHECK(bench.result(run).status == 0);
    CHECK(bench.waits[run] == std::vector<std::string>{why, ""});
  }
  bench.result(bench.start({"/bin/true"}));
  CHECK(bench.waits.size() == 2);  // nothing of those that wait for nothing
}

TEST_CASE("with hardly any descriptors many runs still all get their turn", "[runner]") {
  Bench bench;
  bench.result(bench.start({"/bin/true"}));
  {
    const test::FewDescriptors few(12);
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 40; ++i) ids.push_back(bench.shell("echo here"));
    for (const auto id : ids) {
      CHECK(bench.result(id).outcome == Outcome::Exited);
      CHECK(bench.output(id) == "here\n");
    }
  }
  CHECK(bench.idle());
  CHECK_FALSE(test::has_children());
}

}  // namespace process_runner_test
