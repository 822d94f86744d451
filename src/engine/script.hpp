// SPDX-License-Identifier: MIT
// The script of a simulation: what the check programs will answer, how long things take, and what people do meanwhile.
// One statement a line; `#` begins a comment; words are separated by blanks; names and texts may stand in double
// quotes, where \" \\ \n \t are known. All times are virtual.
//
//   start at 2026-11-21 04:00:00             the wall clock at the start, UTC (2026-01-01 00:00:00 where not said)
//   run for 10 minutes                       how long; also `run for 50 cycles`. Not said: until the scripts are used
//   up
//
//   ping_node_5: 0 0 1 1 1 0                 how the program exits, run by run; the last one stays
//   ping_node_5: 0*3 1*4 timeout missing     three times 0, four times 1, one that never ends, one that cannot start
//   ping_node_5: signal:11 1:"no route"*2    killed by a signal; with output, twice
//   ping_node_5: 0 1@90s                     the second run takes 90 seconds
//   ping_node_5: 0 0 1 ...                   0 0 1 0 0 1 and so on
//   ping_node_5 takes 2 seconds              how long each run takes (0 where not said)
//
//   exec /sbin/rebuild takes 30 seconds, exits 1     how the action's program ends; by itself at once, with status 0.
//   exec /sbin/rebuild missing                       Also `signal 9`. A command with arguments stands in quotes
//
//   at 00:05:00 unmonitor ping_node_5        hours, minutes and seconds since the start; also `at 5 minutes ...`
//   at 5 minutes monitor ping_node_5 db      the other commands of people: validate, accept. `all` stands for every
//                                            service
//   at 1 hour crash                          healer is killed and starts again at once, or after `crash for 1 minute`
//   at 2 hours reboot                        the same for the machine, which takes 1 minute: the actions are cut off
//   too at 3 hours set clock +1 hour             a step of the wall clock; also `-1 hour`, `2026-11-21 09:00:00`
//
// A service with several lines goes on from one to the next. A service without a line exits with 0. What happens at the
// same instant goes so: ends of runs and actions, commands, then what falls due.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph.hpp"
#include "engine/state.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// One run of a check program.
struct ScriptedRun {
  Outcome outcome = Outcome::Exited;
  std::int64_t status = 0;
  std::optional<Duration> takes;  ///< none: as the service's other runs
  std::string output;
};

struct ScriptedService {
  std::vector<ScriptedRun> runs;
  bool repeated = false;  ///< after the last the first comes again; else the last stays
  Duration takes{0};
};

/// How the program of an action ends.
struct ScriptedAction {
  Duration takes{0};
  Outcome outcome = Outcome::Exited;
  std::int64_t status = 0;
};

struct ScriptedCommand {
  enum class Kind : std::uint8_t { Monitor, Unmonitor, Validate, Accept, Crash, Reboot, StepClock, SetClock };
  Duration at{0};  ///< since the start
  Kind kind = Kind::Validate;
  std::vector<std::string> services;  ///< lower case
  Duration span{0};                   ///< Crash, Reboot: how long healer is away; StepClock: how far
  WallTime clock{};                   ///< SetClock
};

struct Script {
  WallTime start{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  std::optional<Duration> length;
  std::map<std::string, ScriptedService> services;  ///< by name in lower case
  std::map<std::string, ScriptedAction> actions;    ///< by path of the program, or whole command
  std::vector<ScriptedCommand> commands;            ///< in order of time
};

/// What is wrong with a script. Line and column are counted from 1; the column counts characters.
struct ScriptError {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::string message;
  std::string remedy;  ///< may be empty
};

struct ScriptReading {
  Script script;
  std::vector<ScriptError> errors;  ///< one a line at most; `script` is good where there are none
};

/// Reads a script for these rules: it may name only their services and the programs of their actions.
[[nodiscard]] ScriptReading read_script(std::string_view text, const RuleSet& rules);

/// `path:line:column: error: message`, the line of `text`, a caret, and the remedy as a note. Ends with a newline.
[[nodiscard]] std::string format(const ScriptError& error, std::string_view path, std::string_view text);

}  // namespace healer::engine
