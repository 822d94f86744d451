// SPDX-License-Identifier: MIT
#include "runtime/mount_guard.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "runtime/clock.hpp"

namespace healer::runtime {

void MountGuard::enter(std::uint64_t key, const std::string& path) {
  const std::lock_guard lock(mutex_);
  entries_.emplace(key, Entry{path, mono_now()});
}

void MountGuard::leave(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  entries_.erase(key);
}

std::string MountGuard::hanging(const std::string& path, Duration patience) const {
  std::vector<std::string> hanging;
  {
    const std::lock_guard lock(mutex_);
    const Duration now = mono_now();
    for (const auto& [key, entry] : entries_) {
      if (now - entry.since >= patience) hanging.push_back(entry.path);
    }
  }
  if (hanging.size() < kMostPerMount) return {};
  const std::string mount = mount_of(path);
  if (mount == "/") return {};
  const auto same =
      std::count_if(hanging.begin(), hanging.end(), [&](const std::string& other) { return mount_of(other) == mount; });
  return same >= kMostPerMount ? mount : std::string();
}

std::string mount_of(const std::string& path) {
  std::ifstream table("/proc/self/mountinfo");
  std::string best = "/";
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string skipped;
    std::string point;
    fields >> skipped >> skipped >> skipped >> skipped >> point;
    const bool below =
        path.size() > point.size() && path.compare(0, point.size(), point) == 0 && path[point.size()] == '/';
    if (below && point.size() > best.size()) best = point;
  }
  return best;
}

}  // namespace healer::runtime
