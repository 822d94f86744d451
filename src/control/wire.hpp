// SPDX-License-Identifier: MIT
// What healerctl and healerd say to each other over the control socket, and the material of every --json document.
//
// A stream socket; each message is one line of JSON, UTF-8, ended by a newline. The client sends a request, a line of
// at most kMaxRequest bytes, and reads the reply to its end before it sends the next:
//
//     -> {"version":1,"command":"status","names":["web"]}
//     <- {"version":1,"command":"status","daemon":{...}}         header, at once
//     <- {"item":{...}}                                          any number, as they come
//     <- {"item":{"gap":{...}}}                                  of `history`: there are records no more
//     <- {"end":{...}}                                           the answer is complete
//
// or, in place of any of the reply's lines, as its last:
//
//     <- {"version":1,"error":{"code":"...","message":"...","remedy":"..."}}
//
// A command that changes something is answered by its header when it was understood, and by its end when it has
// happened. The reply to `quit` has no end: the connection closes when healerd has ended. A client that closes its
// sending half still gets a running answer to its end, but ends a `--follow`; so does a healerd that ends in good
// order. Fields that are not known are ignored by both sides; one that changes its meaning raises kWireVersion. The
// functions here are pure and may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "control/wire_event.hpp"
#include "control/wire_healing.hpp"
#include "control/wire_heartbeat.hpp"
#include "control/wire_unit.hpp"
#include "util/time.hpp"

namespace healer::control {

/// Version of the protocol and of every --json document; grows when a field changes its meaning.
inline constexpr int kWireVersion = 1;
inline constexpr std::string_view kDefaultSocket = "/run/healer/healer.sock";
/// The group whose members may use the socket, beside root and the daemon's own user.
inline constexpr std::string_view kControlGroup = "healer";
/// Most bytes of a request, its newline left out.
inline constexpr std::size_t kMaxRequest = 64 * 1024;
/// Most bytes of a reason that a person gives.
inline constexpr std::size_t kMaxReason = 500;
/// Most records that one `history` answers with (before it follows).
inline constexpr std::uint32_t kMaxRecords = 10'000;

/// Keeps the order in which fields are written, for people who read the documents.
using Json = nlohmann::ordered_json;

enum class Verb : std::uint8_t {
  Ping,
  Status,
  Summary,
  Explain,
  History,
  Report,
  Names,
  Jobs,
  Follow,  ///< the output of a job's programs, or of an action's
  Output,  ///< of the program of a service, or of a number, that runs now or ran last
  Diff,    ///< what a reload would change
  HealingStatus,
  HealingReport,
  Lists,    ///< of rows: what is known of them
  Open,     ///< an address at which a browser is logged in, once
  Events,   ///< that came, refused ones too
  Monitor,  ///< the first that acts
  Unmonitor,
  Validate,
  Accept,
  Start,
  Stop,
  Restart,
  Pause,
  Resume,
  Cancel,
  Heal,
  Approve,
  Reject,
  HealingReset,
  Ack,
  Forget,  ///< a row that leaves its list
  Beat,    ///< of a heartbeat
  Event,   ///< for a `check event`
  Reload,
  Quit,
  Count_
};
[[nodiscard]] std::string_view to_string(Verb verb);
/// The verb of that name; Count_ where there is none.
[[nodiscard]] Verb verb_of(std::string_view name);
/// Whether the verb changes something (its answer may take as long as the thing does).
[[nodiscard]] bool acts(Verb verb);

/// What is asked. Names and groups add up. Reading commands take an empty selection for all services.
struct Request {
  int version = kWireVersion;
  Verb verb = Verb::Ping;
  std::vector<std::string> names;        ///< of services, in any case
  std::vector<std::string> groups;       ///< names of groups, in any case
  bool all = false;                      ///< every service
  bool failed = false;                   ///< Status, Summary: only services that stand failed
  std::optional<Duration> since;         ///< History: how far back
  std::optional<std::uint64_t> after{};  ///< History: only records with a higher number, and the oldest of them
  bool follow = false;                   ///< History, Output: goes on with what happens
  std::uint32_t limit = 0;  ///< History: the newest that many (the oldest with `after`); 0: the daemon's choice
  std::uint64_t id = 0;     ///< Follow, Output, Cancel: of a job, a healing or an action's program; Approve, Reject;
                            ///< Accept: of a process (1: whichever the pid file names); 0: rules
  std::optional<Duration> span;  ///< Pause: for how long; none: until Resume
  std::string reason;            ///< Pause, Ack
  bool confirmed = false;        ///< Reload: also where it ends processes of healer's own with files that are gone

