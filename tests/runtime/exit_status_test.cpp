// SPDX-License-Identifier: MIT
#include "runtime/process/exit_status.hpp"

#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/process/process_watch.hpp"
#include "support/processes.hpp"

namespace exit_status_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::eventually;
using healer::test::run_for;
using healer::test::run_until;

namespace {

enum class Way { Inspect, Pidfd, Connector };

ExitStatusReader::Options only(Way way) {
  return {.check = way == Way::Inspect, .ask_pidfd = way == Way::Pidfd, .listen = way == Way::Connector};
}

/// Whether this kernel has no such way for us, which is said.
bool is_missing(Way way) {
  if (way == Way::Pidfd && !ExitStatusReader::pidfds_report()) {
    WARN("SKIPPED: pidfds tell no status before Linux 6.15");
    return true;
  }
  if (way != Way::Connector) return false;
  Loop loop;
  std::string why;
  ExitStatusReader exits(
      loop, {.check = false, .ask_pidfd = false, .not_received = [&](const std::string& reason) { why = reason; }});
  static_cast<void>(exits.follow(::getpid()));
  if (exits.receives()) return false;
  WARN("SKIPPED: " << why);
  return true;
}

/// A child that waits until it is told how to end: by a status, or, below 0, a signal. It is reaped when that is
/// wanted.
class Doomed {
 public:
  Doomed() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    pid = ::fork();
    if (pid == 0) {
      int how = 0;
      if (::read(ends[0], &how, sizeof how) != sizeof how) ::_exit(99);
      if (how >= 0) ::_exit(how);
      const rlimit none{0, 0};
      ::setrlimit(RLIMIT_CORE, &none);
      std::signal(-how, SIG_DFL);
      ::raise(-how);
    }
    ::close(ends[0]);
    order_ = ends[1];
    pidfd = open_pidfd(pid);
  }
  ~Doomed() {
    ::close(order_);
    if (!reaped_) {
      ::kill(pid, SIGKILL);
      reap();
    }
  }
  Doomed(const Doomed&) = delete;
  Doomed& operator=(const Doomed&) = delete;

