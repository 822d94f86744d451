// SPDX-License-Identifier: MIT
#include "engine/parts/programs.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/variables.hpp"
#include "engine/parts/holds.hpp"
#include "engine/parts/rule_states.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr Duration kLong = hours{1};

/// With the values of the event that it comes of, if any.
Command filled(Command command, const effect::Cause& cause) {
  if (cause.occurrence == 0) return command;
  const Variables values(cause.fields.begin(), cause.fields.end());
  for (std::string& argument : command.arguments) argument = fill(argument, values).text;
  return command;
}

}  // namespace

std::string name_of(const effect::Exec& exec) {
  return fmt::format("{} {}", exec.job == JobId{} && exec.healing == HealingId{} ? "exec" : "program",
                     exec.command.arguments.front());
}

// ---- view ---------------------------------------------------------------------------------------------------------

const RunningAction* RunningPrograms::find(ActionId id) const {
  const auto found = all_.find(id.number());
  return found == all_.end() ? nullptr : &found->second;
}

const RunningAction* RunningPrograms::lacking(ActionId id) const {
  const RunningAction* const found = find(id);
  return found == nullptr || found->waits.empty() ? nullptr : found;
}

std::optional<Duration> RunningPrograms::next() const {
  return long_at_.empty() ? std::nullopt : std::optional(long_at_.front().first);
}

// ---- programs of rules --------------------------------------------------------------------------------------------

void RunningPrograms::run(ServiceId id, const Rule& rule, bool recovery, std::shared_ptr<const effect::Cause> cause,
                          Turn& turn) {
  const Action& action = recovery ? rule->recovery->action : rule->action;
  effect::Exec exec{.action = ids_.action(),
                    .service = id,
                    .rule = rule.key,
                    .recovery = recovery,
                    .command = filled(*action.command, *cause),
                    .cause = std::move(cause)};
  const RunningAction* const earlier = in_the_way(exec);
  supersede(exec, turn);
  if (earlier == nullptr) {
    turn.commit().pending.emplace_back(exec);
    add(exec, turn.now);
    turn.acts.emplace_back(std::move(exec));
    return;
  }
  const std::string& runs = earlier->exec.command.arguments.front();
  turn.record(RecordKind::ActionHeld, Severity::Warning, graph_->at(id).name,
              earlier->exec.rule == exec.rule && (earlier->exec.command == exec.command || exec.cause->occurrence != 0)
                  ? fmt::format("exec {} is still running: it will be run once more when it has ended", runs)
                  : fmt::format("exec {} of the previous rules is still running: exec {} will be run when it has ended",
                                runs, exec.command.arguments.front()))
      .rule = rule.key;
  exec.service = kNoService;
  turn.commit().pending.emplace_back(exec);
  queue(std::move(exec), turn.now.mono, turn);
}

RunningAction& RunningPrograms::add(effect::Exec exec, Instant now) {
  const ActionId id = exec.action;
  by_service_[to_lower(exec.cause->service)].push_back(id);
  if (exec.job == JobId{} && exec.healing == HealingId{})
    long_at_.emplace_back(now.mono + kLong, id);  // a started program may be the service itself
  return all_[id.number()] = {.exec = std::move(exec), .since = now.mono};
}

std::span<const ActionId> RunningPrograms::of(std::string_view service) const {
  const auto found = by_service_.find(to_lower(service));
  return found == by_service_.end() ? std::span<const ActionId>() : found->second;
}

void RunningPrograms::restore(const PendingExec& pending, bool only_watched, Instant now) {
  RunningAction& action = add(pending.exec, now);
  action.started = pending.started;
  action.since -= std::max(now.wall - pending.exec.cause->when, Duration{0});
  action.only_watched = only_watched;
}

std::span<const QueuedExec> RunningPrograms::queued_of(std::string_view service) const {
  const auto found = queued_.find(to_lower(service));
  return found == queued_.end() ? std::span<const QueuedExec>() : found->second;
}

/// The rule of an exec as it is now, and its state; null where it is gone.
RunningPrograms::InForce RunningPrograms::in_force(const effect::Exec& exec) const {
  const std::optional<ServiceId> id = graph_->find(exec.cause->service);
  if (!id) return {};
  const auto& all = graph_->at(*id).rules;
  const auto found = std::ranges::find(all, exec.rule, &Rule::key);
  if (found == all.end()) return {};
  return {&*found, &rules_.of(*id)[static_cast<std::size_t>(found - all.begin())]};
}

