// SPDX-License-Identifier: MIT
// Execs that run, alerts that travel, and the commands of people.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr Duration kLong = hours{1};

/// What a program is called: "exec /bin/heal", or of a job "program /etc/init.d/web".
std::string named(const effect::Exec& exec) {
  return fmt::format("{} {}", exec.job == JobId{} && exec.healing == HealingId{} ? "exec" : "program",
                     exec.command.arguments.front());
}

std::string outcome_text(const RunningAction& running, const event::ActionEnded& end) {
  const std::string program = named(running.exec);
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

void Engine::exec(ServiceId id, const Rule& rule, bool recovery, std::shared_ptr<const effect::Cause> cause,
                  Turn& turn) {
  const Action& action = recovery ? rule->recovery->action : rule->action;
  effect::Exec exec{.action = ActionId{next_id_++},
                    .service = id,
                    .rule = rule.key,
                    .recovery = recovery,
                    .command = *action.command,
                    .cause = std::move(cause)};
  const RunningAction* const earlier = in_the_way(exec);
  supersede(exec, turn);
  if (earlier == nullptr) {
    turn.commit.pending.emplace_back(exec);
    add_action(exec, turn.now);
    turn.acts.emplace_back(std::move(exec));
    return;
  }
  const std::string& runs = earlier->exec.command.arguments.front();
  turn.record(RecordKind::ActionHeld, Severity::Warning, graph_->at(id).name,
              earlier->exec.rule == exec.rule && earlier->exec.command == exec.command
                  ? fmt::format("exec {} is still running: it will be run once more when it has ended", runs)
                  : fmt::format("exec {} of the previous rules is still running: exec {} will be run when it has ended",
                                runs, exec.command.arguments.front()))
      .rule = rule.key;
  exec.service = kNoService;
  turn.commit.pending.emplace_back(exec);
  queue(std::move(exec), turn.now.mono, turn);
}

RunningAction& Engine::add_action(effect::Exec exec, Instant now) {
  const ActionId id = exec.action;
  actions_of_[to_lower(exec.cause->service)].push_back(id);
  if (exec.job == JobId{} && exec.healing == HealingId{})
    long_at_.emplace_back(now.mono + kLong, id);  // a started program may be the service itself
  return actions_[id.number()] = {.exec = std::move(exec), .since = now.mono};
}

/// The programs that run, or are to, for the service of that name, there be one or not.
std::span<const ActionId> Engine::actions_of(std::string_view service) const {
  const auto found = actions_of_.find(to_lower(service));
  return found == actions_of_.end() ? std::span<const ActionId>() : found->second;
}

/// One that an earlier daemon decided on. It is as old as its cause.
RunningAction& Engine::restore_action(const PendingExec& pending, Instant now) {
  RunningAction& action = add_action(pending.exec, now);
  action.started = pending.started;
  action.since -= std::max(now.wall - pending.exec.cause->when, Duration{0});
  return action;
}

/// Whether a job of an earlier daemon goes on in this one.
bool Engine::taken_up(const effect::SavedJob& job) const {
  const Settings& settings = *graph_->settings;
  return !settings.shadow && !settings.dry_run && job.cause != nullptr && job.position < job.steps.size() &&
         graph_->find(job.service) && std::ranges::all_of(job.steps, [this](const effect::SavedStep& step) {
           return graph_->find(step.service).has_value();
         });
}

std::span<const QueuedExec> Engine::queued_of(std::string_view service) const {
  const auto found = queued_.find(to_lower(service));
  return found == queued_.end() ? std::span<const QueuedExec>() : found->second;
}

/// The rule of an exec as it is now, and its state; null where it is gone.
Engine::RuleInForce Engine::rule_of(const effect::Exec& exec) const {
  const std::optional<ServiceId> id = graph_->find(exec.cause->service);
  if (!id) return {};
  const auto& all = graph_->at(*id).rules;
  const auto found = std::ranges::find(all, exec.rule, &Rule::key);
  if (found == all.end()) return {};
  return {&*found, &rules(*id)[static_cast<std::size_t>(found - all.begin())]};
}

const RunningAction* Engine::in_the_way(const effect::Exec& exec) const {
  const auto [rule, state] = rule_of(exec);
  const bool overlapping = rule != nullptr && (exec.recovery ? (*rule)->recovery->action : (*rule)->action).overlapping;
  for (const ActionId id : actions_of(exec.cause->service)) {
    const RunningAction& running = actions_.at(id.number());
    const effect::Exec& other = running.exec;
    if (other.job != JobId{} || other.healing != HealingId{} || other.foreground) continue;
    if (other.rule == exec.rule) {
      if (other.recovery == exec.recovery && !overlapping) return &running;
    } else if (state != nullptr && other.action.number() < state->born && rule_of(other).rule == nullptr) {
      return &running;
    }
  }
  return nullptr;
}

/// Of each branch of a rule one firing waits, the last: its cause is told. It stands for those before it.
void Engine::supersede(const effect::Exec& exec, Turn& turn) {
  const auto waiting = queued_.find(to_lower(exec.cause->service));
  if (waiting == queued_.end()) return;
  std::erase_if(waiting->second, [&](const QueuedExec& other) {
    const bool same = other.exec.rule == exec.rule && other.exec.recovery == exec.recovery;
    if (same) turn.commit.ended.push_back(other.exec.action);
    return same;
  });
  if (waiting->second.empty()) queued_.erase(waiting);
}

void Engine::queue(effect::Exec exec, Duration since, Turn& turn) {
  supersede(exec, turn);
  queued_[to_lower(exec.cause->service)].push_back({std::move(exec), since});
}

/// Why a firing that has waited is not done any more; empty: it is.
std::string_view Engine::outdated(const effect::Exec& exec, Instant now) const {
  const auto [rule, state] = rule_of(exec);
  if (rule == nullptr) return "its rule no longer exists";
  const ServiceId id = *graph_->find(exec.cause->service);
  if ((exec.recovery ? (*rule)->recovery->action : (*rule)->action).kind != ActionKind::Exec)
    return "its rule does something else now";
  if (!services_[id.index()].monitored) return "it is no longer monitored";
  if ((*rule)->mode == Mode::Latched && !(*rule)->each_run && (state->status == RuleStatus::Failed) == exec.recovery)
    return exec.recovery ? "its rule has failed again" : "its rule has recovered";
  return to_string(hold(id, *rule, *state, ActionKind::Exec, now));
}

void Engine::drop(const effect::Exec& exec, std::string_view reason, Turn& turn) {
  turn.commit.ended.push_back(exec.action);
  turn.record(RecordKind::ActionHeld, Severity::Warning, exec.cause->service,
              fmt::format("exec {} was queued and is not run: {}", exec.command.arguments.front(), reason))
      .rule = exec.rule;
}

/// A program of the service has ended: the firings that waited for it are released, as far as they may still be done.
/// Each is another action then, so that the state tells what may run from what cannot.
void Engine::run_queued(const std::string& service, Turn& turn) {
  auto waiting = queued_.extract(to_lower(service));
  if (waiting.empty()) return;
  for (QueuedExec& queued : waiting.mapped()) {
    effect::Exec& exec = queued.exec;
    if (in_the_way(exec) != nullptr) {
      queue(std::move(exec), queued.since, turn);
      continue;
    }
    if (const std::string_view reason = outdated(exec, turn.now); !reason.empty()) {
      drop(exec, reason, turn);
      continue;
    }
    const Rule& rule = *rule_of(exec).rule;
    turn.commit.ended.push_back(exec.action);
    exec.action = ActionId{next_id_++};
    exec.command = *(exec.recovery ? rule->recovery->action : rule->action).command;  // as it is now
    exec.service = *graph_->find(exec.cause->service);
    turn.commit.pending.emplace_back(exec);
    add_action(exec, turn.now);
    turn.acts.emplace_back(std::move(exec));
  }
}

void Engine::on(const event::ActionStarted& event, Turn& turn) {
  const auto found = actions_.find(event.action.number());
  if (found == actions_.end()) return;
  RunningAction& running = found->second;
  const bool adopted = std::exchange(running.started, true);
  running.waits.clear();
  running.pid = event.pid;
  running.start_ticks = event.start_ticks;
  turn.commit.started.push_back(event.action);
  Record& record = turn.record(RecordKind::ActionStarted, Severity::Info, running.exec.cause->service,
                               fmt::format("{} {}", named(running.exec), adopted ? "still runs" : "started"));
  record.rule = running.exec.rule;
  record.subject = event.action.number();
  if (const std::optional<ServiceId> id = child_of(running.exec)) child_started(*id, event, turn);
}

void Engine::on(const event::ActionWaits& event, Turn& turn) {
  const auto found = actions_.find(event.action.number());
  if (found == actions_.end()) return;
  RunningAction& running = found->second;
  if (event.lingers) {
    if (running.exec.healing != HealingId{}) healing_lingers(running.exec, event.why, turn);
    return;
  }
  running.waits = event.why;
  turn.note(Severity::Warning, running.exec.cause->service,
            fmt::format("{} waits to be {}: {}", named(running.exec), running.started ? "found again" : "started",
                        event.why));
}

void Engine::on(const event::ActionEnded& event, Turn& turn) {
  const auto found = actions_.find(event.action.number());
  if (found == actions_.end()) return;
  RunningAction running = std::move(found->second);
  actions_.erase(found);
  ending_.erase(event.action.number());
  const effect::Exec& exec = running.exec;
  const auto siblings = actions_of_.find(to_lower(exec.cause->service));
  if (std::erase(siblings->second, exec.action) > 0 && siblings->second.empty()) actions_of_.erase(siblings);
  while (!long_at_.empty() && !actions_.contains(long_at_.front().second.number())) long_at_.pop_front();
  turn.commit.ended.push_back(exec.action);
  if (exec.foreground) return child_ended(exec, event, turn);
  if (running.only_watched && !running.started && event.unseen) {
    turn.record(RecordKind::ActionHeld, Severity::Info, exec.cause->service,
                fmt::format("{} does not run, and is not started: {}", named(exec),
                            graph_->settings->shadow ? "shadow" : "an earlier one of its rule was resumed"))
        .rule = exec.rule;
    return run_queued(exec.cause->service, turn);
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
  if (id && !good) tell_people(*id, *exec.cause, EventKind::Exec, effect::Cause::State::Failed, text, turn, true);
  if (id && running.cancelled_by.empty()) note_outcome(*id, exec, good ? std::string_view() : text, turn);
  run_queued(exec.cause->service, turn);
}

/// Keeps in mind how the program of a rule's action has failed, `failure`, until one of that rule ends well.
void Engine::note_outcome(ServiceId id, const effect::Exec& exec, std::string_view failure, Turn& turn) {
  Sparse<Trouble>& trouble = services_[id.index()].trouble;
  const Rare<ActionFailure>& last = trouble->action_failure;
  if (rule_of(exec).rule == nullptr || (failure.empty() && (!last || last->rule != exec.rule))) return;
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
    const std::string told = describe_not_done(verb(kind), *program, Outcome::TimedOut, 0, end.output);
    const auto complete = [&](std::string& text) {
      const std::size_t at = text.find(silent);
      if (at != std::string::npos) text.replace(at, silent.size(), told);
      return at != std::string::npos;
    };
    if (!state.trouble->start_failure.empty()) complete(state.trouble.edit().start_failure);
    if (state.trouble->action_failure && complete(state.trouble.edit().action_failure->text)) turn.save(*id);
  }
}

/// Takes a firing that waits out of the queue; false: there is none of that number.
bool Engine::cancel_queued(const event::Command& command, Turn& turn) {
  for (auto& [service, waiting] : queued_) {
    const auto found =
        std::ranges::find(waiting, ActionId{command.job.number()}, [](const auto& one) { return one.exec.action; });
    if (found == waiting.end()) continue;
    drop(found->exec, fmt::format("cancelled by {}", words_of(command.by)), turn);
    turn.replies.push_back({command.id, true, fmt::format("{} cancelled", named(found->exec))});
    waiting.erase(found);
    if (waiting.empty()) queued_.erase(service);
    return true;
  }
  return false;
}

/// Ends the program of a rule's action. A firing of the same rule that waits for its end is not done either.
void Engine::cancel_action(const event::Command& command, Turn& turn) {
  if (cancel_queued(command, turn)) return;
  const std::uint64_t number = command.job.number();
  const auto found = actions_.find(number);
  if (found == actions_.end() || found->second.exec.job != JobId{} || found->second.exec.foreground) {
    turn.replies.push_back({command.id, false, fmt::format("there is no job {} (any more)", number)});
    return;
  }
  RunningAction& running = found->second;
  const std::string program = named(running.exec);
  if (!running.cancelled_by.empty()) {
    turn.replies.push_back(
        {command.id, false, fmt::format("{} is being ended: cancelled by {}", program, running.cancelled_by)});
    return;
  }
  running.cancelled_by = words_of(command.by);
  bool again = false;
  if (const auto waiting = queued_.find(to_lower(running.exec.cause->service)); waiting != queued_.end()) {
    again = std::erase_if(waiting->second, [&](const QueuedExec& other) {
              const bool same = other.exec.rule == running.exec.rule && other.exec.recovery == running.exec.recovery;
              if (same) turn.commit.ended.push_back(other.exec.action);
              return same;
            }) > 0;
    if (waiting->second.empty()) queued_.erase(waiting);
  }
  Record& record = turn.record(RecordKind::ActionHeld, Severity::Warning, running.exec.cause->service,
                               fmt::format("{} is to end: cancelled by {}{}", program, words_of(command.by),
                                           again ? "; it will not be run again" : ""));
  record.rule = running.exec.rule;
  record.subject = number;
  end_program(running.exec.action, turn);
  turn.replies.push_back({command.id, true, fmt::format("{} cancelled", program)});
}

void Engine::warn_long_actions(Turn& turn) {
  for (; !long_at_.empty() && long_at_.front().first <= turn.now.mono; long_at_.pop_front()) {
    const ActionId id = long_at_.front().second;
    const auto found = actions_.find(id.number());
    if (found == actions_.end()) continue;
    const effect::Exec& exec = found->second.exec;
    Record& record = turn.record(
        RecordKind::ActionLong, Severity::Warning, exec.cause->service,
        fmt::format("exec {} has been running for over {}", exec.command.arguments.front(), format_duration(kLong)));
    record.rule = exec.rule;
    record.subject = id.number();
  }
}

// ---- alerts -------------------------------------------------------------------------------------------------------

void Engine::on(const event::AlertTaken& event, Turn& turn) { turn.commit.handed_over.push_back(event.alert); }

void Engine::on(const event::MailOutcome& event, Turn& turn) {
  using Kind = event::MailOutcome::Kind;
  const RecordKind kind = event.kind == Kind::Sent     ? RecordKind::MailSent
                          : event.kind == Kind::Failed ? RecordKind::MailFailed
                                                       : RecordKind::MailDropped;
  const Severity severity = event.kind == Kind::Sent ? Severity::Info : Severity::Warning;
  turn.record(kind, severity, {}, event.text).subject = event.alert.number();
}

// ---- commands -----------------------------------------------------------------------------------------------------

void Engine::on(const event::Command& event, Turn& turn) {
  using Kind = event::Command::Kind;
  turn.commit.by_person = true;
  stir_healings(turn);
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
      validating_[id.number()].push_back(event.id);
      ++pending.outstanding;
    }
    if (pending.outstanding == 0)
      turn.replies.push_back({event.id, pending.asked == 0 && pending.unmonitored.empty(), validated_text(pending)});
    else
      commands_.emplace(event.id.number(), std::move(pending));
    return;
  }
  if (event.kind == Kind::Start || event.kind == Kind::Stop || event.kind == Kind::Restart)
    return command_jobs(event, turn);
  if (event.kind == Kind::Cancel) return cancel_job(event, turn);
  if (event.kind >= Kind::Heal && event.kind <= Kind::ResetHealing) return command_healing(event, turn);
  switch (event.kind) {
    case Kind::Pause: return command_pause(event, turn);
    case Kind::Resume: return command_resume(event, turn);
    case Kind::Acknowledge: return command_acknowledge(event, turn);
    default: break;
  }
  if (event.kind == Kind::Accept && event.job != JobId{}) return accept_processes(event, turn);
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
      tell_people(id, {}, EventKind::Action, effect::Cause::State::Succeeded, "monitor action done", turn);
    } else {
      for (const ServiceId dependent : dependents_of(*graph_, id)) taken.insert(dependent);
      taken.insert(id);
      unmonitor(id, {.by = event.by, .service = {}, .rule = {}, .since = turn.now.wall, .until = event.until}, turn);
      tell_people(id, {}, EventKind::Action, effect::Cause::State::Succeeded, "unmonitor action done", turn);
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
      done.empty() ? fmt::format("no service {}", verb) : fmt::format("{} {}", listed(names_of(done)), verb);
  for (const std::string& ended : take_from_healings(taken, fmt::format("unmonitored by {}", words_of(event.by)), turn))
    text += "\n" + ended;
  turn.replies.push_back({event.id, true, std::move(text)});
}

