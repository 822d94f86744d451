// SPDX-License-Identifier: MIT
// What is saved of services, and how they go on from that.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/timing/cron.hpp"
#include "engine/timing/first_runs.hpp"
#include "engine/turn.hpp"

namespace healer::engine {
namespace {

/// Sorts ids, and drops those that are there already.
template <typename Id>
void keep_once(std::vector<Id>& ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

/// Whether counts may go on after a gap: not over a reboot, nor over more than three periods (language 2.9).
bool counts_go_on(const SavedService& saved, const Schedule& schedule, std::optional<Duration> period,
                  const CivilClock& civil, Instant now) {
  if (saved.boot != now.boot) return false;
  if (period) return now.wall - saved.saved <= 3 * *period;
  return now.wall - saved.saved < days{400} && matching_minutes(schedule.cron, saved.saved, now.wall, civil, 4) <= 3;
}

/// A heartbeat as it goes on: its times by the clock of now, and in `first` the mono time of its deadline, later by the
/// time for which nobody listened; all that is granted since its last beat is no more than `within`.
///
/// What is saved of one has in `first` the mono time at which it was saved, which tells with `boot` whether the clock
/// was set since, and in StartHistory::not_before its deadline: it has no other periods, nor starts.
SavedService heard_on(SavedService saved, const HeartbeatSpec& spec, std::optional<WallTime> seen, Instant now) {
  const std::optional<Duration> saved_at = std::exchange(saved.first, std::nullopt);
  const std::optional<WallTime> deadline = saved.starts->not_before;
  saved.starts.reset();
  if (!saved.heartbeat) return saved;
  Heartbeat& heartbeat = *saved.heartbeat;
  Duration step{0};
  if (saved_at && saved.boot == now.boot) step = (now.wall - saved.saved) - (now.mono - *saved_at);
  if (std::chrono::abs(step) <= seconds{1}) step = {};
  heartbeat.since += step;
  if (heartbeat.started) *heartbeat.started += step;
  if (heartbeat.missed) *heartbeat.missed += step;
  const auto mono = [now](WallTime when) { return now.mono + (when - now.wall); };
  const Duration first = mono(heartbeat.since) + spec.every + spec.within;
  const Duration due = deadline ? std::max(first, mono(*deadline + step)) : first;
  const Duration away = seen ? std::max(now.wall - (*seen + step), Duration{0}) : spec.within;
  const Duration longest = now.mono + spec.within;
  if (heartbeat.missed)
    saved.first = due;
  else if (due == first)
    saved.first = std::max(first, std::min(first + away, longest));
  else
    saved.first = std::max(due, std::min({due + away, first + spec.within, longest}));
  return saved;
}

}  // namespace

void Engine::restore(ServiceId id, const SavedService& saved, Instant now) {
  const ServiceBlock& block = graph_->at(id);
  if (saved.heartbeat && !block.is_heartbeat()) {  // what has its name is another thing
    SavedService other = saved;
    other.heartbeat = {};
    other.first.reset();
    other.starts.reset();
    return restore(id, other, now);
  }
  std::optional<SavedService> heard;
  if (block.is_heartbeat()) heard = heard_on(saved, block.other->heartbeat, life_.found.seen, now);
  const SavedService& kept = heard ? *heard : saved;
  ServiceState& state = services_[id.index()];
  const bool same_boot = kept.boot == now.boot;
  monitoring_.restore(id, kept, same_boot);
  starts_.restore(id, kept, same_boot);
  pauses_.restore(id, kept);
  alerts_.restore(id, kept);
  arrivals_.restore(id, kept);
  proofs_.restore(id, kept, same_boot);
  children_.restore(id, kept, same_boot);
  state.memory = restored(std::move(state.memory), kept.memory);
  // What was saved of another path, or before a reboot, is not what a part of it would be added to.
  state.saved_whole = same_boot && state.memory == kept.memory && kept.heartbeat == saved.heartbeat;
  timetable_.restore(id, kept.cron_minute, same_boot && has_phase(*block.schedule) ? kept.first : std::nullopt);

  const bool go_on =
      block.is_event() ? kept.boot == now.boot : counts_go_on(kept, *block.schedule, period(id), life_.civil, now);
  const bool judged = rules_.restore(id, kept, go_on);
  // What is known of a heartbeat is kept: it is judged by that over a boot, too.
  if ((same_boot || block.is_heard()) && judged) monitoring_.judged(id);
  failures_.restore(id, kept);
  if (!state.monitored && !kept.monitored && !kept.reports_taken_out) monitoring_.guess(id, life_.started_at.wall);
}

void Engine::save_services(Turn& turn) {
  const auto exists = [this](ServiceId id) { return graph_->block(id) != nullptr; };
  for (const auto& [id, changed] : turn.remembered)
    if (exists(id) && !services_[id.index()].saved_whole) turn.save(id);
  for (const ServiceId id : turn.heard)
    if (exists(id) && !services_[id.index()].saved_whole) turn.save(id);
  keep_once(turn.changed);
  for (const ServiceId id : turn.changed) {
    if (!exists(id)) continue;
    turn.commit().services.emplace_back(graph_->at(id).name, save(id, *graph_, turn.now));
    services_[id.index()].saved_whole = true;
  }
  for (auto& [id, changed] : turn.remembered)
    if (exists(id) && !std::ranges::binary_search(turn.changed, id))
      turn.commit().remembered.push_back({graph_->at(id).name, std::move(changed)});
  keep_once(turn.heard);
  for (const ServiceId id : turn.heard)
    if (exists(id) && !std::ranges::binary_search(turn.changed, id))
      turn.commit().heartbeats.emplace_back(graph_->at(id).name, *arrivals_.find(id));
  keep_once(turn.occurrences);
  for (const std::uint64_t number : turn.occurrences) {
    const Occurrence* const event = arrivals_.events().find(number);
    if (event == nullptr) continue;
    turn.commit().occurrences.push_back(*event);
    auto& document = turn.commit().occurrences.back().document;
    const bool is_dropped = document != nullptr && document->empty();
    if (number != turn.new_occurrence && !is_dropped) document = nullptr;  // it is saved already
  }
}

SavedService Engine::save(ServiceId id, const Graph& graph, Instant now) const {
  const ServiceState& state = services_[id.index()];
  SavedService saved{.monitored = state.monitored,
                     .memory = state.memory,
                     .cron_minute = times(id).irregular->minute,
                     .boot = now.boot,
                     .saved = now.wall,
                     .starts = state.starts,
                     .first = has_phase(*graph.at(id).schedule) && times(id).first > Duration{0}
                                  ? std::optional(times(id).first)
                                  : std::nullopt,
                     .action_failure = state.trouble->action_failure,
                     .taken_out = state.monitored ? Rare<TakenOut>{} : state.trouble->taken_out,
                     .rules = {}};
  proofs_.save(id, saved);
  pauses_.save(id, saved);
  alerts_.save(id, saved);
  if (graph.at(id).is_heartbeat()) saved.first = now.mono;  // see heard_on
  arrivals_.save(id, saved);
  rules_.save(id, graph.at(id), saved);
  return saved;
}

}  // namespace healer::engine
