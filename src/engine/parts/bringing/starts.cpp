// SPDX-License-Identifier: MIT
#include "engine/parts/bringing/starts.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/job.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/parts/leftovers.hpp"
#include "engine/parts/pauses.hpp"
#include "engine/parts/proofs.hpp"
#include "engine/parts/rule_states.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/timing/cron.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "util/hash.hpp"

namespace healer::engine {
namespace {

constexpr Duration kQuickDeath{10'000};
constexpr Duration kFirstBackoff{1000};
constexpr Duration kLeftoverCheck{5000};

/// The wait after `quick` starts in a row that did not last: 1 s, doubling to at most a cycle, with a jitter of a tenth
/// that is the same wherever and whenever it is computed.
Duration backoff(std::string_view name, std::uint32_t quick, Duration cycle) {
  const Duration longest = std::max(cycle, kFirstBackoff);
  const Duration wait = quick > 20 ? longest : std::min(kFirstBackoff * (std::int64_t{1} << (quick - 1)), longest);
  const auto lot = static_cast<std::int64_t>(hash128(fmt::format("{} {}", name, quick)).low % 201);  // 0..200
  return wait + wait * (lot - 100) / 1000;
}

}  // namespace

// ---- view ---------------------------------------------------------------------------------------------------------

bool Starts::is_up(ServiceId id) const {
  const ServiceState& state = services_[id.index()];
  return graph_->at(id).foreground() ? state.child->is_ready() : state.presence.is_up();
}

bool Starts::in_schedule(ServiceId id, Instant now) const {
  const Schedule& schedule = *graph_->at(id).schedule;
  if (schedule.kind == Schedule::Kind::NotCron) return !matches_at(schedule.cron, now.wall, civil_);
  return schedule.kind == Schedule::Kind::Cycles && schedule.cycles == 1;
}

bool Starts::left_alone(ServiceId id, Instant now) const {
  return graph_->at(id).activity == ServiceBlock::Activity::Passive || pauses_.in_force(id, now);
}

std::optional<Duration> Starts::backing_off(ServiceId id, Instant now) const {
  const std::optional<WallTime>& until = services_[id.index()].starts->not_before;
  const Duration longest = std::max(graph_->settings->cycle_length(), kFirstBackoff) * 11 / 10;
  if (!until || *until <= now.wall || *until - now.wall > longest) return std::nullopt;
  return *until - now.wall;
}

std::string Starts::missing_requirement(ServiceId id) const {
  for (const ServiceId needed : requirements_of(*graph_, id)) {
    const ServiceState& state = services_[needed.index()];
    const ServiceBlock& block = graph_->at(needed);
    if (!block.has_process() || !state.monitored) continue;
    if (!state.last && !block.foreground())
      return fmt::format("it depends on {}, which has not been checked yet", block.name);
    if (!is_up(needed)) return fmt::format("it depends on {}, which is not running", block.name);
  }
  return {};
}

std::string Starts::own_obstacle(ServiceId id, Instant now) const {
  if (!graph_->at(id).can_start() || starts_nothing(*graph_, id)) return "it has no start program";
  const bool ended = graph_->at(id).foreground() || graph_->at(id).end_leftovers;  // it is not to come up any more
  const std::string left = ended ? std::string{} : leftovers_.behind(id);
  if (!left.empty() && !leftovers_.are_old(id, now)) return left;
  const StartHistory& starts = *services_[id.index()].starts;
  if (backing_off(id, now))
    return starts.quick == 1 ? std::string("the last start failed")
                             : fmt::format("the last {} starts failed", starts.quick);
  return {};
}

bool Starts::newly_missing(ServiceId id, const Evidence& seen, Instant now) const {
  const ServiceState& state = services_[id.index()];
  const ServiceBlock& block = graph_->at(id);
  if (!block.has_process() || block.foreground() || graph_->settings->settle == Duration{0}) return false;
  if (seen.answer != Answer::Absent) return false;
  if (next(state.presence.state(), PresenceEvent::Missed).doing != PresenceReaction::Settle) return false;
  // That it was down already an earlier daemon has said.
  if (!state.last && rules_.any_failed(id)) return false;
  return !left_alone(id, now) && in_schedule(id, now);
}

// ---- its process --------------------------------------------------------------------------------------------------

void Starts::observe(ServiceId id, const Evidence& seen, Turn& turn) {
  ServiceState& state = services_[id.index()];
  const StartHistory& starts = *state.starts;
  const bool up = process_of(seen) != nullptr;
  const PresenceReaction doing = state.presence.on(up          ? PresenceEvent::Found
                                                   : state.job ? PresenceEvent::Stopped
                                                               : PresenceEvent::Missing);
  if (doing == PresenceReaction::WakeDependents) wake_dependents(id, turn);
  if (doing == PresenceReaction::CountEnd && starts.last && !graph_->at(id).foreground())
    note_end(id, turn.now.wall - *starts.last, turn);
  if (!up) return;
  if (starts.left_by != ActionId{}) {
    StartHistory& history = edit(id);
    history.came_by = std::exchange(history.left_by, ActionId{});
    turn.save(id);
  }
  reported_left(id, 0);
}

void Starts::settle(ServiceId id, const Evidence* missed, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (missed != nullptr) {
    const bool seen = state.last != nullptr;
    const std::int64_t pid = seen                           ? process_of(*state.last)->pid
                             : proofs_.known(id) != nullptr ? proofs_.known(id)->pid
                                                            : 0;
    state.presence.on(PresenceEvent::Missed,
                      missed->output && !missed->output->empty() ? *missed->output : describe_existence(*missed));
    turn.record(RecordKind::ProcessDied, Severity::Warning, graph_->at(id).name,
                fmt::format("{} can no longer be found{}: {}",
                            pid != 0 ? fmt::format("process {}", pid) : std::string("its process"),
                            seen ? "" : ", which a previous healerd had seen", state.presence.how()));
  }
  const Duration until = turn.now.mono + graph_->settings->settle;
  state.presence.settle(until);
  turn.tell(fact::LookWanted{id, Reason::Death, until});
}

void Starts::retarget(ServiceId id) {
  ServiceState& state = services_[id.index()];
  if (graph_->at(id).has_process())
    state.presence.on(PresenceEvent::Retargeted);
  else
    state.presence = {};
  if (!graph_->at(id).foreground())
    state.starts.set(&StartHistory::left_by, {});  // else it goes before the child comes
  state.starts.set(&StartHistory::came_by, {});
}

// ---- starts -------------------------------------------------------------------------------------------------------

void Starts::want(ServiceId id, Turn& turn) {
  const StartHistory& starts = edit(id);
  edit(id).restarted = true;
  turn.save(id);
  // A unit that is to be started once more has not lasted: that counts as the death of a process does.
  if (graph_->at(id).is_unit() && starts.last && (!starts.not_before || *starts.not_before <= *starts.last))
    note_end(id, turn.now.wall - *starts.last, turn);
}

void Starts::count_restart(ServiceId id, Turn& turn) {
  edit(id).restarted = false;
  turn.save(id);
}

void Starts::note_end(ServiceId id, Duration lived, Turn& turn) {
  StartHistory& starts = edit(id);
  if (lived >= kQuickDeath) {
    starts.quick = 0;
    starts.not_before.reset();
  } else {
    ++starts.quick;
    starts.not_before = turn.now.wall + backoff(graph_->at(id).name, starts.quick, graph_->settings->cycle_length());
  }
  turn.save(id);
}

void Starts::note_started(ServiceId id, ActionId came_by, Turn& turn) {
  StartHistory& starts = edit(id);
  starts.last = turn.now.wall;
  starts.not_before.reset();
  if (came_by != ActionId{}) starts.came_by = came_by;
  turn.save(id);
  services_[id.index()].trouble.set(&Trouble::start_failure, {});
  turn.tell(fact::FreshProcess{id});
}

void Starts::note_failed(ServiceId id, const std::string& why, Turn& turn) {
  StartHistory& starts = edit(id);
  starts.last = turn.now.wall;
  turn.save(id);
  ++starts.quick;
  const Duration wait = backoff(graph_->at(id).name, starts.quick, graph_->settings->cycle_length());
  starts.not_before = turn.now.wall + wait;
  turn.tell(fact::LookWanted{id, Reason::Again, turn.now.mono + wait});
  services_[id.index()].trouble.set(&Trouble::start_failure, why);
}

void Starts::note_left(ServiceId id, ActionId by, Instant now) {
  StartHistory& starts = edit(id);
  starts.left_by = by;
  starts.last = now.wall;
}

void Starts::note_left(ServiceId id, ActionId by, Turn& turn) {
  edit(id).left_by = by;
  turn.save(id);
}

void Starts::forget_left(ServiceId id, Turn& turn) {
  if (services_[id.index()].starts->left_by == ActionId{}) return;
  edit(id).left_by = {};
  turn.save(id);
}

void Starts::begin_afresh(ServiceId id, Turn& turn) {
  Sparse<StartHistory>& starts = services_[id.index()].starts;
  starts = StartHistory{.left_by = starts->left_by};
  turn.save(id);
}

void Starts::complete_failure(ServiceId id, std::string_view silent, std::string_view description) {
  Sparse<Trouble>& trouble = services_[id.index()].trouble;
  const std::size_t at = trouble->start_failure.find(silent);
  if (at != std::string::npos && !trouble->start_failure.empty())
    trouble.edit().start_failure.replace(at, silent.size(), description);
}

// ---- what waits ---------------------------------------------------------------------------------------------------

bool Starts::wait(ServiceId id, const std::string& why) {
  Sparse<Trouble>& trouble = services_[id.index()].trouble;
  if (trouble->waits == why) return false;
  trouble.set(&Trouble::waits, why);
  return true;
}

void Starts::check_needed(ServiceId id, Turn& turn) {
  for (const ServiceId needed : requirements_of(*graph_, id)) {
    const ServiceState& state = services_[needed.index()];
    const bool lately = state.checked && turn.now.mono - *state.checked <= timetable_.times(id).period;
    if (graph_->at(needed).has_process() && !is_up(needed) && !lately && !state.flight)
      turn.tell(fact::LookWanted{needed, Reason::Again, turn.now.mono});
  }
  // On a grid: one look, however many ask for it.
  if (!leftovers_.behind(id).empty())
    turn.tell(fact::LookWanted{id, Reason::Again, (turn.now.mono / kLeftoverCheck + 1) * kLeftoverCheck});
}

/// A service has come up: what waits for it is looked at again.
void Starts::wake_dependents(ServiceId id, Turn& turn) {
  if (graph_->dependents[id.index()].empty()) return;
  for (const ServiceId dependent : dependents_of(*graph_, id))
    if (!services_[dependent.index()].trouble->waits.empty())
      turn.tell(fact::LookWanted{dependent, Reason::Again, turn.now.mono});
}

void Starts::wake_waiting(const std::vector<ServiceId>& ended, Turn& turn) {
  for (const auto& around : {with_dependents(*graph_, ended), with_requirements(*graph_, ended)})
    for (const ServiceId id : around)
      if (!services_[id.index()].trouble->waits.empty()) turn.tell(fact::LookWanted{id, Reason::Again, turn.now.mono});
}

// ---- life ---------------------------------------------------------------------------------------------------------

void Starts::restore(ServiceId id, const SavedService& saved, bool same_boot) {
  ServiceState& state = services_[id.index()];
  state.starts = saved.starts;
  if (!same_boot) {
    state.starts.set(&StartHistory::left_by, {});
    state.starts.set(&StartHistory::came_by, {});
  }
  if (same_boot && graph_->at(id).has_process()) state.presence = Presence::believed();
}

}  // namespace healer::engine
