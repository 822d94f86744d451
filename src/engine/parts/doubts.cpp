// SPDX-License-Identifier: MIT
#include "engine/parts/doubts.hpp"

#include <algorithm>
#include <chrono>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::engine {
namespace {

/// The loop was late by so much: what is seen of others may be healer's own trouble.
constexpr Duration kLate = seconds{1};
/// A step of the wall clock by more than this casts doubt on what was seen.
constexpr Duration kClockStep = minutes{1};

}  // namespace

void SelfDoubts::hear_wake(std::optional<Duration> due, Duration clock_offset, Duration lasting, Instant now) {
  const Duration until = now.mono + lasting;
  if (due && now.mono - *due > kLate)
    of_time_ = {until, fmt::format("healer's own event loop was late by {}", format_duration(now.mono - *due))};
  const Duration offset = now.wall.time_since_epoch() - now.mono;
  if (std::chrono::abs(offset - clock_offset) > kClockStep) of_time_ = {until, "the system clock was set"};
}

std::string SelfDoubts::of_time(Instant now) const {
  return of_time_ && now.mono < of_time_->first ? of_time_->second : std::string();
}

std::optional<Duration> SelfDoubts::ends() const { return of_time_ ? std::optional(of_time_->first) : std::nullopt; }

void SelfDoubts::hear_lists(const event::ListsDoubted& event) {
  lists_ = event.names;
  missing_rows_.clear();
  for (const event::ListsDoubted::Row& row : event.missing) missing_rows_.emplace(row.list, row.name);
}

bool SelfDoubts::of_list(const std::string& list) const { return std::ranges::find(lists_, list) != lists_.end(); }

}  // namespace healer::engine
