// SPDX-License-Identifier: MIT
// Execs that run, alerts that travel, and the commands of people.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

std::string outcome_text(const RunningAction& running, const event::ActionEnded& end) {
  const std::string program = name_of(running.exec);
  const std::string after = format_duration(end.elapsed);
  if (const std::string& by = running.cancelled_by; !by.empty())
    return end.outcome == Outcome::NotStarted
               ? fmt::format("{} was not started: cancelled by {}", program, by)
               : fmt::format("{} was ended after {}: cancelled by {}", program, after, by);
  if (end.unseen && end.elapsed > Duration{0})
    return fmt::format("{} ended after {}: its exit status is unknown (started by a previous healerd)", program, after);
  if (end.unseen) return fmt::format("{} ended while healerd was not running: its exit status is unknown", program);
  switch (end.outcome) {
    case Outcome::Exited: return fmt::format("{} {} after {}", program, describe_exit(end.outcome, end.status), after);
    case Outcome::Signalled:
      return fmt::format("{} was {} after {}", program, describe_exit(end.outcome, end.status), after);
    case Outcome::TimedOut: return fmt::format("{} timed out after {}", program, after);
    case Outcome::NotStarted: return fmt::format("{} could not be started: {}", program, end.output);
    case Outcome::Unmatched: break;  // of no action
  }
  return {};
}

}  // namespace

// ---- execs --------------------------------------------------------------------------------------------------------

/// Whether a job of an earlier daemon goes on in this one.
bool Engine::taken_up(const effect::SavedJob& job) const {
  const Settings& settings = *graph_->settings;
  return !settings.shadow && !settings.dry_run && job.cause != nullptr && job.position < job.steps.size() &&
         graph_->find(job.service) && std::ranges::all_of(job.steps, [this](const effect::SavedStep& step) {
           return graph_->find(step.service).has_value();
         });
}

void Engine::on(const event::ActionStarted& event, Turn& turn) {
  const RunningAction* const running = programs_.started(event, turn);
  if (running == nullptr) return;
  if (const std::optional<ServiceId> id = child_of(running->exec)) child_started(*id, event, turn);
}

void Engine::on(const event::ActionWaits& event, Turn& turn) {
  const RunningAction* const running = programs_.find(event.action);
  if (running == nullptr) return;
  if (!event.lingers) return programs_.waits(event, turn);
  if (running->exec.healing != HealingId{}) healing_lingers(running->exec, event.why, turn);
}

void Engine::on(const event::ActionEnded& event, Turn& turn) {
  const std::optional<RunningAction> known = programs_.ended(event.action, turn);
  if (!known) return;
  const RunningAction& running = *known;
  const effect::Exec& exec = running.exec;
  if (exec.foreground) return child_ended(exec, event, turn);
  if (running.only_watched && !running.started && event.unseen) {
    turn.record(RecordKind::ActionHeld, Severity::Info, exec.cause->service,
                fmt::format("{} does not run, and is not started: {}", name_of(exec),
                            graph_->settings->shadow ? "shadow" : "an earlier one of its rule was resumed"))
        .rule = exec.rule;
    return programs_.run_queued(exec.cause->service, turn);
  }
  const bool good =
      event.outcome == Outcome::Exited && event.status == 0 && !event.unseen && running.cancelled_by.empty();
  const std::string text = outcome_text(running, event);
  Record& record = turn.record(good ? RecordKind::ActionEnded : RecordKind::ActionFailed,
                               good ? Severity::Info : Severity::Warning, exec.cause->service, text);
  record.rule = exec.rule;
  record.subject = exec.action.number();
  if (!healings_.saves_secret(exec.action)) record.output = event.output;

  const std::optional<ServiceId> id = graph_->find(exec.cause->service);
  if (exec.job != JobId{}) return job_program_ended(exec, event, turn);
  if (exec.healing != HealingId{}) return healing_program_ended(exec, event, turn);
  if (id && !good) alerts_.send(*id, *exec.cause, EventKind::Exec, effect::Cause::State::Failed, text, turn, true);
  if (id && running.cancelled_by.empty()) note_outcome(*id, exec, good ? std::string_view() : text, turn);
  programs_.run_queued(exec.cause->service, turn);
}

/// Keeps in mind how the program of a rule's action has failed, `failure`, until one of that rule ends well.
void Engine::note_outcome(ServiceId id, const effect::Exec& exec, std::string_view failure, Turn& turn) {
  Sparse<Trouble>& trouble = services_[id.index()].trouble;
  const Rare<ActionFailure>& last = trouble->action_failure;
  if (programs_.rule_of(exec) == nullptr || (failure.empty() && (!last || last->rule != exec.rule))) return;
  if (failure.empty())
    trouble.set(&Trouble::action_failure, {});
  else
    trouble.set(&Trouble::action_failure,
                ActionFailure{.rule = exec.rule, .when = turn.now.wall, .text = std::string(failure)});
  turn.save(id);
}

