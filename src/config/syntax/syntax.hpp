// SPDX-License-Identifier: MIT
// The syntax tree: what was written, statement by statement, with the place of every word. Nothing is looked up, no
// value is checked, no default is filled in here: that is the business of the passes that follow. A value that can be
// wrong (a number out of range, an unknown user) is a tree all the same, and the validator's error, at its place.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/syntax/syntax_words.hpp"
#include "config/syntax/workflow_syntax.hpp"
#include "engine/events/origin.hpp"
#include "engine/rules/comparison.hpp"
#include "engine/rules/kind.hpp"
#include "engine/rules/listed.hpp"
#include "engine/rules/postfix.hpp"
#include "engine/rules/quota.hpp"
#include "util/monit_version.hpp"
#include "util/rare.hpp"
#include "util/shared.hpp"
#include "util/time.hpp"

namespace healer::engine {
struct Row;
}  // namespace healer::engine

namespace healer::config {

/// `status != 0`, `cpu > 80%`, `disk read > 10 MB/s`, `uptime < 2 days`.
struct CompareSyntax {
  Word name;  ///< as canonical text writes it: "total cpu", "cpu(wait)", "loadavg(5min) per core", "disk read"
  ComparisonWord comparison = ComparisonWord::Equal;
  Word number;      ///< digits, perhaps with a fraction
  Rare<Word> unit;  ///< as written
};
/// `total upload > 1 GB in last hour`.
struct TotalSyntax {
  CompareSyntax amount;
  Located<Duration> span;  ///< 0: as long as is known
};
/// `link up`, `link down`.
struct LinkSyntax {
  bool up = false;
};
/// What a test of a checksum is about where nobody says of which kind, until choose_checksums() does.
inline constexpr std::string_view kAnyChecksum = "checksum";

/// `failed uid root`, `failed security attribute "..."`.
struct DiffersSyntax {
  std::string what;  ///< as canonical text writes it: "uid", "security attribute"
  Word value;
  bool is_text = false;   ///< the value is any text, not a name or a number
  bool is_loose = false;  ///< Monit takes any text for it, though nothing can be equal to that
};
/// `security attribute =~ "..."`, `state = "..."`.
struct TextSyntax {
  std::string what;
  ComparisonWord comparison = ComparisonWord::Equal;  ///< Equal or NotEqual
  bool is_pattern = false;                            ///< `=~`, `!=~`
  Word value;
};
/// `changed status`, `changed pid`, `changed link`.
struct ChangedSyntax {
  std::string what;
};
/// `content changed`, `content not changed`, of a program.
struct OutputChangedSyntax {
  bool negated = false;
};
/// `exist`, `not exist`.
struct PresentSyntax {
  bool negated = false;
};
/// `content = "..."`.
struct MatchesSyntax {
  bool negated = false;
  bool of_lines = false;  ///< written as `match "..."`, which only files have
  Word pattern;
};
struct TlsSyntax {
  Rare<Word> version;                          ///< as written, "ssl", "tls", "tlsv12", "auto"
  std::vector<std::pair<Word, Word>> options;  ///< verify: enable, ...
};

/// An option of a protocol: `request "/x"`, `status >= 400`, `http headers [...]`; also what is sent, expected and
/// looked for, whatever the protocol.
struct SettingSyntax {
  Word name;  ///< protocols::Option::word
  std::optional<ComparisonWord> comparison;
  Word value;            ///< of headers: all of them, without the brackets
  Word of;               ///< of json: the filter; of oid: the object
  bool is_text = false;  ///< of json, oid: the value is in quotes
  bool is_file = false;  ///< of a body: the value is a path
};
/// `failed port 80 protocol http`, `failed ping`, `succeeded unixsocket /run/x.sock`, `failed url http://...`.
struct ConnectionSyntax {
  enum class Target : std::uint8_t { Port, UnixSocket, Ping, Url } target = Target::Port;
  bool succeeded = false;  ///< it holds where there is an answer, not where there is none
  Word place;              ///< the host, where one is written; the path; the URL; "ping", "ping4", "ping6"
  Rare<Number> port;
  Rare<Word> port_name;  ///< `${NAME}` in place of the number, until it is replaced
  Rare<Word> source;
  Rare<Word> family;     ///< ipv4, ipv6
  Rare<Word> transport;  ///< tcp, udp, tcpssl
  Rare<TlsSyntax> tls;
  Rare<Word> checksum_type, checksum;  ///< of the certificate
  Rare<Number> valid_days;
  Rare<Word> protocol;
  std::vector<SettingSyntax> settings;  ///< in the order of writing
  std::optional<ComparisonWord> response_comparison;
  Rare<Located<Duration>> response_time, timeout;
  Rare<Number> retry, count, size;
};
/// `3 restarts within 5 cycles`: the numbers are the rule's tolerance.
struct RestartsSyntax {};

/// `any member failed`, `more than 40% members failed`.
struct MembersSyntax {
  engine::Quota quota;
};

/// `json '.worst' > 90`.
struct QueriedSyntax {
  JsonTestSyntax json;
};

/// `missed`, `failed`, of a heartbeat; `failed` of a unit, too.
struct HeartbeatTestSyntax {
  bool missed = false;
};

/// `more than 5 events within 1 minute`, of a check of events.
struct EventCountSyntax {
  Number above;
  Located<Duration> within;
};

/// `active`, of a unit.
struct ActiveSyntax {};

using TestSyntax = std::variant<CompareSyntax, TotalSyntax, DiffersSyntax, ChangedSyntax, LinkSyntax, PresentSyntax,
                                MatchesSyntax, ConnectionSyntax, RestartsSyntax, MembersSyntax, QueriedSyntax,
                                TextSyntax, OutputChangedSyntax, HeartbeatTestSyntax, EventCountSyntax, ActiveSyntax>;

struct TermSyntax {
  TestSyntax test;
  SourceRange range;
};

/// One or more tests, in the order of writing, and how they are joined: as engine::RuleCondition has it.
struct ConditionSyntax {
  std::vector<TermSyntax> terms;
  std::vector<engine::Op> postfix;
};

/// `for 3 cycles`, `2 times within 5 cycles`, `for 90 seconds`. `window` is absent for the plain form.
struct ToleranceSyntax {
  Rare<Number> count;
  Rare<Number> window;
  Rare<Located<Duration>> held;
  SourceRange range;
};

struct ActionSyntax {
  enum class Kind : std::uint8_t { Alert, Exec, Unmonitor, Start, Stop, Restart, Heal, Ignore } kind = Kind::Alert;
  Shared<CommandSyntax> command;    ///< Exec
  Rare<Word> workflow;              ///< Heal, and always there
  Rare<Word> target;                ///< Heal: of another than the service's own
  bool dry_run = false;             ///< Heal
  bool any_target = false;          ///< Heal: `any target`
  Rare<Number> repeat;              ///< `repeat every N cycles`
  Rare<Located<Duration>> lasting;  ///< Unmonitor: `unmonitor for 1 hour`
  bool overlapping = false;
  SourceRange range;
};

struct RecoverySyntax {
  Rare<ToleranceSyntax> tolerance;
  ActionSyntax action;
};

struct IfSyntax {
  ConditionSyntax condition;
  Rare<ToleranceSyntax> tolerance;
  ActionSyntax action;
  Rare<RecoverySyntax> recovery;
  SourceRange range;
};

struct EverySyntax {
  bool negated = false;  ///< `not every`
  Rare<Number> cycles;
  Rare<Word> cron;                   ///< as written; whether these are five fields the validator says
  Rare<Located<Duration>> interval;  ///< healer's own
  SourceRange range;
};

struct MailFormatSyntax {
  Rare<Word> from, reply_to, subject, message;
};

struct AlertSyntax {
  Word address;              ///< or the name of a contact
  bool negated = false;      ///< `not on { ... }`
  std::vector<Word> events;  ///< empty: all
  Rare<Number> reminder;
  bool digest = false;
  MailFormatSyntax format;
  bool to_contact = false;  ///< `alert to NAME`
  SourceRange digest_range{};
  SourceRange format_range{};
  SourceRange range;
};
struct NoAlertSyntax {
  Word address;
};
struct GroupSyntax {
  Word name;
};
struct ModeSyntax {
  Word mode;  ///< active, passive, manual
};
struct OnRebootSyntax {
  Word policy;  ///< start, nostart, laststate
};
/// `start program = "..."`, `stop ...`, `restart ...`.
struct ServiceProgramSyntax {
  enum class Kind : std::uint8_t { Start, Stop, Restart } kind = Kind::Start;
  CommandSyntax command;
  SourceRange range;
};
struct DependsSyntax {
  std::vector<Word> names;
};
/// `stop signal TERM within 20 seconds`.
struct StopSignalSyntax {
  Word signal;  ///< name, with or without SIG, or number
  Rare<Located<Duration>> within;
  SourceRange range;
};
/// `ready after 5 seconds`, `ready on notify within 30 seconds`.
struct ReadySyntax {
  bool by_notice = false;
  Rare<Located<Duration>> time;
  SourceRange range;
};

/// `watchdog 30 seconds`.
struct WatchdogSyntax {
  Located<Duration> time;
  SourceRange range;
};

/// `delay 20 minutes`, of a row.
struct DelaySyntax {
  Located<Duration> time;
  SourceRange range;
};

/// `with leftovers ended`.
struct LeftoversSyntax {
  SourceRange range;
};

/// `ignore content = "..."`, `ignore match "..."`.
struct IgnoreSyntax {
  MatchesSyntax lines;
  SourceRange range;
};

using ServiceStatement = std::variant<IfSyntax, EverySyntax, AlertSyntax, NoAlertSyntax, GroupSyntax, ModeSyntax,
                                      OnRebootSyntax, ServiceProgramSyntax, DependsSyntax, StopSignalSyntax,
                                      ReadySyntax, WatchdogSyntax, LeftoversSyntax, IgnoreSyntax, DelaySyntax>;

/// `every 1 day within 30 minutes token "..." certificate "..."`, of a heartbeat.
struct HeartbeatSyntax {
  Located<Duration> every;
  Located<Duration> within;
  Rare<Word> token{}, certificate{};
};

/// `hook "/hooks/aodh" token "..." format aodh within 10 minutes`, of a check of events.
struct HookSyntax {
  Word path;
  std::vector<Word> secrets;
  Rare<Word> token, certificate, format;
  Rare<Word> key, state;  ///< filters of jq
  Rare<Located<Duration>> within, valid;
};

struct CheckSyntax {
  const engine::CheckKind* kind = engine::all_kinds().front();  ///< never null
  Word name;
  Shared<CommandSyntax> command;    ///< Program; Process: of a foreground process
  Rare<Word> pid_file;              ///< Process: this, the pattern or a program
  Rare<Word> pattern;               ///< Process
  Rare<Word> path;                  ///< of a kind that is nothing but a path
  Rare<Word> host;                  ///< Host: its name or address
  Rare<Word> address;               ///< Interface: this, or its name
  Rare<Word> interface;             ///< Interface
  std::vector<Word> members;        ///< Members: names of services
  std::vector<Word> member_groups;  ///< Members: and of groups of them
  Rare<HeartbeatSyntax> heartbeat;  ///< Heartbeat
  Rare<HookSyntax> hook;            ///< Events
  Rare<engine::ListedSpec> listed;  ///< Row: of which list, and its name; config/passes/expand says
  Rare<Word> unit;                  ///< Unit: its name
  bool foreground = false;          ///< Process: healer runs the program itself
  bool broken = false;              ///< the header had an error: what is missing above may be in it, the name too
  bool lacks_statements = false;    ///< one had an error and is not below: it is not told what the service has not
  std::vector<ServiceStatement> statements;
  std::shared_ptr<const engine::Row> row;  ///< of the `for each` it is read for; null: it is in none
  bool stands_in = false;                  ///< for services of a list that is not known: it becomes none
  SourceRange range;                       ///< of the header

