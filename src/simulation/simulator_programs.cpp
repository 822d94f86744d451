// SPDX-License-Identifier: MIT
// Programs, requests and processes of a simulation.
#include <algorithm>
#include <csignal>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/step_runs.hpp"
#include "engine/healing/variables.hpp"
#include "engine/rules/service.hpp"
#include "simulation/simulation.hpp"
#include "util/text.hpp"

namespace healer::engine {

void Simulation::perform(const effect::Exec& exec) {
  if (const auto origin = engine_->healings().askers().context_of(exec.action)) return perform_step(exec, *origin);
  if (!is_there(exec.service)) {  // its row has left
    tell(now_.mono,
         [this, id = exec.action] { handle(event::ActionEnded{.action = id, .outcome = Outcome::NotStarted}); });
    return;
  }
  const std::string command = fmt::format("{}", fmt::join(exec.command.arguments, " "));
  const ServiceBlock& block = graph_->at(exec.service);
  const Rule* rule = rule_of(exec.service, exec.rule);
  const std::uint64_t run = run_of(exec.cause, exec.service);
  add({.kind = "exec", .service = block.name, .run = run, .text = command, .program = program_of(exec)}, rule);
  if (rule != nullptr)
    timeline_.firings.push_back({block.name, exec.recovery, static_cast<std::size_t>(rule - block.rules.data()), run});

  auto found = script_.actions.find(command);
  if (found == script_.actions.end()) found = script_.actions.find(exec.command.arguments.front());
  const ScriptedAction action = found == script_.actions.end() ? ScriptedAction{} : found->second;
  const bool starts = action.outcome != Outcome::NotStarted;
  Running running{.exec = exec, .step = step_of(exec), .began = now_.mono};
  running.end = {.action = exec.action,
                 .outcome = action.outcome,
                 .status = action.status,
                 .elapsed = action.takes,
                 .output = starts ? "" : "No such file or directory"};
  const Duration timeout = exec.foreground ? Duration{0} : exec.command.timeout;
  const bool ends = action.ends.value_or(!exec.foreground);
  if (!starts) {
    running.ends = now_.mono;
  } else if (timeout > Duration{0} && (!ends || action.takes >= timeout)) {
    running.end.outcome = Outcome::TimedOut;
    running.end.elapsed = timeout;
    running.ends = now_.mono + timeout;
  } else if (ends) {
    running.ends = now_.mono + action.takes;
  }
  std::int64_t pid = 1;
  if (starts && exec.foreground) {
    bring_up(exec.service, fmt::format("was started: {}", command));
    pid = world_.pid(exec.service).value_or(pid);
  }
  const event::ActionStarted started{exec.action, pid, static_cast<std::uint64_t>(pid)};
  if (starts) tell(now_.mono, [this, started] { handle(started); });
  if (starts && exec.foreground && action.ready && (!ends || *action.ready < action.takes))
    tell(now_.mono + *action.ready, [this, id = exec.action] { signal_ready(id); });
  launch(std::move(running));
}

void Simulation::launch(Running running) {
  if (running.ends) plan(*running.ends, 0, [this, id = running.exec.action] { finish(id); });
  watch(running_.insert_or_assign(running.exec.action.number(), std::move(running)).first->second);
}

void Simulation::perform_step(const effect::Exec& exec, const ActionContext& origin) {
  TimelineEntry entry = entry_of(origin, "exec");
  entry.text = fmt::format("{}", fmt::join(exec.command.arguments, " "));
  drop_begin(entry, exec.command.arguments.front());
  programs_.insert_or_assign(exec.action.number(), std::pair(entry.target, entry.step));
  add(std::move(entry), nullptr);
  const SimulatedHealing::Ending ending = healing_.next(origin);
  Running running{.exec = exec, .began = now_.mono};
  if (const auto end = ended(exec, ending.end, engine_->healing().savings_of(exec.action, now_))) {
    running.end = *end;
    running.ends = now_.mono + end->elapsed;
    if (ending.heals && end->outcome == Outcome::Exited && end->status == 0)
      running.heals = {origin.healing->target, *ending.heals};
  }
  if (ending.end.outcome != Outcome::NotStarted)
    tell(now_.mono, [this, id = exec.action] { handle(event::ActionStarted{id, 1, 1}); });
  launch(std::move(running));
}

TimelineEntry Simulation::entry_of(const ActionContext& origin, std::string kind) {
  const Healing& its = *origin.healing;
  TimelineEntry entry{.kind = std::move(kind), .service = its.service};
  if (const auto id = graph_->find(its.service)) entry.run = runs_of(*id);
  entry.target = its.target;
  entry.workflow = its.plan->name;
  entry.step = origin.step == nullptr ? std::string(kGuard) : origin.step->name;
  return entry;
}

void Simulation::make_well(const std::string& target, Duration span) {
  std::vector<ServiceId> services;
  const auto add_checked = [&](auto&& self, ServiceId id) -> void {
    for (const ServiceId member : graph_->members[id.index()]) self(self, member);
    if (graph_->at(id).is_measured()) services.push_back(id);
  };
  for (const ServiceId id : graph_->order)
    if (iequals(graph_->at(id).target(), target)) add_checked(add_checked, id);
  set_scripted_states(services, SimulatedWorld::ScriptedState::Well, span);
}

void Simulation::set_scripted_states(const std::vector<ServiceId>& services,
                                     SimulatedWorld::ScriptedState scripted_state, Duration span) {
  for (const ServiceId id : services) {
    const SimulatedWorld::ScriptedState before = world_.scripted_state(id);
    const std::uint64_t change = world_.set_scripted_state(id, scripted_state);
    if (scripted_state == SimulatedWorld::ScriptedState::Well && !graph_->at(id).foreground())
      bring_up(id, "is up again");
    if (span > Duration{0})
      plan(now_.mono + span, 0, [this, id, change, before] { world_.take_back(id, change, before); });
  }
}

void Simulation::signal_ready(ActionId id) {
  const auto found = running_.find(id.number());
  if (found == running_.end() || found->second.over || !is_there(found->second.exec.service)) return;
  const auto& foreground = graph_->at(found->second.exec.service).process->foreground;
  if (foreground && foreground->by_notice) handle(event::ActionReady{id});
}

std::optional<Bringing> Simulation::step_of(const effect::Exec& exec) const {
  const auto job = engine_->jobs().find(exec.job.number());
  if (job == engine_->jobs().end() || job->second.run.action() != exec.action) return std::nullopt;
  return job->second.step().kind;
}

std::string Simulation::program_of(const effect::Exec& exec) const {
  if (exec.foreground) return "foreground";
  const std::optional<Bringing> step = step_of(exec);
  return step ? std::string(verb(*step)) : std::string{};
}

void Simulation::finish(ActionId id) {
  const auto found = running_.find(id.number());
  if (found == running_.end() || found->second.over || found->second.ends != now_.mono) return;
  Running& running = found->second;
  running.over = true;
  if (running.heals) make_well(running.heals->first, running.heals->second);
  if (!is_there(running.exec.service)) return;
  if (running.exec.foreground) return drop_process(running.exec.service, "has ended");
  if (!running.step || running.end.outcome != Outcome::Exited || running.end.status != 0) return;
  const ServiceId service = running.exec.service;
  const Bringing step = *running.step;
  const std::string by = fmt::format("{}", fmt::join(running.exec.command.arguments, " "));
  if (step != Bringing::Start) take_down(service, fmt::format("was ended by {}", by));
  if (step == Bringing::Stop) return;
  bring_up(service, fmt::format("was started by {}", by));
  heal_by_start(service);
}

void Simulation::heal_by_start(ServiceId service) {
  if (!engine_) return;
  for (const auto& [id, one] : engine_->healings().all()) {
    Variables values = one.row;
    values.insert_or_assign("TARGET", one.target);
    for (std::size_t i = 0; i < one.under_way().size(); ++i) {
      if (one.under_way()[i].state != StepRun::State::Bringing) continue;
      const Step& step = engine::step_of(one.step(), i);
      const auto& what = std::get<step::Bring>(step.what);
      const auto span = healing_.heals({.healing = &one, .step = &step});
      if (span && what.what != Bringing::Stop && graph_->find(fill(what.service, values).text) == service)
        make_well(one.target, *span);
    }
  }
}

void Simulation::perform(const effect::EndAction& end) {
  const auto found = running_.find(end.action.number());
  if (found == running_.end() || found->second.over) return;
  Running& running = found->second;
  running.over = true;
  running.ends = now_.mono;
  running.end.outcome = Outcome::Signalled;
  running.end.status = end.signals.empty() ? SIGTERM : end.signals.front().number;
  running.end.elapsed = now_.mono - running.began;
  if (running.exec.foreground)
    drop_process(running.exec.service, fmt::format("was ended by signal {}", running.end.status));
  watch(running);
}

void Simulation::perform(const effect::Adopt& adopt) {
  const auto found = running_.find(adopt.action.number());
  if (found == running_.end()) {
    tell(now_.mono, [this, adopt] { handle(event::ActionEnded{.action = adopt.action, .unseen = true}); });
    return;
  }
  Running& running = found->second;
  if (running.ends) {
    running.end.unseen = *running.ends <= now_.mono;
    running.end.elapsed = *running.ends - running.began;
  }
  if (adopt.foreground && !running.over) {
    const std::int64_t pid = world_.pid(running.exec.service).value_or(1);
    const event::ActionStarted known{adopt.action, pid, static_cast<std::uint64_t>(pid)};
    tell(now_.mono, [this, known] { handle(known); });
  }
  watch(running);
}

void Simulation::watch(const Running& running) {
  if (!running.ends) return;
  tell(std::max(*running.ends, now_.mono), [this, id = running.exec.action] {
    const auto found = running_.find(id.number());
    if (found == running_.end()) return;  // it was ended before
    const event::ActionEnded end = found->second.end;
    running_.erase(found);
    handle(end);
  });
}

void Simulation::bring_up(ServiceId id, const std::string& how) {
  if (!is_there(id) || !graph_->at(id).has_process() || world_.pid(id)) return;
  report_process("process-up", id, world_.bring_up(id, now_.mono), how);
}

void Simulation::take_down(ServiceId id, const std::string& how) {
  const std::optional<std::int64_t> pid = world_.pid(id);
  if (!pid) return;
  drop_process(id, how);
  for (auto& [number, running] : running_) {
    if (!running.exec.foreground || running.exec.service != id || running.over) continue;
    running.over = true;
    running.ends = now_.mono;
    running.end.outcome = Outcome::Signalled;
    running.end.status = SIGKILL;
    running.end.elapsed = now_.mono - running.began;
    return engine_ ? watch(running) : void();
  }
  if (engine_) handle(event::ProcessDied{id, *pid, static_cast<std::uint64_t>(*pid)});
}

void Simulation::drop_process(ServiceId id, const std::string& how) {
  if (!is_there(id)) return;
  const std::optional<std::int64_t> pid = world_.pid(id);
  if (!pid) return;
  world_.take_down(id);
  report_process("process-down", id, *pid, how);
}

void Simulation::report_process(std::string kind, ServiceId id, std::int64_t pid, const std::string& how) {
  add({.kind = std::move(kind),
       .service = graph_->at(id).name,
       .run = runs_of(id),
       .text = fmt::format("process {} {}", pid, how)},
      nullptr);
}

void Simulation::perform(const effect::Signal& signal) {
  plan(now_.mono, 0, [this, signal] {
    if (const auto id = world_.owner(signal.pid)) take_down(*id, fmt::format("was ended by signal {}", signal.number));
  });
}

void Simulation::perform(const effect::Request& request) {
  if (!request.secrets.empty())
    return tell(now_.mono, [this, id = request.request] { handle(event::Answered{.request = id}); });
  const auto origin = engine_->healings().askers().context_of(request.request);
  if (!origin) return;  // it is over already
  if (!origin->polls) {
    TimelineEntry entry = entry_of(*origin, "request");
    entry.text = fmt::format("{} {}", request.method, request.shown);
    drop_begin(entry, entry.text);
    add(std::move(entry), nullptr);
  }
  const SimulatedHealing::Ending ending = healing_.next(*origin);
  const event::Answered answer = answered(request, ending.end, *origin->step, origin->polls);
  const bool heals = ending.heals && is_done(answer, request, *origin->step, origin->polls);
  tell(now_.mono + answer.elapsed, [this, answer, heals, span = ending.heals, target = origin->healing->target] {
    if (heals && engine_->healings().askers().awaits(answer.request)) make_well(target, *span);
    handle(answer);
  });
}

/// It does not say any more that it is well, and its time is over.
void Simulation::fall_silent(ServiceId id) {
  for (const auto& [number, running] : running_) {
    if (!running.exec.foreground || running.exec.service != id || running.over || !engine_) continue;
    return handle(event::ActionSilent{running.exec.action, graph_->at(id).process->foreground->watchdog});
  }
  add({.kind = "left-out",
       .service = graph_->at(id).name,
       .run = runs_of(id),
       .text = "nothing hangs: no process runs"},
      nullptr);
}

void Simulation::another_hand(ServiceId id, ScriptedCommand::Kind kind) {
  if (kind == ScriptedCommand::Kind::Hangs) return fall_silent(id);
  const bool dies = kind == ScriptedCommand::Kind::Dies;
  const bool own = graph_->at(id).foreground();  // only healer starts it
  if (const auto pid = world_.pid(id); dies == pid.has_value() && (dies || !own))
    return dies ? take_down(id, "was killed by someone else") : bring_up(id, "was started by someone else");
  add({.kind = "left-out",
       .service = graph_->at(id).name,
       .run = runs_of(id),
       .text = dies  ? "nothing dies: no process runs"
               : own ? "nothing comes up: its process is healer's own child"
                     : "nothing comes up: the process runs"},
      nullptr);
}

}  // namespace healer::engine
