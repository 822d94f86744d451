// SPDX-License-Identifier: MIT
#include "runtime/inspection/proc_stat.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "runtime/clock.hpp"

namespace healer::runtime {
namespace {

constexpr unsigned kWholeGroup = 4;  // PIDFD_SIGNAL_PROCESS_GROUP

bool send(const Descriptor& pidfd, int number, unsigned flags) {
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, flags) == 0;
}

/// The fields of a line, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view rest) : rest_(rest) {}

  [[nodiscard]] std::string_view next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size()));
    const std::string_view field = rest_.substr(0, rest_.find_first_of(" \n"));
    rest_.remove_prefix(field.size());
    return field;
  }
  void skip(int count) {
    for (int i = 0; i < count; ++i) static_cast<void>(next());
  }
  /// False where it is not there or no number.
  template <typename Number>
  [[nodiscard]] bool number(Number& into) {
    const std::string_view field = next();
    return std::from_chars(field.data(), field.data() + field.size(), into).ec == std::errc{};
  }

 private:
  std::string_view rest_;
};

}  // namespace

Result<std::string> read_head(int directory, const char* path, std::size_t most) {
  const Descriptor file(::openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return system_error(errno, path);
  constexpr std::size_t kAtOnce = 4096;
  std::string text;
  std::size_t used = 0;
  while (used < most) {
    const std::size_t wanted = std::min(most - used, kAtOnce);
    text.resize(used + wanted);
    const ssize_t size = ::read(file.get(), text.data() + used, wanted);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return system_error(errno, path);
    used += static_cast<std::size_t>(size);
    if (static_cast<std::size_t>(size) < wanted) break;
  }
  text.resize(used);
  return text;
}

bool is_gone(const Error& error) { return error.code == ENOENT || error.code == ESRCH; }

std::optional<ProcStat> parse_proc_stat(std::string_view line) {
  // "pid (name) state ppid pgrp session ...": a name may hold anything, also parentheses and blanks.
  const auto open = line.find('(');
  const auto close = line.rfind(')');
  ProcStat stat;
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), stat.pid);
  if (error != std::errc{} || open >= close || close == std::string_view::npos) return std::nullopt;
  stat.name = line.substr(open + 1, close - open - 1);
  Fields fields(line.substr(close + 1));
  const std::string_view state = fields.next();
  if (state.empty()) return std::nullopt;
  stat.state = state.front();
  if (!fields.number(stat.parent) || !fields.number(stat.group) || !fields.number(stat.session)) return std::nullopt;
  fields.skip(7);  // fields 7 to 13
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  if (!fields.number(user) || !fields.number(system)) return std::nullopt;
  stat.cpu_ticks = user + system;
  fields.skip(4);  // fields 16 to 19
  if (!fields.number(stat.threads)) return std::nullopt;
  fields.skip(1);
  if (!fields.number(stat.start_ticks)) return std::nullopt;
  fields.skip(1);
  if (!fields.number(stat.resident_pages)) stat.resident_pages = 0;
  return stat;
}

std::optional<ProcStat> read_proc_stat(pid_t pid) {
  const auto text = read_head(AT_FDCWD, fmt::format("/proc/{}/stat", pid).c_str(), kMostOfStat);
  return text ? parse_proc_stat(*text) : std::nullopt;
}

Result<void> proc_is_ours() {
  std::array<char, 32> text{};
  const ssize_t size = ::readlink("/proc/self", text.data(), text.size());
  if (size < 0 && errno == ENOENT) return Error{ENODEV, "no processes can be seen: /proc is not mounted"};
  if (size < 0) return system_error(errno, "no processes can be seen: /proc/self");
  if (std::string_view(text.data(), static_cast<std::size_t>(size)) != std::to_string(::getpid()))
    return Error{ENODEV, "no processes can be seen: /proc is that of another name space"};
  return {};
}

bool has_number(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

std::uint64_t ticks_per_second() {
  static const auto kTicks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return kTicks;
}

Descriptor open_pidfd(pid_t pid) { return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

Duration start_time(std::uint64_t start_ticks) {
  return Duration{static_cast<std::int64_t>(start_ticks * 1000 / ticks_per_second())};
}

bool started_after(std::uint64_t start_ticks, std::int64_t written) {
  constexpr Duration kClocksDiffer{10'000};  // between the file system's and ours, without a step
  const Instant moment = now();
  const WallTime started = moment.wall - (moment.mono - start_time(start_ticks));
  return started - kClocksDiffer > WallTime{Duration{written / 1'000'000}};
}

std::uint64_t ticks_at(Duration mono) { return static_cast<std::uint64_t>(mono.count()) * ticks_per_second() / 1000; }

bool lives(const Descriptor& pidfd) {
  pollfd waiting{pidfd.get(), POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 0;
}

bool is_reaped(const Descriptor& pidfd) { return !send(pidfd, 0, 0) && errno == ESRCH; }

Result<Descriptor> find_process(pid_t pid, std::uint64_t start_ticks) {
  const auto absent = [pid](int code) { return system_error(code, fmt::format("cannot find process {}", pid)); };
  // First the handle, then the look: what is seen then is what the handle holds, or it is gone and readable.
  Descriptor pidfd = open_pidfd(pid);
  if (!pidfd) {
    const Error error = absent(errno);
    return lacks_resources(error) ? error : absent(ESRCH);
  }
  const auto text = read_head(AT_FDCWD, fmt::format("/proc/{}/stat", pid).c_str(), kMostOfStat);
  if (!text && !is_gone(text.error())) return absent(text.error().code);
  if (!text && lives(pidfd)) return absent(EACCES);  // /proc hides it
  const auto stat = text ? parse_proc_stat(*text) : std::nullopt;
  if (!stat || stat->start_ticks != start_ticks || !lives(pidfd)) return absent(ESRCH);
  return pidfd;
}

Result<void> signal_process(pid_t pid, std::uint64_t start_ticks, int number) {
  const auto pidfd = find_process(pid, start_ticks);
  if (!pidfd) return pidfd.error();
  if (!send(*pidfd, number, 0)) return system_error(errno, fmt::format("cannot signal process {}", pid));
  return {};
}

unsigned signal_members(pid_t leader, pid_t spared_group, int number, const std::function<bool()>& proved) {
  unsigned signalled = 0;
  std::error_code error;  // where there is one, the rest is not seen
  std::filesystem::directory_iterator entry("/proc", error);
  for (const std::filesystem::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
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

void signal_held(const Descriptor& pidfd, int number) { send(pidfd, number, 0); }

void signal_group(const Descriptor& pidfd, int number) { send(pidfd, number, kWholeGroup); }

void signal_session(const Descriptor& pidfd, pid_t leader, int number) {
  const auto leader_lives = [&] { return lives(pidfd); };
  signal_members(leader, leader, number, leader_lives);
  if (send(pidfd, number, kWholeGroup) || errno != EINVAL) return;
  signal_members(leader, 0, number, leader_lives);
  send(pidfd, number, 0);
}

}  // namespace healer::runtime
