// SPDX-License-Identifier: MIT
// Reads units for their services: one call for each, a bounded number of them at once, whatever a turn asks for. It
// remembers of each service what its rates and totals need, and hears what systemd says of its unit: a change asks the
// engine for a look (event::ProcessDied). Many changes in a short time are told together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/events/event.hpp"
#include "engine/events/measure.hpp"
#include "engine/ids.hpp"
#include "engine/rules/plan.hpp"
#include "runtime/loop.hpp"
#include "runtime/units/system_bus.hpp"

namespace healer::runtime {

class UnitReader {
 public:
  static constexpr std::size_t kMostAtOnce = 32;
  static constexpr Duration kGathered{100};      ///< what changes in this time is told together
  static constexpr Duration kHintPause{1'000};   ///< between two times that changes are told
  static constexpr Duration kOwnEcho{2'000};     ///< after a look, units come and go because of that
  static constexpr Duration kShortestRate{900};  ///< a rate is of no less time

  using Sink = std::function<void(engine::Event)>;

  /// Requires: `loop` and `bus` outlive it. `sink` is called on the loop, never from within a call.
  UnitReader(Loop& loop, SystemBus& bus, Sink sink);

  /// Answered with event::Measured.
  void read(const engine::effect::Measure& run, const engine::measure::ReadUnit& wanted, const std::string& unit);
  /// The run is not answered. Unknown ones are ignored.
  void cancel(engine::RunId run);
  /// What is remembered of a service goes.
  void forget(engine::ServiceId service);
  [[nodiscard]] bool is_idle() const { return known_.empty() && queue_.empty() && under_way_.empty(); }

  // What systemd says (SystemBus::Listener).
  void changed(std::string_view path, std::string_view active, std::string_view sub);
  void listed(std::string_view path);
  void reloaded();

 private:
  /// What is remembered of a service.
  struct Known {
    std::string unit;
    std::set<std::string> paths;  ///< of the unit's object: by the name in the rules, and by its own
    std::string active;           ///< at the last look; empty: there was none
    std::string sub;
    Duration looked{0};                                      ///< mono: when that ended
    std::optional<std::pair<Duration, std::uint64_t>> time;  ///< mono, and the processor time by then
    std::optional<double> cpu;                               ///< percent, by the last two times
    std::optional<std::uint64_t> counted;                    ///< NRestarts at the last look
    std::uint64_t grown = 0;                                 ///< restarts since the first look
    std::deque<std::pair<Duration, std::uint64_t>> history;  ///< mono, and `grown` before a growth of it
  };
  struct Run {
    engine::effect::Measure effect;
    engine::measure::ReadUnit wanted;
    std::string unit;
    Duration begun{0};
  };

  void next();
  void answered(std::uint64_t number, const Result<UnitReading>& reading);
  [[nodiscard]] engine::Evidence evidence(const Run& run, const UnitReading& reading);
  void hint(engine::ServiceId service);
  void tell_hints();
  [[nodiscard]] Known& known(const Run& run);

  Loop& loop_;
  SystemBus& bus_;
  Sink sink_;
  std::deque<Run> queue_;
  std::unordered_map<std::uint64_t, Run> under_way_;  // by the number of the run; one that was cancelled is gone
  std::size_t calls_ = 0;                             // of which some may be of runs that were cancelled
  std::unordered_map<std::uint32_t, Known> known_;    // by the number of the service
  std::unordered_map<std::string, std::set<std::uint32_t>> of_path_;
  std::set<std::uint32_t> hinted_;
  Duration told_{0};
  Loop::Timer hint_timer_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace healer::runtime
