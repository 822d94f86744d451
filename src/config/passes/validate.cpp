// SPDX-License-Identifier: MIT
// Values that cannot be. Everything here is an error at the place of the value; what Monit accepts though it makes no
// sense is the linter's business.
#include <regex.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <set>
#include <unordered_map>

#include <spdlog/fmt/fmt.h>

#include "config/compile/connection.hpp"
#include "config/compile/cron.hpp"
#include "config/compile/quantity.hpp"
#include "config/compile/url.hpp"
#include "config/passes/passes.hpp"
#include "config/passes/silence.hpp"
#include "config/syntax/vocabulary.hpp"
#include "config/text/rule_text.hpp"
#include "engine/occurrence.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/unit.hpp"
#include "util/jq.hpp"
#include "util/network.hpp"
#include "util/regex.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::uint64_t kMaxCycles = 64;
constexpr std::size_t kMaxConnections = 1000;
constexpr int kMaxMembers = 1'000'000;
constexpr std::string_view kStatus = "status";

class Validator {
 public:
  Validator(const Sources& sources, Diagnostics& diagnostics) : sources_(sources), diagnostics_(diagnostics) {}

  void run(const Document& document) {
    expansion_ = &document.expansion;
    collect_broken();
    for (std::size_t i = 0; i < document.statements.size(); ++i) {
      if (const auto* set = std::get_if<SetSyntax>(&document.statements[i])) {
        std::visit([this](const auto& statement) { check(statement); }, set->statement);
      } else {
        if (std::holds_alternative<WorkflowSyntax>(document.statements[i])) continue;
        const SourceRange* next = i + 1 < document.statements.size() ? &range_of(document.statements[i + 1]) : nullptr;
        service(std::get<CheckSyntax>(document.statements[i]), next);
      }
    }
    // Only the last `set daemon` counts.
    const SetDaemon* daemon = nullptr;
    for_each_set<SetDaemon>(document, [&](const SetDaemon& set, const SourceRange&) { daemon = &set; });
    if (daemon != nullptr && daemon->cycle.value <= Duration{0})
      error(Code::OutOfRange, daemon->cycle.range, "the cycle must be longer than 0", "as in 'set daemon 30'");
  }

 private:
  void error(Code code, const SourceRange& range, std::string message, std::string remedy = {}) {
    report(diagnostics_, DiagnosticSeverity::Error, code, range, std::move(message), std::move(remedy));
  }

  // ---- services ---------------------------------------------------------------------------------------------------

  static const SourceRange& range_of(const Document::Statement& statement) {
    return std::visit([](const auto& node) -> const SourceRange& { return node.range; }, statement);
  }

  /// Remembers where the parser has found errors: it is not said what a service lacks that has one.
  void collect_broken() {
    for (const Diagnostic& diagnostic : diagnostics_)
      if (diagnostic.severity == DiagnosticSeverity::Error && diagnostic.range)
        broken_.emplace(diagnostic.range->file, diagnostic.range->begin);
  }

  /// Whether there is an error between a service's header and the statement after it.
  [[nodiscard]] bool is_broken(const SourceRange& header, const SourceRange* next) const {
    const auto first = broken_.lower_bound({header.file, header.begin});
    if (first == broken_.end() || first->first != header.file) return false;
    return next == nullptr || next->file != header.file || first->second < next->begin;
  }

  void service(const CheckSyntax& check, const SourceRange* next) {
    name(check);
    kind_ = check.kind;
    check_ = &check;
    tested_ = false;
    killed_ = false;
    patterns_.clear();
    filters_.clear();
    connections_ = 0;
    if (check.foreground && check.command->timeout)
      error(Code::WrongPlace, check.command->timeout->range, "a process that healer runs itself has no timeout",
            "'ready on notify within 30 seconds' is for how long its start may take");
    if (check.pattern) regex(*check.pattern);
    if (check.unit) unit(*check.unit);
    for (const ServiceStatement& statement : check.statements)
      std::visit([this](const auto& node) { this->statement(node); }, statement);
    if (!check.kind->needed_test.empty() && !tested_ && !is_broken(check.range, next))
      error(Code::NoTest, check.range,
            fmt::format("'check {} {}' has no test", check.kind->word, printable(check.name.value)),
            fmt::format("add {}", check.kind->needed_test));
    if (patterns_.size() > engine::kMaxPatterns)
      error(Code::TooMany, check.range,
            fmt::format("{} has {} different content tests: at most {} are possible", in_quotes(check.name.value),
                        patterns_.size(), engine::kMaxPatterns));
    if (filters_.size() > engine::kMaxFilters)
      error(Code::TooMany, check.range,
            fmt::format("{} has {} different filters of jq: at most {} are possible", in_quotes(check.name.value),
                        filters_.size(), engine::kMaxFilters),
            "let one filter judge, as in json '.a > 1 or .b > 2' = true");
  }

