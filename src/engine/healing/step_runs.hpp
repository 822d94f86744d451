// SPDX-License-Identifier: MIT
// The runs of a step: of `parallel` each of its steps is one.
#pragma once

#include <cstddef>
#include <variant>

#include "engine/healing/healing.hpp"
#include "engine/rules/workflow.hpp"

namespace healer::engine {

[[nodiscard]] inline std::size_t runs_of(const Step& step) {
  const auto* const parallel = std::get_if<step::Parallel>(&step.what);
  return parallel == nullptr ? 1 : parallel->steps.size();
}

[[nodiscard]] inline const Step& step_of(const Step& step, std::size_t run) {
  const auto* const parallel = std::get_if<step::Parallel>(&step.what);
  return parallel == nullptr ? step : parallel->steps[run];
}

/// Which of the runs that are under way it is.
[[nodiscard]] inline std::size_t index_of(const Healing& healing, const StepRun& run) {
  return static_cast<std::size_t>(&run - healing.under_way().data());
}

}  // namespace healer::engine
