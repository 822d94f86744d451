// SPDX-License-Identifier: MIT
// What two supervisors decided about the same services, side by side: Monit by its log, healer by its history.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/wire.hpp"
#include "util/time.hpp"

namespace healer::control {

/// One decision about a service. `what` is "failed", "recovered", "restart", "start", "stop" or "exec".
struct Decision {
  WallTime when{};
  std::string service;
  std::string what;
  std::string text;  ///< as it was written
};

/// What a text has to say of it, and for how long.
struct Decisions {
  std::vector<Decision> list;        ///< in the order of their times
  std::optional<WallTime> from, to;  ///< of the first and last line that has a time
  std::size_t unread = 0;            ///< lines whose time was not understood
};

/// The log of Monit. It says at each failing run that a test has failed: only the first is a decision. That it does not
/// watch any more, or has mailed, is not in it.
[[nodiscard]] Decisions decisions_of_monit(std::string_view log);
/// The history of healer, also of one that only watches (shadow, dry run).
[[nodiscard]] Decisions decisions_of_healer(const std::vector<RecordView>& records);

enum class Match : std::uint8_t {
  Both,
  OnlyMonit,
  OnlyHealer,
  Again,  ///< Monit did once more what both had decided, for the same failure
};
/// "both", "only-monit", "only-healer", "again".
[[nodiscard]] std::string_view to_string(Match match);

struct MatchedDecision {
  Match match{};
  std::optional<Decision> monit, healer;

  [[nodiscard]] const Decision& any() const { return monit ? *monit : *healer; }
  [[nodiscard]] WallTime when() const { return any().when; }
};

/// The time in which both were there, and their decisions in it.
struct SideBySide {
  WallTime from{}, to{};
  bool overlaps = false;  ///< false: they were never there together
  std::vector<MatchedDecision> list;
};

/// Pairs decisions of the same kind about the same service (any case) that are no further apart than `within`: those
/// that are nearest in time, in its order.
[[nodiscard]] SideBySide compare(const Decisions& monit, const Decisions& healer, Duration within);

}  // namespace healer::control
