// SPDX-License-Identifier: MIT
// Counts what a daemon does, for the rates that people watch. Told of what goes into the engine and what comes out of
// it; a few additions each. On the loop thread.
#pragma once

#include "control/wire.hpp"
#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"

namespace healer::control {

class Statistics {
 public:
  void note(const engine::Event& event);
  void note(const engine::Effect& effect);
  /// What there was since the daemon started; of mails that wait it knows nothing.
  [[nodiscard]] const CountsView& counts() const { return counts_; }

 private:
  CountsView counts_;
};

}  // namespace healer::control
