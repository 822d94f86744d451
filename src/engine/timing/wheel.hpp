// SPDX-License-Identifier: MIT
// A hashed timing wheel: due times of services in slots of 10 ms. Adding is O(1), advancing costs what falls due.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// Entries are never removed early: an owner that has changed its mind sees an entry whose `due` is not its own and
/// ignores it.
class Wheel {
 public:
  struct Entry {
    ServiceId service;
    Duration due;
  };

  /// Notes that `service` is due at `due` (mono).
  void add(ServiceId service, Duration due);
  /// Moves every entry with `due` <= `now` into `out`, in order of slot, then of adding.
  void take_due(Duration now, std::vector<Entry>& out);
  /// The earliest due time of all entries; none: the wheel is empty.
  [[nodiscard]] std::optional<Duration> next() const;

 private:
  static constexpr std::int64_t kTick = 10;  // ms
  static constexpr std::size_t kSlots = 4096;
  static constexpr std::size_t kSpare = 16;  // entries, of which a slot keeps the room

  /// The first tick in [from, to) whose slot holds something; `to` where there is none. Requires: to - from <= kSlots.
  [[nodiscard]] std::int64_t occupied(std::int64_t from, std::int64_t to) const;
  static std::int64_t tick_of(Duration due) { return due.count() / kTick; }
  [[nodiscard]] std::vector<Entry>& slot(std::int64_t tick) { return slots_[static_cast<std::size_t>(tick) % kSlots]; }

  std::array<std::vector<Entry>, kSlots> slots_;
  std::array<std::uint64_t, kSlots / 64> bits_{};  // a bit for each slot that holds something
  std::int64_t position_ = 0;                      // ticks before it have been taken
  std::size_t size_ = 0;
  mutable std::optional<Duration> next_;  // known earliest, unless stale_
  mutable bool stale_ = false;
};

}  // namespace healer::engine