void Engine::accept(ServiceId id, const Origin& by, Turn& turn) {
  const ServiceBlock& block = graph_->at(id);
  const std::span<RuleState> states = rules_of(services_[id.index()]);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!block.rules[i]->dormant || states[i].accepted) continue;
    // A rule that stood failed while it slept fires at its next failing run.
    const RuleState before = states[i];
    states[i] = RuleState{.window = before.window, .accepted = true, .judged = before.judged, .born = before.born};
    services_[id.index()].resting = false;
    turn.save(id);
    turn.record(RecordKind::Accepted, Severity::Info, block.name,
                fmt::format("accepted by {}: {}", words_of(by), block.rules[i]->text))
        .rule = block.rules[i].key;
  }
}

/// "2 of 5 services failed: a, b; not monitored: c", "web is in order".
std::string Engine::validated_text(const PendingCommand& command) const {
  std::string text = "nothing was checked";
  if (!command.failed.empty()) {
    std::vector<std::string> failed;
    for (const auto& [id, name] : command.failed) failed.push_back(name);
    text = command.asked == 1
               ? fmt::format("{} failed", failed.front())
               : fmt::format("{} of {} services failed: {}", failed.size(), command.asked, listed(failed));
  } else if (command.asked > 1 && command.command.services.size() == graph_->order.size()) {
    text = fmt::format("all {} services are in order", command.asked);
  } else if (command.asked > 0) {
    std::vector<std::string> good = names_of(command.command.services);
    std::erase_if(good, [&](const std::string& name) {
      return std::ranges::find(command.unmonitored, name) != command.unmonitored.end();
    });
    text = fmt::format("{} {} in order", listed(good), good.size() == 1 ? "is" : "are");
  }
  return command.unmonitored.empty() ? text : text + "; not monitored: " + listed(command.unmonitored);
}

/// Of those that are still in the rules.
std::vector<std::string> Engine::names_of(const std::vector<ServiceId>& services) const {
  std::vector<std::string> names;
  for (const ServiceId id : services)
    if (id.index() < graph_->slots.size() && graph_->slots[id.index()]) names.push_back(graph_->at(id).name);
  return names;
}

void Engine::finish_validate(ServiceId id, bool failed, Turn& turn) {
  if (validating_.empty()) return;
  const auto waiting = validating_.extract(id.number());
  if (waiting.empty()) return;
  std::string name;  // of one that has failed; the others may be gone
  if (failed) {
    name = graph_->at(id).name;
    if (const auto& unknown = services_[id.index()].trouble->unknown)
      name += fmt::format(" (not known for {}: {})", format_duration(turn.now.wall - unknown->since), unknown->why);
  }
  for (const CommandId command : waiting.mapped()) {
    const auto found = commands_.find(command.number());
    if (found == commands_.end()) continue;
    PendingCommand& pending = found->second;
    if (failed) pending.failed.emplace(id, name);
    if (--pending.outstanding > 0) continue;
    turn.replies.push_back({command, pending.failed.empty(), validated_text(pending)});
    commands_.erase(found);
  }
}

}  // namespace healer::engine
