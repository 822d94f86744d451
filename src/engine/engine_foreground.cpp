// SPDX-License-Identifier: MIT
// Looks at services, and what is told of foreground processes (parts/bringing/children).
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {

/// Asks the shell for a look or a run. Which process a foreground one is, is known here: where there is none that is
/// the answer, unless a start program of its former rules may have left one; and where its number has not been told
/// yet, or it is ending, the look waits for that.
void Engine::ask(ServiceId id, RunId run, Turn& turn) {
  if (graph_->at(id).is_heard()) return turn.tell(fact::RunAsked{id, run});
  const ServiceState& state = services_[id.index()];
  // What a job asks, or is asked after a death, is whether it is there.
  const Rare<Flight>& flight = state.flight;
  const bool scheduled =
      flight && flight->run == run && (flight->reason == Reason::Schedule || flight->reason == Reason::Asked);
  if (!graph_->at(id).foreground() || (!state.child->exists() && state.starts->left_by != ActionId{})) {
    const KnownProcess* const its = proofs_.known(id);
    const KnownProcess known = its != nullptr ? *its : KnownProcess{};
    // A file that comes to be is read from its beginning.
    const bool was_absent = state.last && state.last->answer == Answer::Absent;
    auto position = position_of(state.memory);
    if (!position && was_absent) position.emplace();
    return turn.sink.emit(effect::Measure{.service = id,
                                          .run = run,
                                          .pid = known.pid,
                                          .start_ticks = known.start_ticks,
                                          .left_by = state.starts->left_by,
                                          .came_by = state.starts->came_by,
                                          .position = position,
                                          .presence_only = !scheduled});
  }
  if (state.child->exists()) {
    if (state.child->is_living())
      turn.sink.emit(effect::Measure{.service = id,
                                     .run = run,
                                     .pid = state.child->about().pid,
                                     .start_ticks = state.child->about().start_ticks,
                                     .presence_only = !scheduled});
    return;
  }
  on(event::measured(id, run, children_.no_process(id)), turn);
}

// ---- what is told -------------------------------------------------------------------------------------------------

void Engine::on(const event::ActionReady& event, Turn& turn) {
  const RunningAction* const found = programs_.find(event.action);
  const std::optional<ServiceId> id = found == nullptr ? std::nullopt : children_.owner(found->exec);
  if (id && children_.ready(*id, turn) == ChildReaction::GoOn) jobs_.child_reported(*id, turn);
}

/// It is ended, which counts as its death: its rules say what comes of that.
void Engine::on(const event::ActionSilent& event, Turn& turn) {
  const RunningAction* const found = programs_.find(event.action);
  const std::optional<ServiceId> id = found == nullptr ? std::nullopt : children_.owner(found->exec);
  if (!id) return;
  const ServiceBlock& block = graph_->at(*id);
  const Child& child = children_.of(*id);
  const Settings& settings = *graph_->settings;
  if (!child.is_ready() || jobs_.of(*id) != nullptr || block.process->foreground->watchdog == Duration{0}) return;
  const std::string silent = fmt::format("process {} has not sent WATCHDOG=1 for {}", child.about().pid,
                                         format_duration(std::chrono::floor<seconds>(event.span)));
  const bool is_held = settings.shadow || settings.dry_run || starts_.left_alone(*id, turn.now) ||
                       maintenance_.in_force(*id, turn.now) || healing_.healings().rests(block.target(), turn.now);
  if (!is_held) {
    turn.record(RecordKind::JobStep, Severity::Warning, block.name, silent + ": it is ended").subject =
        event.action.number();
    children_.end_program(event.action, turn);
  } else if (!child.about().held) {
    turn.record(RecordKind::JobHeld, Severity::Warning, block.name, silent + ", but is left alone now");
  }
  children_.fall_silent(*id, !is_held);
}

/// A foreground process has ended. Where nobody told it to, that is a death: known at once, with its status, and not
/// anybody else's doing, so there is nothing to settle.
void Engine::child_ended(const effect::Exec& exec, const event::ActionEnded& event, Turn& turn) {
  std::string text = describe_end(event);
  const std::optional<ServiceId> owner = children_.owner(exec);
  const std::int64_t pid = owner ? children_.of(*owner).about().pid : 0;
  if (owner && children_.of(*owner).about().silent)
    text += fmt::format("; it had not sent WATCHDOG=1 for {}", format_duration(children_.of(*owner).about().watched));
  const bool exits = event.outcome == Outcome::Exited && !event.unseen;
  const bool died = owner && children_.ended(*owner, text, exits ? std::optional(event.status) : std::nullopt) ==
                                 ChildReaction::Death;
  Record& record = turn.record(died ? RecordKind::ProcessDied : RecordKind::ActionEnded,
                               died ? Severity::Warning : Severity::Info, exec.cause->service,
                               pid != 0 ? fmt::format("process {} {}", pid, text)
                                        : fmt::format("program {} {}", exec.command.arguments.front(), text));
  record.subject = exec.action.number();
  record.output = event.output;
  if (!owner) return;
  const ServiceId id = *owner;
  ServiceState& state = services_[id.index()];
  const bool well = event.outcome == Outcome::Exited && event.status == 0 && !event.unseen;
  if (event.left != 0 && well && died && state.starts->quick == 0) {  // not at each try again
    const std::string& name = graph_->at(id).name;
    turn.record(RecordKind::JobStep, Severity::Warning, name,
                fmt::format("it went to the background: process {} left its session, and was ended, as a next one "
                            "must not run beside it; let the program stay in the foreground, or write 'check process "
                            "{} with pidfile ...' with a start program",
                            event.left, name));
  }
  if (jobs_.is_at(id)) {
    take(id, std::make_shared<const Evidence>(children_.no_process(id)), turn);
    return jobs_.child_ended(id, exec.action, turn);
  }
  starts_.died(id, *children_.no_process(id).output);
  // An unseen end tells nothing of how long it lived.
  if (died && (!event.unseen || event.elapsed > Duration{0})) starts_.note_end(id, event.elapsed, turn);
  const bool supervised = !starts_.left_alone(id, turn.now) && starts_.in_schedule(id, turn.now);
  if (state.flight) {
    if (died && supervised) timetable_.see_death(id, *state.flight, turn.now);
    turn.sink.emit(effect::CancelRun{id, state.flight->run});  // it has seen the process that is gone now
    return ask(id, state.flight->run, turn);
  }
  if (state.job || !supervised) return;
  check_now(id, died ? Reason::Death : Reason::Again, turn);
}

}  // namespace healer::engine