const RunningAction* RunningPrograms::in_the_way(const effect::Exec& exec) const {
  const auto [rule, state] = in_force(exec);
  const bool overlapping = rule != nullptr && (exec.recovery ? (*rule)->recovery->action : (*rule)->action).overlapping;
  for (const ActionId id : of(exec.cause->service)) {
    const RunningAction& running = all_.at(id.number());
    const effect::Exec& other = running.exec;
    if (other.job != JobId{} || other.healing != HealingId{} || other.foreground) continue;
    if (other.rule == exec.rule) {
      if (other.recovery == exec.recovery && !overlapping) return &running;
    } else if (state != nullptr && other.action.number() < state->born && in_force(other).rule == nullptr) {
      return &running;
    }
  }
  return nullptr;
}

/// Of each branch of a rule one firing waits, the last: its cause is told. It stands for those before it.
void RunningPrograms::supersede(const effect::Exec& exec, Turn& turn) {
  if (exec.cause->occurrence != 0) return;  // each event is another cause
  const auto waiting = queued_.find(to_lower(exec.cause->service));
  if (waiting == queued_.end()) return;
  std::erase_if(waiting->second, [&](const QueuedExec& other) {
    const bool same = other.exec.rule == exec.rule && other.exec.recovery == exec.recovery;
    if (same) turn.commit().ended.push_back(other.exec.action);
    return same;
  });
  if (waiting->second.empty()) queued_.erase(waiting);
}

void RunningPrograms::queue(effect::Exec exec, Duration since, Turn& turn) {
  supersede(exec, turn);
  queued_[to_lower(exec.cause->service)].push_back({std::move(exec), since});
}

/// Why a firing that has waited is not done any more; empty: it is.
std::string_view RunningPrograms::outdated(const effect::Exec& exec, Instant now) const {
  const auto [rule, state] = in_force(exec);
  if (rule == nullptr) return "its rule no longer exists";
  const ServiceId id = *graph_->find(exec.cause->service);
  if ((exec.recovery ? (*rule)->recovery->action : (*rule)->action).kind != ActionKind::Exec)
    return "its rule does something else now";
  if (!services_[id.index()].monitored) return "it is no longer monitored";
  if ((*rule)->mode == Mode::Latched && !(*rule)->each_run && (state->status == RuleStatus::Failed) == exec.recovery)
    return exec.recovery ? "its rule has failed again" : "its rule has recovered";
  return to_string(holds_.of(id, *rule, *state, ActionKind::Exec, now));
}

/// Whether what an event has asked for waits, as the events after it do.
bool RunningPrograms::is_event_held(const effect::Exec& exec, Instant now) const {
  const auto [rule, state] = in_force(exec);
  if (exec.cause->occurrence == 0 || rule == nullptr) return false;
  const Hold hold = holds_.of(*graph_->find(exec.cause->service), *rule, *state, ActionKind::Exec, now);
  return hold == Hold::Paused || hold == Hold::Maintenance;
}

void RunningPrograms::drop(const effect::Exec& exec, std::string_view reason, Turn& turn) {
  turn.commit().ended.push_back(exec.action);
  turn.record(RecordKind::ActionHeld, Severity::Warning, exec.cause->service,
              fmt::format("exec {} was queued and is not run: {}", exec.command.arguments.front(), reason))
      .rule = exec.rule;
}

void RunningPrograms::run_held(Turn& turn) {
  for (const ServiceId id : graph_->order)
    if (graph_->at(id).is_event()) run_queued(graph_->at(id).name, turn);
}

void RunningPrograms::run_queued(const std::string& service, Turn& turn) {
  auto waiting = queued_.extract(to_lower(service));
  if (waiting.empty()) return;
  for (QueuedExec& queued : waiting.mapped()) {
    effect::Exec& exec = queued.exec;
    const bool is_held = is_event_held(exec, turn.now);
    if (is_held && turn.now.wall >= exec.cause->when + graph_->at(*graph_->find(service)).other->event.valid) {
      constexpr std::string_view kHeld = "it was held back for longer than its event is valid";
      turn.tell(fact::EventRefused{*graph_->find(service),
                                   fmt::format("exec {} is dropped: {}", exec.command.arguments.front(), kHeld)});
      drop(exec, kHeld, turn);
      continue;
    }
    if (is_held || in_the_way(exec) != nullptr) {
      queue(std::move(exec), queued.since, turn);
      continue;
    }
    if (const std::string_view reason = outdated(exec, turn.now); !reason.empty()) {
      drop(exec, reason, turn);
      continue;
    }
    const Rule& rule = *in_force(exec).rule;
    turn.commit().ended.push_back(exec.action);
    exec.action = ids_.action();
    exec.command =
        filled(*(exec.recovery ? rule->recovery->action : rule->action).command, *exec.cause);  // as it is now
    exec.service = *graph_->find(exec.cause->service);
    turn.commit().pending.emplace_back(exec);
    add(exec, turn.now);
    turn.acts.emplace_back(std::move(exec));
  }
}

