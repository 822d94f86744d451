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

/// How long a server, or a contact, is left alone after failures in a row, and how long an alert may wait in all.
struct Rhythm {
  Duration first{1'000};
  Duration longest{300'000};
  std::optional<Duration> deadline = hours{24};  ///< none: an alert may wait for ever
  std::uint32_t most_refusals = 0;    ///< of one alert, for now, after which it is given up; 0: there may be any number
  Duration longest_wanted{hours{1}};  ///< a server that wants to be left alone for longer is not
};

/// What came of a try.
struct Answer {
  std::uint16_t status = 0;   ///< of HTTP, or of SMTP about the mail; 0: there was no whole answer
  std::string why;            ///< there was none: "could not connect to wall.example:443: connection refused"
  std::string retry_after{};  ///< the value of that header; empty: it was not there
  std::string words{};        ///< of SMTP: "550 5.1.1 unknown"
};

struct Taken {
  bool operator==(const Taken&) const = default;
};
struct TryAgain {
  std::string why;
  std::optional<Duration> after{};  ///< the server has said so
  bool is_of_server = false;        ///< it is no use now, whatever it is given: another may be
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

/// How it goes with what is tried again and again: a contact, a mail server, a mail. Times are mono.
struct Tries {
  std::uint32_t failures = 0;  ///< in a row
  Duration not_before{0};

  /// It has failed once more. Returns how long it is left alone: as long as it `wants`, within bounds, else longer each
  /// time.
  Duration fail(const Rhythm& rhythm, Duration now, std::optional<Duration> wants = {});
  [[nodiscard]] bool rests(Duration now) const { return not_before > now; }
};

/// Whether that is longer than any server is left alone.
[[nodiscard]] bool is_too_long(const Rhythm& rhythm, std::optional<Duration> wanted);

/// How long a server wants to be left alone: the value of Retry-After, seconds or a date. Nothing: it is neither, or a
/// date that is past.
[[nodiscard]] std::optional<Duration> retry_after(std::string_view value, WallTime now);

/// Any 2xx is taken; no answer, 408, 429 and 5xx are tried again; all else is final, redirects among it.
[[nodiscard]] Verdict by_status(const Answer& answer, WallTime now);

/// Whether an alert that has waited for so long, and was refused for now so often, is given up.
[[nodiscard]] bool is_given_up(const Rhythm& rhythm, Duration waited, std::uint32_t refusals = 0);

}  // namespace healer::delivery
