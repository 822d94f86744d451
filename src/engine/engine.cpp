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

Engine::Engine(std::shared_ptr<const Graph> graph, CivilClock civil, SavedState saved, Instant now)
    : graph_(std::move(graph)),
      life_{.civil = std::move(civil), .found = std::move(saved), .host = {}, .state_word = {}, .started_at = now},
      // Not below the time: a store that was sick, or lost, may not know the last ids that were issued.
      ids_(std::max(life_.found.last_id + 1,
                    static_cast<std::uint64_t>(std::max<std::int64_t>(now.wall.time_since_epoch().count(), 0)))),
      services_(graph_->slots.size()),
      healing_(life_.found,
               {.graph = graph_,
                .services = services_,
                .rules = rules_,
                .composites = composites_,
                .pauses = pauses_,
                .maintenance = maintenance_,
                .programs = programs_,
                .jobs = jobs_,
                .starts = starts_,
                .monitoring = monitoring_,
                .alerts = alerts_,
                .arrivals = arrivals_,
                .absent = absent_,
                .doubts = doubts_,
                .releases = releases_,
                .host = life_.host,
                .state_word = life_.state_word,
                .started_at = life_.started_at},
               ids_),
      timetable_(life_.civil, now),
      releases_(life_.found, jobs_, healing_.healings()) {
  timetable_.resize(services_.size());
  rules_.resize(services_.size());
  proofs_.resize(services_.size());
  composites_.resize(services_.size());
  graph_ = with_saved_keys(std::move(graph_), life_.found.services);
  absent_.restore(life_.found.services);
  pauses_.restore(std::move(life_.found.wide_pauses));
  healing_.index();
  arrivals_.events().restore(std::move(life_.found.occurrences), now);
  std::size_t rules = 0;
  for (const ServiceId id : graph_->order) rules += graph_->at(id).rules.size();
  rules_.reserve(rules);
  for (const ServiceId id : graph_->order) begin_afresh(id);
  for (const auto& [name, former] : life_.found.services) {
    const std::optional<ServiceId> id = graph_->find(name);
    if (!id) continue;
    const std::string& written = graph_->at(*id).name;  // in another case, perhaps
    if (written == name || !life_.found.services.contains(written)) restore(*id, former, now);
  }
}

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
  monitoring_.begin_afresh(id);
}

void Engine::handle(const Event& event, Instant now, EffectSink& sink) {
  Turn turn(now, sink, programs_, releases_);
  visit(event, turn);
  drain(turn);
  composites_.drain([&](ServiceId id) {
    if (life_.runs()) judge_composite(id, turn);
    drain(turn);
  });
  do {
    drain(turn);
    notify_healings(turn);
    drain(turn);
  } while (releases_.end_now(turn));
  monitoring_.follow_clock(now);
  if (!turn.durable()) {
    releases_.pass_ends(turn);
    for (auto& reply : turn.replies) sink.emit(std::move(reply));
    return;
  }
  healing_.save(turn);
  effect::Commit& commit = turn.commit();
  releases_.number(commit);
  commit.awaited = commit.awaited || !turn.acts.empty() || !turn.replies.empty();
  save_services(turn);
  jobs_.save(turn);
  releases_.hold(commit.sequence, turn);
  sink.emit(std::move(commit));
  releases_.pass_ends(turn);
}

std::optional<Duration> Engine::next_deadline() const {
  if (!life_.runs()) return std::nullopt;
  std::optional<Duration> next = timetable_.next();
  const auto earlier = [&next](Duration when) { next = next ? std::min(*next, when) : when; };
  if (programs_.next()) earlier(*programs_.next());
  if (composites_.any_due()) earlier(Duration{0});
  if (const auto due = healing_.healings().next()) earlier(*due);
  if (const auto due = jobs_.next()) earlier(*due);
  if (alerts_.next()) earlier(*alerts_.next());
  if (arrivals_.next()) earlier(*arrivals_.next());
  if (arrivals_.events().next()) earlier(*arrivals_.events().next());
  if (const auto due = monitoring_.next()) earlier(*due);
  return next;
}