bool RunningPrograms::end(ActionId id, std::vector<StopSignal> signals, Turn& turn) {
  if (!all_.contains(id.number()) || !ending_.insert(id.number()).second) return false;
  turn.acts.emplace_back(effect::EndAction{.action = id, .signals = std::move(signals)});
  return true;
}

const RunningAction* RunningPrograms::started(const event::ActionStarted& event, Turn& turn) {
  const auto found = all_.find(event.action.number());
  if (found == all_.end()) return nullptr;
  RunningAction& running = found->second;
  const bool adopted = std::exchange(running.started, true);
  running.waits.clear();
  running.pid = event.pid;
  running.start_ticks = event.start_ticks;
  turn.commit().started.push_back(event.action);
  Record& record = turn.record(RecordKind::ActionStarted, Severity::Info, running.exec.cause->service,
                               fmt::format("{} {}", name_of(running.exec), adopted ? "still runs" : "started"));
  record.rule = running.exec.rule;
  record.subject = event.action.number();
  return &running;
}

void RunningPrograms::waits(const event::ActionWaits& event, Turn& turn) {
  const auto found = all_.find(event.action.number());
  if (found == all_.end()) return;
  RunningAction& running = found->second;
  running.waits = event.why;
  turn.note(Severity::Warning, running.exec.cause->service,
            fmt::format("{} waits to be {}: {}", name_of(running.exec), running.started ? "found again" : "started",
                        event.why));
}

std::optional<RunningAction> RunningPrograms::ended(ActionId id, Turn& turn) {
  auto found = all_.extract(id.number());
  if (found.empty()) return std::nullopt;
  RunningAction running = std::move(found.mapped());
  ending_.erase(id.number());
  const auto siblings = by_service_.find(to_lower(running.exec.cause->service));
  if (std::erase(siblings->second, id) > 0 && siblings->second.empty()) by_service_.erase(siblings);
  while (!long_at_.empty() && !all_.contains(long_at_.front().second.number())) long_at_.pop_front();
  turn.commit().ended.push_back(id);
  return running;
}

// ---- people -------------------------------------------------------------------------------------------------------

/// Takes a firing that waits out of the queue; false: there is none of that number.
bool RunningPrograms::cancel_queued(const event::Command& command, Turn& turn) {
  for (auto& [service, waiting] : queued_) {
    const auto found =
        std::ranges::find(waiting, ActionId{command.job.number()}, [](const auto& one) { return one.exec.action; });
    if (found == waiting.end()) continue;
    drop(found->exec, fmt::format("cancelled by {}", words_of(command.by)), turn);
    turn.replies.push_back({command.id, true, fmt::format("{} cancelled", name_of(found->exec))});
    waiting.erase(found);
    if (waiting.empty()) queued_.erase(service);
    return true;
  }
  return false;
}

void RunningPrograms::cancel(const event::Command& command, Turn& turn) {
  if (cancel_queued(command, turn)) return;
  const std::uint64_t number = command.job.number();
  const auto found = all_.find(number);
  if (found == all_.end() || found->second.exec.job != JobId{} || found->second.exec.foreground) {
    turn.replies.push_back({command.id, false, fmt::format("there is no job {} (any more)", number)});
    return;
  }
  RunningAction& running = found->second;
  const std::string program = name_of(running.exec);
  if (!running.cancelled_by.empty()) {
    turn.replies.push_back(
        {command.id, false, fmt::format("{} is being ended: cancelled by {}", program, running.cancelled_by)});
    return;
  }
  running.cancelled_by = words_of(command.by);
  const std::size_t waited = queued_of(running.exec.cause->service).size();
  supersede(running.exec, turn);
  const bool again = queued_of(running.exec.cause->service).size() < waited;
  Record& record = turn.record(RecordKind::ActionHeld, Severity::Warning, running.exec.cause->service,
                               fmt::format("{} is to end: cancelled by {}{}", program, words_of(command.by),
                                           again ? "; it will not be run again" : ""));
  record.rule = running.exec.rule;
  record.subject = number;
  end(running.exec.action, {}, turn);
  turn.replies.push_back({command.id, true, fmt::format("{} cancelled", program)});
}

void RunningPrograms::warn_long(Turn& turn) {
  for (; !long_at_.empty() && long_at_.front().first <= turn.now.mono; long_at_.pop_front()) {
    const ActionId id = long_at_.front().second;
    const auto found = all_.find(id.number());
    if (found == all_.end()) continue;
    const effect::Exec& exec = found->second.exec;
    Record& record = turn.record(
        RecordKind::ActionLong, Severity::Warning, exec.cause->service,
        fmt::format("exec {} has been running for over {}", exec.command.arguments.front(), format_duration(kLong)));
    record.rule = exec.rule;
    record.subject = id.number();
  }
}

}  // namespace healer::engine
