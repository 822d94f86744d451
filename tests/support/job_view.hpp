// SPDX-License-Identifier: MIT
// What tests see of the step of a job that is under way, and how they put one into a state.
#pragma once

#include <cstdint>

#include "engine/job.hpp"

namespace healer::test {

/// The program of the step, that runs or has ended; 0: none (yet).
inline engine::ActionId program_of_step(const engine::Job& job) { return job.run.action(); }

/// The step has failed when this time has come (mono).
inline void set_deadline(engine::Job& job, Duration mono) { job.run.deadline = mono; }

// ---- states

/// A look decides.
inline void let_look(engine::Job& job) { job.run.state = engine::JobStepRun::Looking{}; }
/// What was done is to come about: the service to be up, or gone.
inline void let_follow(engine::Job& job) { job.run.state = engine::JobStepRun::Following{}; }
/// Its program runs.
inline void let_run(engine::Job& job, engine::ActionId program) {
  job.run.state = engine::JobStepRun::Running{program};
}
/// Its program has ended well.
inline void let_end(engine::Job& job) {
  job.run.state = engine::JobStepRun::Ran{.action = job.run.action(), .failure = {}};
}
/// A process was sent SIGTERM; `killed`: and SIGKILL.
inline void let_signal(engine::Job& job, bool killed = false) {
  job.run.state = engine::JobStepRun::Signalled{.pid = 1, .start_ticks = 1, .killed = killed};
}

}  // namespace healer::test
