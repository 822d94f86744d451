// SPDX-License-Identifier: MIT
#include "runtime/programs/waiter.hpp"

#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/programs/helper_process.hpp"
#include "runtime/programs/waiter_talk.hpp"

namespace healer::runtime {
namespace {

constexpr Duration kWaiterCheck{50};

void reap(pid_t pid) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0 && errno == EINTR) {
  }
}

/// A child that has no program yet.
void abandon(pid_t pid) {
  ::kill(pid, SIGKILL);
  reap(pid);
}

}  // namespace

Result<Started> start_waited(Launch launch, const LaunchDefaults& defaults, LaunchProgress& progress) {
  if (launch.looked_up) return Error{EINVAL, "it is not known as whom the program is to run"};
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return system_error(errno, "cannot make a socket for a waiter");
  Descriptor ours(pair[0]);
  Descriptor theirs(pair[1]);
  const auto pid = start_helper(launch.waiter->program, kWaiterName, kWaiterOption, theirs.get());
  if (!pid) return pid.error();
  theirs.reset();
  Descriptor pidfd = open_pidfd(*pid);
  if (!pidfd && errno != ENOSYS) {
    const int code = errno;
    abandon(*pid);
    return system_error(code, "cannot hold a waiter");
  }
  if (!send_task(ours.get(), launch, defaults)) {
    const int code = errno;
    abandon(*pid);
    return system_error(code, "cannot tell a waiter what to start");
  }
  progress.pidfd = pidfd.get();
  progress.child_runs = static_cast<bool>(pidfd);
  launch = {};  // the lock of the files is the waiter's alone
  auto word = receive_from_waiter(ours.get(), true);
  if (word && word->start && *word->start) {
    Started started = std::move(*word->start).value();
    started.waiter = {*pid, std::move(pidfd), std::move(ours)};
    return started;
  }
  progress.child_runs = false;
  abandon(*pid);
  if (word && word->start) return word->start->error();
  return Error{kWaiterLost, "the waiter of the program was lost"};
}

Waiter::Waiter(Loop& loop, WaiterHandle handle, OnGone on_gone)
    : loop_(loop), handle_(std::move(handle)), on_gone_(std::move(on_gone)) {
  if (handle_.pidfd) {
    auto watch = loop_.watch(handle_.pidfd.get(), Loop::kReadable, [this](unsigned) { check(); });
    if (watch) {
      watch_ = std::move(*watch);
      return;
    }
  }
  poll_ = loop_.timer([this] { check(); });
  poll_.set_deadline(mono_now() + kWaiterCheck);
}

bool Waiter::gone() const {
  if (!handle_.socket) return !lives(handle_.pidfd);
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(handle_.pid), &info, WEXITED | WNOHANG) != 0 || info.si_pid != 0;
}

void Waiter::check() {
  if (!gone()) {
    if (!watch_) poll_.set_deadline(mono_now() + kWaiterCheck);
    return;
  }
  watch_ = {};
  poll_ = {};
  std::optional<WaiterWord> word;
  if (handle_.socket) word = receive_from_waiter(handle_.socket.get(), false);
  const OnGone on_gone = std::move(on_gone_);
  on_gone(word ? std::move(word->end) : std::nullopt);
}

void Waiter::end() const { signal(kEndProgram); }

void Waiter::signal(int number) const {
  if (handle_.socket) {
    ::kill(handle_.pid, number);  // our child, which is not reaped yet
  } else {
    signal_held(handle_.pidfd, number);
  }
}

}  // namespace healer::runtime
