// SPDX-License-Identifier: MIT
// The environment of the programs that healer starts. Pure.
//
// The base is clean: PATH, HOME and LANG, then what the rules `set environment`, and nothing of the shell that happened
// to start the daemon. Then Monit's variables, each also as HEALER_*, which nothing else can replace.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/events/act.hpp"
#include "engine/ids.hpp"
#include "engine/rules/command.hpp"
#include "engine/rules/service.hpp"
#include "util/time.hpp"

namespace healer::actions {

/// What the daemon gives to every program.
struct BaseEnvironment {
  std::string path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  std::string home = "/";  ///< of the daemon's own user, for programs without an identity
  std::string lang = "C.UTF-8";
  std::string host{};                                          ///< MONIT_HOST
  std::string state{};                                         ///< a word: whose the numbers of actions are
  std::vector<std::pair<std::string, std::string>> written{};  ///< Settings::environment
};

/// "NAME=value" texts of a check program: the base, MONIT_SERVICE and HEALER_SERVICE, as Monit gives it.
[[nodiscard]] std::vector<std::string> check_environment(const BaseEnvironment& base, const engine::Identity& identity,
                                                         std::string_view service);

/// "NAME=value" texts of a foreground process: those of a check program, _HOST, NOTIFY_SOCKET where there is one, and
/// the mark of its action.
[[nodiscard]] std::vector<std::string> foreground_environment(const BaseEnvironment& base,
                                                              const engine::Identity& identity,
                                                              std::string_view service, std::string_view notify_socket,
                                                              engine::ActionId action);

/// The same of one that must tell so often that it is well: WATCHDOG_USEC. 0: it need not, and nothing is added.
void add_watchdog(std::vector<std::string>& environment, Duration every);

/// "NAME=value" texts of the program of an action: also _EVENT, _DESCRIPTION, _DATE and _HOST of its cause, and
/// _PROGRAM_STATUS, or of a process service _PROCESS_PID, _MEMORY, _CHILDREN and _CPU_PERCENT. What is not known of the
/// process, or because it is gone, is not set, so that nobody's `kill $MONIT_PROCESS_PID` means everybody; only the
/// programs that start and stop a service (`of_job`) are told -1, as Monit does. A description of more than
/// kMaxDescription bytes is cut, since the kernel refuses longer variables. All of them but those of no `action` bear
/// its mark.
[[nodiscard]] std::vector<std::string> action_environment(const BaseEnvironment& base, const engine::Identity& identity,
                                                          const engine::effect::Cause& cause, const CivilClock& civil,
                                                          bool of_job = false, engine::ActionId action = {});

/// Whether the rules set HOME for all programs, whoever they run as.
[[nodiscard]] bool writes_home(const BaseEnvironment& base);

/// Sets NAME, replacing an earlier value. A value ends at its first NUL: that is all a program would see of it.
void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value);

/// Adds the values of the row that a service is of, for each `for each` around it: HEALER_NODE, HEALER_NODE_IP of
/// NODE.ip. What has such a name already stays.
void add_row(std::vector<std::string>& environment, const engine::Row& row);
/// "HEALER_NODE_IP" of "NODE.ip".
[[nodiscard]] std::string row_variable(std::string_view name);

/// The variable of the mark, which is nobody else's to set.
inline constexpr std::string_view kMarkVariable = "HEALER_ACTION";
/// The variable HEALER_ACTION by which the processes that a program leaves behind are known as its own, unless they
/// write over their environment. The number is one of `state`: a daemon with another one may issue the same.
[[nodiscard]] std::string action_mark(std::string_view state, engine::ActionId action);
/// The same of all actions, up to the number.
[[nodiscard]] std::string action_mark(std::string_view state);

/// The variable HEALER_CHECK of check programs, which their own number follows: by it the next daemon with this `state`
/// knows those that are left (runtime/programs/stale_checks).
[[nodiscard]] std::string check_mark(std::string_view state);

inline constexpr std::size_t kMaxDescription = 64 * 1024;

}  // namespace healer::actions
