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
  const auto is_same = [&](const std::string& other) { return mount_of(other) == mount; };
  if (mount != "/" && std::count_if(hanging.begin(), hanging.end(), is_same) >= kMostPerMount) return mount;
  // Wherever a path leads, by symbolic links, too: it is not waited for by more than these.
  return std::count(hanging.begin(), hanging.end(), path) >= kMostPerMount ? path : std::string();
}

namespace {

/// As the kernel writes blanks and the like in a path: \040.
std::string decoded(const std::string& written) {
  std::string text;
  for (std::size_t at = 0; at < written.size(); ++at) {
    const auto octal = [&](std::size_t digit) { return written[at + digit] >= '0' && written[at + digit] <= '7'; };
    if (written[at] == '\\' && at + 3 < written.size() && octal(1) && octal(2) && octal(3)) {
      text += static_cast<char>((written[at + 1] - '0') * 64 + (written[at + 2] - '0') * 8 + (written[at + 3] - '0'));
      at += 3;
    } else {
      text += written[at];
    }
  }
  return text;
}

}  // namespace

std::string mount_of(const std::string& path) {
  std::ifstream table("/proc/self/mountinfo");
  std::string best = "/";
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string skipped;
    std::string point;
    fields >> skipped >> skipped >> skipped >> skipped >> point;
    point = decoded(point);
    const bool at_or_below =
        path.compare(0, point.size(), point) == 0 && (path.size() == point.size() || path[point.size()] == '/');
    if (at_or_below && point.size() > best.size()) best = point;
  }
  return best;
}

}  // namespace healer::runtime