/// Keeps in mind how what a rule had done to its service has failed, until such a thing ends well.
void Engine::note_outcome(const Job& job, bool good, Turn& turn) {
  if (job.cause == nullptr || job.cancelled) return;
  const std::vector<Rule>& rules = graph_->at(job.service).rules;
  const auto rule = std::ranges::find_if(rules, [&](const Rule& one) { return one->text == job.cause->rule; });
  if (rule == rules.end()) return;
  Sparse<Trouble>& trouble = services_[job.service.index()].trouble;
  const Rare<ActionFailure>& last = trouble->action_failure;
  if (good && (!last || last->rule != rule->key)) return;
  if (good)
    trouble.set(&Trouble::action_failure, {});
  else
    trouble.set(&Trouble::action_failure,
                ActionFailure{.rule = rule->key,
                              .when = turn.now.wall,
                              .text = fmt::format("{} failed: {}", to_string(job.kind), job.failure)});
  turn.save(job.service);
}

/// A program was ended since its time was over, and its step has failed; only now is known what it said.
void Engine::note_last_words(const effect::Exec& exec, const event::ActionEnded& end, Turn& turn) {
  const std::optional<ServiceId> id = graph_->find(exec.cause->service);
  if (!id || end.output.empty()) return;
  ServiceState& state = services_[id->index()];
  for (const Bringing kind : {Bringing::Start, Bringing::Stop, Bringing::Restart}) {
    const Rare<Command>& program = program_of(graph_->at(*id), kind);
    if (!program || program->arguments != exec.command.arguments) continue;
    const std::string silent = describe_not_done(verb(kind), *program, Outcome::TimedOut, 0, {});
    const std::string description = describe_not_done(verb(kind), *program, Outcome::TimedOut, 0, end.output);
    const auto complete = [&](std::string& text) {
      const std::size_t at = text.find(silent);
      if (at != std::string::npos) text.replace(at, silent.size(), description);
      return at != std::string::npos;
    };
    if (!state.trouble->start_failure.empty()) complete(state.trouble.edit().start_failure);
    if (state.trouble->action_failure && complete(state.trouble.edit().action_failure->text)) turn.save(*id);
  }
}

// ---- alerts -------------------------------------------------------------------------------------------------------

void Engine::on(const event::AlertTaken& event, Turn& turn) { turn.commit.handed_over.push_back(event.alert); }

void Engine::on(const event::MailOutcome& event, Turn& turn) {
  using Kind = event::MailOutcome::Kind;
  const bool mailed = event.contact.empty();
  const RecordKind kind = event.kind == Kind::Sent     ? mailed ? RecordKind::MailSent : RecordKind::AlertSent
                          : event.kind == Kind::Failed ? mailed ? RecordKind::MailFailed : RecordKind::AlertFailed
                          : mailed                     ? RecordKind::MailDropped
                                                       : RecordKind::AlertDropped;
  const Severity severity = event.kind == Kind::Sent ? Severity::Info : Severity::Warning;
  turn.record(kind, severity, {}, event.text).subject = event.alert.number();
  if (event.tells_others) alerts_.send_of_daemon(event.text, "alert", turn, kNotDelivered, event.contact);
}

// ---- commands -----------------------------------------------------------------------------------------------------

