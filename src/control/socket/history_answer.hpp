// SPDX-License-Identifier: MIT
// `history`: records from the store, page by page, and then, for whoever follows, those that come, from the tail. One
// who goes on after a number is told how many records there are no more. On the loop thread.
#pragma once

#include <memory>

#include "control/readers/history_reader.hpp"
#include "control/readers/record_tail.hpp"
#include "control/socket/job_answers.hpp"

namespace healer::control {

/// `what`: the records asked for; where it asks for the oldest, `what.limit` may be more than a page.
/// After kOnlyToCome a follower is told only what comes.
/// `follower`: null: it ends with what there is. Requires: `daemon`, `reader` and `tail` outlive it.
[[nodiscard]] std::unique_ptr<Answer> answer_history(const Supervisor& daemon, HistoryReader& reader, RecordTail& tail,
                                                     store::HistoryQuery what, std::shared_ptr<Follower> follower,
                                                     Wake wake);

}  // namespace healer::control