  void unit(const Word& name) {
    const std::string problem = engine::unit_name_problem(name.value);
    if (!problem.empty())
      error(Code::InvalidValue, name.range,
            fmt::format("{} is not the name of a unit: {}", in_quotes(name.value), problem),
            "systemctl list-units --all lists them");
  }

  /// A name means one service. Where a row from outside makes a second one, it is that row that is wrong: the later
  /// one of two, and never the rules.
  void name(const CheckSyntax& check) {
    const auto [known, is_new] = names_.emplace(to_lower(check.name.value), &check);
    if (is_new || check.name.value.empty()) return;
    const CheckSyntax& before = *known->second;
    const SourceRange& first = before.name.range;
    const SourceRange& second = check.name.range;
    const RowOrigin its = expansion_->origin(first.row);
    const RowOrigin own = expansion_->origin(second.row);
    // Who stands for any row is not the row of another list, nor a service of that name.
    if ((own.stands_in || its.stands_in) && !(own.stands_in && its.stands_in && own.list == its.list)) {
      if (its.stands_in) known->second = &check;
      return;
    }
    const bool first_yields = its.is_known() && !own.is_known();
    report(diagnostics_, DiagnosticSeverity::Error, Code::DuplicateName, second,
           fmt::format("there is a service {} already", in_quotes(check.name.value)),
           first.row != second.row && first.begin == second.begin && first.file == second.file
               ? "each row needs a service of its own: put the row's name into that of the service"
               : fmt::format("the first one is at {}:{}; case makes no difference",
                             printable(sources_.at(first.file).path), sources_.position(first.file, first.begin).line),
           first_yields ? std::vector<std::uint32_t>{first.row} : std::vector<std::uint32_t>{});
    if (first_yields) known->second = &check;
  }

  void statement(const IfSyntax& rule) {
    for (const TermSyntax& term : rule.condition.terms) {
      // A wrong test is a test: nothing is missing.
      tested_ = tested_ || !std::holds_alternative<RestartsSyntax>(term.test);
      std::visit([&](const auto& node) { test(node, term.range); }, term.test);
    }
    if (counts_restarts(rule))
      restarts(*rule.tolerance);
    else if (rule.tolerance)
      tolerance(*rule.tolerance);
    action(rule.action);
    if (!rule.recovery) return;
    if (rule.recovery->tolerance) tolerance(*rule.recovery->tolerance);
    action(rule.recovery->action);
  }

  // ---- tests

  void has_no_test(const SourceRange& range, std::string_view what) {
    error(Code::WrongTest, range, fmt::format("'check {}' has no test of {}", kind_->word, what),
          std::string(kind_->tests));
  }

