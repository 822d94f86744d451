// SPDX-License-Identifier: MIT
// The script of a simulation: what the check programs will answer, which processes run, what is measured, how long
// things take, and what people do meanwhile.
// One statement per line; `#` begins a comment; words are separated by blanks; names and texts may be put in double
// quotes, with the escapes \" \\ \n \t. All times are virtual.
//
//   start at 2026-11-21 04:00:00             the wall clock at the start, UTC (2026-01-01 00:00:00 where not said)
//   run for 10 minutes                       how long; also `run for 50 cycles`. Not said: until the scripts are used
//                                            up, the last command is three cycles ago, and what began is over
//
//   ping_node_5: 0 0 1 1 1 0                 how the program exits, run by run; the last one stays
//   ping_node_5: 0*3 1*4 timeout missing     three times 0, four times 1, one that never ends, one that cannot start
//   ping_node_5: signal:11 1:"no route"*2    killed by a signal; with output, twice
//   ping_node_5: 0 1@90s                     the second run takes 90 seconds
//   ping_node_5: 0 0 1 ...                   0 0 1 0 0 1 and so on
//   ping_node_5 takes 2 seconds              how long each run takes (0 where not said)
//
//   web: down                                the process does not run at the beginning, as it otherwise does
//   web cpu: 10 95*3 20                      what is measured, run by run, in the unit of the rules; the last one stays
//   web memory: 50% 60% ...                  or in one that is written (%, B to TB, 2MB/s, 90s); from the first again
//   here loadavg(1min): 0.5 20*4 unknown     of the machine; could not be measured. Only what a rule compares has
//                                            values
//
//   nginx state: active*3 failed             of a unit of systemd, run by run: what systemd says of it; it is active
//   nginx substate: running auto-restart     where nothing is said. `unknown`: systemd does not answer
//   exec "systemd start nginx.service" exits 1    how the start of a unit ends, which is systemd's own job
//
//   web connection: up*3 down unknown ...    what comes of its connections, run by run: all of them, or one, counted in
//   web connection 2: down                   the order of the rules. They are up where nothing else is said
//   web connection: unresolved               no name server answers
//
//   exec /sbin/rebuild takes 30 seconds, exits 1     how an action's program ends; by itself at once, with status 0.
//   exec /sbin/rebuild missing                       Also `signal 9`. A command with arguments stands in quotes
//   exec /sbin/start-web never ends                  but for a timeout. A start program that exits with 0 has brought
//                                                    the process up by then, a stop program has taken it down
//   exec "/usr/bin/api --fg" takes 40 seconds        the same of a foreground process, which has died then; by itself
//                                                    it never ends
//   exec "/usr/bin/api --fg" ready after 5 seconds   when it says so, where the rules wait for that (at once where not
//                                                    said); also `never ready`
//
//   guard rebuild: refuses*2 ok              how the guard of a workflow ends, time after time; each target goes
//                                            through the list from its beginning. It is ok where nothing is said
//   step rebuild "shut down": ok fails*2 ok  the same of the program of a step: ok, fails, or as the run of a check
//                                            ends, 0:"evicted 7"@90s, 3, timeout, missing, signal:9
//   step heat create: ok 503 201:'{"id": 7}' what a request is answered: ok, fails, a status with a body; also lost
//                                            (whether it was done is unknown), unreachable (it was not sent),
//                                            timeout. Where nothing is said, what the step expects
//   step heat create until: pending*3 done   what comes of asking whether it is done: pending, done, failed, or an
//                                            answer
//   step rebuild deploy takes 12 minutes     each time (1 second where not said); `guard rebuild takes 5 seconds`
//   step rebuild deploy heals                when it has ended well, its target is well from then on; `heals for 20
//                                            minutes`: then it is as before. A target that nothing heals is as the
//                                            lines of its services say
//   step rebuild deploy of node5: fails      any of these for one target: it goes before what is said for all
//
//   list NODE: node1 node2                   the rows of a list from outside, which is believed; `list NODE from file
//                                            "nodes"`: as healer reads them, from beside the script
//   at 5 minutes list NODE: node1 node3      the same later: what its next reading finds, and those after it; also
//                                            `list NODE gains node4`, `loses node1`, `is empty`, `fails` (cannot be
//                                            read)
//   at 20 minutes accept list NODE           a person's word that it is right
//   at 20 minutes forget node1               takes a row out that leaves
//
//   at 00:05:00 unmonitor ping_node_5        hours, minutes and seconds since the start; also `at 5 minutes ...`
//   at 5 minutes monitor ping_node_5 db      the other commands of people: validate, accept, start, stop, restart,
//                                            pause, resume. `all` stands for every service
//   at 5 minutes pause web for 2 hours       without `for ...` until it is resumed; `group NAME` stands for its
//                                            services; unmonitor likewise
//   at 5 minutes ack web                     somebody has seen that it stands failed
//   at 5 minutes heal node5 with rebuild     without `with ...` as its rules say; with `override limit, cooldown,
//                                            pause` brakes are overridden
//   at 5 minutes approve node5               its healing, which waits for that; also reject. `cancel node5` ends it
//   at 5 minutes healing reset rebuild       its breaker is closed again
//   at 5 minutes node5 fails                 from now on its programs exit with 1 and its connections are down,
//                                            whatever its lines say, until it is healed; a target stands for all its
//                                            services
//   at 9 minutes node5 recovers              from now on they exit with 0, all connections are up, processes run, and
//                                            what is measured is as in the first run
//   at 5 minutes web dies                    the process dies, not by healer; the kernel reports it at once
//   at 5 minutes web hangs                   its time without WATCHDOG=1 is over
//   at 5 minutes web comes up                somebody starts it
//   at 1 hour crash                          healer is killed and starts again at once, or after `crash for 1 minute`
//   at 2 hours reboot                        the same for the machine, which takes 1 minute: actions are cut off, and
//                                            processes gone
//   at 3 hours set clock +1 hour             a step of the wall clock; also `-1 hour`, `2026-11-21 09:00:00`
//
//   expect fired web exec at run 3           the third run of web has led to an exec of a rule; without an action, a
//                                            rule of web has fired. Also alert, start, stop, restart, unmonitor
//   expect fired web by 5 minutes            then or before; without `at run` and `by`, ever
//   expect fired web alert 2 times           neither more nor less often
//   expect recovered web at run 6            a rule of web has recovered
//   expect web failed at 5 minutes           how web is then; without a time, at the end. Also initialising, running,
//                                            failing, unmonitored
//   expect healing node5 begun by 9 minutes  what becomes of the healing of a target: asked, held, refused, proposed
//                                            (for approval), approved, begun, try-failed, escalated, recovered, done,
//                                            failed, cancelled, rejected, interrupted, dropped, would-run,
//                                            abandoned, called (a person); also `with WORKFLOW` and `N times`
//   expect healing node5 held "limit"        the reason has these words in it
//   expect healing node5 step rebuild        the step is begun; also `step guard`
//   expect workflow rebuild paused           by `pause while`; also resumed, stopped (by its breaker), reset
//   expect list NODE tells "leaves"          a message about the list contains these words; also `by 20 minutes` and
//                                            `N times`
//   expect ping_node4 absent at 9 minutes    it is not in the rules then: its row has not come, or has left
//   expect not fired web exec                the opposite of any of these
//
// A service with several lines goes on from one to the next. A service without a line exits with 0, a process without
// one runs; its owner is whom the rules ask for, and its uptime is known. The looks of a start, stop or restart use up
// no value. What happens at the same instant goes so: ends of runs and actions, commands, then what falls due.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/outcome.hpp"
#include "engine/healing/healing.hpp"
#include "engine/heartbeat.hpp"
#include "engine/rules/attribute.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/metric.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct RuleSet;