  std::string workflow{};                ///< Heal: empty: what the rules say; HealingReset
  std::vector<std::string> overrides{};  ///< Heal: "limit", "cooldown", "pause"
  std::string plan{};                    ///< Approve: the hash of the plan that was shown, or how it begins
  std::optional<BeatSent> beat{};        ///< Beat; none: a good one
  std::optional<EventSent> event{};      ///< Event

  bool operator==(const Request&) const = default;
};

/// What is wrong, or doubtful, in the rules files.
struct DiagnosticView {
  std::string severity;  ///< "error", "warning", "note"
  std::string place;     ///< "file:line:column"
  std::string message;
  std::string remedy;        ///< may be empty
  std::string code{};        ///< "unknown-word": see config::Code
  std::uint64_t length = 0;  ///< bytes from there that it is about; 0: it is about the place, or the file

  bool operator==(const DiagnosticView&) const = default;
};

/// Why a request was not done. `code` is stable, for programs; `remedy` may be empty.
struct Failure {
  std::string code;
  std::string message;
  std::string remedy;
  std::vector<DiagnosticView> diagnostics{};  ///< Reload, Diff: all of them; `message` has them as text

  bool operator==(const Failure&) const = default;
};

/// What a daemon has done since it started. The difference between two answers, by the time between them, is a rate.
struct CountsView {
  std::uint64_t runs = 0;           ///< of check programs, and looks at processes and the system, that have ended
  std::uint64_t changes = 0;        ///< of rules: failed, recovered, matched
  std::uint64_t deaths = 0;         ///< of processes
  std::uint64_t programs = 0;       ///< of actions, starts and stops that were started
  std::uint64_t mails = 0;          ///< that a server has taken
  std::uint64_t mails_waiting = 0;  ///< now

  bool operator==(const CountsView&) const = default;
};

/// The mails that wait.
struct MailView {
  std::uint64_t waiting = 0;
  std::optional<WallTime> since;           ///< when what the oldest tells of happened
  std::string error;                       ///< what the server said last, where it took no mail; or empty
  std::optional<WallTime> error_since;     ///< when that was
  std::uint64_t held{};                    ///< of those that wait, how many the limit holds back
  std::optional<WallTime> held_until{};    ///< when there is room for the first of them
  std::string limit{};                     ///< "20 mails within 1 h"; empty: none is held back
  std::uint64_t gathered{};                ///< of those that wait, how many wait for their digest
  std::optional<WallTime> digest_until{};  ///< when the first of the digests goes

  bool operator==(const MailView&) const = default;
};

/// The alerts that wait for one contact.
struct ContactView {
  std::string name;
  std::uint64_t waiting = 0;
  std::optional<WallTime> since{};        ///< when what the oldest tells of happened
  std::string error{};                    ///< why the last try has failed; or empty
  std::optional<WallTime> error_since{};  ///< when that was
  std::optional<WallTime> next{};         ///< when it is tried again

  bool operator==(const ContactView&) const = default;
};

/// The rules in force are not those on disk: a reload was refused, or the daemon has started with the last good ones.
struct StaleView {
  WallTime since{};
  std::string error;  ///< the first of the files, with its place

