// SPDX-License-Identifier: MIT
// The waiter's own side of runtime/waiter.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/process/child.hpp"
#include "runtime/process/control_groups.hpp"
#include "runtime/process/spawner.hpp"
#include "runtime/programs/action_files.hpp"
#include "runtime/programs/leftovers.hpp"
#include "runtime/programs/waiter.hpp"
#include "runtime/programs/waiter_talk.hpp"

namespace healer::runtime {
namespace {

using engine::Outcome;

constexpr Duration kSweepPause{20};
constexpr Duration kLongSweepPause{1000};  // where something is there for long

void pause_for(Duration duration) { ::poll(nullptr, 0, static_cast<int>(duration.count())); }

std::string path_of(const Descriptor& folder) { return fmt::format("/proc/self/fd/{}", folder.get()); }

/// What happens to a program between its start and its end. It is our child and leads a session of its own; until it is
/// reaped, its numbers are nobody else's.
class Wait {
 public:
  Wait(pid_t pid, const WaiterOrder& order, std::optional<uid_t> owner, int signals, int timer)
      : pid_(pid),
        owners_{::geteuid()},
        state_(order.state),
        deadline_(order.deadline),
        action_(order.action),
        files_(path_of(order.folder)),
        signals_(signals),
        timer_(timer) {
    if (owner) owners_.push_back(*owner);
  }

  ActionFiles::End until_end() {
    const Duration began = mono_now();
    while (!exited()) turn();
    const Instant ended = now();
    if (ending_) {
      sweep_away();
      end_others();
    }
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
    }
    ActionFiles::End end{.elapsed = ended.mono - began, .when = ended.wall};
    if (timed_out_) {
      end.outcome = Outcome::TimedOut;
      end.status = kTimeoutStatus;
    } else {
      end.outcome = info.si_code == CLD_EXITED ? Outcome::Exited : Outcome::Signalled;
      end.status = info.si_status;
    }
    return end;
  }

 private:
  [[nodiscard]] bool exited() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
  }

  /// Waits for a signal or the deadline, and does what is due.
  void turn() {
    itimerspec due{};
    due.it_value.tv_sec = deadline_.count() / 1000;
    due.it_value.tv_nsec = deadline_.count() % 1000 * 1'000'000;
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &due, nullptr);  // all zero: never
    std::array<pollfd, 3> sources{
        {{signals_, POLLIN, 0}, {timer_, POLLIN, 0}, {alone_ ? -1 : STDIN_FILENO, POLLRDHUP, 0}}};
    if (::poll(sources.data(), sources.size(), alone_ ? static_cast<int>(thin_pause_.count()) : -1) < 0) return;
    alone_ = alone_ || sources[2].revents != 0;
    if (alone_) thin();
    signalfd_siginfo signal{};
    while (::read(signals_, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
      if (signal.ssi_signo == static_cast<unsigned>(kEndProgram)) end();
    }
    if (deadline_ == Duration{0} || mono_now() < deadline_ || exited()) return;
    if (ending_) {
      ::kill(-pid_, SIGKILL);
      deadline_ = Duration{0};
      (void)signal_others(SIGKILL);
    } else {
      timed_out_ = true;
      end();
    }
  }

  /// Keeps the output small, as the daemon did while it was there.
  void thin() {
    const bool thinned = files_.thin(action_).thinned;
    thin_pause_ = thinned ? kFastThinInterval : std::min(2 * thin_pause_, kQuietThinInterval);
  }

  void end() {
    if (std::exchange(ending_, true)) return;
    deadline_ = mono_now() + Child::kGrace;
    ::kill(-pid_, SIGTERM);
    signal_members(pid_, pid_, SIGTERM, [] { return true; });
    killed_at_ = deadline_;
    groups_ = ControlGroups::find(state_);
    (void)signal_others(SIGTERM);
  }

  /// What is left of the session of a program that was to end.
  void sweep_away() const {
    const Duration until = mono_now() + SessionSweeper::kPatience;
    ::kill(-pid_, SIGKILL);
    while (signal_members(pid_, 0, SIGKILL, [] { return true; }) > 0 && mono_now() < until) pause_for(kSweepPause);
  }

