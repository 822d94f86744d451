// SPDX-License-Identifier: MIT
// What all steps of a healing have in common: the values that they are given, and how the run of one ends. Nothing here
// has a state: what is changed is the healing that is given.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "engine/healing/healing.hpp"
#include "engine/ids.hpp"
#include "engine/rules/workflow.hpp"
#include "util/time.hpp"

namespace healer::engine {

class HealingContext;
class HealingWorld;

/// Of a step that was ended because another one has failed, or by a person.
inline constexpr std::string_view kWasEnded = "was ended";

/// "healing of web with rebuild".
[[nodiscard]] std::string describe(const Healing& healing);
/// What a step of a healing is given, by name. `step`: the name of the step, "guard" of its guard.
[[nodiscard]] Variables variables_of(const HealingContext& world, const Healing& healing, std::string_view step);
/// Whether what the step saves is secret: of that `name`, or where that is empty any of it.
[[nodiscard]] bool is_to_save_secret(const Step& step, std::string_view name = {});
/// What its steps have stopped, with all that depends on that.
[[nodiscard]] std::set<ServiceId> stopped_by(const HealingContext& world, const Healing& healing);

/// The run of a step is over, or is tried again, as the step says. `ran`: how long its program ran, where that is
/// known.
void run_over(HealingWorld& world, Healing& healing, const Step& step, StepRun& run, StepEnd how,
              const std::string& text, StepTerms terms, std::optional<Duration> ran = {});
/// The same by the terms of the step.
inline void run_over(HealingWorld& world, Healing& healing, const Step& step, StepRun& run, StepEnd how,
                     const std::string& text) {
  run_over(world, healing, step, run, how, text, terms_of(step));
}

}  // namespace healer::engine
