// SPDX-License-Identifier: MIT
// The rule graph: what the rules files mean, ready to be judged. The language (config/) builds it, the engine reads it.
//
// Everything here is plain and immutable once built: a Graph is a generation, shared by pointer; a service whose text
// did not change is the same ServiceBlock object in the next generation. No text of the rules file is needed any more,
// but every service and rule knows its place in it, so that `healerctl explain` can point at the line.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/ids.hpp"
#include "engine/metric.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// A place in a rules file, for messages: index into Graph::files, line and column counted from 1 (0: nowhere).
struct SourcePlace {
  std::uint16_t file = 0;
  std::uint16_t column = 0;
  std::uint32_t line = 0;

  bool operator==(const SourcePlace&) const = default;
};

// ---- what is looked at --------------------------------------------------------------------------------------------

enum class ServiceKind : std::uint8_t { Program, Process, System };
/// Monit's word: "program", "process", "system".
[[nodiscard]] std::string_view to_string(ServiceKind kind);

enum class Comparison : std::uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

/// The user and group a program runs as; where absent, those of the daemon. `home` is the user's HOME.
struct Identity {
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::string user;
  std::string home;

  bool operator==(const Identity&) const = default;
};

/// A program and its arguments. No shell is involved unless it is the program.
struct Command {
  std::vector<std::string> arguments;  ///< the program's path first
  Identity identity;
  Duration timeout{0};  ///< 0: none

  bool operator==(const Command&) const = default;
};

/// What `check program` runs. `patterns` are the regular expressions (POSIX extended, as Monit) of its content tests,
/// in the order of writing; the worker matches them against the output and reports one bit each.
struct ProgramSpec {
  Command command;
  std::vector<std::string> patterns;  ///< at most kMaxPatterns
  std::uint32_t output_limit = 512;   ///< bytes of output kept (set limits programOutput)

  bool operator==(const ProgramSpec&) const = default;
};

inline constexpr std::size_t kMaxPatterns = 64;

/// One step in ending a foreground process: the signal for its main process, and how long it may take.
struct StopSignal {
  int number = 15;
  Duration within{30'000};

  bool operator==(const StopSignal&) const = default;
};

/// `check process NAME with program "..."`: a program that healer runs as its own child, in the foreground.
struct ForegroundSpec {
  Command command;  ///< without timeout
  /// `stop signal TERM within 20 seconds`, in the order of writing; never empty (the default is SIGTERM within the stop
  /// timeout). What is left of its session after the last, or after its main process has gone, gets SIGKILL.
  std::vector<StopSignal> stop;
  /// `ready after 5 seconds`: it counts as ready when it says so (READY=1 on NOTIFY_SOCKET), or when it has lived so
  /// long. With `by_notice` (`ready on notify within 30 seconds`) its word alone counts, and without it the start has
  /// failed by then.
  Duration ready_after{1000};
  bool by_notice = false;

  bool operator==(const ForegroundSpec&) const = default;
};

/// What `check process` looks for: the process that a pid file names, the one whose command line matches (of several
/// the topmost parent with the longest uptime, as Monit), or healer's own child.
struct ProcessSpec {
  std::string pid_file;  ///< empty where one of the others is used
  std::string pattern;   ///< POSIX extended regular expression
  std::optional<ForegroundSpec> foreground{};

  bool operator==(const ProcessSpec&) const = default;
};

// ---- what is asked ------------------------------------------------------------------------------------------------

/// `status OP N`.
struct StatusTest {
  Comparison comparison = Comparison::NotEqual;
  std::int64_t value = 0;
};

/// `changed status`: true when the status differs from that of the run before; the first run is the baseline.
struct StatusChanged {};

/// `content = "re"` / `content != "re"`: index into ProgramSpec::patterns.
struct ContentTest {
  std::uint8_t pattern = 0;
  bool negated = false;
};

/// `exist` and `not exist`: holds where the process is there, or is not. A zombie is not there.
struct ExistTest {
  bool exists = false;
};

/// `cpu > 80%`.
struct ResourceTest {
  Metric metric = Metric::Cpu;
  Comparison comparison = Comparison::Greater;
  double value = 0;
};

/// `failed uid root`: holds where the process has another one.
struct OwnerTest {
  enum class Which : std::uint8_t { Uid, Euid, Gid } which = Which::Uid;
  std::uint32_t id = 0;
};

/// `changed pid`, `changed ppid`: the first look is the baseline.
struct PidChanged {
  bool parent = false;
};

/// `failed security attribute "..."`: holds where /proc/PID/attr/current says something else.
struct AttributeTest {
  std::string attribute;
};

/// `if N restarts within M cycles`: holds in a run since whose predecessor the service was restarted, or a restart was
/// held back; N and M are the rule's tolerance.
struct RestartsTest {};

using Test = std::variant<StatusTest, StatusChanged, ContentTest, ExistTest, ResourceTest, OwnerTest, PidChanged,
                          AttributeTest, RestartsTest>;

/// One test of a condition. A condition is a flat list, an `or` of `and`s: a term with `or_before` begins a new
/// alternative; all terms of an alternative must hold. (`and` binds tighter than `or`.)
struct Term {
  Test test;
  bool or_before = false;
};

/// Fault tolerance. `count` of the last `window` runs (`for 3 cycles` is 3 of 3); or, where `held` is set, the
/// condition has held over every run since at least that long (`for 90 seconds`).
struct Tolerance {
  std::uint8_t count = 1;   ///< 1..64, at most `window`
  std::uint8_t window = 1;  ///< 1..64
  Duration held{0};

