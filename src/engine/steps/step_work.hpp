// SPDX-License-Identifier: MIT
// What a step that is under way learns and does, so that a kind of step knows nothing of healings.
#pragma once

#include <cstdint>
#include <string>

#include "engine/steps/step_end.hpp"
#include "engine/steps/step_run.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// What has become of a recovery that a step awaits.
enum class RecoveryOutcome : std::uint8_t {
  Awaited,
  Recovered,
  Gone  ///< nothing is left that could be looked at, and the step takes that for a recovery
};

class StepWork {
 public:
  virtual ~StepWork() = default;

  /// A text of the step with the values that are known now.
  [[nodiscard]] virtual std::string filled(const std::string& text) const = 0;
  /// Of its healing.
  [[nodiscard]] virtual const std::string& target() const = 0;

  /// It has begun, and waits for that now, for so long at most.
  virtual void wait_for(StepRun::State what, Duration at_most) = 0;
  /// This attempt has ended so.
  virtual void end(StepEnd how, const std::string& text) = 0;
  /// Mails those who are told of healings.
  virtual void tell(const std::string& text) = 0;

  // The recovery of the target.
  /// It is awaited from now on. Whether anything of the target can be looked at.
  virtual bool await_recovery() = 0;
  /// What has become of it. `or_gone`: a target that is gone counts as well.
  [[nodiscard]] virtual RecoveryOutcome recovery(bool or_gone) = 0;
  /// It is awaited no more.
  virtual void leave_recovery() = 0;
  /// Whether the target has left the rules, and not only for now.
  [[nodiscard]] virtual bool is_target_gone() const = 0;
  /// Whether events alone say how the target is, one of which has asked for this.
  [[nodiscard]] virtual bool is_told_by_events() const = 0;
};

}  // namespace healer::engine
