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

#include "engine/rules/service.hpp"
#include "support/engine_world.hpp"

namespace healer::test {

/// `if does not exist ... then ACTION`.
Rule missing_rule(ActionKind action = ActionKind::Restart, Tolerance tolerance = {});

Rule restarts_rule(std::uint8_t count, std::uint8_t window, ActionKind action = ActionKind::Unmonitor);

/// A process service with start and stop programs "/start NAME" and "/stop NAME".
std::shared_ptr<ServiceBlock> process(std::string name, std::vector<Rule> rules = {missing_rule()},
                                      std::vector<std::string> depends = {});

/// A foreground process "/run NAME".
std::shared_ptr<ServiceBlock> foreground(std::string name, std::vector<Rule> rules = {missing_rule()},
                                         std::vector<std::string> depends = {});

/// What a program of a job does in this world. Of a foreground process: how long it lives, where `hangs` is false and
/// it was asked for at all (else it lives until it is ended).
struct Doing {
  Duration takes{100};      ///< until the program ends, and the process is up or gone
  std::int64_t status = 0;  ///< of the program; else than 0: nothing comes of it
  bool works = true;        ///< whether the process comes up or goes
  bool hangs = false;       ///< the program does not end
  Duration later{0};        ///< how long after the program the process comes up or goes
  std::string output{};     ///< of a program that hangs, when it is ended
};

class ProcessWorld : public World {
 public:
  using World::World;
  ~ProcessWorld() override;

  static constexpr std::int64_t kProgramPid = 4000;  ///< of each program of a job

  std::map<std::string, Doing> doings;  ///< by "start NAME", "stop NAME"
  std::string person = "root";          ///< who gives the commands
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

  /// It dies, not by healer; `end`: how, where the kernel tells that.
  void die(const std::string& name, std::optional<ProcessEnd> end = {});

  /// It dies, and no daemon sees it.
  void hidden_death(const std::string& name);

  /// As advance(), with the programs and processes of this world.
  void run(Duration span);

  /// A foreground process says that it is ready.
  void signal_ready(const std::string& name);

  /// The daemon is killed, and started again `away` later. Processes and programs go on meanwhile.
  void crash(Duration away, std::shared_ptr<const Graph> graph = {});

  /// Names that the rules do not have (any more) are left out: the daemon refuses them before the engine hears of them.
  void command(event::Command::Kind kind, const std::vector<std::string>& names);

  /// Answers all looks and starts all programs that the engine has asked for.
  void settle();

 private:
  void advance_to(Duration mono);

  [[nodiscard]] std::uint64_t ticks_of(const std::string& name) const;

  void answer_check(const effect::Measure& run);

  void start_program(const effect::Exec& exec);

  /// Whatever it depends on was up when the job began to start it, or has died since.
  void note_early(const effect::Exec& exec, const std::string& name);

  void start_child(const effect::Exec& exec, const std::string& what);

  void end_child(ActionId action, event::ActionEnded end);

  /// To the daemon, if there is one. How the programs of an earlier one end, nobody sees.
  void report_end(event::ActionEnded end);

  void adopt(const effect::Adopt& known);

  void end_program(const effect::EndAction& end);

  void take_signal(const effect::Signal& signal);

  std::map<std::string, std::int64_t> up_;
  std::map<std::string, Duration> died_;        // mono
  std::map<std::string, ActionId> children_;    // foreground processes that run
  std::set<std::uint64_t> running_;             // programs, by action
  std::map<std::uint64_t, std::string> words_;  // what these have written, by action
  std::set<std::uint64_t> left_;                // of these, those that an earlier daemon had started
  bool dead_ = false;                           // no daemon runs
  std::multimap<Duration, std::function<void()>> later_;
  std::size_t taken_ = 0;
  std::int64_t next_pid_ = 100;
  std::uint64_t next_command_ = 1000;
};

}  // namespace healer::test