  bool operator==(const StaleView&) const = default;
};

/// The daemon that answers: part of every header.
struct DaemonView {
  std::string version;
  std::int64_t pid = 0;
  Duration up{0};
  Duration cycle{0};             ///< length of a cycle
  std::uint64_t cycles = 0;      ///< begun since the start
  std::uint64_t generation = 0;  ///< of the rules
  std::vector<std::string> files;
  bool shadow = false;
  bool dry_run = false;
  CountsView counts;
  std::optional<MailView> mail;       ///< none: not known
  std::vector<std::string> troubles;  ///< what it lacks now (a disk that it can write), a sentence each
  std::optional<StaleView> stale{};
  std::vector<std::string> refused_rows{};  ///< of lists, a sentence each
  std::vector<std::string> damages{};       ///< of state files, since it was started, a sentence each
  std::vector<ContactView> contacts{};      ///< those for whom something waits

  bool operator==(const DaemonView&) const = default;
};

/// One service on one line.
struct ServiceSummary {
  std::string name;
  std::string kind;                     ///< "program", "process", "system"
  std::string state;                    ///< "running", "unknown", "failing", "failed", "initialising", ...
  std::string text;                     ///< what was seen last, or what is the matter, for people
  std::optional<WallTime> since;        ///< since when it stands failed, or is unknown
  std::optional<Duration> next_run;     ///< time until the next run; none: not scheduled
  bool dying = false;                   ///< its process has died and was not seen since, or dies again and again
  std::string rule{};                   ///< that stands failed or fails, the worst first; empty: none
  std::string rule_place{};             ///< "file:line"
  std::optional<CooldownView> rests{};  ///< its target, after a healing; none: it does not

  bool operator==(const ServiceSummary&) const = default;
};

/// A name for a shell's completion.
struct ServiceName {
  std::string name;
  std::vector<std::string> groups;

  bool operator==(const ServiceName&) const = default;
};

/// The last run that was judged.
struct RunView {
  /// "exited", "signalled", "timed-out", "not-started", "unmatched"; "looked" at a process or the system
  std::string outcome;
  std::int64_t status = 0;
  WallTime when{};
  Duration elapsed{0};
  std::string output;  ///< its first part

  bool operator==(const RunView&) const = default;
};

struct RuleView {
  std::string text;
  std::string place;         ///< "file:line"
  std::string state;         ///< "ok", "failing" (tolerance not met yet), "failed"
  std::uint32_t failed = 0;  ///< failed runs among the last `window`
  std::uint32_t count = 1;   ///< how many of them make it fire
  std::uint32_t window = 1;
  std::optional<Duration> held;   ///< rules with a duration: for how long the condition has held
  std::optional<Duration> hold;   ///< and for how long it must
  std::optional<WallTime> since;  ///< when `state` last became or ceased to be "failed"
  std::string held_back;  ///< why its action is not done: "dormant", "shadow", "dry run", "passive", "paused"; or empty
  bool restarts = false;  ///< it counts runs after which the service was restarted, not failed ones

  bool operator==(const RuleView&) const = default;
};

/// A program of an action that runs or is about to.
struct ActionView {
  std::uint64_t id = 0;
  std::string rule;
  std::int64_t pid = 0;  ///< 0: not known (yet)
  bool started = false;
  Duration age{0};      ///< since it was decided
  bool again = false;   ///< fired again meanwhile: runs once more afterwards
  std::string waits{};  ///< why it cannot be started, or found again, now; or empty

  bool operator==(const ActionView&) const = default;
};

/// The process that the last check has found.
struct ProcessView {
  std::int64_t pid = 0;
  std::int64_t parent = 0;
  std::uint32_t uid = 0;
  std::uint32_t euid = 0;
  std::uint32_t gid = 0;
  bool zombie = false;
  std::string doubt{};  ///< why it may be another's than the one that its pid file was written for; or empty

  bool operator==(const ProcessView&) const = default;
};

/// A quantity that the last look has measured.
struct MeasureView {
  std::string name;  ///< in the words of the language: "cpu", "total memory", "loadavg(5min)"
  std::string
      unit;  ///< "percent", "bytes", "number", "bytes/s", "operations/s", "packets", "packets/s", "seconds", "load"
  double value = 0;
  std::string text;  ///< the value with its unit, for people

