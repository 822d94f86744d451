// SPDX-License-Identifier: MIT
#include "replay/day_recorder.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "engine/reload/diff.hpp"
#include "engine/rules/settings.hpp"

namespace healer::engine {
namespace {

constexpr std::size_t kMostEarlier = 3;

}  // namespace

/// When the run was begun that ends, if it is awaited.
std::optional<Duration> DayRecorder::landed(ServiceId service, RunId run) {
  if (service.index() >= flights_.size()) return std::nullopt;
  if (Flight& last = flights_[service.index()]; last.run == run) return std::exchange(last, {}).begun;
  const auto earlier = earlier_.find(service.index());
  if (earlier == earlier_.end()) return std::nullopt;
  std::vector<Flight>& flights = earlier->second;
  const auto flight = std::ranges::find(flights, run, &Flight::run);
  if (flight == flights.end()) return std::nullopt;
  const Duration begun = flight->begun;
  flights.erase(flight);
  if (flights.empty()) earlier_.erase(earlier);
  return begun;
}

std::optional<recorded::What> DayRecorder::what_of(const Event& event, std::optional<Duration> deadline, Duration now) {
  using recorded::What;
  if (const auto* known = std::get_if<event::Started>(&event)) {
    if (!made_) return std::nullopt;
    recorded::Begun begun = *std::exchange(made_, std::nullopt);
    begun.version = known->version;
    begun.host = known->host;
    begun.first = now + begun.rules->settings->start_delay;
    return begun;
  }
  if (std::holds_alternative<event::Wake>(event)) return recorded::Woke{deadline};
  if (const auto* known = std::get_if<event::Measured>(&event)) {
    const std::optional<Duration> begun = landed(known->service, known->run);
    if (!begun) return std::nullopt;
    return recorded::Ran{known->service.number(), *begun, known->evidence};
  }
  if (const auto* known = std::get_if<event::Arrived>(&event); known != nullptr && known->document != nullptr) {
    if (known->refused != 0) return std::nullopt;
    return recorded::Told{known->service.number(), known->key,    known->state,
                          *known->document,        known->fields, known->again};
  }
  if (const auto* known = std::get_if<event::Arrived>(&event))
    return recorded::Heard{known->service.number(), known->state, known->evidence->status,
                           known->evidence->output ? *known->evidence->output : std::string()};
  if (const auto* known = std::get_if<event::ProcessDied>(&event))
    return recorded::Died{known->service.number(), known->pid, known->start_ticks, known->end};
  if (const auto* known = std::get_if<event::Command>(&event)) {
    recorded::Ordered ordered{*known, {}};
    for (const ServiceId id : ordered.command.services) ordered.services.push_back(id.number());
    ordered.command.services.clear();
    return ordered;
  }
  if (const auto* known = std::get_if<event::Committed>(&event)) {
    // Whether it is sick is all that matters of it: else what is decided is done.
    return recorded::Sick{known->unjournalled ? known->reason.empty() ? "sick" : known->reason : std::string()};
  }
  if (const auto* known = std::get_if<event::Swap>(&event))
    return recorded::Reloaded{
        .rules = known->plan->graph, .edited = !known->plan->empty(), .text = std::exchange(text_, nullptr)};
  if (const auto* known = std::get_if<event::ActionStarted>(&event)) return *known;
  if (const auto* known = std::get_if<event::ActionReady>(&event)) return *known;
  if (const auto* known = std::get_if<event::ActionEnded>(&event)) return *known;
  if (const auto* known = std::get_if<event::Answered>(&event)) return *known;
  if (const auto* known = std::get_if<event::NotSignalled>(&event)) return *known;
  if (const auto* known = std::get_if<event::ListsDoubted>(&event)) return *known;
  if (const auto* known = std::get_if<event::Stopping>(&event)) return *known;
  return std::nullopt;  // what changes nothing that is decided
}

void DayRecorder::goes_in(const Event& event, std::optional<Duration> deadline, Instant now) {
  if (const auto* read = std::get_if<event::RowsRead>(&event)) {
    for (const auto& [service, evidence] : read->rows)
      take_({.mono = now.mono, .wall = now.wall, .what = recorded::Ran{service.number(), read->began, evidence}});
    return;
  }
  std::optional<recorded::What> what = what_of(event, deadline, now.mono);
  if (!what) return;
  if (auto* sick = std::get_if<recorded::Sick>(&*what)) {
    if (sick->why.empty() == !sick_) return;
    sick_ = !sick->why.empty();
  }
  take_({.mono = now.mono, .wall = now.wall, .what = std::move(*what)});
}

void DayRecorder::comes_out(const Effect& effect, Instant now) {
  if (const auto* measure = std::get_if<effect::Measure>(&effect)) {
    const std::size_t slot = measure->service.index();
    if (slot >= flights_.size()) flights_.resize(slot + 1);
    const Flight before = std::exchange(flights_[slot], {measure->run, now.mono});
    if (before.run == RunId{}) return;
    std::vector<Flight>& flights = earlier_[slot];
    if (flights.size() == kMostEarlier) flights.erase(flights.begin());  // it is not awaited any more
    flights.push_back(before);
    return;
  }
  const auto take = [&](recorded::What what) { take_({.mono = now.mono, .wall = now.wall, .what = std::move(what)}); };
  if (const auto* cancel = std::get_if<effect::CancelRun>(&effect)) {
    if (const auto begun = landed(cancel->service, cancel->run))
      take(recorded::Ran{cancel->service.number(), *begun, nullptr});
  } else if (const auto* exec = std::get_if<effect::Exec>(&effect)) {
    take(recorded::Launched{exec->action, recorded::what_of(*exec)});
  } else if (const auto* request = std::get_if<effect::Request>(&effect)) {
    take(recorded::Launched{request->request, recorded::what_of(*request)});
  }
  for (ActionRecord& action_record : action_records_of(effect)) take(std::move(action_record));
}

}  // namespace healer::engine
