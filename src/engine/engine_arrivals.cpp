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
namespace {

constexpr std::string_view kEventRefused = "Event refused";

}  // namespace

void Engine::on(const event::Arrived& event, Turn& turn) {
  if (event.document != nullptr) return arrivals_.events().take(event, turn);
  arrivals_.take(event, turn);
}

void Engine::on(const fact::RunDue& fact, Turn& turn) {
  ServiceState& state = services_[fact.service.index()];
  if (!running_ || !state.monitored || state.job) return;
  if (!state.flight) return start_run(fact.service, fact.counted, Reason::Schedule, turn);
  if (fact.counted) timetable_.count(fact.service, *state.flight, turn.now);
}

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

void Engine::on(const fact::EventRefused& fact, Turn& turn) {
  const ServiceBlock* const block = graph_->block(fact.service);
  if (block == nullptr) return;
  turn.record(RecordKind::EventRefused, Severity::Warning, block->name, fact.text);
  alerts_.send(fact.service, {}, EventKind::Invalid, effect::Cause::State::Failed, fact.text, turn, false,
               kEventRefused);
}

}  // namespace healer::engine
