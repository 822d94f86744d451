// SPDX-License-Identifier: MIT
#include "engine/engine.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/job.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/timing/cron.hpp"
#include "engine/timing/first_runs.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "util/overloaded.hpp"

namespace healer::engine {
namespace {

/// Sorts ids, and drops those that are there already.
template <typename Id>
void keep_once(std::vector<Id>& ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

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

Engine::Engine(std::shared_ptr<const Graph> graph, CivilClock civil, SavedState saved, Instant now)
    : graph_(std::move(graph)),
      civil_(std::move(civil)),
      found_(std::move(saved)),
      // Not below the time: a store that was sick, or lost, may not know the last ids that were issued.
      ids_(std::max(found_.last_id + 1,
                    static_cast<std::uint64_t>(std::max<std::int64_t>(now.wall.time_since_epoch().count(), 0)))),
      services_(graph_->slots.size()),
      healings_(std::move(found_.healings), std::move(found_.healing)),
      timetable_(civil_, now),
      next_sequence_(found_.last_sequence + 1),
      next_record_(found_.last_record + 1),
      started_at_(now) {
  timetable_.resize(services_.size());
  rules_.resize(services_.size());
  proofs_.resize(services_.size());
  composites_.resize(services_.size());
  graph_ = with_saved_keys(std::move(graph_), found_.services);
  absent_.restore(found_.services);
  pauses_.restore(std::move(found_.wide_pauses));
  healings_.index(*graph_);
  arrivals_.events().restore(std::move(found_.occurrences), now);
  std::size_t rules = 0;
  for (const ServiceId id : graph_->order) rules += graph_->at(id).rules.size();
  rules_.reserve(rules);
  for (const ServiceId id : graph_->order) begin_afresh(id);
  for (const auto& [name, former] : found_.services) {
    const std::optional<ServiceId> id = graph_->find(name);
    if (!id) continue;
    const std::string& written = graph_->at(*id).name;  // in another case, perhaps
    if (written == name || !found_.services.contains(written)) restore(*id, former, now);
  }
}

Engine::~Engine() = default;

/// A service that healer has not known before. It is watched as after a reboot, as by Monit.
void Engine::begin_afresh(ServiceId id) {
  ServiceState& state = services_[id.index()];
  state = {};
  timetable_.forget(id);
  composites_.forget(id);
  proofs_.forget(id);
  pauses_.remove(id);
  alerts_.remove(id);
  arrivals_.remove(id);
  timetable_.adopt(id, *graph_->at(id).schedule, graph_->settings->cycle_length());
  rules_.adopt(id, ids_.next());
  state.memory = fresh_memory(graph_->at(id));
  state.monitored = graph_->at(id).on_reboot != ServiceBlock::OnReboot::NoStart;
}

void Engine::handle(const Event& event, Instant now, EffectSink& sink) {
  Turn turn{.now = now, .sink = sink};
  std::visit([&](const auto& known) { on(known, turn); }, event);
  drain(turn);
  composites_.drain([&](ServiceId id) {
    if (running_) judge_composite(id, turn);
  });
  drain(turn);
  notify_healings(turn);
  drain(turn);
  return_at_.reset();  // the wall clock may be set at any time
  if (!returns_.empty()) return_at_ = now.mono + std::max(returns_.begin()->first - now.wall, Duration{0});
  if (!turn.durable()) {
    for (auto& reply : turn.replies) sink.emit(std::move(reply));
    return;
  }
  save_healings(turn);
  effect::Commit& commit = turn.commit;
  commit.sequence = next_sequence_++;
  commit.awaited = commit.awaited || !turn.acts.empty() || !turn.replies.empty();
  for (Record& record : commit.records) {
    record.id = next_record_++;
    record.sequence = commit.sequence;
  }
  save_services(turn);
  keep_once(turn.changed_jobs);
  for (const JobId id : turn.changed_jobs)
    if (const auto job = jobs_.find(id.number()); job != jobs_.end()) commit.jobs.push_back(save(job->second, now));
  keep_once(turn.moved_jobs);
  for (const JobId id : turn.moved_jobs)
    if (const auto job = jobs_.find(id.number());
        job != jobs_.end() && !std::ranges::binary_search(turn.changed_jobs, id))
      commit.moved_jobs.push_back({.job = id,
                                   .position = job->second.position,
                                   .action = job->second.action,
                                   .begun = job->second.begun_at(now)});
  releases_.hold(commit.sequence, turn);
  sink.emit(std::move(commit));
}

std::optional<Duration> Engine::next_deadline() const {
  if (!running_) return std::nullopt;
  std::optional<Duration> next = timetable_.next();
  const auto earlier = [&next](Duration when) { next = next ? std::min(*next, when) : when; };
  if (programs_.next()) earlier(*programs_.next());
  if (composites_.any_due()) earlier(Duration{0});
  if (healings_.next()) earlier(*healings_.next());
  if (!job_due_.empty()) earlier(job_due_.begin()->first);
  if (alerts_.next()) earlier(*alerts_.next());
  if (arrivals_.next()) earlier(*arrivals_.next());
  if (arrivals_.events().next()) earlier(*arrivals_.events().next());
  if (return_at_) earlier(*return_at_);
  return next;
}

/// What parts have told is handed on, also what that leads to.
void Engine::drain(Turn& turn) {
  while (!turn.facts.empty()) {
    const Fact next = std::move(turn.facts.front());
    turn.facts.pop_front();
    std::visit(
        Overloaded{[&](const fact::LookWanted& fact) { timetable_.check_later(fact.service, fact.reason, fact.when); },
                   [&](const fact::ExecsDue& fact) {
                     if (const ServiceBlock* const block = graph_->block(fact.service))
                       programs_.run_queued(block->name, turn);
                   },
                   [&](const auto& known) { on(known, turn); }},
        next);
  }
}

void Engine::on(const fact::JournalTurned& fact, Turn& turn) {
  if (!fact.sick)
    for (ServiceState& state : services_) state.saved_whole = false;  // it may be another file
  reevaluate_healings(turn);
}

void Engine::on(const fact::NeverBegun& fact, Turn& turn) {
  on(event::ActionEnded{.action = fact.action, .outcome = Outcome::NotStarted, .output = "it was cancelled before"},
     turn);
}

void Engine::on(const event::Committed& event, Turn& turn) {
  releases_.hear_journal(event, turn);
  drain(turn);
  releases_.release(event, turn);
  drain(turn);
  releases_.release_journalled(event, turn);
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
    turn.commit.services.emplace_back(graph_->at(id).name, save(id, turn.now));
    services_[id.index()].saved_whole = true;
  }
  for (auto& [id, changed] : turn.remembered)
    if (exists(id) && !std::ranges::binary_search(turn.changed, id))
      turn.commit.remembered.push_back({graph_->at(id).name, std::move(changed)});
  keep_once(turn.heard);
  for (const ServiceId id : turn.heard)
    if (exists(id) && !std::ranges::binary_search(turn.changed, id))
      turn.commit.heartbeats.emplace_back(graph_->at(id).name, *arrivals_.find(id));
  keep_once(turn.occurrences);
  for (const std::uint64_t number : turn.occurrences) {
    const Occurrence* const event = arrivals_.events().find(number);
    if (event == nullptr) continue;
    turn.commit.occurrences.push_back(*event);
    auto& document = turn.commit.occurrences.back().document;
    const bool is_dropped = document != nullptr && document->empty();
    if (number != turn.new_occurrence && !is_dropped) document = nullptr;  // it is saved already
  }
}

// ---- start, stop, reload ------------------------------------------------------------------------------------------

void Engine::on(const event::Started& event, Turn& turn) {
  running_ = true;
  started_at_ = turn.now;
  timetable_.set_clock(turn.now);
  const std::string text = fmt::format("healer {} started", event.version) + death_text(found_, civil_, turn.now);
  turn.record(RecordKind::DaemonStarted, found_.died ? Severity::Warning : Severity::Info, {}, text).subject =
      turn.now.boot;

  host_ = event.host;  // for programs that are released again
  restore_acts(turn);
  for (const auto& [name, saved] : found_.services) {
    const std::optional<ServiceId> id = graph_->find(name);
    if ((id && graph_->at(*id).name == name) || absent_.contains(name)) continue;
    turn.commit.forgotten.push_back(name);
    if (id) turn.save(*id);
  }
  std::ranges::sort(turn.commit.forgotten);
  restore_jobs(turn);
  if (found_.boot != 0 && found_.boot != turn.now.boot && found_.seen) {
    pauses_.carry(*found_.seen, turn);
    absent_.carry_pauses(*found_.seen, turn);
  }
  carry_taken_out(turn);
  for (const ServiceId id : graph_->order)
    if (alerts_.keeps(id)) alerts_.keep(id, turn.now);
  resume_healings(turn);
  const bool died = found_.died.has_value();
  found_ = {};

  const Duration first = turn.now.mono + graph_->settings->start_delay;
  const std::vector<ServiceId> order = first_order(*graph_);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Duration at = first + herd_phase(i, order.size(), graph_->settings->cycle_length());
    if (go_on_in_phase(order[i], at)) continue;
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
  std::erase_if(found_.execs, [&turn](const PendingExec& pending) {
    if (pending.exec.cause != nullptr && !pending.exec.command.arguments.empty()) return false;
    turn.commit.ended.push_back(pending.exec.action);
    turn.record(RecordKind::ActionHeld, Severity::Warning, {},
                fmt::format("program {} is not resumed: its command or its cause is damaged in the state file",
                            pending.exec.action.number()));
    return true;
  });
  std::erase_if(found_.alerts, [&turn](const effect::Alert& alert) {
    if (alert.cause == nullptr) turn.commit.handed_over.push_back(alert.alert);
    return alert.cause == nullptr;
  });
  std::ranges::sort(found_.execs, {}, [](const PendingExec& pending) { return pending.exec.action; });
  std::vector<std::string> waited;
  for (PendingExec& pending : found_.execs) {
    effect::Exec& exec = pending.exec;
    const bool waits = exec.service == kNoService && exec.job == JobId{} && !exec.foreground;
    exec.service = graph_->find(exec.cause->service).value_or(ServiceId{});
    if (exec.healing != HealingId{}) {
      restore_healing_program(pending, turn);
      continue;
    }
    const auto job = std::ranges::find(found_.jobs, exec.job, &effect::SavedJob::job);
    const bool dropped = exec.job != JobId{} && (job == found_.jobs.end() || !taken_up(*job));
    if (exec.foreground) {
      restore_child(pending, !silent && !dropped, turn);
      continue;
    }
    if (dropped ? !pending.started : silent && waits) {
      turn.commit.ended.push_back(exec.action);
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
      turn.sink.emit(std::move(exec));
  }
  for (const std::string& service : waited) programs_.run_queued(service, turn);
  for (effect::Alert& pending : found_.alerts) {
    if (silent)
      turn.commit.handed_over.push_back(pending.alert);
    else
      turn.sink.emit(std::move(pending));
  }
}

void Engine::on(const event::Stopping& event, Turn& turn) {
  if (std::exchange(running_, false)) {
    stop_reported_ = false;
    stop_healings(turn);
  }
  if (event.waits || std::exchange(stop_reported_, true)) return;
  turn.record(RecordKind::DaemonStopped, Severity::Info, {}, "healer stopped");
  alerts_.send_of_daemon("healer stopped", "stop", turn);
}

void Engine::on(const event::ReloadFailed& event, Turn& turn) {
  const std::string text =
      fmt::format("the rules files have errors; still using the previous rules: {}", event.summary);
  turn.record(RecordKind::ReloadFailed, Severity::Error, {}, text);
  alerts_.send_of_daemon(text, "alert", turn, kRulesRefused);
}

void Engine::on(const event::ListReported& event, Turn& turn) {
  turn.record(RecordKind::List, event.alerts ? Severity::Warning : Severity::Info, {}, event.text);
  if (event.alerts) alerts_.send_of_daemon(event.text, "alert", turn, kListEvent);
}

void Engine::on(const event::StateDamaged& event, Turn& turn) {
  turn.record(RecordKind::StateDamaged, Severity::Error, {}, event.text);
  alerts_.send_of_daemon(event.text, "alert", turn, kStateDamaged);
}

void Engine::on(const event::Swap& event, Turn& turn) {
  const SwapPlan& plan = *event.plan;
  if (plan.graph->generation != graph_->generation + 1) return;  // computed against another generation
  for (const SlotChange& change : plan.changes) {
    const auto job = change.kind == SlotChange::Kind::Added ? std::nullopt : services_[change.service.index()].job;
    if (!job) continue;
    const ServiceBlock* next = plan.graph->slots[change.service.index()].get();
    const ServiceBlock& now = graph_->at(change.service);
    if (next == nullptr || !same_target(*next, now))
      fail_job(*job, fmt::format("{} is no longer in the rules, or is a different process now", now.name), turn);
  }
  const std::set<HealingId> taken = healings_.taken_by(*graph_, *plan.graph);
  const std::shared_ptr<const Graph> before = std::exchange(graph_, plan.graph);
  graph_ = absent_.with_known_keys(std::move(graph_));
  services_.resize(graph_->slots.size());
  timetable_.resize(graph_->slots.size());
  rules_.resize(graph_->slots.size());
  proofs_.resize(graph_->slots.size());
  composites_.resize(graph_->slots.size());
  for (const SlotChange& change : plan.changes) apply(change, *before, turn);
  for (auto& [number, job] : jobs_)  // their next look says whether they still wait
    if (job.after && std::ranges::find(plan.changes, *job.after, &SlotChange::service) != plan.changes.end())
      job.after.reset();
  for (const auto& [id, flight] : turn.cut_off) start_run(id, flight.counted, flight.reason, turn);
  const auto count = [&](SlotChange::Kind kind) {
    return static_cast<std::size_t>(std::ranges::count(plan.changes, kind, &SlotChange::kind));
  };
  std::vector<ServiceId> fresh;
  for (const SlotChange& change : plan.changes)
    if (change.kind == SlotChange::Kind::Added) fresh.push_back(change.service);
  const std::size_t added = fresh.size();
  const Duration cycle = graph_->settings->cycle_length();
  sort_by_haste(fresh, *graph_);
  for (std::size_t i = 0; running_ && i < added; ++i)
    begin(fresh[i],
          std::max(turn.now.mono, started_at_.mono + graph_->settings->start_delay) + herd_phase(i, added, cycle),
          turn);
  rules_.compact();
  const Duration cycle_before = before->settings->cycle_length();
  if (cycle_before != graph_->settings->cycle_length()) {
    for (const ServiceId id : graph_->order)
      timetable_.adopt(id, *graph_->at(id).schedule, graph_->settings->cycle_length());
    for (const ServiceId id : graph_->order)
      if (id.index() < before->slots.size() && before->slots[id.index()])
        reschedule(id, period_of(*before->at(id).schedule, cycle_before), turn.now);
  } else {
    for (const SlotChange& change : plan.changes)
      if (change.kind == SlotChange::Kind::Replaced &&
          before->at(change.service).schedule != graph_->at(change.service).schedule)
        reschedule(change.service, period_of(*before->at(change.service).schedule, cycle_before), turn.now);
  }
  maintenance_.reload();
  alerts_.reload(turn.now);
  if (graph_->settings->shadow || graph_->settings->dry_run)
    while (!jobs_.empty()) fail_job(JobId{jobs_.begin()->first}, "healer only watches from now on", turn);
  absent_.forget(turn);
  if (plan.empty()) return;
  reload_healings(taken, turn);
  composites_.reload();

  const std::string text = fmt::format("rules reloaded: {} service{}, {} added, {} removed, {} changed",
                                       graph_->order.size(), graph_->order.size() == 1 ? "" : "s", added,
                                       count(SlotChange::Kind::Removed), count(SlotChange::Kind::Replaced));
  turn.record(RecordKind::Reloaded, Severity::Info, {}, text);
  alerts_.send_of_daemon(text, "start", turn);
}

void Engine::apply(const SlotChange& change, const Graph& before, Turn& turn) {
  if (change.kind == SlotChange::Kind::Moved) return;
  const ServiceId id = change.service;
  ServiceState& state = services_[id.index()];
  if (change.kind == SlotChange::Kind::Removed) {
    if (absent_.is_left_out(before.at(id)))
      absent_.keep(before.at(id), save(id, before, turn.now));
    else
      turn.commit.forgotten.push_back(before.at(id).name);
    release_child(id, before.at(id), turn);
    cancel_flight(id, turn);
    commands_.run_ended(id, false, turn);
    rules_.remove(id);
    proofs_.forget(id);
    pauses_.remove(id);
    alerts_.remove(id);
    arrivals_.remove(id);
    arrivals_.events().remove(id, before.at(id).name, turn);
    state = {};
    timetable_.forget(id);
    composites_.forget(id);
    return;
  }
  const ServiceBlock& block = graph_->at(id);
  Rare<Flight> cut_off;  // a run of a program that is another now
  if (change.kind == SlotChange::Kind::Replaced) {
    const ServiceBlock& old = before.at(id);
    timetable_.adopt(id, *block.schedule, graph_->settings->cycle_length());
    rules_.replace(id, old, change.rules_from, ids_.next());
    if (const auto& failure = state.trouble->action_failure;
        failure && std::ranges::find(block.rules, failure->rule, &Rule::key) == block.rules.end())
      state.trouble.set(&Trouble::action_failure, {});
    const bool other_target = !same_target(old, block);
    if (other_target) {
      alerts_.retarget(id);
      release_child(id, old, turn);
      keep_former(id, turn);
      state.last.reset();
      if (block.has_process())
        state.presence.on(PresenceEvent::Retargeted);
      else
        state.presence = {};
      if (!state.child->exists()) proofs_.forget(id);
      if (!block.foreground()) state.starts.set(&StartHistory::left_by, {});  // else it goes before the child comes
      state.starts.set(&StartHistory::came_by, {});
    } else if (state.child->exists() && old.process->foreground->command != block.process->foreground->command) {
      turn.record(RecordKind::JobStep, Severity::Warning, block.name,
                  "its program has changed in the rules: the previous one runs until it is restarted");
    }
    const bool other_probes = !old.probes.empty() || !block.probes.empty();  // nobody here can tell
    if (other_probes && state.last && state.last->facts) {                   // their results go by their places
      auto facts = std::make_shared<Facts>(*state.last->facts);
      facts->further.set(&FurtherFacts::connections, {});
      Evidence rest = *state.last;
      rest.facts = std::move(facts);
      state.last = std::make_shared<const Evidence>(std::move(rest));
    }
    const bool other = other_target || other_probes || old.program != block.program;
    if (other) state.trouble.set(&Trouble::unknown, {});
    if (other) cut_off = cancel_flight(id, turn);
    if (old.name != block.name) turn.commit.forgotten.push_back(old.name);
    if (!block.is_heartbeat()) arrivals_.remove(id);
    if (!block.is_event()) arrivals_.events().remove(id, old.name, turn);
    if (block.is_heard()) timetable_.stop(id);
    if (block.is_heartbeat()) arrivals_.replace(id, old, turn);
    if (block.is_listed())
      timetable_.stop(id);
    else if ((old.is_heard() || block.is_heard() || old.is_listed()) && running_)
      begin(id, turn.now.mono, turn);
    Memory fresh = fresh_memory(block);
    state.memory =
        old.program->command != block.program->command ? std::move(fresh) : restored(std::move(fresh), state.memory);
  } else {
    begin_afresh(id);
    if (const std::optional<SavedService> known = absent_.take(block.name)) {  // it is as it was
      restore(id, *known, turn.now);
      find_child(id);  // its process may have lived on
    }
  }
  if (!state.child->exists()) find_child(id);
  keep_watch(id, turn);
  turn.save(id);
  if (cut_off) turn.cut_off.emplace_back(id, std::move(*cut_off));
}

}  // namespace healer::engine
