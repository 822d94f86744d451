// SPDX-License-Identifier: MIT
// A world of processes for the engine in virtual time: start programs bring them up, stop programs take them down,
// looks see them, and their deaths are told at once or not at all.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/service.hpp"
#include "support/engine_world.hpp"

namespace healer::test {

/// `if does not exist ... then ACTION`.
inline Rule missing_rule(ActionKind action = ActionKind::Restart, Tolerance tolerance = {}) {
  Rule rule;
  rule.condition = {{ExistTest{false}, false}};
  rule.tolerance = tolerance;
  rule.action = {.kind = action, .command = {}};
  rule.event = EventKind::NonExist;
  rule.text = "if does not exist " + std::to_string(tolerance.count) + " then " + std::string(to_string(action));
  return rule;
}

inline Rule restarts_rule(std::uint8_t count, std::uint8_t window, ActionKind action = ActionKind::Unmonitor) {
  Rule rule;
  rule.condition = {{RestartsTest{}, false}};
  rule.tolerance = {.count = count, .window = window};
  rule.action = {.kind = action, .command = {}};
  rule.event = EventKind::Timeout;
  rule.text = "if restarts then " + std::string(to_string(action));
  return rule;
}

/// A process service with start and stop programs "/start NAME" and "/stop NAME".
inline std::shared_ptr<ServiceBlock> process(std::string name, std::vector<Rule> rules = {missing_rule()},
                                             std::vector<std::string> depends = {}) {
  auto block = service(std::move(name), std::move(rules));
  block->kind = ServiceKind::Process;
  block->program = {};
  block->process.pid_file = "/run/" + block->name + ".pid";
  block->start = Command{.arguments = {"/start", block->name}, .timeout = seconds{30}};
  block->stop = Command{.arguments = {"/stop", block->name}, .timeout = seconds{30}};
  block->depends = std::move(depends);
  return block;
}

/// A foreground process "/run NAME".
inline std::shared_ptr<ServiceBlock> foreground(std::string name, std::vector<Rule> rules = {missing_rule()},
                                                std::vector<std::string> depends = {}) {
  auto block = process(std::move(name), std::move(rules), std::move(depends));
  block->process = {};
  block->process.foreground = ForegroundSpec{.command = {.arguments = {"/run", block->name}}, .stop = {{}}};
  block->start.reset();
  block->stop.reset();
  return block;
}

/// What a program of a job does in this world. Of a foreground process: how long it lives, where `hangs` is false and
/// it was asked for at all (else it lives until it is ended).
struct Doing {
  Duration takes{100};      ///< until the program ends, and the process is up or gone
  std::int64_t status = 0;  ///< of the program; else than 0: nothing comes of it
  bool works = true;        ///< whether the process comes up or goes
  bool hangs = false;       ///< the program does not end
  Duration later{0};        ///< how long after the program the process comes up or goes
};

class ProcessWorld : public World {
 public:
  using World::World;

  static constexpr std::int64_t kProgramPid = 4000;  ///< of each program of a job

  std::map<std::string, Doing> doings;  ///< by "start NAME", "stop NAME"
  std::vector<std::string> programs;    ///< "start NAME", as they were started
  std::vector<std::pair<std::string, int>> signals;
  std::vector<std::uint64_t> ended;  ///< EndAction
  std::set<std::string> blind;       ///< looks at these have no answer
  std::set<std::string> slow;        ///< nor have looks at these as long as this world lasts
  bool stubborn = false;             ///< a program that is told to end takes its time
  bool deathless = false;            ///< nothing that is told to end does so
  bool deaf = false;                 ///< deaths are not told
  std::vector<std::string> twice;    ///< foreground processes that were started beside themselves
  std::vector<std::string> early;    ///< starts before what the service depends on was up
  // What looks see besides, by name of the service.
  std::map<std::string, std::int64_t> files;    ///< when its pid file was written
  std::map<std::string, std::uint64_t> ticks;   ///< when its process was started
  std::set<std::string> younger;                ///< its process was started after its pid file was written
  std::map<std::string, std::int64_t> parents;  ///< of its process; else it is 1
  std::map<std::string, std::int64_t> left;     ///< a process that its start program has left
  std::map<std::string, std::vector<std::int64_t>> left_over;  ///< what has outlived the process of its former start
  std::map<std::string, std::int64_t> named_by;                ///< who can write its pid file; its process is root's
  std::set<std::string> spared;                                ///< healer itself, or the first process
  std::map<std::string, std::string> out_of_reach;             ///< is not signalled, and why
  std::set<std::string> unnamed;                               ///< its pid file has been taken away

