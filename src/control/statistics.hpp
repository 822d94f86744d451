// SPDX-License-Identifier: MIT
// Counts what a daemon does, for the rates that people watch. Told of what goes into the engine and what comes out of
// it; a few additions each. On the loop thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "control/wire.hpp"
#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/events/record.hpp"
#include "util/time.hpp"

namespace healer::engine {
class Engine;
}  // namespace healer::engine

namespace healer::control {

/// How long services stood failed, each time from the first rule that fired to the recovery of the last.
struct UnhealthyTimes {
  /// In seconds.
  static constexpr std::array<std::uint32_t, 10> kBounds{30, 60, 120, 180, 240, 300, 600, 1200, 2400, 3600};

  std::array<std::uint64_t, kBounds.size() + 1> counts{};  ///< by the lowest bound that it is not above; last: none
  Duration sum{0};

  void add(Duration time);
  bool operator==(const UnhealthyTimes&) const = default;
};

class Statistics {
 public:
  using Records = std::array<std::uint64_t, static_cast<std::size_t>(engine::RecordKind::Count_)>;

  void note(const engine::Event& event);
  /// `engine` has asked for it, and its turn is over.
  void note(const engine::Effect& effect, const engine::Engine& engine);
  /// What there was since the daemon started; of mails that wait it knows nothing.
  [[nodiscard]] const CountsView& counts() const { return counts_; }
  /// Records since then, by their kind.
  [[nodiscard]] const Records& records() const { return records_; }
  [[nodiscard]] const UnhealthyTimes& unhealthy() const { return unhealthy_; }
  /// When the rules in force were loaded; nothing: the daemon has not started yet.
  [[nodiscard]] std::optional<WallTime> loaded() const { return loaded_; }

 private:
  void note(const engine::Record& record, const engine::Engine& engine);
  void note_standing(const engine::Engine& engine);
  void forget_others(const engine::Engine& engine);

  CountsView counts_;
  Records records_{};
  UnhealthyTimes unhealthy_;
  /// Services that stand failed, and since when.
  std::unordered_map<std::string, WallTime> failed_;
  std::optional<WallTime> loaded_;
};

}  // namespace healer::control