void Engine::on(const event::Command& event, Turn& turn) {
  using Kind = event::Command::Kind;
  turn.commit.by_person = true;
  reevaluate_healings(turn);
  if (event.kind == Kind::Validate) {
    PendingCommand pending{.command = event};
    for (const ServiceId id : event.services) {
      if (id.index() >= services_.size() || !graph_->slots[id.index()]) continue;
      if (!services_[id.index()].monitored) {
        if (given_up(id) == nullptr) {
          pending.unmonitored.push_back(graph_->at(id).name);
          continue;
        }
        ++pending.asked;
        pending.failed.emplace(id, graph_->at(id).name + " (given up)");
        continue;
      }
      ++pending.asked;
      // What is being started or stopped, or has just died, is not in order, and is not looked at now.
      const ServiceState& state = services_[id.index()];
      if (state.job || state.presence.is_settling(turn.now.mono) ||
          (graph_->at(id).foreground() && !state.child->exists())) {
        pending.failed.emplace(id, graph_->at(id).name);
        continue;
      }
      if (!services_[id.index()].flight) start_run(id, false, Reason::Asked, turn);
      commands_.await_run(id, event.id);
      ++pending.outstanding;
    }
    commands_.begin_validate(std::move(pending), turn);
    return;
  }
  if (event.kind == Kind::Start || event.kind == Kind::Stop || event.kind == Kind::Restart)
    return command_jobs(event, turn);
  if (event.kind == Kind::Cancel) return cancel_job(event, turn);
  if (event.kind >= Kind::Heal && event.kind <= Kind::ResetHealing) return command_healing(event, turn);
  switch (event.kind) {
    case Kind::Pause: return pauses_.pause(event, turn);
    case Kind::Resume:
      pauses_.resume(event, turn);
      arrivals_.events().go_on(turn);
      return programs_.run_held(turn);
    case Kind::Acknowledge: return command_acknowledge(event, turn);
    default: break;
  }
  if (event.kind == Kind::Accept && event.job != JobId{}) return proofs_.accept(event, turn);
  std::vector<ServiceId> done;
  std::set<ServiceId> taken;
  for (const ServiceId id : event.services) {
    if (id.index() >= services_.size() || !graph_->slots[id.index()]) continue;
    done.push_back(id);
    if (event.kind == Kind::Accept) {
      accept(id, event.by, turn);
    } else if (event.kind == Kind::Monitor) {
      for (const ServiceId needed : requirements_of(*graph_, id)) monitor(needed, event.by, turn);
      monitor(id, event.by, turn);
      alerts_.send(id, {}, EventKind::Action, effect::Cause::State::Succeeded, "monitor action done", turn);
    } else {
      for (const ServiceId dependent : dependents_of(*graph_, id)) taken.insert(dependent);
      taken.insert(id);
      unmonitor(id, {.by = event.by, .service = {}, .rule = {}, .since = turn.now.wall, .until = event.until}, turn);
      alerts_.send(id, {}, EventKind::Action, effect::Cause::State::Succeeded, "unmonitor action done", turn);
    }
  }
  if (event.kind == Kind::Accept) {
    const auto accepted = std::ranges::count(turn.commit.records, RecordKind::Accepted, &Record::kind);  // rules
    const std::string of = fmt::format("{} {}", done.size(), done.size() == 1 ? "service" : "services");
    turn.replies.push_back(
        {event.id, true,
         accepted == 0 ? fmt::format("nothing to accept: no rule of {} is dormant", of)
                       : fmt::format("{} dormant {} of {} accepted", accepted, accepted == 1 ? "rule" : "rules", of)});
    return;
  }
  std::string verb = event.kind == Kind::Monitor ? "monitored" : "unmonitored";
  if (event.until && !done.empty() && event.kind != Kind::Monitor)
    verb += fmt::format(" for {}", format_duration(std::max(*event.until - turn.now.wall, Duration{0})));
  std::string text =
      done.empty() ? fmt::format("no service {}", verb) : fmt::format("{} {}", listed(commands_.names_of(done)), verb);
  for (const std::string& ended : take_from_healings(taken, fmt::format("unmonitored by {}", words_of(event.by)), turn))
    text += "\n" + ended;
  turn.replies.push_back({event.id, true, std::move(text)});
}

void Engine::accept(ServiceId id, const Origin& by, Turn& turn) {
  const ServiceBlock& block = graph_->at(id);
  for (std::size_t i = 0; i < block.rules.size(); ++i) {
    if (!block.rules[i]->dormant || rules_.of(id)[i].accepted) continue;
    rules_.accept(id, i);
    turn.save(id);
    turn.record(RecordKind::Accepted, Severity::Info, block.name,
                fmt::format("accepted by {}: {}", words_of(by), block.rules[i]->text))
        .rule = block.rules[i].key;
  }
}

/// Those rules that stand failed now: one that fails later is told about as ever.
void Engine::command_acknowledge(const event::Command& command, Turn& turn) {
  std::vector<std::string> done, left;
  for (const ServiceId id : command.services) {
    const ServiceBlock* const block = graph_->block(id);
    if (block == nullptr) continue;
    const bool any = rules_.acknowledge(id);
    (any ? done : left).push_back(block->name);
    if (!any) continue;
    alerts_.acknowledge(id, {.reason = command.reason, .by = command.by, .when = turn.now.wall});
    turn.save(id);
    turn.record(RecordKind::Acknowledged, Severity::Info, block->name,
                fmt::format("acknowledged by {}{}{}", words_of(command.by), command.reason.empty() ? "" : ": ",
                            command.reason));
  }
  std::string text;
  if (!done.empty())
    text = fmt::format("{} acknowledged: no reminders until {} recovered", listed(done),
                       done.size() == 1 ? "it has" : "they have");
  if (!left.empty())
    text += fmt::format("{}{} {} not failed", text.empty() ? "" : "; ", listed(left), left.size() == 1 ? "is" : "are");
  turn.replies.push_back({command.id, !done.empty(), text.empty() ? "no service acknowledged" : std::move(text)});
}

}  // namespace healer::engine