  bool operator==(const MeasureView&) const = default;
};

/// What came of a connection, or a ping, in the last run.
struct ConnectionView {
  std::string name;                 ///< "http localhost:80"
  std::string verdict;              ///< "passed", "failed", "unknown", "untried"
  std::string address;              ///< whom it went to; or empty
  std::optional<double> response;   ///< milliseconds
  std::optional<WallTime> expires;  ///< when the certificate does; none: it has none
  std::string text;                 ///< what was found, or why not, for people

  bool operator==(const ConnectionView&) const = default;
};

/// What is under way: a start, stop or restart, a healing, or the program of a rule's action.
struct JobView {
  std::uint64_t id = 0;
  std::string kind;              ///< "start", "stop", "restart", "heal", "exec"
  std::string service;           ///< whom it is for
  std::uint32_t step = 1;        ///< the one under way, counted from 1
  std::uint32_t steps = 1;       ///< of so many
  std::string doing;             ///< "start db"; of an action "exec /usr/bin/heal"
  std::string waits_for;         ///< "its program to end", "its process to appear", ...
  Duration age{0};               ///< since it was decided
  std::optional<Duration> left;  ///< until the step has failed
  std::string by;                ///< "rule", or the person
  std::string by_kind;           ///< "rule", "healing", "person", "daemon"
  std::string rule;              ///< whose doing it is; or empty
  std::uint64_t action = 0;      ///< its program under way; 0: none
  std::int64_t pid = 0;          ///< of that; 0: not known (yet), or none

  bool operator==(const JobView&) const = default;
};

/// A person knows that it has failed: there are no reminders.
struct AcknowledgementView {
  WallTime when{};
  std::string by;
  std::string by_kind;
  std::string reason;

  bool operator==(const AcknowledgementView&) const = default;
};

/// How the starts of a service went.
struct StartsView {
  std::uint32_t quick = 0;             ///< in a row that failed, or after which it soon died
  std::optional<WallTime> last;        ///< when it was last started
  std::optional<WallTime> not_before;  ///< until then no rule starts it again

  bool operator==(const StartsView&) const = default;
};

/// A part of the output of a program, as it comes.
struct OutputView {
  std::uint64_t action = 0;  ///< 0: a check, or there is none yet
  std::string service;
  std::string doing;  ///< as in JobView; or that there is none yet
  std::string text;
  std::string waits_for{};         ///< Follow: another stage has come, and what it waits for; empty: `text` is new
  std::optional<Duration> left{};  ///< of that stage

  bool operator==(const OutputView&) const = default;
};

/// How a service came to be unmonitored.
struct TakenOutView {
  WallTime when{};
  std::string by;  ///< a person; "rule"; "healing 7"
  std::string by_kind;
  std::string service;  ///< by a rule: whose rule; the service is given up
  std::string rule;     ///< its text
  std::optional<WallTime> until;

  bool operator==(const TakenOutView&) const = default;
};

/// A service that a composite is made of.
struct MemberView {
  std::string name;
  std::string health;  ///< "ok", "failed", "unknown", "not judged", "unmonitored", "given up"

