// SPDX-License-Identifier: MIT
#include "web/pulse.hpp"

#include <algorithm>
#include <utility>

namespace healer::web {

void Pulse::note() {
  ++revision_;
  if (wakes_.empty() || std::exchange(hurries_, true)) return;
  alarm_(std::max(last_ + kLeast, now_().mono));
}

void Pulse::tick() {
  last_ = now_().mono;
  hurries_ = false;
  ++ticks_;
  for (const Wake& wake : wakes_) wake();
  if (!wakes_.empty()) alarm_(last_ + kBeat);
}

std::shared_ptr<void> Pulse::listen(Wake wake) {
  if (wakes_.size() >= kMost) return nullptr;
  if (wakes_.empty()) {  // there was no alarm
    hurries_ = false;
    alarm_(now_().mono + kBeat);
  }
  const auto place = wakes_.insert(wakes_.end(), std::move(wake));
  return {this, [this, place](void*) { wakes_.erase(place); }};
}

}  // namespace healer::web
