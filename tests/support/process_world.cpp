// SPDX-License-Identifier: MIT
#include "support/process_world.hpp"

#include <algorithm>

namespace healer::test {

Rule missing_rule(ActionKind action, Tolerance tolerance) {
  Rule rule;
  rule->condition = RuleCondition{{Present{false}}};
  rule->tolerance = tolerance;
  rule->action = {.kind = action, .command = {}};
  rule->event = EventKind::NonExist;
  rule->text = "if does not exist " + std::to_string(tolerance.count) + " then " + std::string(to_string(action));
  return rule;
}

Rule restarts_rule(std::uint8_t count, std::uint8_t window, ActionKind action) {
  Rule rule;
  rule->condition = RuleCondition{{Restarts{}}};
  rule->tolerance = {.count = count, .window = window};
  rule->action = {.kind = action, .command = {}};
  rule->event = EventKind::Timeout;
  rule->text = "if restarts then " + std::string(to_string(action));
  return rule;
}

std::shared_ptr<ServiceBlock> process(std::string name, std::vector<Rule> rules, std::vector<std::string> depends) {
  auto block = service(std::move(name), std::move(rules));
  block->kind = kind_named("process");
  block->program = {};
  block->process->pid_file = "/run/" + block->name + ".pid";
  block->programs.edit().start = Command{.arguments = {"/start", block->name}, .timeout = seconds{30}};
  block->programs.edit().stop = Command{.arguments = {"/stop", block->name}, .timeout = seconds{30}};
  block->depends = std::move(depends);
  return block;
}

std::shared_ptr<ServiceBlock> foreground(std::string name, std::vector<Rule> rules, std::vector<std::string> depends) {
  auto block = process(std::move(name), std::move(rules), std::move(depends));
  block->process = {};
  block->process->foreground = ForegroundSpec{.command = Command{.arguments = {"/run", block->name}}, .stop = {{}}};
  block->programs.edit().start.reset();
  block->programs.edit().stop.reset();
  return block;
}

ProcessWorld::~ProcessWorld() = default;

void ProcessWorld::die(const std::string& name, std::optional<ProcessEnd> end) {
  const std::uint64_t began = ticks_of(name);
  const std::int64_t pid = std::exchange(up_.at(name), 0);
  up_.erase(name);
  died_[name] = now.mono;
  if (const auto child = children_.find(name); child != children_.end())
    return end_child(child->second, {.outcome = Outcome::Signalled, .status = 9});
  const auto known = engine->graph()->find(name);
  if (!deaf && known) handle(event::ProcessDied{*known, pid, began, end});
  settle();
}

void ProcessWorld::hidden_death(const std::string& name) {
  dead_ = true;
  die(name);
  dead_ = false;
}

void ProcessWorld::run(Duration span) {
  const Duration end = now.mono + span;
  settle();
  while (true) {
    std::optional<Duration> next = engine->next_deadline();
    for (const auto& [when, what] : later_)
      if (!next || when < *next) next = when;
    if (!next || *next > end) break;
    advance_to(std::max(*next, now.mono));
    while (!later_.empty() && later_.begin()->first <= now.mono) {
      const auto what = later_.begin()->second;
      later_.erase(later_.begin());
      what();
      settle();
    }
    handle(event::Wake{});
    settle();
  }
  advance_to(end);
}

void ProcessWorld::signal_ready(const std::string& name) {
  handle(event::ActionReady{children_.at(name)});
  settle();
}

void ProcessWorld::crash(Duration away, std::shared_ptr<const Graph> graph) {
  open.clear();
  left_ = running_;
  taken_ = effects.size();
  advance_to(now.mono + away);
  while (!later_.empty() && later_.begin()->first <= now.mono) {
    const auto what = later_.begin()->second;
    later_.erase(later_.begin());
    dead_ = true;
    what();
    dead_ = false;
  }
  engine = std::make_unique<Engine>(graph ? std::move(graph) : engine->graph(), utc_civil, saved, now);
  start();
  settle();
}

void ProcessWorld::command(event::Command::Kind kind, const std::vector<std::string>& names) {
  event::Command order{.id = CommandId{next_command_++}, .kind = kind, .services = {}, .by = ByPerson{person}};
  for (const std::string& name : names)
    if (const auto known = engine->graph()->find(name)) order.services.push_back(*known);
  if (order.services.empty()) return;
  handle(order);
  settle();
}

void ProcessWorld::settle() {
  for (bool more = true; more;) {
    more = false;
    while (!open.empty()) {
      const effect::Measure run = open.front();
      open.erase(open.begin());
      if (slow.contains(engine->graph()->at(run.service).name)) continue;
      answer_check(run);
      more = true;
    }
    for (; taken_ < effects.size(); ++taken_) {
      if (const auto* exec = std::get_if<effect::Exec>(&effects[taken_])) start_program(effect::Exec(*exec));
      if (const auto* signal = std::get_if<effect::Signal>(&effects[taken_])) take_signal(*signal);
      if (const auto* end = std::get_if<effect::EndAction>(&effects[taken_])) end_program(effect::EndAction(*end));
      if (const auto* known = std::get_if<effect::Adopt>(&effects[taken_])) adopt(effect::Adopt(*known));
      more = true;
    }
  }
}

void ProcessWorld::advance_to(Duration mono) {
  now.wall += mono - now.mono;
  now.mono = mono;
}

std::uint64_t ProcessWorld::ticks_of(const std::string& name) const {
  return ticks.contains(name) ? ticks.at(name) : static_cast<std::uint64_t>(up_.at(name));
}

void ProcessWorld::answer_check(const effect::Measure& run) {
  const ServiceBlock& block = engine->graph()->at(run.service);
  auto facts = std::make_shared<Facts>();
  const auto found = up_.find(block.name);
  const bool exact = block.foreground() || unnamed.contains(block.name);
  if (found != up_.end() && (!exact || (found->second == run.pid && ticks_of(block.name) == run.start_ticks))) {
    facts->process = ProcessFacts{.pid = found->second,
                                  .parent = parents.contains(block.name) ? parents.at(block.name) : 1,
                                  .start_ticks = ticks_of(block.name)};
    facts->process->file = !exact && files.contains(block.name) ? files.at(block.name) : 0;
    facts->process->younger = younger.contains(block.name);
    facts->process->named_by = !exact && named_by.contains(block.name) ? named_by.at(block.name) : 0;
    facts->process->spared = spared.contains(block.name);
  } else if (run.left_by != ActionId{} && left.contains(block.name)) {
    facts->further.edit().left = {{left.at(block.name), static_cast<std::uint64_t>(left.at(block.name)), {}}};
    facts->further.edit().left_by = run.left_by;
  } else if (run.left_by != ActionId{} && found != up_.end() && block.foreground()) {  // of its former rules
    facts->further.edit().left = {{found->second, ticks_of(block.name), {}}};
    facts->further.edit().left_by = run.left_by;
  } else if (run.came_by != ActionId{} && left_over.contains(block.name)) {
    for (const std::int64_t pid : left_over.at(block.name))
      facts->further.edit().left.push_back({pid, static_cast<std::uint64_t>(pid), "worker"});
    facts->further.edit().left_by = run.came_by;
  }
  Evidence seen{.output = std::make_shared<const std::string>()};
  if (block.has_process()) {
    seen.facts = facts;
    seen.answer = facts->process ? Answer::Present : Answer::Absent;
  }
  if (blind.contains(block.name)) {
    seen.answer = Answer::Unknown;
    seen.output = std::make_shared<const std::string>("the disk fails");
    seen.facts = std::make_shared<Facts>();
  }
  handle(event::measured(run.service, run.run, seen));
}

void ProcessWorld::start_program(const effect::Exec& exec) {
  const std::string what = exec.command.arguments.front().substr(1) + " " + exec.command.arguments.back();
  programs.push_back(what);
  const std::string name = exec.command.arguments.back();
  const bool starts = exec.command.arguments.front() != "/stop";
  if (starts) note_early(exec, name);
  running_.insert(exec.action.number());
  if (doings.contains(what)) words_[exec.action.number()] = doings.at(what).output;
  if (exec.foreground) return start_child(exec, what);
  handle(event::ActionStarted{exec.action, kProgramPid});
  const Doing doing = doings.contains(what) ? doings.at(what) : Doing{};
  if (doing.hangs) return;
  later_.emplace(now.mono + doing.takes, [this, exec, doing, name, starts] {
    if (running_.erase(exec.action.number()) == 0) return;  // it was ended before
    if (doing.works && doing.status == 0) {
      if (starts && !up_.contains(name) && doing.later == Duration{0}) bring_up(name);
      if (starts && doing.later > Duration{0}) later_.emplace(now.mono + doing.later, [this, name] { bring_up(name); });
      if (!starts && up_.contains(name) && doing.later == Duration{0}) die(name);
      if (!starts && doing.later > Duration{0})
        later_.emplace(now.mono + doing.later, [this, name, dying = up_.contains(name) ? up_.at(name) : 0] {
          if (up_.contains(name) && up_.at(name) == dying) die(name);
        });
    }
    report_end({.action = exec.action, .status = doing.status, .elapsed = doing.takes});
  });
}

void ProcessWorld::note_early(const effect::Exec& exec, const std::string& name) {
  const auto job = engine->jobs().find(exec.job.number());
  const auto known = engine->graph()->find(name);
  if (job == engine->jobs().end() || !known) return;
  for (const std::string& needed : engine->graph()->at(*known).depends) {
    const auto id = engine->graph()->find(needed);
    const bool died = died_.contains(needed) && died_.at(needed) >= job->second.begun;
    if (id && engine->service(*id).monitored && !is_up(needed) && !died) early.push_back(name + " before " + needed);
  }
}

void ProcessWorld::start_child(const effect::Exec& exec, const std::string& what) {
  const std::string name = exec.command.arguments.back();
  if (is_up(name)) twice.push_back(name);
  bring_up(name);
  children_[name] = exec.action;
  handle(event::ActionStarted{exec.action, up_.at(name), static_cast<std::uint64_t>(up_.at(name))});
  if (!doings.contains(what) || doings.at(what).hangs) return;
  const Doing doing = doings.at(what);
  later_.emplace(now.mono + doing.takes, [this, action = exec.action, doing] {
    end_child(action, {.status = doing.status, .elapsed = doing.takes, .output = "first\nlast words\n"});
  });
}

void ProcessWorld::end_child(ActionId action, event::ActionEnded end) {
  if (running_.erase(action.number()) == 0) return;
  std::erase_if(children_, [&](const auto& child) {
    if (child.second != action) return false;
    if (up_.erase(child.first) != 0) died_[child.first] = now.mono;
    return true;
  });
  end.action = action;
  if (end.elapsed == Duration{0}) end.elapsed = seconds{60};
  report_end(std::move(end));
  settle();
}

void ProcessWorld::report_end(event::ActionEnded end) {
  if (dead_) return;
  end.unseen = left_.erase(end.action.number()) != 0;
  handle(end);
}

void ProcessWorld::adopt(const effect::Adopt& known) {
  const std::uint64_t number = known.action.number();
  if (!running_.contains(number)) return handle(event::ActionEnded{.action = known.action, .unseen = true});
  for (const auto& [name, action] : children_)
    if (action == known.action)
      return handle(event::ActionStarted{action, up_.at(name), static_cast<std::uint64_t>(up_.at(name))});
}

void ProcessWorld::end_program(const effect::EndAction& end) {
  const ActionId action = end.action;
  ended.push_back(action.number());
  if (deathless) return;
  later_.emplace(now.mono + (stubborn ? milliseconds{2000} : milliseconds{10}), [this, action] {
    if (std::ranges::any_of(children_, [&](const auto& child) { return child.second == action; }))
      return end_child(action, {.outcome = Outcome::Signalled, .status = 15});
    running_.erase(action.number());
    report_end({.action = action, .outcome = Outcome::Signalled, .status = 15, .output = words_[action.number()]});
  });
}

void ProcessWorld::take_signal(const effect::Signal& signal) {
  for (const auto& [name, pid] : left) {
    if (pid != signal.pid || signal.start_ticks != static_cast<std::uint64_t>(pid)) continue;
    signals.emplace_back("left " + name, signal.number);
    if (deathless || (stubborn && signal.number != 9)) return;
    later_.emplace(now.mono + milliseconds{50}, [this, gone = name] { left.erase(gone); });
    return;
  }
  for (auto& [name, pids] : left_over) {
    if (std::ranges::find(pids, signal.pid) == pids.end()) continue;
    signals.emplace_back("left " + name, signal.number);
    if (deathless || (stubborn && signal.number != 9)) return;
    later_.emplace(now.mono + milliseconds{50}, [this, gone = name, pid = signal.pid] {
      std::erase(left_over[gone], pid);
      if (left_over[gone].empty()) left_over.erase(gone);
    });
    return;
  }
  for (const auto& [name, pid] : up_) {
    if (pid != signal.pid) continue;
    if (out_of_reach.contains(name)) {
      return handle(event::NotSignalled{signal.pid, signal.start_ticks, signal.number, out_of_reach.at(name)});
    }
    signals.emplace_back(name, signal.number);
    if (!doings.contains("signal " + name) || signal.number == 9) {
      later_.emplace(now.mono + milliseconds{50}, [this, gone = name] {
        if (up_.contains(gone)) die(gone);
      });
    }
    return;
  }
}

}  // namespace healer::test
