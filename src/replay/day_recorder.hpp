// SPDX-License-Identifier: MIT
// What goes into an engine, and what comes out of it, as it is recorded. It knows which runs the engine awaits: the
// ends of others are no part of what decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "replay/recorded.hpp"

namespace healer::engine {

class DayRecorder {
 public:
  using Take = std::function<void(recorded::Item&&)>;
  explicit DayRecorder(Take take) : take_(std::move(take)) {}

  /// With what the engine was made; the life begins with event::Started, and what that says is filled in then.
  void made(recorded::Begun begun) {
    made_ = std::move(begun);
    flights_.clear();
    earlier_.clear();
  }
  /// What the rules were loaded from that the next event::Swap takes over.
  void loaded_from(std::shared_ptr<const recorded::RulesText> text) { text_ = std::move(text); }
  /// Before the engine is told; `deadline` is Engine::next_deadline() then, of a Wake. The event is as it may be
  /// recorded, see Engine::without_secrets().
  void goes_in(const Event& event, std::optional<Duration> deadline, Instant now);
  /// Of each effect; `now` is the instant at which the event was handled that it came of.
  void comes_out(const Effect& effect, Instant now);

 private:
  struct Flight {
    RunId run;  ///< that of none: it has landed
    Duration begun{0};
  };
  [[nodiscard]] std::optional<recorded::What> what_of(const Event& event, std::optional<Duration> deadline,
                                                      Duration now);
  std::optional<Duration> landed(ServiceId service, RunId run);

  Take take_;
  std::optional<recorded::Begun> made_;                           // none: the life has begun
  std::vector<Flight> flights_;                                   // by slot: the last run, or look of a job
  std::unordered_map<std::size_t, std::vector<Flight>> earlier_;  // by slot: those before it that are awaited still
  bool sick_ = false;
  std::shared_ptr<const recorded::RulesText> text_;
};

}  // namespace healer::engine
