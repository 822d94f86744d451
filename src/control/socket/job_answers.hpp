// SPDX-License-Identifier: MIT
// The answers about what is under way: `jobs`, and the output of programs. On the loop thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "control/commands.hpp"
#include "control/readers/history_reader.hpp"
#include "control/readers/output_reader.hpp"

namespace healer::control {

/// Somebody who follows the history or a program. The daemon tells it when the history has grown, and when the end has
/// come; it counts as one for as long as its answer holds it.
struct Follower {
  Wake wake;
  bool grown = false;
  bool last = false;
  std::shared_ptr<void> ending = nullptr;  ///< let go of when it has gone
};

/// The first line of an answer.
[[nodiscard]] std::string answer_header(const Supervisor& daemon, Verb verb);

/// Everything that is under way now. Requires: `daemon` outlives the answer.
[[nodiscard]] std::unique_ptr<Answer> answer_jobs(const Supervisor& daemon);

/// What is shown of what a program has written that is a secret.
inline constexpr std::string_view kHiddenOutput = "[its output holds a secret, and is not shown]\n";

/// The output of the program of the action `id`, to its end; or of the programs of the job `id`, step by step, until
/// the job has ended. Requires: `daemon` and `reader` outlive it.
[[nodiscard]] std::unique_ptr<Answer> answer_follow(const Supervisor& daemon, OutputReader& reader, std::uint64_t id,
                                                    std::shared_ptr<Follower> follower, Wake wake);

/// The output of one program: of the action `id` where that is not 0, else of the program of `service` that was started
/// last, be it its own process, a start or stop program, or a rule's action. Where there is a `follower`, what the
/// program writes until it ends, and of a service then of the next one, and so on. Requires: `daemon` and the readers
/// outlive it.
[[nodiscard]] std::unique_ptr<Answer> answer_output(const Supervisor& daemon, OutputReader& reader,
                                                    HistoryReader& history, std::string service, std::uint64_t id,
                                                    std::shared_ptr<Follower> follower, Wake wake);

}  // namespace healer::control
