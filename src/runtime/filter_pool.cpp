// SPDX-License-Identifier: MIT
#include "runtime/filter_pool.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/clock.hpp"

namespace healer::runtime {
namespace {

/// Who was slow is remembered, of so many.
constexpr std::size_t kMostSlow = 10'000;

}  // namespace

FilterPool::FilterPool(Loop& loop, std::string jq_helper, Duration slow)
    : program_(std::move(jq_helper)),
      slow_after_(slow),
      workers_(loop,
               {.name = "healer-filter", .workers = kHelpers, .max_lost = 0, .patience = 2 * JqHelper::kPatience}) {
  for (unsigned i = 0; i < kHelpers; ++i) idle_.push_back(std::make_shared<JqHelper>(program_));
}

void FilterPool::query(protocols::Want::Query wanted, std::string whose, Answered done) {
  const auto [found, is_new] = questions_.try_emplace(whose);
  found->second.push_back({std::move(wanted), std::move(done)});
  if (is_new) take_turn(whose);
  pump();
}

void FilterPool::take_turn(const std::string& whose) {
  const auto slow = slow_.find(whose);
  if (slow == slow_.end()) {
    turns_.push_back(whose);
    return;
  }
  // Time that it has not asked for is not saved up.
  slow->second = std::max(slow->second, used_by_now_);
  slow_turns_.emplace(slow->second, whose);
}

void FilterPool::pump() {
  while (!idle_.empty()) {
    if (!turns_.empty()) {
      const std::string whose = std::move(turns_.front());
      turns_.pop_front();
      begin(whose, false);
      continue;
    }
    if (slow_turns_.empty() || slow_under_way_ + 1 >= kHelpers) return;
    auto [used, whose] = std::move(slow_turns_.extract(slow_turns_.begin()).value());
    used_by_now_ = used;
    begin(whose, true);
  }
}

void FilterPool::begin(const std::string& whose, bool is_slow) {
  auto& waiting = questions_.at(whose);
  const auto question = std::make_shared<Question>(std::move(waiting.front()));
  waiting.pop_front();
  // The helper that was used last is there already.
  const std::shared_ptr<JqHelper> helper = std::move(idle_.back());
  idle_.pop_back();
  if (is_slow) ++slow_under_way_;
  const Duration began = mono_now();
  workers_.submit(
      [this, question, helper, whose, is_slow]() -> Loop::Callback {
        const Duration asked = mono_now();
        Result<std::string> value = helper->first(question->wanted.filter, question->wanted.text);
        const Duration took = mono_now() - asked;
        return [this, question, helper, whose, is_slow, took, value = std::move(value)] {
          idle_.push_back(helper);
          ended(whose, is_slow, took);
          question->done(value);
        };
      },
      [this, question, whose, is_slow, began](const Error& error) {
        idle_.push_back(std::make_shared<JqHelper>(program_));  // the worker may still be busy with the other one
        ended(whose, is_slow, std::max(mono_now() - began, slow_after_ + Duration{1}));
        question->done(Error{error.code == 0 ? EAGAIN : error.code, error.what});
      });
}

void FilterPool::ended(const std::string& whose, bool was_slow, Duration took) {
  if (was_slow) --slow_under_way_;
  if (took <= slow_after_) {
    slow_.erase(whose);
  } else {
    if (slow_.size() >= kMostSlow) forget_slow();
    slow_.try_emplace(whose, used_by_now_).first->second += took;
  }
  const auto found = questions_.find(whose);
  if (found->second.empty())
    questions_.erase(found);
  else
    take_turn(whose);
  pump();
}

// Whoever waits as a slow one goes on waiting as such.
void FilterPool::forget_slow() {
  slow_.clear();
  for (const auto& [used, whose] : slow_turns_) slow_.emplace(whose, used);
}

}  // namespace healer::runtime
