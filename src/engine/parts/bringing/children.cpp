// SPDX-License-Identifier: MIT
#include "engine/parts/bringing/children.hpp"

#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/parts/absent.hpp"
#include "engine/parts/programs.hpp"
#include "engine/parts/proofs.hpp"
#include "engine/parts/releases.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {

// ---- view ---------------------------------------------------------------------------------------------------------

std::optional<ServiceId> Children::owner(const effect::Exec& exec) const {
  if (!exec.foreground) return std::nullopt;
  const std::optional<ServiceId> id = graph_->find(exec.cause->service);
  return id && of(*id).is(exec.action) ? id : std::nullopt;
}

Evidence Children::no_process(ServiceId id) const {
  const std::string& end = of(id).last_end();
  Evidence seen;
  seen.answer = Answer::Absent;
  auto facts = std::make_shared<Facts>();
  if (const auto status = of(id).last_status()) facts->metrics.set(Metric::ExitStatus, static_cast<double>(*status));
  seen.facts = std::move(facts);
  seen.output =
      std::make_shared<const std::string>(end.empty() ? "process is not running" : "process is not running: it " + end);
  return seen;
}

std::optional<Evidence> Children::with_last_status(ServiceId id, const Evidence& seen) const {
  const Child& child = of(id);
  if (!graph_->at(id).foreground() || child.exists() || !child.last_status() || seen.answer != Answer::Absent)
    return std::nullopt;
  Evidence more = seen;
  auto facts = seen.facts != nullptr ? std::make_shared<Facts>(*seen.facts) : std::make_shared<Facts>();
  facts->metrics.set(Metric::ExitStatus, static_cast<double>(*child.last_status()));
  more.facts = std::move(facts);
  return more;
}

// ---- what is told -------------------------------------------------------------------------------------------------

ChildReaction Children::started(ServiceId id, const event::ActionStarted& event, Turn& turn) {
  const ChildReaction doing = edit(id).reported(event.pid, event.start_ticks, turn.now.mono);
  keep_watch(id, turn);
  return doing;
}

ChildReaction Children::ready(ServiceId id, Turn& turn) {
  const ChildReaction doing = edit(id).on(ChildEvent::Word);
  keep_watch(id, turn);
  return doing;
}

void Children::forget_status(ServiceId id) {
  if (of(id).last_status()) edit(id).forget_status();
}

void Children::keep_watch(ServiceId id, Turn& turn) {
  const ServiceBlock& block = graph_->at(id);
  const Child& child = of(id);
  if (!block.foreground() || !child.is_ready() || !child.is_living() || child.is_former()) return;
  const Duration every = block.process->foreground->watchdog;
  if (child.about().watched == every) return;
  turn.sink.emit(effect::Watch{child.about().action, every});
  edit(id).watch(every);
}

void Children::end_program(ActionId action, Turn& turn, const ForegroundSpec* spec) {
  const RunningAction* const running = turn.programs.find(action);
  if (running == nullptr || turn.programs.is_ending(action)) return;
  if (const std::optional<ServiceId> id = owner(running->exec)) {
    edit(*id).on(ChildEvent::EndAsked);
    spec = &*graph_->at(*id).process->foreground;
  }
  std::vector<StopSignal> signals;
  if (running->exec.foreground) signals = spec != nullptr ? spec->stop : std::vector<StopSignal>(1);
  turn.programs.end(action, std::move(signals), turn);
}

// ---- of former rules ----------------------------------------------------------------------------------------------

std::optional<KnownProcess> Children::keep_former(ServiceId id, Turn& turn) {
  const ServiceState& state = services_[id.index()];
  if (!graph_->at(id).foreground()) return std::nullopt;
  const ProcessFacts* process = state.presence.is_up() ? process_of(*state.last) : nullptr;
  const KnownProcess* const known = proofs_.known(id);
  KnownProcess former;
  if (process != nullptr)
    former = {.pid = process->pid, .start_ticks = process->start_ticks};
  else if (!state.last && !state.presence.is_gone() && known != nullptr && known->start_ticks != 0)
    former = {.pid = known->pid, .start_ticks = known->start_ticks};
  if (former.pid == 0) return std::nullopt;
  if (known != nullptr && known->pid == former.pid) former.doubt = known->doubt;
  edit(id).keep(former.pid, former.start_ticks, turn.now.mono);
  turn.record(RecordKind::JobStep, Severity::Warning, graph_->at(id).name,
              fmt::format("process {} of its previous rules {} runs: it is kept until it ends or is restarted",
                          former.pid, process != nullptr ? "still" : "perhaps"));
  return former;
}

// ---- an earlier daemon, a reload ----------------------------------------------------------------------------------

void Children::restore(const PendingExec& pending, bool may_start, Turn& turn) {
  const effect::Exec& exec = pending.exec;
  const std::optional<ServiceId> id = graph_->find(exec.cause->service);
  turn.programs.restore(pending, false, turn.now);
  const bool wanted = id && graph_->at(*id).foreground();
  const bool failed = wanted && services_[id->index()].starts->left_by == exec.action;
  if (wanted) {
    Child& child = edit(*id);
    const ActionId older = child.about().action;
    child.adopt(exec.action);
    end_program(older, turn);
  }
  if (wanted && may_start && !pending.started && !failed)
    turn.releases.pass(exec, turn);
  else
    turn.sink.emit(effect::Adopt{exec.action, exec.service, true, exec.command.identity->uid});
  if (failed) end_program(exec.action, turn);
  if (!wanted && !absent_.contains(exec.cause->service)) end_unwanted(exec.action, exec.cause->service, nullptr, turn);
}

void Children::restore(ServiceId id, const SavedService& saved, bool same_boot) {
  if (graph_->at(id).foreground() && same_boot && saved.known)  // see keep_former
    edit(id).keep(saved.known->pid, saved.known->start_ticks, Duration{0});
}

void Children::release(ServiceId id, const ServiceBlock& before, Turn& turn) {
  const ActionId action = of(id).about().action;
  if (of(id).exists()) edit(id).let_go();
  const bool comes_back = before.row != nullptr && absent_.contains(before.name);
  if (action != ActionId{} && !comes_back) end_unwanted(action, before.name, &*before.process->foreground, turn);
}

/// Healer was asked to run it no longer. Where healer only watches it is left alone.
void Children::end_unwanted(ActionId action, const std::string& service, const ForegroundSpec* spec, Turn& turn) {
  const Settings& settings = *graph_->settings;
  const bool watching = settings.shadow || settings.dry_run;
  turn.record(RecordKind::JobStep, Severity::Info, service,
              watching ? "its foreground process is left alone: it is no longer in the rules, but healer only watches"
                       : "its foreground process is ended: it is no longer in the rules");
  if (!watching) end_program(action, turn, spec);
}

void Children::find(ServiceId id, const Turn& turn) {
  if (!graph_->at(id).foreground()) return;
  for (const ActionId action : turn.programs.of(graph_->at(id).name)) {
    const RunningAction& running = *turn.programs.find(action);
    if (!running.exec.foreground) continue;
    Child& child = edit(id);
    child.adopt(action);
    if (running.pid != 0) child.reported(running.pid, running.start_ticks, running.since);
    if (turn.programs.is_ending(action)) child.on(ChildEvent::EndAsked);
  }
}

}  // namespace healer::engine
