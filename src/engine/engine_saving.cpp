// SPDX-License-Identifier: MIT
// What is saved of services, and how they go on from that.
#include <algorithm>
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

}  // namespace

void Engine::restore(ServiceId id, const SavedService& saved, Instant now) {
  const ServiceBlock& block = graph_->at(id);
  ServiceState& state = services_[id.index()];
  state.monitored = saved.monitored;
  if (saved.boot != now.boot && block.on_reboot != ServiceBlock::OnReboot::LastState)
    state.monitored = block.on_reboot == ServiceBlock::OnReboot::Start;
  state.starts = saved.starts;
  if (saved.boot != now.boot) {
    state.starts.set(&StartHistory::left_by, {});
    state.starts.set(&StartHistory::came_by, {});
  }
  pauses_.restore(id, saved);
  alerts_.restore(id, saved);
  arrivals_.restore(id, saved);
  if (!state.monitored && !saved.monitored) state.trouble.set(&Trouble::taken_out, saved.taken_out);
  const bool same_boot = saved.boot == now.boot;
  proofs_.restore(id, saved, same_boot);
  if (same_boot && block.has_process()) state.presence = Presence::believed();
  if (block.foreground() && same_boot && saved.known)  // Engine::keep_former
    state.child.edit().keep(saved.known->pid, saved.known->start_ticks, Duration{0});
  state.memory = restored(std::move(state.memory), saved.memory);
  // What was saved of another path, or before a reboot, is not what a part of it would be added to.
  state.saved_whole = same_boot && state.memory == saved.memory;
  timetable_.restore(id, saved.cron_minute, same_boot && has_phase(*block.schedule) ? saved.first : std::nullopt);

  const bool go_on = counts_go_on(saved, *block.schedule, period(id), civil_, now);
  const bool judged = rules_.restore(id, saved, go_on);
  if (same_boot && judged) state.initialising = false;
  if (const Rare<ActionFailure>& failure = saved.action_failure;
      failure && std::ranges::find(block.rules, failure->rule, &Rule::key) != block.rules.end() &&
      std::ranges::find(saved.rules, failure->rule, &SavedRule::key) != saved.rules.end())
    state.trouble.set(&Trouble::action_failure, failure);
  if (!state.monitored && !saved.monitored && !saved.reports_taken_out) guess_taken_out(id);
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
  arrivals_.save(id, saved);
  rules_.save(id, graph.at(id), saved);
  return saved;
}

}  // namespace healer::engine
