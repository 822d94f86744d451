// SPDX-License-Identifier: MIT
// The words for events, and for what a `check event` was judged by.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/evidence.hpp"
#include "engine/events/record.hpp"
#include "engine/occurrence.hpp"
#include "engine/rules/test.hpp"

namespace healer::engine {

struct ServiceBlock;

/// "instance-7: alarm", "instance-7"; without its number.
[[nodiscard]] std::string describe_event(const std::string& key, const std::string& state);

/// "event 12 (instance-7: alarm)".
[[nodiscard]] std::string name_of(const Occurrence& occurrence);

/// "6 events in 1 m (limit 5)".
[[nodiscard]] std::string describe(const EventSeen& seen, const EventCount& test);

/// How many distinct events have come in the time that a test looks back on.
[[nodiscard]] std::size_t count_of(const EventSeen& seen, const EventCount& test);

/// HEALER_EVENT_A_B of EVENT.a.b.
[[nodiscard]] std::string environment_name(std::string_view field);
/// The fields without those that a program would take for one of `named`, which alone the rules have looked at.
[[nodiscard]] EventFields unshadowed(EventFields fields, const std::vector<std::string>& named);
/// What became of an event, for people: what its rules have done, as the records of its run from `begin` on tell it.
[[nodiscard]] std::string outcome_of(const ServiceBlock& block, const std::vector<Record>& records, std::size_t begin,
                                     const Evidence& seen);

}  // namespace healer::engine