  bool operator==(const Tolerance&) const = default;
  /// Whether a single run decides.
  [[nodiscard]] bool immediate() const { return count == 1 && held == Duration{0}; }
};

// ---- what is done -------------------------------------------------------------------------------------------------

enum class ActionKind : std::uint8_t { Alert, Exec, Unmonitor, Start, Stop, Restart };
/// Monit's word: "alert", "exec", "unmonitor", "start", "stop", "restart".
[[nodiscard]] std::string_view to_string(ActionKind kind);

/// The action of a branch. Every action but a plain recovery also raises an alert, as in Monit.
struct Action {
  ActionKind kind = ActionKind::Alert;
  Command command;           ///< Exec only
  std::uint16_t repeat = 0;  ///< `repeat every N cycles`; 0: never
  bool overlapping = false;  ///< Exec may overlap its own earlier instance
  bool implied = false;      ///< not written: the alert that Monit raises on recovery

  /// Whether it starts or stops the service: such an action is tried again at each failing run that meets the
  /// tolerance.
  [[nodiscard]] bool is_job() const {
    return kind == ActionKind::Start || kind == ActionKind::Stop || kind == ActionKind::Restart;
  }
};

/// The `else` branch, or the implied one (recovers at the first clear run, alerts).
struct Recovery {
  Tolerance tolerance;
  Action action{.kind = ActionKind::Alert, .command = {}, .repeat = 0, .overlapping = false, .implied = true};
};

/// Kinds of events, in Monit's words (facts 1.7): what alert filters select by.
enum class EventKind : std::uint8_t {
  Action,
  ByteIn,
  ByteOut,
  Checksum,
  Connection,
  Content,
  Data,
  Exec,
  Exist,
  FsFlags,
  Gid,
  Icmp,
  Instance,
  Invalid,
  Link,
  NonExist,
  PacketIn,
  PacketOut,
  Permission,
  Pid,
  Ppid,
  Resource,
  Saturation,
  Size,
  Speed,
  Status,
  Timeout,
  Timestamp,
  Uid,
  Uptime,
};
inline constexpr std::size_t kEventKinds = 30;
using EventMask = std::bitset<kEventKinds>;

/// How a rule behaves once its tolerance is met.
enum class Mode : std::uint8_t {
  Latched,    ///< acts on the transition, stands failed until it recovers (status tests)
  EachMatch,  ///< acts on every run that meets it; nothing stands (content tests)
  EachChange  ///< acts on every change; nothing stands (`changed` tests)
};

/// By what a rule is known again after an edit of the rules files (engine/diff: match_rules).
struct RuleIdentity {
  Hash128 text;       ///< of its canonical text, with an ordinal among equal ones of the service
  Hash128 condition;  ///< of its condition alone; zero: not known, as of a state that an earlier version saved
  Hash128 actions;    ///< of what it does, in its `else` branch too; zero: not known
  ActionKind kind = ActionKind::Alert;  ///< of its action

  bool operator==(const RuleIdentity&) const = default;
};

/// One `if`.
struct Rule {
  std::vector<Term> condition;
  Tolerance tolerance;
  Action action;
  Recovery recovery;  ///< used by Mode::Latched only
  Mode mode = Mode::Latched;
  EventKind event = EventKind::Status;
  /// Names the rule within its service, in the saved state and the history. A new rule's is that of its text; an edited
  /// rule keeps the one it had.
  Hash128 key;
  RuleIdentity identity;
  /// Comes alive only in healer where Monit silently drops it (language 1.4): judged and shown, not acted on until
  /// accepted.
  bool dormant = false;
  std::string text;  ///< canonical, on one line: for people
  SourcePlace place;

