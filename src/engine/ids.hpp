// SPDX-License-Identifier: MIT
// Names that travel in events and effects instead of text.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace healer::engine {

/// A number that cannot be mixed up with another kind of number.
template <typename Tag, typename Number>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(Number number) : number_(number) {}

  [[nodiscard]] constexpr Number number() const { return number_; }
  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(number_); }
  auto operator<=>(const Id&) const = default;

 private:
  Number number_ = 0;
};

using ServiceId = Id<struct ServiceTag, std::uint32_t>;  ///< slot of a service in the graph, stable over reloads
constexpr ServiceId kNoService{~std::uint32_t{0}};
using RunId = Id<struct RunTag, std::uint64_t>;        ///< one run of a check program; never issued twice in a process
using ActionId = Id<struct ActionTag, std::uint64_t>;  ///< one started action; never issued twice, over restarts too
using AlertId = Id<struct AlertTag, std::uint64_t>;    ///< one alert; never issued twice, over restarts too
using JobId = Id<struct JobTag, std::uint64_t>;        ///< one start, stop or restart; as ActionId
using CommandId = Id<struct CommandTag, std::uint64_t>;  ///< one command of a client
using HealingId = Id<struct HealingTag, std::uint64_t>;  ///< one healing; as ActionId
using Sequence = std::uint64_t;                          ///< number of a commit; grows, over restarts too
using RecordNumber = std::uint64_t;                      ///< of a record; the next has the next, over restarts too
using Generation = std::uint64_t;                        ///< number of a graph

/// Gives each number once.
class IdSource {
 public:
  /// `next`: higher than any that was ever issued.
  explicit IdSource(std::uint64_t next) : next_(next) {}

  [[nodiscard]] ActionId action() { return ActionId{next_++}; }
  [[nodiscard]] AlertId alert() { return AlertId{next_++}; }
  [[nodiscard]] JobId job() { return JobId{next_++}; }
  [[nodiscard]] HealingId healing() { return HealingId{next_++}; }
  /// Of an event: Occurrence::number.
  [[nodiscard]] std::uint64_t occurrence() { return next_++; }
  /// What is given next: all that were issued are lower.
  [[nodiscard]] std::uint64_t next() const { return next_; }

 private:
  std::uint64_t next_;
};

}  // namespace healer::engine
