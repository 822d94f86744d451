// SPDX-License-Identifier: MIT
// Tells the collectors of `set mmonit` how all is: each has a queue and a timeout of its own, and one request under
// way. Nobody waits for them; what they have not taken when the daemon ends is lost, as are their passwords from all
// that is told of them.
//
// Owned and called by the loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/supervisor.hpp"
#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/rules/settings.hpp"
#include "runtime/loop.hpp"

namespace healer::web {

class Collectors {
 public:
  using Report = std::function<void(bool failed, const std::string& text)>;

  /// `daemon` outlives it; `report` is told sentences for the log.
  Collectors(runtime::Loop& loop, const control::Supervisor& daemon, Report report);
  ~Collectors();
  Collectors(const Collectors&) = delete;
  Collectors& operator=(const Collectors&) = delete;

  /// Tells whom these settings name from now on, a status at once. What waits for one that stays goes on waiting.
  void use(const engine::Settings& settings);
  /// What goes into the engine, and what comes out of it.
  void see(const engine::Event& event);
  void see(const engine::Effect& effect);

  /// Which collectors are not reached, a sentence each.
  [[nodiscard]] std::vector<std::string> troubles() const;
  /// Calls `done` as soon as nothing is under way, which may be at once.
  void when_idle(runtime::Loop::Callback done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace healer::web
