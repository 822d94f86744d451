// SPDX-License-Identifier: MIT
#include "runtime/process/child.hpp"

#include <poll.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "runtime/clock.hpp"

namespace healer::runtime {
namespace {

constexpr Duration kPollInterval{50};
constexpr int kLastWaitMs = 1000;

}  // namespace

Child::Child(Loop& loop, SessionSweeper& sweeper, Started started, OnExit on_exit)
    : loop_(loop),
      sweeper_(sweeper),
      pid_(started.pid),
      pidfd_(std::move(started.pidfd)),
      on_exit_(std::move(on_exit)) {
  if (pidfd_) {
    auto watch = loop_.watch(pidfd_.get(), Loop::kReadable, [this](unsigned) { check(); });
    if (watch) {
      watch_ = std::move(*watch);
      return;
    }
  }
  poll_ = loop_.timer([this] { check(); });
  poll_.set_deadline(mono_now() + kPollInterval);
}

Child::~Child() {
  if (over_) return;
  ::kill(-pid_, SIGKILL);
  watch_ = {};
  if (pidfd_) {
    pollfd waiting{pidfd_.get(), POLLIN, 0};
    ::poll(&waiting, 1, kLastWaitMs);
  }
  if (sweeping_ > 0) return;  // the sweep relies on the number; the daemon is about to end anyway
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG);
}

void Child::check() {
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid_);
  if ((ending_ || takes_session_) && ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    // The exited leader still holds the numbers of group and session: now is the last moment to end the rest.
    watch_ = {};
    if (sweeping_ > 0) return;
    if (!std::exchange(killed_, true)) {
      ::kill(-pid_, SIGKILL);
      return sweep(SIGKILL);
    }
  }
  info = {};
  const int result = ::waitid(P_PID, id, &info, WEXITED | WNOHANG);
  if (result == 0 && info.si_pid == 0) {
    if (!watch_) poll_.set_deadline(mono_now() + kPollInterval);
    return;
  }
  Exit exit;
  if (result != 0) {
    exit.status = 255;  // cannot be: nobody else reaps our children
  } else if (info.si_code == CLD_EXITED) {
    exit.status = info.si_status;
  } else {
    exit = {engine::Outcome::Signalled, info.si_status};
  }
  over_ = true;
  watch_ = {};
  poll_ = {};
  kill_ = {};
  pidfd_.reset();
  const OnExit on_exit = std::move(on_exit_);
  on_exit(exit);
}

void Child::end() {
  if (over_ || std::exchange(ending_, true)) return;
  ::kill(-pid_, SIGTERM);
  sweep(SIGTERM);
  kill_ = loop_.timer([this] { ::kill(-pid_, SIGKILL); });
  kill_.set_deadline(mono_now() + kGrace);
}

void Child::signal(int number) {
  if (!over_) ::kill(pid_, number);
}

void Child::kill() {
  if (over_) return;
  ending_ = true;
  ::kill(-pid_, SIGKILL);
}

/// Signals what is in other groups of the session; check() goes on afterwards.
void Child::sweep(int number) {
  ++sweeping_;
  Loop::Callback done = [this, alive = std::weak_ptr<char>(alive_)] {
    if (alive.expired()) return;
    --sweeping_;
    check();
  };
  if (number == SIGKILL) {
    sweeper_.kill(pid_, {}, std::move(done));
  } else {
    sweeper_.signal(pid_, number, std::move(done));
  }
}

void Child::let_go() {
  over_ = true;
  watch_ = {};
  poll_ = {};
  kill_ = {};
}

}  // namespace healer::runtime