  void tell(int how) const { REQUIRE(::write(order_, &how, sizeof how) == sizeof how); }
  void wait() const {
    pollfd waiting{pidfd.get(), POLLIN, 0};
    REQUIRE(::poll(&waiting, 1, 60'000) == 1);
  }
  [[nodiscard]] int order() const { return order_; }
  void reap() {
    reaped_ = true;
    ::waitpid(pid, nullptr, 0);
  }
  void end(int how, bool and_reap) {
    tell(how);
    wait();
    if (and_reap) reap();
  }

  pid_t pid = -1;
  Descriptor pidfd;

 private:
  int order_ = -1;
  bool reaped_ = false;
};

ProcessEnd end_by(int how) {
  return how >= 0 ? ProcessEnd{Outcome::Exited, how} : ProcessEnd{Outcome::Signalled, -how};
}

/// Processes that end at once, so many. A shell makes them: a sanitizer would have much to do in each child of ours.
class Flood {
 public:
  explicit Flood(int count) {
    const std::string script = "i=0; while [ $i -lt " + std::to_string(count) + " ]; do (exit 1); i=$((i+1)); done";
    shell_ = ::fork();
    if (shell_ != 0) return;
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  /// Returns when the last has gone, with the shell's status.
  [[nodiscard]] int end() const {
    int status = -1;
    ::waitpid(shell_, &status, 0);
    return status;
  }

 private:
  pid_t shell_ = -1;
};

}  // namespace

TEST_CASE("The end of a foreign process is reported by each method", "[exit-status]") {
  const Way way = GENERATE(Way::Inspect, Way::Pidfd, Way::Connector);
  if (is_missing(way)) return;
  Loop loop;
  ExitStatusReader exits(loop, only(way));
  for (const int how : {0, 3, 255, -SIGKILL, -SIGSEGV, -SIGTERM}) {
    Doomed process;
    const ExitStatusReader::Subscription subscription = exits.follow(process.pid);
    run_for(loop, Duration{10});
    CHECK_FALSE(subscription.ask(process.pidfd));  // it lives
    process.end(how, way != Way::Inspect);
    CHECK(eventually([&] { return subscription.ask(process.pidfd) == end_by(how); }, seconds{5}));
    if (way == Way::Inspect) {
      process.reap();
      CHECK_FALSE(subscription.ask(process.pidfd));
    }
  }
}

TEST_CASE("The end of an orphan is reported whoever reaps it", "[exit-status]") {
  int ends[2];
  int order[2];  // closed where the orphan is to end
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  REQUIRE(::pipe2(order, O_CLOEXEC) == 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::close(order[1]);
    const pid_t orphan = ::fork();
    if (orphan == 0) {
      char none = 0;
      ::_exit(::read(order[0], &none, 1) == 0 ? 42 : 1);
    }
    ::_exit(::write(ends[1], &orphan, sizeof orphan) == sizeof orphan ? 0 : 1);
  }
  ::waitpid(parent, nullptr, 0);
  pid_t orphan = 0;
  REQUIRE(::read(ends[0], &orphan, sizeof orphan) == sizeof orphan);
  for (const int end : {ends[0], ends[1], order[0]}) ::close(end);
  Loop loop;
  std::vector<event::ProcessDied> deaths;
  ExitStatusReader exits(loop, {});
  ProcessWatch watch(
      loop, 1, [&](const event::ProcessDied& death) { deaths.push_back(death); }, &exits);
  watch.watch(ServiceId(1), {orphan, 1}, open_pidfd(orphan));
  run_for(loop, Duration{50});
  CHECK(deaths.empty());
  ::close(order[1]);
  REQUIRE(run_until(loop, [&] { return !deaths.empty(); }));
  if (is_missing(Way::Pidfd) && is_missing(Way::Connector)) return;
  CHECK(deaths[0].end == ProcessEnd{Outcome::Exited, 42});
}

TEST_CASE("a pidfd tells of the end when its process is reaped, not before, and an empty subscription tells nothing",
          "[exit-status]") {
  if (is_missing(Way::Pidfd)) return;
  Loop loop;
  ExitStatusReader exits(loop, only(Way::Pidfd));
  Doomed process;
  const ExitStatusReader::Subscription subscription = exits.follow(process.pid);
  process.end(3, false);
  CHECK_FALSE(subscription.ask(process.pidfd));
  process.reap();
  CHECK(subscription.ask(process.pidfd) == end_by(3));
  CHECK_FALSE(ExitStatusReader::Subscription().ask(process.pidfd));
}

TEST_CASE("the line of a zombie is believed only with the proof whose it is", "[exit-status]") {
  Loop loop;
  ExitStatusReader exits(loop, only(Way::Inspect));
  Doomed former;
  Doomed zombie;
  former.end(3, true);
  zombie.end(4, false);
  CHECK_FALSE(exits.follow(zombie.pid).ask(former.pidfd));  // as if its number were used again
  CHECK(exits.follow(zombie.pid).ask(zombie.pidfd) == ProcessEnd{Outcome::Exited, 4});
}

TEST_CASE("what the kernel keeps from a user is not taken for a 0", "[exit-status]") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: not root");
    return;
  }
  Loop loop;
  ExitStatusReader exits(loop, only(Way::Inspect));
  Doomed process;
  process.end(3, false);
  const ExitStatusReader::Subscription subscription = exits.follow(process.pid);
  CHECK(subscription.ask(process.pidfd));
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    ::_exit(subscription.ask(process.pidfd) ? 1 : 0);
  }
  int status = -1;
  ::waitpid(stranger, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("a process whose first thread has left before is not told falsely", "[exit-status]") {
  const Way way = GENERATE(Way::Inspect, Way::Pidfd, Way::Connector);
  if (is_missing(way)) return;
  Loop loop;
  ExitStatusReader exits(loop, only(way));
  const char* script =
      "import ctypes,os,threading,time\n"
      "threading.Thread(target=lambda: (time.sleep(0.3), os._exit(3))).start()\n"
      "ctypes.CDLL(None).pthread_exit(None)\n";
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl("/usr/bin/python3", "python3", "-c", script, nullptr);
    ::_exit(127);
  }
  const Descriptor pidfd = open_pidfd(pid);
  const ExitStatusReader::Subscription subscription = exits.follow(pid);
  CHECK(run_until(loop, [&] { return !lives(pidfd); }));
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  CHECK(info.si_status == 3);
  if (way != Way::Inspect) ::waitpid(pid, nullptr, 0);
  run_for(loop, Duration{50});
  CHECK(subscription.ask(pidfd) == (way == Way::Connector ? std::nullopt : std::optional(end_by(3))));
  if (way == Way::Inspect) ::waitpid(pid, nullptr, 0);
}

