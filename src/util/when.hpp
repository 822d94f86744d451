// SPDX-License-Identifier: MIT
// Times as people say them: "yesterday", "last tuesday 14:30", "2 hours ago", "08:00", "2026-11-20".
#pragma once

#include <optional>
#include <string_view>

#include "util/time.hpp"

namespace healer {

/// The past time that is meant, in local time. A length of time is so long before `now`, with "ago" behind it or not; a
/// day without a time is its beginning; a time without a day is the last such; a weekday is the last one before today.
/// A date may have a time after it, with "T" or a blank between; with a "Z" behind it, it is in UTC. Nothing where the
/// text is something else.
[[nodiscard]] std::optional<WallTime> parse_when(std::string_view text, WallTime now, const CivilClock& civil);

}  // namespace healer