  /// `if N restarts within M cycles`: below its tolerance it says nothing of how the service is.
  [[nodiscard]] bool counts_restarts() const {
    return !condition.empty() && std::holds_alternative<RestartsTest>(condition.front().test);
  }
};

// ---- when ---------------------------------------------------------------------------------------------------------

/// The five fields of a cron specification as bit sets. Requires: civil times (0-based minute, hour and weekday).
struct CronSpec {
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t month_days = 0;  ///< bit 1..31
  std::uint16_t months = 0;      ///< bit 1..12
  std::uint8_t weekdays = 0;     ///< bit 0 (Sunday)..6

  bool operator==(const CronSpec&) const = default;
  /// All five fields must match, as in Monit.
  [[nodiscard]] bool matches(const CivilTime& civil) const {
    return (minutes >> civil.minute & 1U) != 0 && (hours >> civil.hour & 1U) != 0 &&
           (month_days >> civil.day & 1U) != 0 && (months >> civil.month & 1U) != 0 &&
           (weekdays >> civil.weekday & 1U) != 0;
  }
};

/// When a service runs.
struct Schedule {
  enum class Kind : std::uint8_t {
    Cycles,    ///< each `cycles`th cycle (1: every)
    Interval,  ///< each `interval`, healer's own `every 30 seconds`
    Cron,      ///< once in each matching local minute
    NotCron    ///< each cycle, but not in matching minutes
  };
  Kind kind = Kind::Cycles;
  std::uint32_t cycles = 1;
  Duration interval{0};
  CronSpec cron;
  std::string text;  ///< as written, for people; empty for the default

  bool operator==(const Schedule&) const = default;
};

// ---- whom to tell -------------------------------------------------------------------------------------------------

/// Parts of a mail that may be set; an absent one falls to the next more general format, last to Monit's default.
struct MailFormat {
  std::optional<std::string> from;
  std::optional<std::string> reply_to;
  std::optional<std::string> subject;
  std::optional<std::string> message;

  bool operator==(const MailFormat&) const = default;
};

/// Who gets an alert, of which kinds, and after how many failed runs again.
struct Recipient {
  std::string address;
  EventMask events = EventMask{}.set();
  /// The kinds were listed (`{ ... }`, not `not on`). Failed execs of rules are mailed only to those who asked for them
  /// so.
  bool listed = false;
  std::uint16_t reminder = 0;  ///< `reminder N`: also on failing runs whose count since the firing is a multiple of N
  bool digest = false;         ///< `digest`: all alerts of a cycle in one mail
  MailFormat format;

  bool operator==(const Recipient&) const = default;
};

// ---- the graph ----------------------------------------------------------------------------------------------------

/// One `check` block.
struct ServiceBlock {
  std::string name;
  ServiceKind kind = ServiceKind::Program;
  ProgramSpec program;  ///< ServiceKind::Program
  ProcessSpec process;  ///< ServiceKind::Process
  /// Programs of the service; timeouts are set. Absent: not written.
  std::optional<Command> start;
  std::optional<Command> stop;
  std::optional<Command> restart;
  std::vector<std::string> depends;  ///< names of the services that must be up before it
  Schedule schedule;
  std::vector<Rule> rules;
  std::vector<std::string> groups;
  std::vector<Recipient> recipients;  ///< local over global, `noalert` taken out
  enum class OnReboot : std::uint8_t { Start, NoStart, LastState } on_reboot = OnReboot::Start;
  enum class Activity : std::uint8_t { Active, Passive } activity = Activity::Active;
  bool end_leftovers = false;  ///< what its start program has left is ended before the next start
  Hash128 key;                 ///< hash of all that the block says (places left out)
  SourcePlace place;