TEST_CASE("A process whose first thread has ended while others live is not reported", "[exit-status]") {
  if (is_missing(Way::Connector)) return;
  Loop loop;
  ExitStatusReader exits(loop, only(Way::Connector));
  const char* script =
      "import ctypes,sys,threading\n"
      "threading.Thread(target=sys.stdin.read).start()\n"
      "ctypes.CDLL(None).pthread_exit(None)\n";
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[0], STDIN_FILENO);
    ::execl("/usr/bin/python3", "python3", "-c", script, nullptr);
    ::_exit(127);
  }
  const Descriptor pidfd = open_pidfd(pid);
  const ExitStatusReader::Subscription subscription = exits.follow(pid);
  CHECK(run_until(loop, [&] { return exits.received() > 1; }));  // its own answer comes first
  REQUIRE(lives(pidfd));
  CHECK(subscription.ask(pidfd) == std::nullopt);
  ::close(ends[0]);
  ::close(ends[1]);
  ::waitpid(pid, nullptr, 0);
}

TEST_CASE("a process that ends with many threads is told of, whatever its status", "[exit-status]") {
  if (is_missing(Way::Connector)) return;
  const int status = GENERATE(0, 3);
  Loop loop;
  ExitStatusReader exits(loop, only(Way::Connector));
  // On a machine that is busy a thread may be kept waiting just where it looks as if it went on, and the answer may
  // come late: then nothing is told, and never anything else.
  int reported_ends = 0;
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      std::vector<std::thread> threads;
      for (int i = 0; i < 40; ++i) threads.emplace_back([] { ::pause(); });
      char byte = 0;
      static_cast<void>(::read(ends[0], &byte, 1));
      ::_exit(status);
    }
    const Descriptor pidfd = open_pidfd(pid);
    const ExitStatusReader::Subscription subscription = exits.follow(pid);
    run_for(loop, Duration{1});  // it is heard of from now on
    REQUIRE(::write(ends[1], "", 1) == 1);
    const std::uint64_t received = exits.received();
    CHECK(run_until(loop, [&] { return !lives(pidfd) && exits.received() > received; }));
    ::waitpid(pid, nullptr, 0);
    std::optional<ProcessEnd> end;
    run_until(
        loop, [&] { return (end = subscription.ask(pidfd)).has_value(); }, Duration{100});
    CHECK(end.value_or(end_by(status)) == end_by(status));
    if (end) ++reported_ends;
    ::close(ends[0]);
    ::close(ends[1]);
  }
  CHECK(reported_ends > 0);
}

TEST_CASE("two hundred deaths at a time are each told as they were, whether they are reaped meanwhile or not",
          "[exit-status]") {
  constexpr int kMany = 200;
  const bool reaped = GENERATE(false, true);
  const bool older = GENERATE(false, true);  // than Linux 6.15
  if (older && is_missing(Way::Connector)) return;
  const auto how = [](int i) { return i % 3 == 0 ? -SIGKILL : i % 256; };
  Loop loop;
  ExitStatusReader exits(loop, {.ask_pidfd = !older});
  std::vector<event::ProcessDied> deaths;
  ProcessWatch watch(
      loop, kMany, [&](const event::ProcessDied& death) { deaths.push_back(death); }, &exits);
  std::vector<std::unique_ptr<Doomed>> processes;
  for (int i = 0; i < kMany; ++i) {
    processes.push_back(std::make_unique<Doomed>());
    const Doomed& made = *processes.back();
    watch.watch(ServiceId(static_cast<std::uint32_t>(i)), {made.pid, 1}, open_pidfd(made.pid));
  }
  run_for(loop, Duration{50});
  const Duration begun = mono_now();
  std::thread hand([&] {
    for (int i = 0; i < kMany; ++i) {
      const int order = how(i);
      if (::write(processes[static_cast<std::size_t>(i)]->order(), &order, sizeof order) != sizeof order) return;
    }
    for (const auto& process : processes) {
      if (reaped) process->reap();
    }
  });
  CHECK(run_until(loop, [&] { return deaths.size() == kMany; }));
  const bool quick = mono_now() - begun < seconds{1};  // for so long the connector's word is believed
  hand.join();
  int unknown = 0;
  for (const event::ProcessDied& death : deaths) {
    if (!death.end) ++unknown;
    if (death.end) CHECK(*death.end == end_by(how(static_cast<int>(death.service.number()))));
  }
  // An older kernel may still be about to tell when a parent has been quick.
  if (!reaped || (!older && ExitStatusReader::pidfds_report())) CHECK(unknown == 0);
  if (exits.receives() && quick) CHECK(unknown <= kMany / 10);
}

// ---- the connector

TEST_CASE("Events before a process was followed belong to another process with its number", "[exit-status]") {
  if (is_missing(Way::Connector)) return;
  Loop loop;
  ExitStatusReader exits(loop, only(Way::Connector));
  Doomed process;
  const ExitStatusReader::Subscription first = exits.follow(process.pid);
  run_for(loop, Duration{10});
  process.end(3, true);
  CHECK(eventually([&] { return first.ask(process.pidfd).has_value(); }, seconds{1}));
  const ExitStatusReader::Subscription second = exits.follow(process.pid);
  CHECK_FALSE(second.ask(process.pidfd));
  CHECK(first.ask(process.pidfd) == end_by(3));
  run_for(loop, Duration{1100});
  CHECK_FALSE(first.ask(process.pidfd));  // nor can it be the end of one that has lived on since
}

