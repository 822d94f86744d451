// SPDX-License-Identifier: MIT
// Filters of jq by several helpers (runtime/jq_helper), fair by whose documents they are: each has one question under
// way at a time, they take turns, and whose last one was slow comes after all others and never has the last helper.
// Among the slow ones it is the turn of whoever has used the least time: where the machine is slow, most are, and a
// document of milliseconds must not wait for each of those that use up their patience.
//
// Owned and called by the loop thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocols/conversation.hpp"
#include "runtime/jq_helper.hpp"
#include "runtime/loop.hpp"
#include "runtime/worker_pool.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::runtime {

class FilterPool {
 public:
  /// The first value of a filter, as JSON. Errors: there is none, and why; or it took too long.
  using Answered = std::function<void(Result<std::string>)>;

  static constexpr unsigned kHelpers = 3;
  static constexpr Duration kSlow{300};

  /// `jq_helper`: see JqHelper. A question that took longer than `slow` is slow: most take some milliseconds, the first
  /// a helper's start.
  FilterPool(Loop& loop, std::string jq_helper, Duration slow = kSlow);

  /// `done` is called on the loop, once, never from within; never after the pool has gone. `whose` document it is: a
  /// service's, or a server's.
  void query(protocols::Want::Query wanted, std::string whose, Answered done);

 private:
  struct Question {
    protocols::Want::Query wanted;
    Answered done;
  };
  void take_turn(const std::string& whose);
  void pump();
  void begin(const std::string& whose, bool is_slow);
  void ended(const std::string& whose, bool was_slow, Duration took);
  void forget_slow();

  std::string program_;
  Duration slow_after_;
  std::vector<std::shared_ptr<JqHelper>> idle_;
  std::unordered_map<std::string, std::deque<Question>>
      questions_;                  // by whose they are; one that is under way is not in
  std::deque<std::string> turns_;  // who has questions and none under way
  std::set<std::pair<Duration, std::string>>
      slow_turns_;                                  // the same of those that were slow, by the time they have used
  std::unordered_map<std::string, Duration> slow_;  // that time; who comes anew has used as much as whose turn it is
  Duration used_by_now_{0};                         // the time of the slow one whose turn it was last
  unsigned slow_under_way_ = 0;
  WorkerPool workers_;
};

}  // namespace healer::runtime
