// SPDX-License-Identifier: MIT
// The start of the daemon, with what an earlier one has left, and its end.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/timing/first_runs.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {
namespace {

/// What is added to the word of a start where the daemon before did not end in good order.
std::string death_text(const SavedState& found, const CivilClock& civil, Instant now) {
  if (!found.died) return {};
  const CivilTime then = civil(*found.died);
  const CivilTime today = civil(now.wall);
  const std::string when = format_civil(then);
  const bool same_day = then.year == today.year && then.month == today.month && then.day == today.day;
  return fmt::format("; {}: its last record is of {} ({} ago)",
                     found.boot != 0 && found.boot != now.boot
                         ? "the machine was rebooted while the previous healerd was running"
                         : "the previous healerd died",
                     same_day ? when.substr(when.find(' ') + 1) : when,
                     format_duration(std::max(Duration{0}, now.wall - *found.died)));
}

}  // namespace

void Engine::on(const event::Started& event, Turn& turn) {
  life_.stage = Life::Stage::Running;
  life_.started_at = turn.now;
  timetable_.set_clock(turn.now);
  const std::string text =
      fmt::format("healer {} started", event.version) + death_text(life_.found, life_.civil, turn.now);
  turn.record(RecordKind::DaemonStarted, life_.found.died ? Severity::Warning : Severity::Info, {}, text).subject =
      turn.now.boot;

  life_.host = event.host;  // for programs that are released again
  life_.state_word = event.state_word;
  restore_acts(turn);
  for (const auto& [name, saved] : life_.found.services) {
    const std::optional<ServiceId> id = graph_->find(name);
    if ((id && graph_->at(*id).name == name) || absent_.contains(name)) continue;
    turn.commit().forgotten.push_back(name);
    if (id) turn.save(*id);
  }
  std::ranges::sort(turn.commit().forgotten);
  restore_jobs(turn);
  if (life_.found.boot != 0 && life_.found.boot != turn.now.boot && life_.found.seen) {
    pauses_.carry(*life_.found.seen, turn);
    absent_.carry_pauses(*life_.found.seen, turn);
  }
  const bool rebooted = life_.found.boot != 0 && life_.found.boot != turn.now.boot && life_.found.seen;
  monitoring_.carry(rebooted ? life_.found.seen : std::nullopt, turn);
  for (const ServiceId id : graph_->order)
    if (alerts_.keeps(id)) alerts_.keep(id, turn.now);
  healing_.resume(life_.found, turn);
  drain(turn);
  const bool died = life_.found.died.has_value();
  life_.found = {};

  const Duration first = turn.now.mono + graph_->settings->start_delay;
  const std::vector<ServiceId> order = first_order(*graph_);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Duration at = first + herd_phase(i, order.size(), graph_->settings->cycle_length());
    if (times(order[i]).first != Duration{0}) {  // its periods go on, that an earlier daemon began
      if (!services_[order[i].index()].monitored) continue;
      timetable_.go_on(order[i], at);
      // Whether its process lives is looked at then, without counting that.
      if (graph_->at(order[i]).has_process()) timetable_.check_later(order[i], Reason::Again, at);
      continue;
    }
    begin(order[i], at, turn);
    if (has_phase(*graph_->at(order[i]).schedule)) turn.save(order[i]);
  }
  alerts_.send_of_daemon(text, "start", turn, died ? kHealerDied : std::string_view{});
}

/// Acts that an earlier daemon committed and may not have done. Shadow mode does nothing of them, but follows what may
/// run: a later reload could start another beside it.
void Engine::restore_acts(Turn& turn) {
  const bool silent = graph_->settings->shadow;
  // A damaged state may hold what no healer has written. What such an act is to do nobody knows: nothing is done.
  std::erase_if(life_.found.execs, [&turn](const PendingExec& pending) {
    if (pending.exec.cause != nullptr && !pending.exec.command.arguments.empty()) return false;
    turn.commit().ended.push_back(pending.exec.action);
    turn.record(RecordKind::ActionHeld, Severity::Warning, {},
                fmt::format("program {} is not resumed: its command or its cause is damaged in the state file",
                            pending.exec.action.number()));
    return true;
  });
  std::erase_if(life_.found.alerts, [&turn](const effect::Alert& alert) {
    if (alert.cause == nullptr) turn.commit().handed_over.push_back(alert.alert);
    return alert.cause == nullptr;
  });
  std::ranges::sort(life_.found.execs, {}, [](const PendingExec& pending) { return pending.exec.action; });
  std::vector<std::string> waited;
  for (PendingExec& pending : life_.found.execs) {
    effect::Exec& exec = pending.exec;
    const bool waits = exec.service == kNoService && exec.job == JobId{} && !exec.foreground;
    exec.service = graph_->find(exec.cause->service).value_or(ServiceId{});
    if (exec.healing != HealingId{}) {
      healing_.restore_program(pending, turn);
      continue;
    }
    const auto job = std::ranges::find(life_.found.jobs, exec.job, &effect::SavedJob::job);
    const bool dropped = exec.job != JobId{} && (job == life_.found.jobs.end() || !jobs_.is_taken_up(*job));
    if (exec.foreground) {
      children_.restore(pending, !silent && !dropped, turn);
      continue;
    }
    if (dropped ? !pending.started : silent && waits) {
      turn.commit().ended.push_back(exec.action);
      turn.record(RecordKind::ActionHeld, Severity::Info, exec.cause->service,
                  dropped ? "a program of a job that is not resumed is not started" : "exec held: shadow");
      continue;
    }
    if (waits) {
      const Duration since = turn.now.mono - std::max(turn.now.wall - exec.cause->when, Duration{0});
      waited.push_back(exec.cause->service);
      programs_.queue(std::move(exec), since, turn);
      continue;
    }
    // Set free beside others of its rule while that was overlapping: it is not to be started beside them any more.
    const RunningAction* const other = exec.job == JobId{} ? programs_.in_the_way(exec) : nullptr;
    const bool watch = silent || (other != nullptr && other->exec.rule == exec.rule);
    programs_.restore(pending, watch, turn.now);
    if (pending.started || watch)
      turn.sink.emit(effect::Adopt{exec.action, exec.service});
    else
      releases_.pass(std::move(exec), turn);
  }
  for (const std::string& service : waited) programs_.run_queued(service, turn);
  for (effect::Alert& pending : life_.found.alerts) {
    if (silent)
      turn.commit().handed_over.push_back(pending.alert);
    else
      releases_.pass(std::move(pending), turn);
  }
}

void Engine::on(const event::Stopping& event, Turn& turn) {
  if (life_.runs()) {
    life_.stage = Life::Stage::Stopping;
    healing_.stop(turn);
    drain(turn);
  }
  if (event.waits || life_.stage == Life::Stage::Stopped) return;
  life_.stage = Life::Stage::Stopped;
  turn.record(RecordKind::DaemonStopped, Severity::Info, {}, "healer stopped");
  alerts_.send_of_daemon("healer stopped", "stop", turn);
}

}  // namespace healer::engine