/// Hands an event to the part that owns what it is about.
void Engine::visit(const Event& event, Turn& turn) {
  std::visit(Overloaded{
                 [&](const event::NotSignalled& known) { jobs_.not_signalled(known, turn); },
                 [&](const event::Answered& known) { healing_.answered(known, turn); },
                 [&](const event::Claimed& known) { healing_.claimed(known, turn); },
                 [&](const event::Denied& known) { healing_.denied(known, turn); },
                 [&](const event::AlertTaken& known) { turn.commit().handed_over.push_back(known.alert); },
                 [&](const event::MailOutcome& known) { alerts_.hear_delivery(known, turn); },
                 [&](const event::ReloadFailed& known) {
                   alerts_.report(
                       RecordKind::ReloadFailed, Severity::Error,
                       fmt::format("the rules files have errors; still using the previous rules: {}", known.summary),
                       kRulesRefused, turn);
                 },
                 [&](const event::ListReported& known) {
                   if (known.alerts)
                     alerts_.report(RecordKind::List, Severity::Warning, known.text, kListEvent, turn);
                   else
                     turn.record(RecordKind::List, Severity::Info, {}, known.text);
                 },
                 [&](const event::StateDamaged& known) {
                   alerts_.report(RecordKind::StateDamaged, Severity::Error, known.text, kStateDamaged, turn);
                 },
                 [&](const event::ListsDoubted& known) {
                   doubts_.hear_lists(known);
                   healing_.reevaluate(turn);
                 },
                 [&](const event::Arrived& known) { arrivals_.take(known, turn); },
                 [&](const event::ActionWaits& known) {
                   const RunningAction* const running = programs_.find(known.action);
                   if (running == nullptr) return;
                   if (!known.lingers) return programs_.waits(known, turn);
                   if (running->exec.healing != HealingId{}) healing_.program_lingers(running->exec, known.why, turn);
                 },
                 [&](const event::ActionExtended& known) {
                   const RunningAction* const found = programs_.find(known.action);
                   if (const auto id = found == nullptr ? std::nullopt : children_.owner(found->exec))
                     jobs_.child_extended(*id, known.by, turn.now);
                 },
                 [&](const auto& known) { on(known, turn); },
             },
             event);
}

void Engine::drain(Turn& turn) {
  if (!turn.facts.empty()) hand_on(turn);  // most turns tell nothing
}

/// What parts have told is handed on, and what that leads to before what was told after it.
void Engine::hand_on(Turn& turn) {
  const std::vector<Fact> told = std::exchange(turn.facts, {});
  for (const Fact& next : told) {
    std::visit(
        Overloaded{
            [&](const fact::LookWanted& fact) { timetable_.check_later(fact.service, fact.reason, fact.when); },
            [&](const fact::JournalTurned& fact) {
              if (!fact.sick)
                for (ServiceState& state : services_) state.saved_whole = false;  // it may be another file
              healing_.reevaluate(turn);
            },
            [&](const fact::FreshProcess& fact) {
              // That it is another process now is its start's doing: no change, as in Monit.
              if (graph_->at(fact.service).has_process())
                for (Baseline& baseline : services_[fact.service.index()].memory.baselines) baseline.value.reset();
            },
            [&](const fact::NeverBegun& fact) {
              on(
                  event::ActionEnded{
                      .action = fact.action, .outcome = Outcome::NotStarted, .output = "it was cancelled before"},
                  turn);
            },
            [&](const fact::RunDue& fact) {
              const ServiceState& state = services_[fact.service.index()];
              if (!life_.runs() || !state.monitored || state.job) return;
              if (!state.flight)
                start_run(fact.service, fact.counted, Reason::Schedule, turn);
              else if (fact.counted)
                timetable_.count(fact.service, *services_[fact.service.index()].flight, turn.now);
            },
            [&](const fact::ExecsDue& fact) {
              if (const ServiceBlock* const block = graph_->block(fact.service))
                programs_.run_queued(block->name, turn);
            },
            [&](const fact::EventRefused& fact) {
              if (graph_->block(fact.service) != nullptr) alerts_.event_refused(fact.service, fact.text, turn);
            },
            [&](const fact::StandingEnded& fact) { healing_.unsettled(fact, turn); },
            [&](const fact::StepDue& fact) { jobs_.go(fact.job, turn); },
            [&](const fact::EndWanted& fact) { children_.end_program(fact.action, turn); },
            [&](const fact::ServiceStarted& fact) { starts_.note_started(fact.service, fact.program, turn); },
            [&](const fact::ChildBegun& fact) { children_.begin(fact.service, fact.program); },
            [&](const fact::ChildLasted& fact) { children_.lasted(fact.service); },
            [&](const fact::ChildServes& fact) { children_.keep_watch(fact.service, turn); },
            [&](const fact::LeftGone& fact) { starts_.forget_left(fact.service, turn); },
            [&](const fact::LeftReported& fact) { starts_.reported_left(fact.service, fact.pid); },
            [&](const fact::OrderFailed& fact) { commands_.job_ended(fact.requester, fact.service, fact.why, turn); },
            [&](const fact::JobLeft& fact) { jobs_.fail(fact.job, "its healing is ended", false, turn); },
            [&](const auto& fact) { on(fact, turn); },
        },
        next);
    drain(turn);
  }
}

void Engine::on(const event::Committed& event, Turn& turn) {
  releases_.hear_journal(event, turn);
  drain(turn);
  releases_.release(event, turn);
  drain(turn);
  releases_.release_journalled(event, turn);
}

}  // namespace healer::engine
