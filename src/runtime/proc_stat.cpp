// SPDX-License-Identifier: MIT
#include "runtime/proc_stat.hpp"

#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace healer::runtime {
namespace {

constexpr unsigned kWholeGroup = 4;  // PIDFD_SIGNAL_PROCESS_GROUP

Descriptor open_pidfd(pid_t pid) { return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

bool send(const Descriptor& pidfd, int number, unsigned flags) {
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, flags) == 0;
}

bool lives(const Descriptor& pidfd) {
  pollfd waiting{pidfd.get(), POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 0;
}

}  // namespace

std::optional<ProcStat> parse_proc_stat(std::string_view line) {
  // "pid (name) state ppid pgrp session ...": a name may hold anything, also parentheses and blanks.
  const auto close = line.rfind(')');
  ProcStat stat;
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), stat.pid);
  if (error != std::errc{} || close == std::string_view::npos) return std::nullopt;
  std::istringstream fields{std::string(line.substr(close + 1))};
  constexpr int kSkipped = 15;  // fields 7 to 21
  std::string skipped;
  pid_t parent = 0;
  fields >> stat.state >> parent >> stat.group >> stat.session;
  for (int i = 0; i < kSkipped; ++i) fields >> skipped;
  if (!(fields >> stat.start_ticks)) return std::nullopt;
  return stat;
}

std::optional<ProcStat> read_proc_stat(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::string line;
  while (std::getline(file, line)) text += line + '\n';
  return parse_proc_stat(text);
}

Duration start_time(std::uint64_t start_ticks) {
  const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return Duration{static_cast<std::int64_t>(start_ticks * 1000 / per_second)};
}

Descriptor find_process(pid_t pid, std::uint64_t start_ticks) {
  // First the handle, then the look: what is seen then is what the handle holds, or it is gone and readable.
  Descriptor pidfd = open_pidfd(pid);
  if (!pidfd) return {};
  const auto stat = read_proc_stat(pid);
  if (!stat || stat->start_ticks != start_ticks || stat->state == 'Z' || stat->state == 'X') return {};
  return pidfd;
}

unsigned signal_members(pid_t leader, pid_t spared_group, int number, const std::function<bool()>& proved) {
  unsigned signalled = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc{} || pid == leader) continue;
    const auto glance = read_proc_stat(pid);
    if (!glance || glance->session != leader || glance->group == spared_group) continue;
    // First the handle, then the look that counts.
    const Descriptor member = open_pidfd(pid);
    const auto stat = read_proc_stat(pid);
    if (!member || !stat || stat->session != leader || stat->state == 'Z' || !proved()) continue;
    if (send(member, number, 0)) ++signalled;
  }
  return signalled;
}

void signal_session(const Descriptor& pidfd, pid_t leader, int number) {
  const auto leader_lives = [&] { return lives(pidfd); };
  signal_members(leader, leader, number, leader_lives);
  if (send(pidfd, number, kWholeGroup) || errno != EINVAL) return;
  signal_members(leader, 0, number, leader_lives);
  send(pidfd, number, 0);
}

}  // namespace healer::runtime