TEST_CASE("a flood of strangers' exits neither hides an end nor reaches us", "[exit-status]") {
  if (is_missing(Way::Connector)) return;
  constexpr int kFlood = 10'000;
  Loop loop;
  ExitStatusReader exits(loop, only(Way::Connector));
  Doomed process;
  const ExitStatusReader::Subscription subscription = exits.follow(process.pid);
  run_for(loop, Duration{10});
  REQUIRE(Flood(kFlood / 2).end() == 0);
  const Flood second(kFlood / 2);
  process.end(7, true);
  CHECK(eventually([&] { return subscription.ask(process.pidfd) == end_by(7); }, seconds{1}));
  CHECK(second.end() == 0);
  run_for(loop, Duration{20});
  CHECK(exits.received() >= 1);
  CHECK(exits.received() < kFlood / 100);
}

TEST_CASE("nobody but the kernel is believed", "[exit-status]") {
  if (is_missing(Way::Connector)) return;
  Loop loop;
  ExitStatusReader exits(loop, only(Way::Connector));
  Doomed process;
  const ExitStatusReader::Subscription subscription = exits.follow(process.pid);
  run_for(loop, Duration{10});

  const std::uint64_t received = exits.received();
  std::array<std::uint32_t, 19> forged{};  // 16 bytes of nlmsghdr, 20 of cn_msg, 40 of proc_event
  forged[0] = sizeof forged;
  forged[1] = NLMSG_DONE;
  forged[4] = CN_IDX_PROC;
  forged[5] = CN_VAL_PROC;
  forged[8] = 40;
  forged[9] = 0x80000000;
  const std::int64_t now = kernel_now();
  std::memcpy(&forged[11], &now, sizeof now);
  forged[13] = forged[14] = static_cast<std::uint32_t>(process.pid);
  forged[15] = 9;
  const Descriptor socket(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR));
  const sockaddr_nl everybody{AF_NETLINK, 0, 0, CN_IDX_PROC};
  ::sendto(socket.get(), forged.data(), sizeof forged, 0, reinterpret_cast<const sockaddr*>(&everybody),
           sizeof everybody);
  CHECK(run_until(loop,
                  [&] { return exits.received() > received; }));  // it has come; others of the machine may come, too
  run_for(loop, Duration{20});
  CHECK_FALSE(subscription.ask(process.pidfd));
  process.end(6, true);
  CHECK(eventually([&] { return subscription.ask(process.pidfd) == end_by(6); }, seconds{1}));
}

TEST_CASE("messages that were lost leave an end unknown", "[exit-status]") {
  if (is_missing(Way::Connector)) return;
  Loop loop;
  ExitStatusReader exits(loop, {.check = false, .ask_pidfd = false, .buffer = 4096});
  // While the loop does not run, more end than the socket has room for.
  constexpr int kMany = 300;
  std::vector<std::unique_ptr<Doomed>> processes;
  std::vector<ExitStatusReader::Subscription> subscriptions;
  for (int i = 0; i < kMany; ++i) {
    processes.push_back(std::make_unique<Doomed>());
    subscriptions.push_back(exits.follow(processes.back()->pid));
  }
  run_for(loop, Duration{20});
  for (const auto& process : processes) process->end(5, true);
  for (int i = 0; i < kMany; ++i) {
    CHECK_FALSE(subscriptions[static_cast<std::size_t>(i)].ask(processes[static_cast<std::size_t>(i)]->pidfd));
  }
}

TEST_CASE("without descriptors for the connector the rest goes on, and the reason is told once", "[exit-status]") {
  Loop loop;
  std::vector<std::string> reasons;
  ExitStatusReader exits(loop,
                         {.ask_pidfd = false, .not_received = [&](const std::string& why) { reasons.push_back(why); }});
  Doomed one;
  Doomed two;
  std::optional<test::FewDescriptors> none(std::in_place);
  const ExitStatusReader::Subscription first = exits.follow(one.pid);
  const ExitStatusReader::Subscription second = exits.follow(two.pid);
  none.reset();
  CHECK_FALSE(exits.receives());
  CHECK(reasons == std::vector<std::string>{"cannot open a netlink socket: Too many open files"});
  one.end(3, false);
  two.end(4, true);
  CHECK(first.ask(one.pidfd) == end_by(3));
  CHECK_FALSE(second.ask(two.pidfd));
}

}  // namespace exit_status_test