  /// What the program has put into sessions of its own. Whether there may be some.
  [[nodiscard]] bool signal_others(int number) const {
    const auto living = living_of(groups_, action_, owners_);
    bool any = !living;
    for (const auto& [pid, start_ticks] : living.value_or(std::vector<ProcessIdentity>{})) {
      const auto stat = read_proc_stat(pid);
      if (!stat || stat->start_ticks != start_ticks || pid == pid_) continue;
      if (stat->session == pid_ && number == SIGTERM) continue;  // it was told already
      any = true;
      (void)signal_process(pid, start_ticks, number);
    }
    return any;
  }

  /// Nobody may be told that the program has ended before nothing of it is left that could still do something: what
  /// cannot be killed is waited for.
  void end_others() const {
    Duration pause = kSweepPause;
    while (signal_others(mono_now() < killed_at_ ? 0 : SIGKILL)) {
      pause_for(pause);
      if (mono_now() > killed_at_) pause = std::min(2 * pause, kLongSweepPause);
    }
  }

  pid_t pid_;
  std::vector<uid_t> owners_;
  std::string state_;
  ControlGroups groups_;   // found when something is to be ended
  Duration killed_at_{0};  // when what has not ended by itself is
  Duration deadline_;
  engine::ActionId action_;
  ActionFiles files_;
  Duration thin_pause_ = kFastThinInterval;
  bool alone_ = false;  // the daemon has gone
  int signals_;
  int timer_;
  bool ending_ = false;
  bool timed_out_ = false;
};

/// Where a later daemon finds this process again: before the program's own line.
void write_self(const Descriptor& proof) {
  if (const auto self = read_proc_stat(::getpid()))
    write_whole(proof.get(), fmt::format("waiter {} {}\n", self->pid, self->start_ticks));
}

/// Writes down how the program ended. On a full disk there is room for that in the file that its start was written to.
bool record(const WaiterOrder& order, const ActionFiles::End& end) {
  return ActionFiles::write_record(order.folder.get(), order.action, end) ||
         ActionFiles(path_of(order.folder)).write_end(order.action, end);
}

}  // namespace

bool is_waiter(int argc, char** argv) {
  return argc == 2 && std::strcmp(argv[0], kWaiterName) == 0 && std::strcmp(argv[1], kWaiterOption) == 0;
}

int run_waiter() {
  ::prctl(PR_SET_NAME, kWaiterName);
  ::syscall(SYS_close_range, 3U, ~0U, 0U);  // whatever whoever started it had left open
  sigset_t blocked;
  ::sigfillset(&blocked);
  ::sigdelset(&blocked, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  sigset_t received;
  ::sigemptyset(&received);
  ::sigaddset(&received, SIGCHLD);
  ::sigaddset(&received, kEndProgram);
  const Descriptor signals(::signalfd(-1, &received, SFD_CLOEXEC | SFD_NONBLOCK));
  const Descriptor timer(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  auto task = receive_task(STDIN_FILENO);
  if (!task || !signals || !timer || ::chdir("/") != 0) return 1;

  const WaiterOrder order = std::move(*std::exchange(task->launch.waiter, {}));
  const std::optional<uid_t> owner = task->launch.uid;
  write_self(task->launch.proof);
  Result<Started> started = [&] {
    LaunchProgress progress;
    return Launcher(std::move(task->defaults)).start(std::move(task->launch), progress);
  }();
  task.reset();
  ::prctl(PR_SET_DUMPABLE, 0);  // whatever is left of secrets in this memory
  if (!started) {
    const ActionFiles::End end{.outcome = Outcome::NotStarted,
                               .status = kNotStartedStatus,
                               .when = now().wall,
                               .reason = started.error().what};
    (void)record(order, end);
    send_start(STDIN_FILENO, started);
    return 1;
  }
  send_start(STDIN_FILENO, started);
  const ActionFiles::End end = Wait(started->pid, order, owner, signals.get(), timer.get()).until_end();
  send_end(STDIN_FILENO, {end, record(order, end)});
  return 0;
}

}  // namespace healer::runtime
