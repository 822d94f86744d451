// SPDX-License-Identifier: MIT
// Runs of services that are heard, not looked at: heartbeats, whose runs begin and end within a turn, and events, of
// which the filters of their rules are asked first.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/parts/judge.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "engine/words/occurrence.hpp"
#include "util/text.hpp"

namespace healer::engine {

void Engine::on(const fact::RunAsked& fact, Turn& turn) {
  const ServiceBlock* const block = graph_->block(fact.service);
  if (block == nullptr) return;
  std::shared_ptr<const Evidence> seen;
  if (block->is_event()) {
    const Occurrence* const event = arrivals_.events().depart(fact.service, turn);
    if (event != nullptr && event->document != nullptr && !block->other->event.filters.empty())
      return turn.sink.emit(effect::Measure{.service = fact.service, .run = fact.run, .document = event->document});
    seen = std::make_shared<const Evidence>();
  } else if (arrivals_.find(fact.service) != nullptr) {
    seen = std::make_shared<const Evidence>(arrivals_.see(fact.service, turn.now));
  } else {
    return;
  }
  on(event::Measured{fact.service, fact.run, std::move(seen)}, turn);
}

}  // namespace healer::engine