  [[nodiscard]] bool has_command() const { return kind->target == engine::Target::Program || foreground; }
};

// ---- set ----------------------------------------------------------------------------------------------------------

struct SetDaemon {
  Located<Duration> cycle;
  Rare<Located<Duration>> start_delay;
};
struct SetLog {
  Word path;  ///< empty with syslog
  bool syslog = false;
  Rare<Word> facility;
};
/// pidfile, idfile, statefile, control socket.
struct SetPath {
  enum class Kind : std::uint8_t { PidFile, IdFile, StateFile, ControlSocket, Secrets } kind{};
  Word path;
};
struct SetLimits {
  struct Item {
    Word name;  ///< lower case
    std::variant<std::uint64_t, Duration> value;
    SourceRange range;
  };
  std::vector<Item> items;
};
struct SetMailServer {
  struct Server {
    Word host;
    Rare<Number> port;
    Rare<Word> username, password;
    Rare<TlsSyntax> tls;
    Rare<Word> checksum_type, checksum;
  };
  std::vector<Server> servers;
  Rare<Located<Duration>> timeout;
  Rare<Word> hostname;
};
struct SetMailFormat {
  MailFormatSyntax format;
};
struct SetAlert {
  AlertSyntax alert;
};
struct SetEventQueue {
  Rare<Word> directory;
  Rare<Number> slots;
};
struct SetSsl {
  TlsSyntax tls;
};
struct SetHttpd {
  struct Allow {
    enum class Kind : std::uint8_t { Host, Login, Group, File, Token } kind = Kind::Host;
    Word who;                 ///< host or network, user, group, file; of a token nothing
    Rare<Word> password;      ///< of a login; the token
    Rare<Word> how;           ///< of a file: cleartext, crypt, md5
    std::vector<Word> users;  ///< of a file: these of it; empty: all
    engine::Role role = engine::Role::Admin;
  };
  SourceRange range;  ///< of `httpd`
  Rare<Number> port;
  bool port_read_only = false;
  std::vector<Word> addresses;
  Rare<Word> unix_socket, uid, gid, permission;
  bool socket_read_only = false;
  Rare<Word> signature;     ///< enable, disable
  std::optional<bool> tls;  ///< whether it was switched on, or off
  std::vector<std::pair<Word, Word>> tls_options;
  std::vector<Allow> allow;
  std::vector<Word> proxies;
};
/// `set url "https://healer.example"`.
struct SetUrl {
  Word url;
};
struct SetMmonit {
  std::vector<Word> urls;
  Rare<Located<Duration>> timeout;
  Rare<TlsSyntax> tls;
  Rare<Word> checksum_type, checksum;
  bool without_credentials = false;
  std::vector<std::string> host_groups;
  SourceRange range;
};
/// `set monit 6`.
struct SetMonit {
  Word version;
};
/// `set expectbuffer 1 kB`.
struct SetExpectBuffer {
  Located<std::uint64_t> bytes;
};
/// `set mail limit 20 mails within 1 hour`.
struct SetMailLimit {
  Number mails;
  Located<Duration> within;
};
/// `set contact wall url "https://wall.example" method post header "X: y" body '...'`.
struct SetContact {
  Word name;
  Word kind;
  Rare<Word> place;
  Rare<Word> method;
  std::vector<Word> headers;
  Rare<Word> body;
  Rare<Located<Duration>> timeout;
  std::vector<std::pair<Word, Word>> settings;  ///< options that some kinds have
};
/// `set operators john, mary`.
struct SetOperators {
  std::vector<Word> users;
};
struct SetEnvironment {
  Word name;
  Word value;
};
struct SetSettle {
  Located<Duration> settle;
};
/// Statements that are only words: init, shadow, dry run, accept dormant, leftovers end, terminal batch, cycles count
/// polls|runs.
struct SetSwitch {
  enum class Kind : std::uint8_t {
    Init,
    Shadow,
    DryRun,
    AcceptDormant,
    EndLeftovers,
    TerminalBatch,
    Fips,
    CyclesCountPolls,
    CyclesCountRuns
  } kind{};
};
struct SetOnReboot {
  Word policy;
};

using SetStatement =
    std::variant<SetDaemon, SetLog, SetPath, SetLimits, SetMailServer, SetMailFormat, SetAlert, SetEventQueue,
                 SetMailLimit, SetEnvironment, SetSettle, SetSwitch, SetOnReboot, SetSsl, SetHttpd, SetMmonit, SetMonit,
                 SetExpectBuffer, SetHealingLimit, SetHealingMode, SetHealingOnlyWhile, SetMaintenance, SetContact,
                 SetOperators, SetUrl>;

struct SetSyntax {
  SetStatement statement;
  SourceRange range;
};

struct IncludeSyntax {
  Word pattern;
  SourceRange range;
};

/// Statements of a service that stand at the beginning of a file or after an `include`: they belong to the service that
/// was begun last before them, in the files' order of reading (an include is as if its text stood there, as in Monit,
/// so that files with common `alert` or `group` lines can be included in a service). The include pass joins them.
struct ContinuationSyntax {
  std::vector<ServiceStatement> statements;
  SourceRange range;  ///< of the first one
};

/// A service that healer does not know: of a kind that is not supported, or without a kind. Its statements were not
/// read.
struct UnknownCheckSyntax {
  std::vector<std::string> names;  ///< what it may be called
};

/// `define NAME "value"`.
struct DefineSyntax {
  Word name;
  Word value;
  SourceRange range;
};

/// `http get "URL" ... rows 'F' name 'F' ... token http post "URL" ...`, of a list.
struct HttpListSyntax {
  HttpRequestSyntax request;
  Rare<Word> rows, name, next;  ///< filters
  bool next_link = false;
  Rare<Located<Duration>> timeout;
  Rare<HttpStepSyntax> token;  ///< its request, `expect` and one `save`
  SourceRange range;           ///< of `http`
};

/// `for each NAME in "a", "b1" .. "b9" {`, `for each NAME from command "..." every 5 minutes {`, up to the EndSyntax
/// that belongs to it. A list has values, a command, a file, or is asked for over HTTP.
struct ForEachSyntax {
  struct Item {
    Word first;
    Rare<Word> last;  ///< of a range
  };
  Word name;
  std::vector<Item> items;
  Rare<CommandSyntax> command;
  Rare<Word> file;
  Rare<HttpListSyntax> http;
  Rare<Located<Duration>> every;
  SourceRange range;  ///< of the header
};
/// `}`.
struct EndSyntax {
  SourceRange range;
};

/// config/passes/expand leaves none of the last three.
using Statement = std::variant<SetSyntax, IncludeSyntax, CheckSyntax, ContinuationSyntax, UnknownCheckSyntax,
                               WorkflowSyntax, DefineSyntax, ForEachSyntax, EndSyntax>;

/// Wording that not every Monit understands, found on the way for `--dialect`: what it is called, and where.
struct Extension {
  std::string name;
  SourceRange range;
  std::optional<MonitVersion> since{};  ///< the first one that understands it; none: only healer does
  bool is_refused = false;              ///< the other way round: that one and later ones refuse it
};

/// Wording that newer versions of Monit warn of, for `healerctl lint`. Both are texts of the program.
struct Deprecation {
  std::string_view was;
  std::string_view instead;
  SourceRange range;
};

/// Where a statement begins, whether it belongs to a service, and in how many blocks of `for each` it stands.
struct StatementBegin {
  std::uint32_t offset = 0;
  bool in_service = false;
  bool in_block = false;  ///< it is an item between the braces of a workflow
  std::uint32_t depth = 0;
};

/// One file, parsed. Statements in the order of writing.
struct FileSyntax {
  std::deque<Statement> statements;
  std::vector<Extension> extensions;
  std::vector<Deprecation> deprecations;
  std::vector<StatementBegin> begins;  ///< of all statements, where there is no error
  bool is_whole = true;                ///< false: there may be services that were not found
  /// Where the words `include` stand that broke a statement off.
  std::vector<std::uint32_t> cut_includes;
  bool begins_cut = false;  ///< its first word begins no statement
  bool ends_cut = false;    ///< its last statement goes on behind its end
};

}  // namespace healer::config
