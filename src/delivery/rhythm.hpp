// SPDX-License-Identifier: MIT
// When what was not delivered is tried again, and what an answer means where a kind of contact says nothing else. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "util/time.hpp"

namespace healer::delivery {

/// How long a contact is left alone after failures in a row, and how long an alert may wait in all.
struct Rhythm {
  Duration first{1'000};
  Duration longest{300'000};
  Duration deadline{hours{24}};
  Duration longest_wanted{hours{1}};  ///< a server that wants to be left alone for longer is not
};

/// What came of a try.
struct Answer {
  std::uint16_t status = 0;  ///< of HTTP; 0: there was no whole answer
  std::string why;           ///< there was none: "could not connect to wall.example:443: connection refused"
  std::string retry_after;   ///< the value of that header; empty: it was not there
};

struct Taken {
  bool operator==(const Taken&) const = default;
};
struct TryAgain {
  std::string why;
  std::optional<Duration> after{};  ///< the server has said so
  bool operator==(const TryAgain&) const = default;
};
/// It is not tried again.
struct Final {
  std::string why;
  bool operator==(const Final&) const = default;
};
using Verdict = std::variant<Taken, TryAgain, Final>;

/// The pause after that many failures in a row (1, 2, ...): twice as long each time.
[[nodiscard]] Duration pause(const Rhythm& rhythm, std::uint32_t failures);

/// How long a server wants to be left alone: the value of Retry-After, seconds or a date. Nothing: it is neither, or a
/// date that is past.
[[nodiscard]] std::optional<Duration> retry_after(std::string_view value, WallTime now);

/// Any 2xx is taken; no answer, 408, 429 and 5xx are tried again; all else is final, redirects among it.
[[nodiscard]] Verdict by_status(const Answer& answer, WallTime now);

/// Whether an alert that has waited for so long has waited too long.
[[nodiscard]] bool is_overdue(const Rhythm& rhythm, Duration waited);

}  // namespace healer::delivery
