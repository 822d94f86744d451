// SPDX-License-Identifier: MIT
#include "engine/parts/releases.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/parts/bringing/jobs.hpp"
#include "engine/state.hpp"
#include "engine/turn.hpp"

namespace healer::engine {

Releases::Releases(const SavedState& found, const Jobs& jobs, const Healings& healings)
    : jobs_(jobs), healings_(healings), next_sequence_(found.last_sequence + 1), next_record_(found.last_record + 1) {}

void Releases::number(effect::Commit& commit) {
  commit.sequence = next_sequence_++;
  for (Record& record : commit.records) {
    record.id = next_record_++;
    record.sequence = commit.sequence;
  }
}

bool Releases::end_now(Turn& turn) {
  std::vector<effect::EndAction> ends;
  std::erase_if(turn.acts, [&ends](auto& act) {
    auto* const end = std::get_if<effect::EndAction>(&act);
    if (end != nullptr) ends.push_back(std::move(*end));
    return end != nullptr;
  });
  bool has_withdrawn = false;
  for (effect::EndAction& end : ends) {
    const auto is_ended = [&end](const auto& act) {
      const auto* const exec = std::get_if<effect::Exec>(&act);
      return exec != nullptr && exec->action == end.action;
    };
    const auto waits = [&is_ended](const auto& one) { return is_ended(one.second); };
    if (std::erase_if(turn.acts, is_ended) + std::erase_if(waiting_, waits) + std::erase_if(unjournalled_, waits) ==
        0) {
      turn.commit().awaited = true;  // whose end it is should be known soon
      turn.ends.push_back(std::move(end));
      continue;
    }
    turn.tell(fact::NeverBegun{end.action});
    has_withdrawn = true;
  }
  return has_withdrawn;
}

void Releases::pass_ends(Turn& turn) {
  for (effect::EndAction& end : turn.ends) turn.sink.emit(std::move(end));
}

void Releases::hold(Sequence commit, Turn& turn) {
  for (auto& act : turn.acts) std::visit([&](auto& known) { waiting_.emplace_back(commit, std::move(known)); }, act);
  for (effect::Reply& reply : turn.replies) waiting_.emplace_back(commit, std::move(reply));
}

void Releases::pass(Effect act, Turn& turn) const { turn.sink.emit(std::move(act)); }

void Releases::hear_journal(const event::Committed& event, Turn& turn) {
  if (event.unjournalled == sick_) return;
  sick_ = event.unjournalled;
  if (sick_)
    turn.record(RecordKind::StoreSick, Severity::Error, {},
                fmt::format("the state cannot be written, supervision continues without a journal: {}", event.reason));
  else
    turn.record(RecordKind::StoreWell, Severity::Info, {}, "the state is written again");
  turn.tell(fact::JournalTurned{sick_});
}

/// A step of a healing, or what starts or stops a service for one.
bool Releases::heals(const Effect& act) const {
  const auto* const exec = std::get_if<effect::Exec>(&act);
  if (exec == nullptr) return std::holds_alternative<effect::Request>(act);
  const Job* const job = jobs_.find(exec->job);
  return exec->healing != HealingId{} || (job != nullptr && is_healing(job->by));
}

void Releases::release(const event::Committed& event, Turn& turn) {
  while (!waiting_.empty() && waiting_.front().first <= event.up_to) {
    auto& [sequence, act] = waiting_.front();
    if (event.unjournalled && heals(act))
      unjournalled_.emplace_back(sequence, std::move(act));
    else
      let_go(std::move(act), turn);
    waiting_.pop_front();
  }
}

void Releases::release_journalled(const event::Committed& event, Turn& turn) {
  if (event.unjournalled) return;
  auto held = std::exchange(unjournalled_, {});
  const auto journalled = std::ranges::find_if(held, [&](const auto& one) { return one.first > event.up_to; });
  unjournalled_.assign(std::make_move_iterator(journalled), std::make_move_iterator(held.end()));
  held.erase(journalled, held.end());
  for (auto& [sequence, act] : held) let_go(std::move(act), turn);
}

/// A request whose answer nobody waits for by now is not made.
void Releases::let_go(Effect act, Turn& turn) const {
  const auto* const request = std::get_if<effect::Request>(&act);
  if (request == nullptr || healings_.askers().awaits(request->request)) turn.sink.emit(std::move(act));
}

}  // namespace healer::engine