  void test(const CompareSyntax& test, const SourceRange& range) {
    if (kind_->find_quantity(test.name.value) == nullptr) {
      if (test.name.value == kStatus) return has_no_test(range, "a status");
      if (kind_->traits.is_run || kind_->traits.is_listed || !kind_->traits.is_measured())
        return has_no_test(range, "resources");
    }
    if (test.name.value == kStatus && kind_->traits.has_process && is_not_foreground())
      return error(Code::WrongPlace, range, "how a process ends is known only of one that healer runs itself",
                   "begin it with 'check process NAME with program \"...\"', or check it with a program");
    const QuantityReading reading = read_quantity(*kind_, test);
    if (!reading.error.empty()) error(Code::WrongQuantity, reading.place, reading.error, reading.remedy);
  }
  void test(const TotalSyntax& test, const SourceRange& range) {
    if (kind_->find_quantity(test.amount.name.value) == nullptr) return has_no_test(range, "a total");
    this->test(test.amount, range);
    if (kind_->traits.is_unit && test.span.value <= Duration{0}) return duration(test.span);
    if (test.span.value > engine::kLongestTotal)
      error(Code::OutOfRange, test.span.range, "a total is kept for 24 hours at most",
            kind_->traits.is_unit ? "write 'within 24 hours', or less" : "write 'in last day', or less");
  }
  void test(const LinkSyntax&, const SourceRange& range) {
    if (!kind_->traits.has_link) has_no_test(range, "a link");
  }
  void test(const DiffersSyntax& test, const SourceRange& range) {
    const engine::AttributeRow* row = kind_->find_attribute(test.what);
    if (row == nullptr || !row->differs) return has_no_test(range, topic_of(test.what));
    if (row->form == engine::Form::Mode && !permission_of(test.value.value))
      error(Code::InvalidValue, test.value.range, fmt::format("{} is not a permission", in_quotes(test.value.value)),
            "it is written in octal digits, as in 0640");
    if (row->form == engine::Form::Checksum && !test.value.value.empty() && !test.is_loose)
      check_checksum(row->words, test.value, diagnostics_);
  }
  void test(const ChangedSyntax& test, const SourceRange& range) {
    const engine::AttributeRow* row = kind_->find_attribute(test.what);
    if (row == nullptr || !row->changes) has_no_test(range, topic_of(test.what));
  }
  void test(const TextSyntax& test, const SourceRange& range) {
    const engine::AttributeRow* row = kind_->find_attribute(test.what);
    if (row == nullptr || row->form != engine::Form::Text) return has_no_test(range, topic_of(test.what));
    if (test.is_pattern) return regex(test.value);
    const auto& states = engine::kUnitStates;
    if (row->attribute != engine::Attribute::UnitState || std::ranges::count(states, test.value.value) > 0) return;
    const std::string_view near = nearest_word(test.value.value, states);
    report(diagnostics_, DiagnosticSeverity::Warning, Code::InvalidValue, test.value.range,
           fmt::format("systemd has no state {}", in_quotes(test.value.value)),
           near.empty() ? fmt::format("the states are {}", fmt::join(states, ", "))
                        : fmt::format("did you mean '{}'?", near));
  }
  void test(const OutputChangedSyntax&, const SourceRange& range) {
    if (!kind_->traits.is_run) has_no_test(range, "a changed content");
  }
  void test(const PresentSyntax&, const SourceRange& range) {
    if (!kind_->presence) has_no_test(range, "existence");
  }
  void test(const MatchesSyntax& test, const SourceRange& range) {
    if (!kind_->content) return has_no_test(range, "a content");
    if (test.of_lines && !kind_->traits.has_lines) return has_no_test(range, "lines");
    const bool is_file = kind_->traits.has_lines && test.pattern.value.starts_with('/');
    // To a file `content != "x"` is a question of its own: whether there is a line without it.
    patterns_.insert(test.pattern.value + (kind_->traits.has_lines && test.negated ? "!" : "="));
    if (!is_file) regex(test.pattern);
  }

