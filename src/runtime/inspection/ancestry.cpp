// SPDX-License-Identifier: MIT
#include "runtime/inspection/ancestry.hpp"

#include <algorithm>

namespace healer::runtime {

std::optional<std::vector<pid_t>> AncestryReader::of(pid_t pid, Duration now) {
  constexpr int kMostGenerations = 64;
  for (; !checked_at_.empty() && now - checked_at_.front().first >= kMemory; checked_at_.pop_front()) {
    known_.erase(checked_at_.front().second);
  }
  const Duration since = std::min(now - refilled_, Duration{kMostAtOnce * 1000 / kReadsPerSecond});
  left_ = std::min(kMostAtOnce, left_ + since.count() * kReadsPerSecond / 1000);
  refilled_ = now;
  if (left_ <= 0 || !known_.insert(pid).second) return std::nullopt;
  checked_at_.emplace_back(now, pid);
  std::vector<pid_t> found;
  for (int i = 0; i < kMostGenerations && pid > 1 && pid != self_; ++i) {
    found.push_back(pid);
    --left_;
    const auto stat = read_(pid);
    if (!stat) break;
    if (stat->session > 1 && stat->session != pid) found.push_back(stat->session);
    pid = stat->parent;
  }
  return found;
}

}  // namespace healer::runtime