/// One run of a check program.
struct ScriptedRun {
  Outcome outcome = Outcome::Exited;
  std::int64_t status = 0;
  std::optional<Duration> takes;  ///< none: as the service's other runs
  std::string output;
};

/// What is measured of one quantity, run by run. Never empty in a good script.
struct ScriptedSeries {
  std::vector<std::optional<double>> values;  ///< in the unit of the metric; none: it could not be measured
  bool repeated = false;                      ///< after the last the first comes again; else the last stays
};

/// What is told of an attribute that is a text, run by run.
struct ScriptedTexts {
  std::vector<std::optional<std::string>> values;  ///< none: nobody could tell
  bool repeated = false;                           ///< as of a series
};

struct ScriptedService {
  std::vector<ScriptedRun> runs;  ///< of a check program
  bool repeated = false;          ///< as of a series
  Duration takes{0};
  bool down = false;  ///< a process that does not run at the beginning
  std::map<Metric, ScriptedSeries> measured;
  std::map<Attribute, ScriptedTexts> told;  ///< of a unit: how it stands
  /// What comes of its connections, by ServiceBlock::probes: 1 is up, 0 down, or kUnresolved; kEveryConnection: of
  /// those not named.
  std::map<std::size_t, ScriptedSeries> connections;
};
/// A connection that fails as no name server answers.
inline constexpr double kUnresolved = -1;
inline constexpr std::size_t kEveryConnection = ~std::size_t{0};

