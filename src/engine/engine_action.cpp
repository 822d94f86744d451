// SPDX-License-Identifier: MIT
// Execs that run, and the commands of people.
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

/// Those rules that stand failed now: one that fails later is told about as ever.
void acknowledge(const event::Command& command, const Graph& graph, RuleStates& rules, Alerts& alerts, Turn& turn) {
  std::vector<std::string> done, left;
  for (const ServiceId id : command.services) {
    const ServiceBlock* const block = graph.block(id);
    if (block == nullptr) continue;
    const bool any = rules.acknowledge(id);
    (any ? done : left).push_back(block->name);
    if (!any) continue;
    alerts.acknowledge(id, {.reason = command.reason, .by = command.by, .when = turn.now.wall});
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

ActionKind kind_of(event::Command::Kind kind) {
  using Kind = event::Command::Kind;
  return kind == Kind::Start ? ActionKind::Start : kind == Kind::Stop ? ActionKind::Stop : ActionKind::Restart;
}

/// A program was ended since its time was over, and its step has failed; only now is known what it said.
void note_last_words(const effect::Exec& exec, const event::ActionEnded& end, const Graph& graph, Starts& starts,
                     ActionFailures& failures, Turn& turn) {
  const std::optional<ServiceId> id = graph.find(exec.cause->service);
  if (!id || end.output.empty() || end.outcome == Outcome::NotStarted) return;
  for (const Bringing kind : {Bringing::Start, Bringing::Stop, Bringing::Restart}) {
    const Rare<Command>& program = program_of(graph.at(*id), kind);
    if (!program || program->arguments != exec.command.arguments) continue;
    const std::string silent = describe_not_done(verb(kind), *program, Outcome::TimedOut, 0, {});
    const std::string description = describe_not_done(verb(kind), *program, Outcome::TimedOut, 0, end.output);
    starts.complete_failure(*id, silent, description);
    failures.complete(*id, silent, description, turn);
  }
}

}  // namespace

// ---- execs --------------------------------------------------------------------------------------------------------

void Engine::on(const event::ActionStarted& event, Turn& turn) {
  const RunningAction* const running = programs_.started(event, turn);
  if (running == nullptr) return;
  const std::optional<ServiceId> id = children_.owner(running->exec);
  if (!id) return;
  const ChildReaction doing = children_.started(*id, event, turn);
  starts_.child_started(*id);
  if (const auto& flight = services_[id->index()].flight) ask(*id, flight->run, turn);
  if (doing == ChildReaction::GoOn) jobs_.child_reported(*id, turn);
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
  if (!healing_.healings().askers().saves_secret(exec.action)) record.output = event.output;

  const std::optional<ServiceId> id = graph_->find(exec.cause->service);
  if (exec.job != JobId{}) {
    if (!jobs_.program_ended(exec, event, turn)) note_last_words(exec, event, *graph_, starts_, failures_, turn);
    return;
  }
  if (exec.healing != HealingId{}) return healing_.program_ended(exec, event, turn);
  if (id && !good) alerts_.send(*id, *exec.cause, EventKind::Exec, effect::Cause::State::Failed, text, turn, true);
  if (id && running.cancelled_by.empty()) failures_.note(*id, exec, good ? std::string_view() : text, turn);
  programs_.run_queued(exec.cause->service, turn);
}

// ---- commands -----------------------------------------------------------------------------------------------------

void Engine::validate(const event::Command& event, Turn& turn) {
  PendingCommand pending{.order = {.requester = event.id, .services = event.services, .by = event.by}};
  for (const ServiceId id : event.services) {
    if (id.index() >= services_.size() || !graph_->slots[id.index()]) continue;
    if (!services_[id.index()].monitored) {
      if (monitoring_.given_up(id) == nullptr) {
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
}

void Engine::on(const event::Command& event, Turn& turn) {
  using Kind = event::Command::Kind;
  turn.commit().by_person = true;
  healing_.reevaluate(turn);
  if (event.kind == Kind::Validate) return validate(event, turn);
  if (event.kind == Kind::Start || event.kind == Kind::Stop || event.kind == Kind::Restart)
    return command_jobs(
        {.requester = event.id, .kind = kind_of(event.kind), .services = event.services, .by = event.by}, turn);
  if (event.kind == Kind::Cancel) return cancel_job(event, turn);
  if (event.kind >= Kind::Heal && event.kind <= Kind::ResetHealing) return healing_.command(event, turn);
  switch (event.kind) {
    case Kind::Pause: return pauses_.pause(event, turn);
    case Kind::Resume:
      pauses_.resume(event, turn);
      arrivals_.events().go_on(turn);
      return programs_.run_held(turn);
    case Kind::Acknowledge: return acknowledge(event, *graph_, rules_, alerts_, turn);
    default: break;
  }
  if (event.kind == Kind::Accept && event.job != JobId{}) return proofs_.accept(event, turn);
  std::vector<ServiceId> done;
  std::set<ServiceId> taken;
  for (const ServiceId id : event.services) {
    if (id.index() >= services_.size() || !graph_->slots[id.index()]) continue;
    done.push_back(id);
    if (event.kind == Kind::Accept) {
      rules_.accept(id, event.by, turn);
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
    const auto accepted = std::ranges::count(turn.commit().records, RecordKind::Accepted, &Record::kind);  // rules
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
  const std::vector<std::string> ended_healings =
      healing_.take_away(taken, fmt::format("unmonitored by {}", words_of(event.by)), turn);
  drain(turn);
  for (const std::string& ended : ended_healings) text += "\n" + ended;
  turn.replies.push_back({event.id, true, std::move(text)});
}

}  // namespace healer::engine