  /// What an attribute is called where a kind does not have it.
  static std::string_view topic_of(std::string_view words) {
    for (const engine::CheckKind* kind : engine::all_kinds())
      if (const engine::AttributeRow* row = kind->find_attribute(words)) return row->topic;
    return words;
  }
  void test(const RestartsSyntax&, const SourceRange&) {}
  void test(const QueriedSyntax& test, const SourceRange& range) {
    if (!kind_->traits.is_run && !kind_->traits.is_listed && !is_event()) return has_no_test(range, "JSON");
    const auto& [filter, comparison, value, quoted] = test.json;
    filters_.insert(filter.value);
    if (const std::string problem = jq_problem(filter.value); !problem.empty())
      error(Code::InvalidPattern, filter.range,
            fmt::format("{} is not a valid jq filter: {}", in_quotes(filter.value), problem));
    if (!quoted && !is_json_literal(value.value))
      error(Code::InvalidValue, value.range, fmt::format("{} is not a JSON value", in_quotes(value.value)),
            "put a text in quotes; others are numbers, true, false and null");
  }
  [[nodiscard]] bool is_event() const { return kind_->target == engine::Target::Events; }
  void test(const EventCountSyntax& test, const SourceRange& range) {
    if (!is_event()) return has_no_test(range, "events");
    duration(test.within);
    if (test.above.value >= engine::kMostCountedEvents)
      error(Code::OutOfRange, test.above.range,
            fmt::format("at most {} events are counted", engine::kMostCountedEvents - 1));
  }
  void test(const HeartbeatTestSyntax& test, const SourceRange& range) {
    if ((kind_->traits.is_heard && !is_event()) || (!test.missed && kind_->traits.is_unit)) return;
    has_no_test(range, test.missed ? "beats that are missed" : "its last beat");
  }
  void test(const ActiveSyntax&, const SourceRange& range) {
    if (kind_->traits.is_unit) return;
    if (!kind_->presence) return has_no_test(range, "the state of a unit");
    error(Code::WrongTest, range, fmt::format("'check {}' has no test of the state of a unit", kind_->word),
          "a test that it is there is 'exist': if does not exist then alert");
  }
  void test(const MembersSyntax& test, const SourceRange& range) {
    if (!kind_->traits.has_members) return has_no_test(range, "members");
    const auto& [kind, number] = test.quota;
    if (kind == engine::Quota::Kind::AtLeast && (number < 1 || number > kMaxMembers))
      error(Code::OutOfRange, range, fmt::format("the number of members must be between 1 and {}", kMaxMembers),
            "write 'any member' or 'all members' if that is what you mean");
    if (kind == engine::Quota::Kind::MoreThan && number >= 100)
      error(Code::OutOfRange, range, "more than all members cannot fail: the percentage must be below 100",
            "write 'all members failed'");
  }
  void test(const ConnectionSyntax& test, const SourceRange& range) {
    using Target = ConnectionSyntax::Target;
    const engine::Connections& has = kind_->connections;
    if (!has.any()) return has_no_test(range, "connections");
    if (test.target == Target::UnixSocket && !has.unix_sockets)
      return error(Code::WrongTest, range, fmt::format("'check {}' has no test of a unix socket", kind_->word),
                   "a unix socket is this machine's: test it in the 'check process' of its server");
    if (test.target == Target::Ping && !has.pings)
      return error(Code::WrongTest, range, fmt::format("'check {}' has no ping", kind_->word),
                   "a ping is for 'check host NAME with address HOST'");
    if (++connections_ > kMaxConnections)
      return error(Code::TooMany, range, fmt::format("a service has at most {} tests of connections", kMaxConnections));
    if (test.tls) tls(*test.tls);
    ConnectionReading reading = read_connection(test, range, std::string(kLocalHost), {});
    for (ConnectionFault& fault : reading.errors)
      error(Code::InvalidConnection, fault.place, std::move(fault.message), std::move(fault.remedy));
    for (ConnectionFault& fault : reading.warnings)
      report(diagnostics_, DiagnosticSeverity::Warning, Code::InvalidConnection, fault.place, std::move(fault.message),
             std::move(fault.remedy));
  }

  void restarts(const ToleranceSyntax& tolerance) {
    if (tolerance.count->value < 1)
      error(Code::OutOfRange, tolerance.count->range, "the number of restarts must be at least 1");
    else if (tolerance.count->value > tolerance.window->value)
      error(Code::OutOfRange, tolerance.count->range,
            fmt::format("there cannot be {} restarts within {} cycle{}: at most one counts in a cycle",
                        tolerance.count->value, tolerance.window->value, tolerance.window->value == 1 ? "" : "s"));
  }

  void regex(const Word& pattern) {
    if (const std::string problem = regex_problem(pattern.value); !problem.empty())
      return error(Code::InvalidPattern, pattern.range,
                   fmt::format("the regular expression {} is too large: {}", in_quotes(pattern.value), problem));
    if (const std::string problem = pattern_problem(pattern.value); !problem.empty())
      error(Code::InvalidPattern, pattern.range,
            fmt::format("{} is not a valid regular expression: {}", in_quotes(pattern.value), problem));
  }