/// How the program of an action, or a foreground process, ends.
struct ScriptedAction {
  std::optional<bool> ends;  ///< by itself; not said: all do but foreground processes
  Duration takes{0};
  Outcome outcome = Outcome::Exited;
  std::int64_t status = 0;
  std::optional<Duration> ready = Duration{0};  ///< after its start a foreground process says that it is; none: never
};

/// A step of a workflow, for one target or for each that has none of its own. Names are in lower case.
struct StepOf {
  std::string workflow;
  std::string step;  ///< empty: the guard
  bool until = false;
  std::string target;  ///< empty: each

  auto operator<=>(const StepOf&) const = default;
};

/// How a guard, a step or the question whether it is done ends, once.
struct ScriptedEnd {
  enum class How : std::uint8_t {
    Well,         ///< status 0, or what the request hopes for
    Program,      ///< as `outcome` and `status` say
    Answer,       ///< `status` and `text`
    Pending,      ///< answered that it is not done yet
    Failing,      ///< answered that it has failed
    Lost,         ///< no whole answer
    Unreachable,  ///< nothing was sent
    Late          ///< a request that nobody answers in time
  } how = How::Well;
  Outcome outcome = Outcome::Exited;
  std::int64_t status = 0;
  std::optional<Duration> takes{};    ///< none: as the other times
  std::optional<std::string> text{};  ///< output, or body
};

