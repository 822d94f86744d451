// SPDX-License-Identifier: MIT
// What healer doubts of what it sees, so that it heals nothing meanwhile: that its loop was late, that the clock was
// set, that a list is not known to be right.
//
// Owns    these doubts, and until when one that is of time holds.
// Hears   that the engine was woken; what the daemon says of its lists.
// Tells   nothing: who heals asks.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/events/event.hpp"
#include "util/time.hpp"

namespace healer::engine {

class SelfDoubts {
 public:
  // ---- view
  /// Why what was seen may be healer's own trouble; empty: it is not.
  [[nodiscard]] std::string of_time(Instant now) const;
  /// Mono: when that ends; none: there is none.
  [[nodiscard]] std::optional<Duration> ends() const;
  /// Whether a list (in lower case) is not known to be right.
  [[nodiscard]] bool of_list(const std::string& list) const;
  /// The first of such lists, in lower case; empty: there is none.
  [[nodiscard]] std::string first_list() const { return lists_.empty() ? std::string() : lists_.front(); }
  /// Whether a row is missing from its list (both in lower case) that was well before, or since.
  [[nodiscard]] bool is_missing(const std::string& list, const std::string& row) const {
    return missing_rows_.contains({list, row});
  }

  // ---- what it hears
  /// Wake has come, which was wanted at `due` (mono); `clock_offset` is the wall clock less the steady one, as it was.
  /// What is doubted is so for `lasting`.
  void hear_wake(std::optional<Duration> due, Duration clock_offset, Duration lasting, Instant now);
  void hear_lists(const event::ListsDoubted& event);

 private:
  std::optional<std::pair<Duration, std::string>> of_time_;  // mono: until when, and why
  std::vector<std::string> lists_;
  std::set<std::pair<std::string, std::string>> missing_rows_;
};

}  // namespace healer::engine
