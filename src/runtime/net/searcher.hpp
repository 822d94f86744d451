// SPDX-License-Identifier: MIT
// Looks for what conversations expect, on threads of its own: an expression may backtrack for ever and cannot be
// stopped; its thread is then lost for a while and replaced (runtime/worker_pool), and the caller gets an error.
// Compiled expressions are kept, each thread's own, because the C library lets only one thread at a time use one.
// Filters of jq are asked of processes of their own (runtime/filter_pool).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "protocols/conversation.hpp"
#include "runtime/filter_pool.hpp"
#include "runtime/loop.hpp"
#include "runtime/worker_pool.hpp"
#include "util/result.hpp"

namespace healer::runtime {

class Searcher {
 public:
  /// Where the first match ends; nothing: there is none. Errors: the expression is none, or took too long.
  using Done = std::function<void(Result<std::optional<std::size_t>>)>;

  /// `jq_helper`: see JqHelper.
  Searcher(Loop& loop, std::string jq_helper);

  /// `done` is called on the loop, once, never from within search(); never after the Searcher has gone.
  void search(protocols::Want::Search wanted, Done done);
  /// The same for a filter of jq: FilterPool::query.
  void query(protocols::Want::Query wanted, std::string whose, FilterPool::Answered done) {
    filters_.query(std::move(wanted), std::move(whose), std::move(done));
  }

 private:
  WorkerPool pool_;
  FilterPool filters_;
};

}  // namespace healer::runtime
