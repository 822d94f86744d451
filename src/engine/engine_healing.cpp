// SPDX-License-Identifier: MIT
// Between the engine and healing (engine/healing/driver): orders of healings, and the rules of what they have healed.
#include <utility>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/parts/judge.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"

namespace healer::engine {

/// What orders of healings have come to; and those that they give.
void Engine::notify_healings(Turn& turn) {
  for (int round = 0; round < 64; ++round) {
    for (BringOrder& order : std::exchange(turn.orders, {})) command_jobs(std::move(order), turn);
    const std::vector<OrderEnded> ended = std::exchange(turn.orders_ended, {});
    if (ended.empty() && turn.orders.empty()) return;
    healing_.brought(ended, turn);
    drain(turn);
  }
}

/// The rules of a service count as recovered, and their windows are emptied: it was seen to be well.
void Engine::on(const fact::ServiceWell& fact, Turn& turn) {
  const ServiceId id = fact.service;
  const ServiceState& state = services_[id.index()];
  // Its members have recovered just before, and what was seen of it last was before that.
  if (graph_->at(id).has_members()) take(id, std::make_shared<const Evidence>(composites_.check(id)), turn);
  std::vector<RuleDecision> decisions;
  if (state.last) {
    const Seen seen{*state.last, state.memory, state.starts->restarted};
    decisions = rules_.recover(id, &seen, turn.now.wall);
  } else {
    decisions = rules_.recover(id, nullptr, turn.now.wall);
  }
  alerts_.forget_acknowledged(id, turn);
  turn.save(id);
  healing_.recovered(id, turn);
  for (const RuleDecision& decision : decisions) act(id, decision, false, turn);
}

}  // namespace healer::engine
