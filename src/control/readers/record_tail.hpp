// SPDX-License-Identifier: MIT
// The newest records, for those who follow the history: each of them keeps no more than the number of the last that it
// has told, however slowly it reads. Whoever is behind this asks the store. On the loop thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <span>
#include <string>

#include "engine/events/record.hpp"
#include "engine/ids.hpp"

namespace healer::control {

/// As the number after which a follower goes on: he wants none of the records that there are, only those to come.
inline constexpr engine::RecordNumber kOnlyToCome = std::numeric_limits<engine::RecordNumber>::max();

/// How much is kept: whichever is reached first.
struct TailBounds {
  std::size_t records = 10'000;
  std::size_t bytes = 8U << 20;
};

class RecordTail {
 public:
  /// A record, and the line that it is told by, made once for all who want it.
  struct Entry {
    engine::Record record;
    std::string line;
  };

  explicit RecordTail(TailBounds bounds = {}) : bounds_(bounds) {}

  /// Adds what comes after all that was added before.
  void add(std::span<const engine::Record> records);
  /// What was added up to this commit may be told: it is on disk, or goes on without one.
  void release(engine::Sequence up_to) { released_ = std::max(released_, up_to); }

  /// Whether everything after this number is here that may be told.
  [[nodiscard]] bool reaches(engine::RecordNumber after) const { return after + 1 >= first_; }
  /// The first after this number that may be told; null: there is none yet. Those before it may go. Requires:
  /// reaches(after).
  [[nodiscard]] const Entry* next(engine::RecordNumber after);
  /// The number before the first that is here.
  [[nodiscard]] engine::RecordNumber before() const { return first_ == 0 ? 0 : first_ - 1; }
  /// The number of the newest that may be told, or else before(); 0: nothing was added yet.
  [[nodiscard]] engine::RecordNumber newest() const;

 private:
  [[nodiscard]] static std::size_t size_of(const Entry& entry);
  /// Whether more is kept than may be.
  [[nodiscard]] bool overflows() const { return entries_.size() > bounds_.records || bytes_ > bounds_.bytes; }
  void drop_first();

  TailBounds bounds_;
  std::deque<Entry> entries_;       // their numbers follow each other
  engine::RecordNumber first_ = 0;  // of the first entry; of none the one to come
  engine::Sequence released_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace healer::control
