// SPDX-License-Identifier: MIT
#include "runtime/process/own_programs.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/programs/waiter_talk.hpp"

namespace healer::runtime {

void OwnPrograms::runs(pid_t leader, ProgramUse use) {
  const std::lock_guard lock(mutex_);
  sessions_.insert_or_assign(leader, Session{.use = std::move(use)});
}

void OwnPrograms::ended(pid_t leader) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(leader);
  if (found == sessions_.end() || found->second.over) return;
  Session& session = found->second;
  using Kind = ProgramUse::Kind;
  // What start programs leave is the service; and thousands of check programs a second leave nothing at all.
  const bool leaves_services = session.use.kind == Kind::Start || session.use.kind == Kind::Service;
  const bool is_empty = session.use.kind == Kind::Check && ::kill(-leader, 0) != 0 && errno == ESRCH;
  if (leaves_services || is_empty) {
    sessions_.erase(found);
    return;
  }
  session.over = true;
  session.known_until = ticks_at(mono_now());
  left_.push_back(leader);
  if (left_.size() <= kMostLeft) return;
  const auto oldest = sessions_.find(left_.front());
  if (oldest != sessions_.end() && oldest->second.over) sessions_.erase(oldest);
  left_.pop_front();
}

bool OwnPrograms::is_not(const ProcSnapshot& snapshot, const ProcStat& process, const std::string& service) {
  using Kind = ProgramUse::Kind;
  const pid_t leader = process.session;
  if (leader <= 1 || leader == ::getpid()) return false;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = sessions_.find(leader); found != sessions_.end()) {
      Session& session = found->second;
      if (!session.over) {
        const ProgramUse& use = session.use;
        if (use.kind == Kind::Start) return use.service != service && mono_now() < use.until;
        return use.kind != Kind::Service;
      }
      if (is_left(snapshot, leader, session)) return true;
      std::erase(left_, leader);
      sessions_.erase(found);
    }
  }
  // A child that nobody has told of yet, or a helper; but who inherits orphans has children of all kinds.
  const ProcStat* const first = snapshot.find(leader);
  if (first != nullptr && first->parent == ::getpid() && !inherits_orphans()) return true;
  return !check_mark_.empty() && is_of_check(process, check_mark_);
}

/// Whether the number of a session is still that of a program that has ended: somebody is in it who was there before.
bool OwnPrograms::is_left(const ProcSnapshot& snapshot, pid_t leader, Session& session) const {
  const auto is_member = [&](const ProcStat& one) {
    return one.session == leader && one.pid != leader && one.start_ticks <= session.known_until;
  };
  if (std::ranges::none_of(snapshot.processes(), is_member)) return false;
  session.known_until = std::max(session.known_until, ticks_at(snapshot.taken()));
  return true;
}

bool OwnPrograms::runs(pid_t leader) const {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(leader);
  return found != sessions_.end() && !found->second.over;
}

bool inherits_orphans() {
  int is_reaper = 0;
  return ::getpid() == 1 || (::prctl(PR_GET_CHILD_SUBREAPER, &is_reaper) == 0 && is_reaper != 0);
}

std::size_t OwnPrograms::size() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

namespace {

/// That of a process, each variable between zero bytes; empty where it cannot be seen.
std::string environment_of(pid_t pid) {
  const auto text = read_head(AT_FDCWD, fmt::format("/proc/{}/environ", pid).c_str(), kMostOfEnvironment);
  return text ? '\0' + *text + '\0' : std::string();
}

}  // namespace

bool is_of_check(const ProcStat& process, const std::string& mark) {
  const std::string environment = environment_of(process.pid);
  const std::string end = ':' + std::to_string(process.session);
  for (std::size_t at = environment.find('\0' + mark); at != std::string::npos;
       at = environment.find('\0' + mark, at + 1)) {
    if (std::string_view(environment.c_str() + at + 1).ends_with(end)) return true;
  }
  return false;
}

bool is_run_by_healer(const ProcSnapshot& snapshot, const ProcStat& process) {
  if (is_of_check(process, "HEALER_CHECK=")) return true;
  const ProcStat* const leader = snapshot.find(process.session);
  const ProcStat* const parent = leader == nullptr ? nullptr : snapshot.find(leader->parent);
  if (parent == nullptr || (parent->name != "healerd" && parent->name != kWaiterName)) return false;
  const std::string environment = environment_of(leader->pid);
  const auto has = [&](std::string_view text) { return environment.find(text) != std::string::npos; };
  using namespace std::string_view_literals;
  // Foreground processes have no event; the programs of jobs alone are told that there is no process.
  return has("\0HEALER_ACTION="sv) && has("\0HEALER_EVENT="sv) && !has("\0HEALER_PROCESS_PID=-1\0"sv);
}

}  // namespace healer::runtime
