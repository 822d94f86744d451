// SPDX-License-Identifier: MIT
// What waits for a commit and is set free by it, or held back where the journal cannot be written.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/job.hpp"
#include "engine/turn.hpp"

namespace healer::engine {

void Engine::on(const event::Committed& event, Turn& turn) {
  if (event.unjournalled != journal_sick_) {
    journal_sick_ = event.unjournalled;
    if (journal_sick_) {
      turn.record(
          RecordKind::StoreSick, Severity::Error, {},
          fmt::format("the state cannot be written, supervision continues without a journal: {}", event.reason));
    } else {
      turn.record(RecordKind::StoreWell, Severity::Info, {}, "the state is written again");
      for (ServiceState& state : services_) state.saved_whole = false;  // it may be another file
    }
    stir_healings(turn);
  }
  // A step of a healing, or what starts or stops a service for one.
  const auto heals = [&](const Effect& one) {
    const auto* const exec = std::get_if<effect::Exec>(&one);
    if (exec == nullptr) return std::holds_alternative<effect::Request>(one);
    const auto job = jobs_.find(exec->job.number());
    return exec->healing != HealingId{} || (job != jobs_.end() && is_healing(job->second.by));
  };
  std::vector<ActionId> never_begun;
  while (!waiting_acts_.empty() && waiting_acts_.front().first <= event.up_to) {
    auto& [sequence, act] = waiting_acts_.front();
    const auto* const ends = std::get_if<effect::EndAction>(&act);
    const auto waits =
        ends == nullptr ? unjournalled_.end() : std::ranges::find_if(unjournalled_, [&](const auto& one) {
          const auto* const held = std::get_if<effect::Exec>(&one.second);
          return held != nullptr && held->action == ends->action;
        });
    if (waits != unjournalled_.end()) {  // it had not been released yet, and is now dropped
      unjournalled_.erase(waits);
      never_begun.push_back(ends->action);
    } else if (event.unjournalled && heals(act)) {
      unjournalled_.emplace_back(sequence, std::move(act));
    } else {
      set_free(std::move(act), turn);
    }
    waiting_acts_.pop_front();
  }
  for (const ActionId action : never_begun)
    on(event::ActionEnded{.action = action, .outcome = Outcome::NotStarted, .output = "it was cancelled before"}, turn);
  if (event.unjournalled) return;
  auto held = std::exchange(unjournalled_, {});
  const auto journalled = std::ranges::find_if(held, [&](const auto& one) { return one.first > event.up_to; });
  unjournalled_.assign(std::make_move_iterator(journalled), std::make_move_iterator(held.end()));
  held.erase(journalled, held.end());
  for (auto& [sequence, act] : held) set_free(std::move(act), turn);
}

/// A request whose answer nobody waits for by now is not made.
void Engine::set_free(Effect act, Turn& turn) {
  const auto* const request = std::get_if<effect::Request>(&act);
  if (request == nullptr || healings_.awaits(request->request)) turn.sink.emit(std::move(act));
}

}  // namespace healer::engine
