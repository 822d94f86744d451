// SPDX-License-Identifier: MIT
// One step of a workflow: what it does, one kind in each file of this folder, and how it is gone through.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/steps/bring.hpp"
#include "engine/steps/escalate.hpp"
#include "engine/steps/http.hpp"
#include "engine/steps/kind.hpp"
#include "engine/steps/note.hpp"
#include "engine/steps/program.hpp"
#include "engine/steps/recovered.hpp"
#include "engine/steps/step_end.hpp"
#include "engine/steps/tell.hpp"
#include "engine/steps/wait.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Step;

namespace step {

/// `parallel { ... }`: all of them at once; the first failure ends the others. Not within another.
struct Parallel {
  static constexpr std::string_view kWord = "parallel";
  static constexpr char kSign = 'P';

  std::vector<Step> steps;
  bool operator==(const Parallel&) const;
};

void fields(auto& all, Is<Parallel> auto& parallel) {
  auto& [steps] = parallel;
  all("steps", steps);
}

}  // namespace step

/// All kinds. A new one comes last: where one stands is a part of the hashes of plans.
using StepWhat = std::variant<step::Program, step::Http, step::Wait, step::Bring, step::Tell, step::Recovered,
                              step::Escalate, step::Parallel, step::Note>;

/// One step of a workflow.
struct Step {
  std::string name;  ///< as written; where it was not, what it does: "alert", "heal with other"
  StepWhat what;
  Duration timeout{0};        ///< of one attempt; 0: none of its own
  std::uint32_t retries = 0;  ///< `retry 2 times`: attempts beyond the first
  Duration pause{0};          ///< `every 30 seconds`: between attempts
  bool repeatable = false;    ///< may be run again where whether it was done is unknown

  bool operator==(const Step&) const;
};

/// What is begun again where whether it was done is unknown: what may be by its word, what looks first, and what only
/// asks.
[[nodiscard]] inline StepTerms terms_of(const Step& step) {
  const bool is_safe_kind = std::visit([](const auto& kind) { return is_safe(kind); }, step.what);
  return {.retries = step.retries, .repeatable = step.repeatable || is_safe_kind};
}
/// Whether all it does is to tell people.
[[nodiscard]] inline bool tells_people(const Step& step) {
  return std::visit([](const auto& kind) { return tells_people(kind); }, step.what);
}

}  // namespace healer::engine
