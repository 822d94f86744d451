// SPDX-License-Identifier: MIT
#include "runtime/process/reaper.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"

namespace healer::runtime {
namespace {

constexpr std::string_view kHelpers = "healer-";  // what the names of this program's own helpers begin with

}  // namespace

Reaper::Reaper(Loop& loop, std::shared_ptr<const OwnPrograms> programs)
    : loop_(loop),
      programs_(std::move(programs)),
      again_(loop_.timer([this] { check(); })),
      helper_(loop, {"healer-reap", 1, 2, Duration{5000}}) {
  again_.set_deadline(mono_now() + pause_);
}

void Reaper::check() {
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return found({});
  helper_.submit(
      [this]() -> Loop::Callback {
        Ended ended;
        if (const auto snapshot = ProcSnapshot::take()) {
          for (const ProcStat& one : (*snapshot)->processes()) {
            if (one.parent == ::getpid() && one.zombie() && !one.name.starts_with(kHelpers))
              ended.push_back({one.pid, one.start_ticks});
          }
        }
        return [this, ended = std::move(ended)] { found(ended); };
      },
      [this](const Error&) { found({}); });
}

void Reaper::found(const Ended& ended) {
  std::unordered_map<pid_t, std::uint64_t> waiting;
  for (const auto& [pid, start_ticks] : ended) {
    if (programs_->runs(pid)) continue;
    const auto before = waiting_.find(pid);
    siginfo_t info{};
    if (before == waiting_.end() || before->second != start_ticks)
      waiting.emplace(pid, start_ticks);  // it may be a child that was made just now
    else if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0)
      ++reaped_;
  }
  waiting_ = std::move(waiting);
  pause_ = waiting_.empty() && !ended.empty() ? std::min(2 * pause_, kLongestPause) : kPause;
  again_.set_deadline(mono_now() + pause_);
}

}  // namespace healer::runtime
