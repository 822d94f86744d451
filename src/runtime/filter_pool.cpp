// SPDX-License-Identifier: MIT
#include "runtime/filter_pool.hpp"

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
  (slow_.contains(whose) ? slow_turns_ : turns_).push_back(whose);
}

void FilterPool::pump() {
  while (!idle_.empty()) {
    const bool is_slow = turns_.empty();
    if (is_slow && (slow_turns_.empty() || slow_under_way_ + 1 >= kHelpers)) return;
    auto& turns = is_slow ? slow_turns_ : turns_;
    const std::string whose = std::move(turns.front());
    turns.pop_front();
    begin(whose, is_slow);
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
  workers_.submit(
      [this, question, helper, whose, is_slow, slow_after = slow_after_]() -> Loop::Callback {
        const Duration began = mono_now();
        Result<std::string> value = helper->first(question->wanted.filter, question->wanted.text);
        const bool was_slow = mono_now() - began > slow_after;
        return [this, question, helper, whose, is_slow, was_slow, value = std::move(value)] {
          idle_.push_back(helper);
          ended(whose, is_slow, was_slow);
          question->done(value);
        };
      },
      [this, question, whose, is_slow](const Error& error) {
        idle_.push_back(std::make_shared<JqHelper>(program_));  // the worker may still be busy with the other one
        ended(whose, is_slow, true);
        question->done(error);
      });
}

void FilterPool::ended(const std::string& whose, bool was_slow, bool is_slow) {
  if (was_slow) --slow_under_way_;
  if (slow_.size() >= kMostSlow) slow_.clear();
  if (is_slow)
    slow_.insert(whose);
  else
    slow_.erase(whose);
  const auto found = questions_.find(whose);
  if (found->second.empty())
    questions_.erase(found);
  else
    take_turn(whose);
  pump();
}

}  // namespace healer::runtime
