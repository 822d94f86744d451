// SPDX-License-Identifier: MIT
// The part of control/wire that is about events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "util/time.hpp"

namespace healer::control {

/// Most bytes of the body of an event.
inline constexpr std::size_t kMaxEventBody = std::size_t{1} << 20;
/// Most bytes of a request of somebody who may send one: it is longer as a string of JSON.
inline constexpr std::size_t kMaxEventRequest = std::size_t{8} << 20;

/// One event, as the format of its hook makes it of a body.
struct OccurrenceSent {
  std::string id;        ///< of what it is about
  std::string state;     ///< of that; may be empty
  std::string document;  ///< one JSON object
  std::string remark;    ///< for people, shown with it; may be empty

  bool operator==(const OccurrenceSent&) const = default;
};

/// What is told with `event`: events that were read already, a body that is to be read as the hook's format says, or
/// the number of an event that is to be played once more.
struct EventSent {
  std::vector<OccurrenceSent> occurrences;
  std::string body;           ///< where there are no `occurrences`
  std::uint64_t again = 0;    ///< the number of an event: it comes once more, whatever is known of it
  bool dry_run = false;       ///< nothing is taken: the answer says what would become of it
  std::string sender;         ///< who has sent it, for people; empty: whoever asks
  std::uint16_t refused = 0;  ///< the HTTP status with which it was refused already: it is only noted
  std::string why;            ///< then; one sentence

  bool operator==(const EventSent&) const = default;
};

/// What became of one event: an item of the answer to `event`.
struct EventAnswer {
  std::uint64_t event = 0;  ///< its number; 0: it was not kept
  std::string id;
  std::string state;
  std::uint16_t status = 202;  ///< in HTTP's numbers: 202 taken or known, 404, 422 refused, 429 full, 503 not on disk
  std::string text;            ///< for people

  bool operator==(const EventAnswer&) const = default;
};

/// One event that came: an item of the answer to `events`.
struct EventView {
  std::uint64_t event = 0;
  std::string service;
  std::string id;
  std::string state;
  std::string sender;
  std::string remark;
  WallTime first{};                  ///< when it came
  WallTime last{};                   ///< when it came for the last time
  std::uint64_t count = 1;           ///< how often it came
  std::uint16_t status = 202;        ///< of its answer
  std::string answer;                ///< the same for people
  std::string stage;                 ///< "waiting", "judged", "dropped", "refused"
  std::string outcome;               ///< what became of it, for people; empty: nothing yet
  std::vector<std::string> targets;  ///< for which a condition stands by it
  std::uint64_t again = 0;           ///< the event that it is once more; 0: of none
  bool has_document = false;         ///< it can be played once more

  bool operator==(const EventView&) const = default;
};

/// What is known of a `check event`, for status.
struct EventCheckView {
  std::string hook;                  ///< its path; empty: it has none
  std::string format;                ///< "json", "aodh", ...
  Duration within{0};                ///< for so long the same id and state are the same event
  Duration valid{0};                 ///< for so long a condition stands
  std::uint64_t waiting = 0;         ///< events that are to be judged
  std::string held;                  ///< why they wait: "paused"; empty: nothing holds them
  std::vector<std::string> targets;  ///< for which a condition stands
  std::optional<EventView> last;     ///< the newest

  bool operator==(const EventCheckView&) const = default;
};

}  // namespace healer::control