  void tolerance(const ToleranceSyntax& tolerance) {
    const auto cycles = [this](const Number& number) {
      if (number.value >= 1 && number.value <= kMaxCycles) return true;
      error(Code::OutOfRange, number.range,
            fmt::format("the number of cycles must be between 1 and {}, not {}", kMaxCycles, number.value));
      return false;
    };
    if (tolerance.held) duration(*tolerance.held);
    if (tolerance.count && !tolerance.window) cycles(*tolerance.count);
    if (tolerance.window && cycles(*tolerance.window) && tolerance.count &&
        (tolerance.count->value < 1 || tolerance.count->value > tolerance.window->value))
      error(Code::OutOfRange, tolerance.count->range,
            fmt::format("the number of times must be between 1 and the {} cycles, not {}", tolerance.window->value,
                        tolerance.count->value));
  }

  void duration(const Located<Duration>& duration) {
    if (duration.value <= Duration{0}) error(Code::OutOfRange, duration.range, "the duration must be longer than 0");
  }

  void action(const ActionSyntax& action) {
    // A timeout of 0 is none, whatever `set limits` says.
    if (action.kind == ActionSyntax::Kind::Exec && action.command->timeout &&
        action.command->timeout->value < Duration{0})
      duration(*action.command->timeout);
    if (action.lasting) duration(*action.lasting);
  }

  void statement(const EverySyntax& every) {
    if (every.interval) duration(*every.interval);
    if (!every.cron) return;
    const CronReading reading = read_cron(every.cron->value);
    if (!reading.error.empty()) error(Code::InvalidSchedule, every.cron->range, reading.error, reading.remedy);
  }

  void statement(const IgnoreSyntax& ignore) {
    if (!kind_->traits.has_lines && !check_->broken)
      return error(Code::WrongPlace, ignore.range, "'ignore' is for the lines of a file",
                   "remove it, or begin the service with 'check file'");
    if (!ignore.lines.pattern.value.starts_with('/')) regex(ignore.lines.pattern);
  }

  // ---- foreground processes

  /// Whether a statement stands in a service that is no foreground process for certain.
  [[nodiscard]] bool is_not_foreground() const { return !check_->foreground && !check_->broken; }

  void statement(const ServiceProgramSyntax& program) {
    if (!check_->foreground) return;
    static constexpr std::array<std::string_view, 3> kNames{"start", "stop", "restart"};
    static constexpr std::array<std::string_view, 3> kRemedies{
        "remove this: it is started by the program of its 'check process'",
        "it is ended by signals, as in 'stop signal TERM within 20 seconds'",
        "remove this: it is ended by signals and started by the program of its 'check process'"};
    const auto kind = static_cast<std::size_t>(program.kind);
    error(Code::WrongPlace, program.range,
          fmt::format("{} is a process that healer runs itself: it has no {} program", in_quotes(check_->name.value),
                      kNames[kind]),
          std::string(kRemedies[kind]));
  }

  void statement(const StopSignalSyntax& stop) {
    if (is_not_foreground())
      return error(Code::WrongPlace, stop.range, "'stop signal' is for a process that healer runs itself",
                   "begin it with 'check process NAME with program \"...\"', or write a stop program");
    if (stop.within) duration(*stop.within);
    const std::optional<int> signal = signal_number(stop.signal.value);
    if (!signal) {
      const std::string_view near = nearest_signal(stop.signal.value);
      return error(Code::UnknownName, stop.signal.range,
                   fmt::format("there is no signal {}", in_quotes(stop.signal.value)),
                   near.empty() ? "a signal has a name such as TERM, or a number from 1 to 64"
                                : fmt::format("did you mean '{}'?", near));
    }
    if (*signal == SIGSTOP || *signal == SIGTSTP || *signal == SIGTTIN || *signal == SIGTTOU)
      return error(Code::InvalidValue, stop.signal.range,
                   fmt::format("{} suspends a process, it does not end it", signal_name(*signal)),
                   "write TERM, INT or QUIT");
    if (killed_) error(Code::NoEffect, stop.signal.range, "nothing can receive a signal after KILL", "write KILL last");
    killed_ = *signal == SIGKILL;
  }

  void statement(const ReadySyntax& ready) {
    if (is_not_foreground())
      return error(Code::WrongPlace, ready.range, "'ready' is for a process that healer runs itself",
                   "begin it with 'check process NAME with program \"...\"'");
    if (ready.time && ready.by_notice) duration(*ready.time);
  }