struct ScriptedStep {
  std::vector<ScriptedEnd> ends;
  bool repeated = false;  ///< as of a series
  std::optional<Duration> takes{};
  std::optional<Duration> heals{};  ///< the target, when it ends well, for so long; 0: for good
};
inline constexpr Duration kStepTakes{1'000};

/// The rows of a list from outside.
struct ScriptedList {
  enum class What : std::uint8_t {
    Says,   ///< these rows and no others
    Gains,  ///< these more
    Loses,  ///< these no more
    Empty,
    Fails  ///< it cannot be read
  };
  std::string name;
  What what = What::Says;
  std::vector<std::string> rows{};
  std::string file{};  ///< as written; empty: `rows` are given
  bool later = false;  ///< not from the beginning: a command has it
  std::uint32_t line = 1;
  std::uint32_t column = 1;  ///< of its name
};

struct ScriptedCommand {
  enum class Kind : std::uint8_t {
    Monitor,
    Unmonitor,
    Validate,
    Accept,
    Start,
    Stop,
    Restart,
    Pause,
    Resume,
    Acknowledge,
    Heal,
    Approve,
    Reject,
    Cancel,
    ResetHealing,
    Fails,     ///< what looks at the services finds them failed
    Recovers,  ///< it finds them well
    Dies,      ///< the processes of the services die, not by healer
    Hangs,     ///< they do not say any more that they are well
    ComesUp,   ///< they come up, not by healer
    Crash,
    Reboot,
    StepClock,
    SetClock,
    ListSays,    ///< a list says something else from now on
    AcceptList,  ///< a person's word that it is right
    ForgetRow,
    Beat,   ///< of a heartbeat
    Occurs  ///< an event for a `check event`
  };
  Duration at{0};  ///< since the start
  Kind kind = Kind::Validate;
  std::vector<std::string> services;  ///< lower case
  Duration span{
      0};  ///< Crash, Reboot: how long healer is away; Pause, Unmonitor: how long (0: no end); StepClock: how far
  WallTime clock{};                   ///< SetClock
  bool everything = false;            ///< `all`
  std::vector<std::string> groups{};  ///< lower case; their services are among `services`
  std::string target{};               ///< Approve, Reject, Cancel: in lower case; AcceptList, ForgetRow
  std::size_t statement = 0;          ///< ListSays: its place in Script::lists
  std::string workflow{};             ///< Heal, ResetHealing
  Overrides overrides{};              ///< Heal
  BeatWord word = BeatWord::Good;     ///< Beat, as are the next
  std::int64_t status = 0;
  std::string text{};   ///< Occurs: the event's document
  std::string key{};    ///< Occurs: of what it is about; empty: a hash of the document
  std::string state{};  ///< Occurs: of that
};

/// What a script says that is to come of it.
struct Expectation {
  enum class What : std::uint8_t { Fired, Recovered, State, Healing, Workflow, List } what = What::Fired;
  bool negated = false;
  std::string service{};               ///< lower case; Healing: the target; List: its name
  std::string action{};                ///< Fired: "exec", "alert", ...; empty: whatever it leads to
  std::string state{};                 ///< State: "failed", ...; Healing, Workflow: "begun", ..., or "step"
  std::string workflow{};              ///< Healing, Workflow: lower case
  std::string step{};                  ///< Healing: lower case
  std::string why{};                   ///< Healing: words of the reason; List: of what it tells
  std::optional<std::uint64_t> run{};  ///< of the service, from 1
  std::optional<Duration> time{};      ///< since the start: State: when, else the end; others: then or before
  std::optional<std::uint64_t> times{};
  std::uint32_t line = 1;  ///< where it stands in the script
  std::uint32_t column = 1;
};

struct Script {
  WallTime start{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  std::optional<Duration> length;
  std::map<std::string, ScriptedService> services;  ///< by name in lower case
  std::map<std::string, ScriptedAction> actions;    ///< by path of the program, or whole command
  std::map<StepOf, ScriptedStep> steps;
  std::vector<ScriptedList> lists;
  std::vector<ScriptedCommand> commands;    ///< in order of time
  std::vector<Expectation> expectations{};  ///< in the order of the script
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

/// The lists of a script alone: what the rules are to be loaded with. Faults of the script are left to read_script().
[[nodiscard]] std::vector<ScriptedList> read_lists(std::string_view text);

/// Reads a script for these rules: it may name only their services, the programs of their actions and services, and
/// what the rules of a service compare. `lists`: the names of those that are read from outside; `rules` have all rows
/// that they ever have in the script.
[[nodiscard]] ScriptReading read_script(std::string_view text, const RuleSet& rules,
                                        const std::vector<std::string>& lists = {});

/// `path:line:column: error: message`, the line of `text`, a caret, and the remedy as a note. Ends with a newline.
[[nodiscard]] std::string format(const ScriptError& error, std::string_view path, std::string_view text);

}  // namespace healer::engine
