// SPDX-License-Identifier: MIT
#include "engine/steps/step_run.hpp"

namespace healer::engine {

void StepRun::begin(State waits_for) { state = waits_for; }

void StepRun::event(StepEnd end, StepTerms terms) {
  const bool was_ended = state == State::Ending;
  const bool again = !was_ended && is_tried_again(terms, attempt, end);
  state = again ? State::Pausing : end == StepEnd::Done && !was_ended ? State::Done : State::Failed;
  action = {};
  doubts = 0;
  due.reset();
  request.clear();
}

std::optional<StepEnd> StepRun::deadline() {
  if (state == State::Waiting) return StepEnd::Done;
  if (state == State::Verifying) return StepEnd::Failed;
  if (state == State::Pausing) {
    state = State::Fresh;
    ++attempt;
  }
  return std::nullopt;
}

std::optional<StepEnd> StepRun::restore(StepTerms terms) {
  if (state == State::Ending) return StepEnd::InDoubt;
  if (state != State::Running && state != State::Requesting && state != State::Bringing) return std::nullopt;
  if (!terms.repeatable) return StepEnd::InDoubt;
  if (state != State::Bringing && doubts++ >= kMostDoubts) return StepEnd::Failed;
  state = State::Fresh;
  action = {};
  request.clear();
  return std::nullopt;
}

}  // namespace healer::engine