  /// Whether it is healer's own child.
  [[nodiscard]] bool foreground() const { return process.foreground.has_value(); }
  /// Whether something says how to start it; what is no process needs nothing.
  [[nodiscard]] bool can_start() const { return kind != ServiceKind::Process || start || restart || foreground(); }
};

/// Whether a process that runs for `one` is that of `other`, too. Of a foreground process it is, whatever its program.
[[nodiscard]] bool same_target(const ServiceBlock& one, const ServiceBlock& other);

struct MailServer {
  std::string host;
  std::uint16_t port = 25;
  std::string username;
  std::string password;
  enum class Security : std::uint8_t { None, StartTls, Tls } security = Security::None;
  std::string tls_version;  ///< lower-case word as written ("tlsv12", "auto"); empty: the library's choice
  bool verify = false;      ///< verify the certificate (Monit's default: no)
  bool allow_self_signed = false;
  std::string certificate_checksum;  ///< hex of MD5 (32), SHA-1 (40) or SHA-256 (64) of the certificate; empty: none
  std::string ca_file;
  std::string ca_path;
  std::string client_certificate;  ///< PEM with certificate and key

  bool operator==(const MailServer&) const = default;
};

/// `set mail limit 20 within 1 hour`: how many mails one recipient gets in how long. What is held back is told in one
/// mail, when there is room again.
struct MailLimit {
  std::uint32_t mails = 0;
  Duration within{0};

  bool operator==(const MailLimit&) const = default;
};

struct MailSettings {
  std::vector<MailServer> servers;  ///< tried in turn
  Duration timeout{5000};
  std::string hostname;               ///< for EHLO; empty: the machine's
  MailFormat format;                  ///< set mail-format
  std::vector<Recipient> recipients;  ///< set alert
  std::string queue_directory;        ///< set eventqueue basedir; empty: beside the state file
  std::uint32_t queue_slots = 0;      ///< set eventqueue ... slots: most that wait which no server took; 0: any
  std::optional<MailLimit> limit;

  bool operator==(const MailSettings&) const = default;
};

struct LogSettings {
  enum class Target : std::uint8_t { None, File, Syslog } target = Target::None;
  std::string path;
  std::string facility;  ///< "log_daemon", "log_local0", ...; empty: user

  bool operator==(const LogSettings&) const = default;
};

struct Limits {
  std::uint32_t program_output = 512;
  std::uint32_t send_expect_buffer = 256;
  std::uint32_t file_content_buffer = 512;
  std::uint32_t http_content_buffer = 1U << 20;
  Duration network_timeout{5'000};
  Duration program_timeout{300'000};
  Duration stop_timeout{30'000};
  Duration start_timeout{30'000};
  Duration restart_timeout{30'000};

  bool operator==(const Limits&) const = default;
};

/// All `set` statements. Paths that are empty were not set; the daemon knows the defaults.
struct Settings {
  std::optional<Duration> cycle;  ///< set daemon
  Duration start_delay{0};
  bool foreground = false;  ///< set init
  bool terminal_batch = false;
  LogSettings log;
  std::string pid_file;
  std::string id_file;
  std::string state_file;
  std::string control_socket;
  Limits limits;
  MailSettings mail;
  Duration settle{1000};
  bool count_polls = false;  ///< set cycles count polls
  std::vector<std::pair<std::string, std::string>> environment;
  bool shadow = false;
  bool dry_run = false;
  bool accept_dormant = false;
  bool end_leftovers = false;  ///< `set leftovers end`: of all services
  ServiceBlock::OnReboot on_reboot = ServiceBlock::OnReboot::Start;

  bool operator==(const Settings&) const = default;

  [[nodiscard]] Duration cycle_length() const { return cycle.value_or(seconds{30}); }
};

/// What the compiler hands over: services in the order of the files.
struct RuleSet {
  Settings settings;
  std::vector<std::string> files;
  std::vector<std::shared_ptr<const ServiceBlock>> services;
};

/// One generation. Slots are stable: a service keeps its slot (its ServiceId) as long as its name lives.
struct Graph {
  Generation generation = 0;
  Settings settings;
  std::vector<std::string> files;
  std::vector<std::shared_ptr<const ServiceBlock>> slots;  ///< null: free
  std::vector<ServiceId> order;                            ///< in the order of the files
  std::vector<std::vector<ServiceId>> requirements;        ///< by slot: those that it depends on, directly
  std::vector<std::vector<ServiceId>> dependents;          ///< by slot: those that depend on it, directly
  std::unordered_map<std::string, ServiceId> by_name;      ///< lower-case names

  /// The service of that name (any case), if it exists.
  [[nodiscard]] std::optional<ServiceId> find(std::string_view name) const;
  [[nodiscard]] const ServiceBlock& at(ServiceId id) const { return *slots[id.index()]; }
};

}  // namespace healer::engine
