// SPDX-License-Identifier: MIT
// One event that others have told of: an occurrence, so that it is not mistaken for what the engine itself is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// The plain values of a document by their paths: "EVENT.a.b" and its text.
using EventFields = std::vector<std::pair<std::string, std::string>>;

/// How far an event has come.
enum class OccurrenceStage : std::uint8_t {
  Waiting,  ///< to be judged, behind those that came before it
  Judged,
  Dropped,  ///< it waited for too long, or its service is not monitored, or gone
  Refused
};

/// "waiting", "judged", "dropped", "refused".
[[nodiscard]] std::string_view to_string(OccurrenceStage stage);
/// By its name; Dropped where there is none.
[[nodiscard]] OccurrenceStage occurrence_stage_of(std::string_view name);

/// A condition that an event has met, which stands for a target.
struct Standing {
  Hash128 rule;
  std::string target;  ///< as the event has it
  WallTime until{};

  bool operator==(const Standing&) const = default;
};

/// An event, as long as anything is known of it. It is saved.
struct Occurrence {
  std::uint64_t number = 0;  ///< names it, for people
  std::string service;
  std::string key;    ///< of what it is about
  std::string state;  ///< of that
  std::string sender;
  std::string remark;
  WallTime first{};            ///< when it came
  WallTime last{};             ///< when it came for the last time
  std::uint64_t count = 1;     ///< how often it came
  std::uint64_t again = 0;     ///< which event it is once more; 0: of none
  std::uint16_t status = 202;  ///< of its answer, in HTTP's numbers
  std::string answer;          ///< the same for people
  OccurrenceStage stage = OccurrenceStage::Waiting;
  std::string outcome;             ///< what has become of it, for people
  std::vector<Standing> standing;  ///< conditions that stand by it, and by no later one
  EventFields fields;              ///< while it waits
  /// Its JSON. Null: it is no longer kept; in a commit: it is as it was saved before. Empty: from now on it is not
  /// kept.
  std::shared_ptr<const std::string> document;

  bool operator==(const Occurrence& other) const;
};

/// The most events that wait to be judged, and the most bytes of their documents.
inline constexpr std::size_t kMostWaiting = 10'000;
inline constexpr std::size_t kMostWaitingBytes = std::size_t{64} << 20;
/// How many of the events that came last are kept to be shown, and how many bytes of documents beside those that wait.
inline constexpr std::size_t kShownOccurrences = 1000;
inline constexpr std::size_t kMostKeptBytes = std::size_t{16} << 20;
/// The most that are known at all: where more different ones come within their windows, the oldest are forgotten.
inline constexpr std::size_t kMostOccurrences = 100'000;
/// The most that `more than N events within D` counts.
inline constexpr std::size_t kMostCountedEvents = 1000;

}  // namespace healer::engine
