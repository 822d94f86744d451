// SPDX-License-Identifier: MIT
// The answers about what is under way: `jobs`, and the live output of its programs. On the loop thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "control/commands.hpp"
#include "control/output_reader.hpp"

namespace healer::control {

/// The first line of an answer.
[[nodiscard]] std::string answer_header(const DaemonHooks& daemon, Verb verb);

/// Everything that is under way now. Requires: `daemon` outlives the answer.
[[nodiscard]] std::unique_ptr<Answer> answer_jobs(const DaemonHooks& daemon);

/// The output of the program of the action `id`, to its end; or of the programs of the job `id`, step by step, until
/// the job has ended. `place` is held for as long as the answer lives. Requires: `daemon` and `reader` outlive it.
[[nodiscard]] std::unique_ptr<Answer> answer_follow(const DaemonHooks& daemon, OutputReader& reader, std::uint64_t id,
                                                    std::shared_ptr<void> place, Wake wake);

}  // namespace healer::control
