// SPDX-License-Identifier: MIT
// The heartbeat of those who look at a page or listen to events: they are woken every five seconds, and soon after
// anything that is shown has changed, but at most ten times a second. One tick wakes all. On the loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <utility>

#include "util/time.hpp"
#include "web/message.hpp"

namespace healer::web {

class Pulse {
 public:
  static constexpr Duration kBeat = seconds{5};
  static constexpr Duration kLeast = milliseconds{100};  ///< between two ticks
  static constexpr std::size_t kMost = 1'000;            ///< listeners

  /// `alarm` is told when tick() is wanted, in place of what it was told before: a `mono` of `now`.
  Pulse(std::function<Instant()> now, std::function<void(Duration when)> alarm)
      : now_(std::move(now)), alarm_(std::move(alarm)) {}

  /// Something that is shown has changed. Costs next to nothing, and may be called for each event.
  void note();
  /// The same of what changes all the time, such as figures: that is early enough at the next beat.
  void note_figures() { ++revision_; }
  /// Wakes all who listen. Whoever owns this calls it at the time that `alarm` was told, or later.
  void tick();

  /// Grows with each change.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }
  /// How many ticks there were: one who has seen fewer has something to tell.
  [[nodiscard]] std::uint64_t ticks() const { return ticks_; }

  /// Has `wake` called at each tick, for as long as what is returned is held; null: there are too many already.
  /// Requires: this outlives it.
  [[nodiscard]] std::shared_ptr<void> listen(Wake wake);
  [[nodiscard]] std::size_t listeners() const { return wakes_.size(); }

 private:
  std::function<Instant()> now_;
  std::function<void(Duration)> alarm_;
  std::list<Wake> wakes_;
  std::uint64_t revision_ = 1;
  std::uint64_t ticks_ = 0;
  bool hurries_ = false;  // a tick is due before the next beat
  Duration last_{0};      // tick
};

}  // namespace healer::web