  /// A process of that name runs.
  void bring_up(const std::string& name) { up_[name] = next_pid_++; }
  /// The same with a number that was used before.
  void bring_up(const std::string& name, std::int64_t pid) { up_[name] = pid; }
  [[nodiscard]] bool is_up(const std::string& name) const { return up_.contains(name); }
  [[nodiscard]] std::int64_t pid(const std::string& name) const { return up_.at(name); }

  /// It dies, by another hand; `end`: how, where the kernel tells that.
  void die(const std::string& name, std::optional<ProcessEnd> end = {}) {
    const std::uint64_t began = ticks_of(name);
    const std::int64_t pid = std::exchange(up_.at(name), 0);
    up_.erase(name);
    died_[name] = now.mono;
    if (const auto child = children_.find(name); child != children_.end())
      return end_child(child->second, {.outcome = Outcome::Signalled, .status = 9});
    const auto known = engine.graph()->find(name);
    if (!deaf && known) handle(event::ProcessDied{*known, pid, began, end});
    settle();
  }

  /// It dies, and no daemon sees it.
  void hidden_death(const std::string& name) {
    dead_ = true;
    die(name);
    dead_ = false;
  }

  /// As advance(), with the programs and processes of this world.
  void run(Duration span) {
    const Duration end = now.mono + span;
    settle();
    while (true) {
      std::optional<Duration> next = engine.next_deadline();
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

  /// A foreground process says that it is ready.
  void say_ready(const std::string& name) {
    handle(event::ActionReady{children_.at(name)});
    settle();
  }

  /// The daemon is killed, and started again `away` later. Processes and programs go on meanwhile.
  void crash(Duration away, std::shared_ptr<const Graph> graph = {}) {
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
    engine = Engine(graph ? std::move(graph) : engine.graph(), utc_civil, saved, now);
    start();
    settle();
  }

  /// Names that the rules do not have (any more) are left out: the daemon refuses them before the engine hears of them.
  void command(event::Command::Kind kind, const std::vector<std::string>& names) {
    event::Command told{.id = CommandId{next_command_++}, .kind = kind, .services = {}, .by = "root"};
    for (const std::string& name : names)
      if (const auto known = engine.graph()->find(name)) told.services.push_back(*known);
    if (told.services.empty()) return;
    handle(told);
    settle();
  }

  /// Answers all looks and starts all programs that the engine has asked for.
  void settle() {
    for (bool more = true; more;) {
      more = false;
      while (!open.empty()) {
        const effect::StartRun run = open.front();
        open.erase(open.begin());
        if (slow.contains(engine.graph()->at(run.service).name)) continue;
        answer_look(run);
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

 private:
  void advance_to(Duration mono) {
    now.wall += mono - now.mono;
    now.mono = mono;
  }

  [[nodiscard]] std::uint64_t ticks_of(const std::string& name) const {
    return ticks.contains(name) ? ticks.at(name) : static_cast<std::uint64_t>(up_.at(name));
  }

  void answer_look(const effect::StartRun& run) {
    const ServiceBlock& block = engine.graph()->at(run.service);
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
      facts->left = {{left.at(block.name), static_cast<std::uint64_t>(left.at(block.name)), {}}};
      facts->left_by = run.left_by;
    } else if (run.left_by != ActionId{} && found != up_.end() && block.foreground()) {  // of its former rules
      facts->left = {{found->second, ticks_of(block.name), {}}};
      facts->left_by = run.left_by;
    } else if (run.came_by != ActionId{} && left_over.contains(block.name)) {
      for (const std::int64_t pid : left_over.at(block.name))
        facts->left.push_back({pid, static_cast<std::uint64_t>(pid), "worker"});
      facts->left_by = run.came_by;
    }
    Observation seen{.output = std::make_shared<const std::string>()};
    if (block.kind == ServiceKind::Process) seen.facts = facts;
    if (blind.contains(block.name)) {
      seen.outcome = Outcome::TimedOut;
      seen.output = std::make_shared<const std::string>("the disk fails");
      seen.facts = std::make_shared<Facts>();
    }
    handle(event::Observed{run.service, run.run, seen});
  }

  void start_program(const effect::Exec& exec) {
    const std::string what = exec.command.arguments.front().substr(1) + " " + exec.command.arguments.back();
    programs.push_back(what);
    const std::string name = exec.command.arguments.back();
    const bool starts = exec.command.arguments.front() != "/stop";
    if (starts) note_early(exec, name);
    running_.insert(exec.action.number());
    if (exec.foreground) return start_child(exec, what);
    handle(event::ActionStarted{exec.action, kProgramPid});
    const Doing doing = doings.contains(what) ? doings.at(what) : Doing{};
    if (doing.hangs) return;
    later_.emplace(now.mono + doing.takes, [this, exec, doing, name, starts] {
      if (running_.erase(exec.action.number()) == 0) return;  // it was ended before
      if (doing.works && doing.status == 0) {
        if (starts && !up_.contains(name) && doing.later == Duration{0}) bring_up(name);
        if (starts && doing.later > Duration{0})
          later_.emplace(now.mono + doing.later, [this, name] { bring_up(name); });
        if (!starts && up_.contains(name) && doing.later == Duration{0}) die(name);
        if (!starts && doing.later > Duration{0})
          later_.emplace(now.mono + doing.later, [this, name, dying = up_.contains(name) ? up_.at(name) : 0] {
            if (up_.contains(name) && up_.at(name) == dying) die(name);
          });
      }
      tell_end({.action = exec.action, .status = doing.status, .elapsed = doing.takes});
    });
  }

  /// Whatever it depends on was up when the job began to start it, or has died since.
  void note_early(const effect::Exec& exec, const std::string& name) {
    const auto job = engine.jobs().find(exec.job.number());
    const auto known = engine.graph()->find(name);
    if (job == engine.jobs().end() || !known) return;
    for (const std::string& needed : engine.graph()->at(*known).depends) {
      const auto id = engine.graph()->find(needed);
      const bool died = died_.contains(needed) && died_.at(needed) >= job->second.begun;
      if (id && engine.service(*id).monitored && !is_up(needed) && !died) early.push_back(name + " before " + needed);
    }
  }

  void start_child(const effect::Exec& exec, const std::string& what) {
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

  void end_child(ActionId action, event::ActionEnded end) {
    if (running_.erase(action.number()) == 0) return;
    std::erase_if(children_, [&](const auto& child) {
      if (child.second != action) return false;
      if (up_.erase(child.first) != 0) died_[child.first] = now.mono;
      return true;
    });
    end.action = action;
    if (end.elapsed == Duration{0}) end.elapsed = seconds{60};
    tell_end(std::move(end));
    settle();
  }

  /// To the daemon, if there is one. How the programs of an earlier one end, nobody sees.
  void tell_end(event::ActionEnded end) {
    if (dead_) return;
    end.unseen = left_.erase(end.action.number()) != 0;
    handle(end);
  }

  void adopt(const effect::Adopt& known) {
    const std::uint64_t number = known.action.number();
    if (!running_.contains(number)) return handle(event::ActionEnded{.action = known.action, .unseen = true});
    for (const auto& [name, action] : children_)
      if (action == known.action)
        return handle(event::ActionStarted{action, up_.at(name), static_cast<std::uint64_t>(up_.at(name))});
  }

  void end_program(const effect::EndAction& end) {
    const ActionId action = end.action;
    ended.push_back(action.number());
    if (deathless) return;
    later_.emplace(now.mono + (stubborn ? milliseconds{2000} : milliseconds{10}), [this, action] {
      if (std::ranges::any_of(children_, [&](const auto& child) { return child.second == action; }))
        return end_child(action, {.outcome = Outcome::Signalled, .status = 15});
      running_.erase(action.number());
      tell_end({.action = action, .outcome = Outcome::Signalled, .status = 15});
    });
  }

  void take_signal(const effect::Signal& signal) {
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

  std::map<std::string, std::int64_t> up_;
  std::map<std::string, Duration> died_;      // mono
  std::map<std::string, ActionId> children_;  // foreground processes that run
  std::set<std::uint64_t> running_;           // programs, by action
  std::set<std::uint64_t> left_;              // of these, those that an earlier daemon had started
  bool dead_ = false;                         // no daemon runs
  std::multimap<Duration, std::function<void()>> later_;
  std::size_t taken_ = 0;
  std::int64_t next_pid_ = 100;
  std::uint64_t next_command_ = 1000;
};

}  // namespace healer::test
