// SPDX-License-Identifier: MIT
// Looks for what conversations expect, on threads of its own: an expression may backtrack for ever and cannot be
// stopped; its thread is then lost for a while and replaced (runtime/worker_pool), and the caller gets an error.
// Compiled expressions are kept, each thread's own, because the C library lets only one thread at a time use one.
// Filters of jq are asked of a process of their own (runtime/jq_helper).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "protocols/conversation.hpp"
#include "runtime/jq_helper.hpp"
#include "runtime/loop.hpp"
#include "runtime/worker_pool.hpp"
#include "util/result.hpp"

namespace healer::runtime {

class Searcher {
 public:
  /// Where the first match ends; nothing: there is none. Errors: the expression is none, or took too long.
  using Done = std::function<void(Result<std::optional<std::size_t>>)>;

  /// The first value of a filter, as JSON. Errors: there is none, and why; or it took too long.
  using Answered = std::function<void(Result<std::string>)>;

  /// `jq_helper`: see JqHelper.
  Searcher(Loop& loop, std::string jq_helper);

  /// `done` is called on the loop, once, never from within search(); never after the Searcher has gone.
  void search(protocols::Want::Search wanted, Done done);
  /// The same for a filter of jq.
  void query(protocols::Want::Query wanted, Answered done);

 private:
  WorkerPool pool_;
  std::shared_ptr<JqHelper> jq_;  // of the one worker of the next
  WorkerPool filters_;
};

}  // namespace healer::runtime