  void statement(const WatchdogSyntax& watchdog) {
    if (is_not_foreground())
      return error(Code::WrongPlace, watchdog.range, "'watchdog' is for a process that healer runs itself",
                   "begin it with 'check process NAME with program \"...\"'");
    if (watchdog.time.value < engine::kShortestWatchdog)
      error(Code::OutOfRange, watchdog.time.range,
            fmt::format("the time of a watchdog is {} at least", format_duration(engine::kShortestWatchdog)));
  }

  void statement(const DelaySyntax& delay) {
    if (!kind_->traits.is_listed && !check_->broken)
      return error(Code::WrongPlace, delay.range, "'delay' is only possible for a 'check row'", "remove it");
    duration(delay.time);
  }

  void statement(const LeftoversSyntax& leftovers) {
    if (!kind_->traits.has_process && !check_->broken)
      error(Code::WrongPlace, leftovers.range, "'leftovers ended' is only possible for a process",
            "remove it, or begin the service with 'check process'");
  }

  // What these say is settled by the grammar, or by a pass of its own.
  void statement(const DependsSyntax&) {}
  void statement(const AlertSyntax&) {}
  void statement(const NoAlertSyntax&) {}
  void statement(const GroupSyntax&) {}
  void statement(const ModeSyntax&) {}
  void statement(const OnRebootSyntax&) {}

  // ---- set --------------------------------------------------------------------------------------------------------

  void check(const SetLog& log) {
    if (!log.facility) return;
    const std::string& name = log.facility->value;
    if (std::ranges::none_of(kFacilities, [&](std::string_view known) { return iequals(known, name); }))
      error(Code::UnknownName, log.facility->range, fmt::format("{} is not a syslog facility", in_quotes(name)),
            "write 'log_daemon', or 'log_local0' to 'log_local7'");
  }
  void check(const SetMailServer& set) {
    for (const SetMailServer::Server& server : set.servers) {
      if (server.tls) tls(*server.tls);
      if (server.checksum) check_checksum(server.checksum_type, *server.checksum, diagnostics_);
    }
  }
  void check(const SetContact&) {}  // check_contacts() does
  void check(const SetMailLimit& set) {
    if (set.mails.value < 1) error(Code::OutOfRange, set.mails.range, "the number of mails must be at least 1");
    duration(set.within);
  }
  void check(const SetEnvironment& set) {
    const std::string& name = set.name.value;
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const bool valid = !name.empty() && is_letter(name.front()) &&
                       std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
    if (!valid)
      error(Code::InvalidValue, set.name.range,
            fmt::format("{} cannot be the name of an environment variable", in_quotes(name)),
            "letters, digits and '_', the first no digit");
    else if (name.starts_with("MONIT_") || name.starts_with("HEALER_"))
      error(Code::InvalidValue, set.name.range, fmt::format("{} is reserved for healer", in_quotes(name)),
            "choose another name");
  }
  // What these say is settled by the grammar, or by the pass that reads it.
  void check(const SetDaemon&) {}
  void check(const SetPath&) {}
  void check(const SetOperators&) {}
  void check(const SetUrl& set) { url(set.url, DiagnosticSeverity::Error); }
  void check(const SetLimits& set) {
    for (const SetLimits::Item& item : set.items)
      if (const auto* time = std::get_if<Duration>(&item.value);
          time != nullptr && *time == Duration{0} && item.name.value == "exectimeout")
        error(Code::OutOfRange, item.range, "the limit 'execTimeout' must be longer than 0",
              "leave it out: without it there is none");
  }
  void check(const SetMonit& set) {
    if (!monit_version(set.version.value))
      error(Code::InvalidValue, set.version.range,
            fmt::format("{} is not a version of Monit", in_quotes(set.version.value)), "write 5.33, 6 or 6.1");
  }
  void check(const SetEventQueue&) {}
  void check(const SetExpectBuffer&) {}
  void check(const SetSsl& set) { tls(set.tls); }
  void check(const SetHttpd& set) {
    for (const SetHttpd::Allow& allow : set.allow)
      if (allow.kind == SetHttpd::Allow::Kind::Token &&
          !std::ranges::all_of(allow.password->value, [](char c) { return c > ' ' && c < '\x7f'; }))
        error(Code::InvalidValue, allow.password->range, "a token has only visible ASCII characters and no blanks",
              "a role stands after its quotes, as in token \"TEXT\" read-only");
    for (const Word& proxy : set.proxies)
      if (!Network::parse(proxy.value))
        error(Code::InvalidValue, proxy.range, fmt::format("{} is not an address", in_quotes(proxy.value)),
              "a proxy is named by its address or network, as in 192.0.2.7 or 192.0.2.0/24");
    if (set.permission && !permission_of(set.permission->value))
      error(Code::InvalidValue, set.permission->range,
            fmt::format("{} is not a permission", in_quotes(set.permission->value)),
            "it is written in octal digits, as in 0600");
    for (const auto& [name, value] : set.tls_options)
      if (name.value == "version") tls_version(value);
    const auto has = [&](std::string_view name) {
      return std::ranges::any_of(set.tls_options, [&](const auto& option) { return option.first.value == name; });
    };
    if (set.tls.value_or(false) && !has("pemfile") && !(has("pemchain") && has("pemkey")))
      error(Code::MissingOption, set.range, "TLS needs the certificate of the server, and its key",
            "add 'pemfile: PATH' to its options");
  }
  void check(const SetMmonit& set) {
    for (const Word& one : set.urls) url(one, DiagnosticSeverity::Warning);
    if (set.tls) tls(*set.tls);
    if (set.checksum) check_checksum(set.checksum_type, *set.checksum, diagnostics_);
  }
  /// `of_port`: how bad a port is that cannot be. Monit takes it.
  void url(const Word& word, DiagnosticSeverity of_port) {
    const UrlParts parts = split_url(word.value);
    if (!parts.wrong.empty())
      return error(Code::InvalidUrl, word.range, parts.wrong, "a URL is written http://HOST/PATH or https://HOST/PATH");
    if (!is_port(parts.port))
      report(diagnostics_, of_port, Code::InvalidUrl, word.range,
             fmt::format("there is no port {}: nobody will ever answer there", in_quotes(parts.port)),
             std::string(kPortRemedy));
  }

