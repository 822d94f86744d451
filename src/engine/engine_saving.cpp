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
  if (block.is_heartbeat()) heard = heard_on(saved, block.other->heartbeat, found_.seen, now);
  const SavedService& kept = heard ? *heard : saved;
  ServiceState& state = services_[id.index()];
  state.monitored = kept.monitored;
  if (kept.boot != now.boot && block.on_reboot != ServiceBlock::OnReboot::LastState)
    state.monitored = block.on_reboot == ServiceBlock::OnReboot::Start;
  state.starts = kept.starts;
  if (kept.boot != now.boot) {
    state.starts.set(&StartHistory::left_by, {});
    state.starts.set(&StartHistory::came_by, {});
  }
  pauses_.restore(id, kept);
  alerts_.restore(id, kept);
  arrivals_.restore(id, kept);
  if (!state.monitored && !kept.monitored) state.trouble.set(&Trouble::taken_out, kept.taken_out);
  const bool same_boot = kept.boot == now.boot;
  proofs_.restore(id, kept, same_boot);
  if (same_boot && block.has_process()) state.presence = Presence::believed();
  if (block.foreground() && same_boot && kept.known)  // Engine::keep_former
    state.child.edit().keep(kept.known->pid, kept.known->start_ticks, Duration{0});
  state.memory = restored(std::move(state.memory), kept.memory);
  // What was saved of another path, or before a reboot, is not what a part of it would be added to.
  state.saved_whole = same_boot && state.memory == kept.memory && kept.heartbeat == saved.heartbeat;
  timetable_.restore(id, kept.cron_minute, same_boot && has_phase(*block.schedule) ? kept.first : std::nullopt);

  const bool go_on =
      block.is_event() ? kept.boot == now.boot : counts_go_on(kept, *block.schedule, period(id), civil_, now);
  const bool judged = rules_.restore(id, kept, go_on);
  // What is known of a heartbeat is kept: it is judged by that over a boot, too.
  if ((same_boot || block.is_heard()) && judged) state.initialising = false;
  if (const Rare<ActionFailure>& failure = kept.action_failure;
      failure && std::ranges::find(block.rules, failure->rule, &Rule::key) != block.rules.end() &&
      std::ranges::find(kept.rules, failure->rule, &SavedRule::key) != kept.rules.end())
    state.trouble.set(&Trouble::action_failure, failure);
  if (!state.monitored && !kept.monitored && !kept.reports_taken_out) guess_taken_out(id);
}

SavedService Engine::save(ServiceId id, Instant now) const { return save(id, *graph_, now); }

/// As the rules were that `graph` has.
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