  bool operator==(const MemberView&) const = default;
};

/// Everything about a service.
struct ServiceStatus : ServiceSummary {
  bool monitored = true;
  bool passive = false;
  std::vector<std::string> groups;
  std::vector<std::string> depends;          ///< names of the services that must be up before it
  std::vector<MemberView> members;           ///< of a composite
  std::optional<HeartbeatView> heartbeat{};  ///< where it is one
  std::optional<EventCheckView> events{};    ///< of a `check event`
  std::optional<UnitView> unit{};            ///< the same
  std::string place;
  std::string schedule;                     ///< as written; empty: every cycle
  std::optional<RunView> last;              ///< none: not run yet
  std::optional<Duration> running;          ///< for how long the run in flight runs
  std::string run_waits;                    ///< why its program is not started yet; or empty
  std::uint64_t runs = 0;                   ///< judged since the daemon started
  std::uint64_t overruns = 0;               ///< runs left out in a row because the one before had not finished
  std::optional<ProcessView> process;       ///< none: not a process, or not there
  std::vector<MeasureView> measured;        ///< by the last look at a process or the system
  std::optional<WallTime> booted{};         ///< of the system: when it was
  std::vector<ConnectionView> connections;  ///< that its rules ask for
  std::optional<JobView> job;               ///< that it takes part in
  std::string waits;                        ///< why a start or restart that its rules want is not done now; or empty
  std::string left;  ///< what its former start has left running, and may stand in the way; or empty
  std::optional<PauseView> pause;
  std::optional<AcknowledgementView> acknowledged;
  std::optional<TakenOutView> taken_out;  ///< why it is not monitored; none: it is, or that is not known
  std::optional<StartsView> starts;       ///< none: it was not started
  std::vector<RuleView> rules;
  std::string action_failure{};  ///< how the last program of a rule's action has failed, if none has ended well since
  std::optional<WallTime> action_failed_at{};
  std::vector<ActionView> actions;
  std::optional<HealingView> healing{};  ///< of its target: that is under way, else the first that waits

  bool operator==(const ServiceStatus&) const = default;
};

/// Whether who is in that state is down: it stands failed, or was given up.
[[nodiscard]] inline bool is_down(std::string_view state) { return state == "failed" || state == "given up"; }

/// How many services are in which state: the end of `status`, `summary`, `report` and `names`.
struct Totals {
  std::uint64_t services = 0;
  std::uint64_t running = 0;
  std::uint64_t failing = 0;
  std::uint64_t failed = 0;
  std::uint64_t initialising = 0;
  std::uint64_t unknown = 0;
  std::uint64_t unmonitored = 0;
  std::uint64_t given_up = 0;

  bool operator==(const Totals&) const = default;
  /// Those that people must see to: that stand failed, or were given up.
  [[nodiscard]] std::uint64_t down() const { return failed + given_up; }
  /// Counts one service in `state`.
  void add(std::string_view state);
};

/// One line of history.
struct RecordView {
  std::uint64_t sequence = 0;
  WallTime when{};
  std::string kind;
  std::string severity;
  std::string service;  ///< empty: the daemon
  std::string text;
  std::string output;
  std::uint64_t id{};  ///< its number: the next record has the next

  bool operator==(const RecordView&) const = default;
};

/// In place of records that there are no more, for one who goes on after the last that he knows.
struct GapView {
  std::uint64_t after = 0;    ///< they came after this number
  std::uint64_t records = 0;  ///< how many they were, of all services
  bool anew = false;          ///< numbers have begun anew since: what follows is the history from its beginning

  bool operator==(const GapView&) const = default;
};

/// Why a rule is where it is, in sentences.
struct RuleExplanation {
  std::string text;
  std::string place;
  std::string state;      ///< as in RuleView
  std::string now;        ///< where it stands and since when
  std::string if_failed;  ///< what the next run does if it fails the test
  std::string if_clear;   ///< and if it passes
  std::string held_back;  ///< why its action would not be done, and the remedy; or empty
  std::optional<RecordView> last_fired;
  std::optional<HealExplanation> heals{};  ///< where that is its action

  bool operator==(const RuleExplanation&) const = default;
};

struct ServiceExplanation {
  std::string name;
  std::string kind;
  std::string state;
  std::string place;
  std::vector<std::string> notes;  ///< about the service itself: schedule, run in flight, last run
  std::vector<RuleExplanation> rules;
  std::vector<ActionView> actions;