  void check(const SetMailFormat&) {}
  void check(const SetAlert&) {}
  void check(const SetSettle&) {}
  void check(const SetSwitch&) {}
  void check(const SetOnReboot&) {}
  void check(const SetHealingLimit&) {}
  void check(const SetHealingMode&) {}
  void check(const SetHealingOnlyWhile&) {}
  void check(const SetMaintenance& set) {
    duration(set.length);
    const CronReading reading = read_cron(set.cron.value);
    if (!reading.error.empty()) error(Code::InvalidSchedule, set.cron.range, reading.error, reading.remedy);
    if (!reading.never.empty())
      error(Code::NeverRuns, set.cron.range, fmt::format("no {} matches: it never begins", reading.never));
  }

  void tls(const TlsSyntax& tls) {
    if (tls.version) tls_version(*tls.version);
    for (const auto& [name, value] : tls.options)
      if (iequals(name.value, "version")) tls_version(value);
  }

  void tls_version(const Word& version) {
    if (iequals(version.value, "sslv2") || iequals(version.value, "sslv3"))
      error(Code::InvalidValue, version.range,
            fmt::format("{} is broken and no longer supported", in_quotes(version.value)),
            "write 'tls' for the best that both sides know");
  }

  const Sources& sources_;
  Diagnostics& diagnostics_;
  const Expansion* expansion_ = nullptr;
  std::unordered_map<std::string, const CheckSyntax*> names_;  ///< in lower case, and who has each
  const engine::CheckKind* kind_ = nullptr;
  bool tested_ = false;                 ///< the service has a test
  const CheckSyntax* check_ = nullptr;  ///< the service
  std::size_t connections_ = 0;         ///< its tests of them
  bool killed_ = false;                 ///< KILL is among its stop signals
  std::set<std::string> patterns_;      ///< of its content tests
  std::set<std::string> filters_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> broken_;  ///< file and offset of errors
};

}  // namespace

void validate(const Document& document, const Sources& sources, Diagnostics& diagnostics) {
  Validator(sources, diagnostics).run(document);
}

}  // namespace healer::config
