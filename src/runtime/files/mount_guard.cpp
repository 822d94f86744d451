// SPDX-License-Identifier: MIT
#include "runtime/files/mount_guard.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "util/text.hpp"

namespace healer::runtime {

void MountGuard::enter(std::uint64_t key, const std::string& path) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({key, path, mono_now()});
}

void MountGuard::leave(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [key](const Entry& entry) { return entry.key == key; });
}

std::string MountGuard::hanging(const std::string& path, Duration patience) const {
  std::vector<std::string> hanging;
  {
    const std::lock_guard lock(mutex_);
    if (entries_.size() < kMostPerMount) return {};
    const Duration now = mono_now();
    for (const Entry& entry : entries_)
      if (now - entry.since >= patience) hanging.emplace_back(entry.path);
  }
  if (hanging.size() < kMostPerMount) return {};
  const std::string mount = mount_of(path);
  const auto is_same = [&](const std::string& other) { return mount_of(other) == mount; };
  if (mount != "/" && std::count_if(hanging.begin(), hanging.end(), is_same) >= kMostPerMount) return mount;
  // Wherever a path leads, by symbolic links, too: it is not waited for by more than these.
  return std::count(hanging.begin(), hanging.end(), path) >= kMostPerMount ? path : std::string();
}

std::size_t MountGuard::long_waits(Duration patience) const {
  const std::lock_guard lock(mutex_);
  const Duration now = mono_now();
  return static_cast<std::size_t>(
      std::ranges::count_if(entries_, [&](const Entry& entry) { return now - entry.since >= patience; }));
}

Error MountGuard::refusal(const Attempt& attempt, const std::string& mount) {
  return {ETIMEDOUT,
          fmt::format("cannot {} {} ({} does not answer)", attempt.purpose, printable(attempt.path), printable(mount))};
}

std::string mount_of(const std::string& path) {
  std::ifstream table("/proc/self/mountinfo");
  std::string best = "/";
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string skipped;
    std::string point;
    fields >> skipped >> skipped >> skipped >> skipped >> point;
    point = from_octal(point);
    const bool at_or_below =
        path.compare(0, point.size(), point) == 0 && (path.size() == point.size() || path[point.size()] == '/');
    if (at_or_below && point.size() > best.size()) best = point;
  }
  return best;
}

}  // namespace healer::runtime