  bool operator==(const ServiceExplanation&) const = default;
};

/// What a reload does, or would do, to one service.
struct ChangeView {
  std::string service;
  std::string change;                ///< "added", "removed", "changed"
  std::string place;                 ///< "file:line" in the new rules; of a removed one in the old
  std::vector<std::string> kept{};   ///< Changed: rules that keep what they have counted, by their new text
  std::vector<std::string> begun{};  ///< Changed: rules that start over
  std::vector<std::string> gone{};   ///< Changed: rules that are no more
  std::string note{};                ///< what else people should know of it; or empty

  bool operator==(const ChangeView&) const = default;
};

/// What a reload does, or would do.
struct ChangesView {
  std::vector<ChangeView> services;             ///< by name; none of those that stay as they are
  std::uint64_t kept = 0;                       ///< services that stay as they are, or have only moved
  bool settings = false;                        ///< a `set` statement says something else
  std::vector<std::string> changed_settings{};  ///< which: "set daemon", "set alert"
  bool workflows = false;                       ///< a workflow says something else, was added or removed
  std::vector<std::string> meaning{};           ///< what means something else by another `set monit`, for people
  std::vector<std::string> healings{};          ///< that end by it, each with why, for people

  bool operator==(const ChangesView&) const = default;
};

/// The end of a command that acts.
struct Done {
  bool ok = true;  ///< false: it was done, and something is failed (validate)
  std::string text;
  std::vector<DiagnosticView> diagnostics{};  ///< Reload, Diff: what the files are warned of
  std::optional<ChangesView> changes{};       ///< Reload, Diff

  bool operator==(const Done&) const = default;
};

void to_json(Json& json, const Request& value);
void to_json(Json& json, const Failure& value);
void to_json(Json& json, const DaemonView& value);
void to_json(Json& json, const ServiceSummary& value);
void to_json(Json& json, const ServiceName& value);
void to_json(Json& json, const ServiceStatus& value);
void to_json(Json& json, const JobView& value);
void to_json(Json& json, const EventAnswer& value);
void to_json(Json& json, const EventView& value);
void to_json(Json& json, const OutputView& value);
void to_json(Json& json, const Totals& value);
void to_json(Json& json, const RecordView& value);
void to_json(Json& json, const GapView& value);
void to_json(Json& json, const ServiceExplanation& value);
void to_json(Json& json, const Done& value);
void to_json(Json& json, const HealingView& value);
void to_json(Json& json, const HealingHolds& value);
void to_json(Json& json, const WorkflowReport& value);

/// The reverse, for what a client reads. A missing field keeps its default; one of another type throws
/// nlohmann::json::exception, or std::invalid_argument where a time is not a time.
void from_json(const Json& json, Request& value);
void from_json(const Json& json, Failure& value);
void from_json(const Json& json, DaemonView& value);
void from_json(const Json& json, ServiceSummary& value);
void from_json(const Json& json, ServiceName& value);
void from_json(const Json& json, ServiceStatus& value);
void from_json(const Json& json, JobView& value);
void from_json(const Json& json, EventAnswer& value);
void from_json(const Json& json, EventView& value);
void from_json(const Json& json, OutputView& value);
void from_json(const Json& json, Totals& value);
void from_json(const Json& json, RecordView& value);
void from_json(const Json& json, GapView& value);
void from_json(const Json& json, ServiceExplanation& value);
void from_json(const Json& json, Done& value);
void from_json(const Json& json, HealingView& value);
void from_json(const Json& json, HealingHolds& value);
void from_json(const Json& json, WorkflowReport& value);

/// The request in `line` (without its newline), or why it is none: codes "bad-request", "unknown-command", "version".
[[nodiscard]] std::variant<Request, Failure> parse_request(std::string_view line);

/// `json` on one line; bytes that are not UTF-8 (of a program's output) become U+FFFD.
[[nodiscard]] std::string to_line(const Json& json);

/// The lines of a reply, with their newline.
[[nodiscard]] std::string header_line(Verb verb, const DaemonView& daemon);
[[nodiscard]] std::string item_line(const Json& item);
[[nodiscard]] std::string end_line(const Json& end);
[[nodiscard]] std::string error_line(const Failure& failure);

}  // namespace healer::control
