// SPDX-License-Identifier: MIT
// What is accepted but may not mean what its writer thinks: above all where Monit silently does less than a file says.
#include <spdlog/fmt/fmt.h>
#include <algorithm>
#include <array>
#include <csignal>
#include <set>

#include "config/compile/cron.hpp"
#include "config/compile/quantity.hpp"
#include "config/passes/lint_httpd.hpp"
#include "config/passes/passes.hpp"
#include "config/passes/silence.hpp"
#include "config/syntax/vocabulary.hpp"
#include "config/text/rule_text.hpp"
#include "config/text/secret.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/rule.hpp"
#include "protocols/protocol.hpp"
#include "util/regex.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {
constexpr int kMaxStatus = 255;
constexpr std::uint64_t kMaxRepeat = 65535;
constexpr double kWhole = 100, kLeastMemory = 64 << 10;  // percent; bytes that every process and machine has
constexpr Duration kShortCycle = milliseconds{100};
class Linter {
 public:
  Linter(const Sources& sources, Diagnostics& diagnostics) : sources_(sources), diagnostics_(diagnostics) {}

  void run(const Document& document) {
    for_each_set<SetSwitch>(document, [&](const SetSwitch& set, const SourceRange&) {
      if (set.kind == SetSwitch::Kind::CyclesCountPolls) count_polls_ = true;
      if (set.kind == SetSwitch::Kind::CyclesCountRuns) count_polls_ = false;
      if (set.kind == SetSwitch::Kind::AcceptDormant) accept_dormant_ = true;
    });
    for_each_set<SetDaemon>(document, [&](const SetDaemon& set, const SourceRange&) { cycle_ = set.cycle.value; });
    for_each_set<SetAlert>(document, [&](const SetAlert& set, const SourceRange&) {
      if (!set.alert.to_contact) global_addresses_.insert(to_lower(set.alert.address.value));
    });
    for_each_set<SetMailServer>(document, [&](const SetMailServer&, const SourceRange&) { has_mail_server_ = true; });
    for (const Document::Statement& statement : document.statements) {
      if (const auto* set = std::get_if<SetSyntax>(&statement))
        std::visit([&](const auto& node) { check(node, set->range); }, set->statement);
      else if (const auto* check = std::get_if<CheckSyntax>(&statement))
        service(*check);
      else
        for_each_program(std::get<WorkflowSyntax>(statement), [this](const ProgramStepSyntax& program) {
          arguments(program.command);
          for (const auto& [name, value] : program.environment) hidden(value);
        });
    }
    lint_httpd(document, sources_, diagnostics_);
  }

 private:
  void warn(Code code, const SourceRange& range, std::string message, std::string remedy = {}) {
    report(diagnostics_, DiagnosticSeverity::Warning, code, range, std::move(message), std::move(remedy));
  }

  // ---- set --------------------------------------------------------------------------------------------------------

  /// Two statements of which only the last counts.
  void only_last(const SourceRange*& before, const SourceRange& range, std::string_view what) {
    if (before != nullptr)
      warn(Code::DuplicateStatement, *before,
           fmt::format("'{}' is set again further down: only the last one counts", what));
    before = &range;
  }

  /// One warning, however many statements.
  void not_yet(bool& reported, const SourceRange& range, std::string message, std::string remedy = {}) {
    if (!std::exchange(reported, true)) warn(Code::NotYet, range, std::move(message), std::move(remedy));
  }

  void check(const SetDaemon& set, const SourceRange& range) {
    only_last(daemon_, range, "set daemon");
    long_duration(set.cycle);
    if (set.cycle.value > Duration{0} && set.cycle.value < kShortCycle)
      warn(Code::Suspicious, set.cycle.range, "a cycle this short keeps the machine busy with checks alone",
           "healer notices at once when a process dies, whatever the cycle");
    if (set.start_delay) long_duration(*set.start_delay);
  }
  void check(const SetLog&, const SourceRange& range) { only_last(log_, range, "set log"); }
  void check(const SetPath& set, const SourceRange& range) {
    static constexpr std::array<std::string_view, 5> kNames{"set pidfile", "set idfile", "set statefile",
                                                            "set control socket", "set secrets"};
    const auto kind = static_cast<std::size_t>(set.kind);
    only_last(paths_[kind], range, kNames[kind]);
  }
  void check(const SetContact& set, const SourceRange&) {
    for (const Word& header : set.headers)
      if (header.value.ends_with(kHidden)) hidden({std::string(kHidden), header.range});
    for (const auto& [name, value] : set.settings) hidden(value);
  }
  void check(const SetMailFormat& set, const SourceRange& range) {
    only_last(mail_format_, range, "set mail-format");
    mail_format(set.format);
  }
  void check(const SetSettle& set, const SourceRange& range) {
    only_last(settle_, range, "set settle");
    long_duration(set.settle);
  }
  void check(const SetEventQueue&, const SourceRange& range) { only_last(event_queue_, range, "set eventqueue"); }
  void check(const SetMailLimit& set, const SourceRange& range) {
    only_last(mail_limit_, range, "set mail limit");
    long_duration(set.within);
  }
  void check(const SetHealingMode&, const SourceRange& range) { only_last(healing_mode_, range, "set healing mode"); }
  void check(const SetHealingLimit&, const SourceRange&) {}
  void check(const SetHealingOnlyWhile&, const SourceRange&) {}
  void check(const SetOperators&, const SourceRange&) {}
  void check(const SetHttpd&, const SourceRange&) {}  // see lint_httpd
  void check(const SetUrl&, const SourceRange& range) { only_last(url_, range, "set url"); }
  void check(const SetMaintenance& set, const SourceRange&) { long_duration(set.length); }
  void check(const SetMmonit&, const SourceRange&) {}  // see lint_httpd
  void check(const SetSsl&, const SourceRange& range) {
    not_yet(ssl_, range,
            "'set ssl' counts for HTTP requests and alerts; tests of connections use only their own options yet");
  }
  void check(const SetMonit&, const SourceRange&) {}
  void check(const SetExpectBuffer& set, const SourceRange&) {
    if (set.bytes.value > kMaxSize)
      warn(Code::Clamped, set.bytes.range, fmt::format("this is limited to {}", written_size(kMaxSize)));
  }
  void check(const SetEnvironment&, const SourceRange&) {}
  void check(const SetSwitch& set, const SourceRange& range) {
    if (set.kind == SetSwitch::Kind::Fips)
      not_yet(fips_, range, "'set fips' is accepted but has no effect: OpenSSL is used as configured on this machine");
  }
  void check(const SetOnReboot&, const SourceRange& range) {
    if (services_ > 0)
      warn(Code::WrongOrder, range,
           "'set onreboot' comes after services: as in Monit, it does not apply to those above it",
           "write it before the first service");
  }
  void check(const SetAlert& set, const SourceRange&) { alert(set.alert); }

  void check(const SetLimits& set, const SourceRange&) {
    for (const SetLimits::Item& item : set.items) {
      const Limit* limit = find_limit(item.name.value);
      if (limit == nullptr) continue;
      if (const auto* size = std::get_if<std::uint64_t>(&item.value); size != nullptr && *size > kMaxSize)
        warn(Code::Clamped, item.range, fmt::format("'{}' is limited to {}", limit->name, written_size(kMaxSize)));
      if (const auto* time = std::get_if<Duration>(&item.value)) {
        if (*time != Duration{0})
          long_duration({.value = *time, .range = item.range});
        else if (limit->time != &engine::Limits::exec_timeout)  // of 0 it is an error
          warn(Code::Clamped, item.range,
               fmt::format("'{}' of 0 would leave no time at all: the default is used", limit->name));
      }
      // The network's timeout is one for all.
      if (services_ > 0 && limit->time != nullptr && limit->time != &engine::Limits::network_timeout)
        warn(Code::WrongOrder, item.range,
             fmt::format("'{}' comes after services: as in Monit, it does not apply to those above it", limit->name),
             "write it before the first service");
    }
  }

  void check(const SetMailServer& set, const SourceRange&) {
    for (const SetMailServer::Server& server : set.servers) {
      if (server.port && (server.port->value == 0 || server.port->value > 65535))
        warn(Code::OutOfRange, server.port->range,
             fmt::format("there is no port {}: the server {} is ignored", server.port->value,
                         in_quotes(server.host.value)),
             "ports go from 1 to 65535");
      if (server.username.has_value() != server.password.has_value())
        warn(Code::MissingOption, server.host.range,
             fmt::format("the server {} has a {} but no {}", in_quotes(server.host.value),
                         server.username ? "username" : "password", server.username ? "password" : "username"));
    }
  }

  void mail_format(const MailFormatSyntax& format) {
    mail_names(format);
    mail_lines(format);
  }

  /// `from: a@b subject: x`: to the end of its line all belongs to the first of them.
  void mail_lines(const MailFormatSyntax& format) {
    for (const Rare<Word>& word : {format.from, format.reply_to, format.subject})
      for (const std::string_view next : {" from:", " reply-to:", " subject:", " message:"})
        if (word && word->value.find(next) != std::string::npos)
          warn(Code::Misread, word->range,
               fmt::format("'{}' does not begin a line here: it is part of the text of the previous one",
                           next.substr(1)),
               "write it on a line of its own");
  }

  /// `$SERVCE`: what is no name stays in the mail as it is written.
  void mail_names(const MailFormatSyntax& format) {
    static constexpr std::array<std::string_view, 6> kNames{"EVENT", "SERVICE", "DATE",
                                                            "HOST",  "ACTION",  "DESCRIPTION"};
    static constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    for (const Rare<Word>& word : {format.from, format.reply_to, format.subject, format.message}) {
      if (!word) continue;
      const std::string_view text = word->value;
      for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
        const std::string_view rest = text.substr(at + 1);
        const std::string_view name = rest.substr(0, std::min(rest.find_first_not_of(kLetters), rest.size()));
        if (std::ranges::any_of(kNames, [&](std::string_view known) { return rest.starts_with(known); })) continue;
        if (const std::string_view near = nearest_word(name, kNames); !near.empty())
          warn(Code::UnknownName, word->range,
               fmt::format("there is no '${}': it appears in the mail as written", name),
               fmt::format("did you mean '${}'?", near));
      }
    }
  }

  void long_duration(const Located<Duration>& duration) {
    if (duration.value > kMaxDuration)
      warn(Code::Clamped, duration.range, "this is more than ten years: it is read as ten years");
  }

  // ---- services ---------------------------------------------------------------------------------------------------

  void service(const CheckSyntax& check) {
    ++services_;
    check_ = &check;
    every_ = nullptr;
    programs_ = programs_of(check);
    written_ = {};
    if (std::ranges::any_of(check.name.value, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; }))
      warn(Code::AwkwardName, check.name.range, "the name contains control characters");
    awkward_name(check.name);
    watchdog_ = ready_ = mode_ = reboot_ = leftovers_ = delay_ = nullptr;
    timeout(*check.command);
    arguments(*check.command);
    for_each_started(check, [this](const CommandSyntax& command) { arguments(command); });
    if (check.kind->traits.has_process && !check.foreground && !check.broken && !check.lacks_statements &&
        !tests_existence(check) && programs_.start == nullptr && programs_.restart == nullptr)
      report(
          diagnostics_, DiagnosticSeverity::Note, Code::NoStartProgram, check.range,
          fmt::format("{} has no start program: healer can only report that it is gone", in_quotes(check.name.value)),
          "add one, or say what is to be done, as in 'if does not exist then alert'");
    if (check.pattern) pattern(*check.pattern);
    for (const ServiceStatement& statement : check.statements)
      if (const auto* every = std::get_if<EverySyntax>(&statement)) schedule(*every);
    const CommandSyntax* before = nullptr;
    for (const ServiceStatement& statement : check.statements) {
      if (const auto* program = std::get_if<ServiceProgramSyntax>(&statement); program != nullptr && before != nullptr)
        cut_command(*before, *program);
      before = last_command(statement);
      std::visit([this](const auto& node) { this->statement(node); }, statement);
    }
  }

  /// The command that a statement ends with.
  static const CommandSyntax* last_command(const ServiceStatement& statement) {
    if (const auto* program = std::get_if<ServiceProgramSyntax>(&statement)) return &program->command;
    const auto* rule = std::get_if<IfSyntax>(&statement);
    if (rule == nullptr) return nullptr;
    const ActionSyntax& action = rule->recovery ? rule->recovery->action : rule->action;
    return action.kind == ActionSyntax::Kind::Exec ? &*action.command : nullptr;
  }

  /// `exec /usr/bin/systemctl restart nginx`: to Monit, too, a command without quotes ends before a word of the
  /// language.
  void cut_command(const CommandSyntax& before, const ServiceProgramSyntax& program) {
    const SourceRange& range = program.range;
    if (before.arguments.empty() || program.command.arguments.empty() || before.range.file != range.file ||
        program.command.arguments.front().starts_with('/') ||
        sources_.position(range.file, before.range.begin).line != sources_.position(range.file, range.begin).line)
      return;
    warn(Code::Misread, range,
         fmt::format("as in Monit, this is a separate statement here, not an argument of {}",
                     in_quotes(before.arguments.front())),
         "put the command in double quotes");
  }

  /// Names that healerctl takes for something else.
  void awkward_name(const Word& name) {
    const std::string shown = printable(name.value);
    if (iequals(name.value, "all"))
      warn(Code::AwkwardName, name.range,
           "healerctl takes 'all' for all services: no command can be given to this one alone", "choose another name");
    else if (iequals(name.value, "healer"))
      warn(Code::AwkwardName, name.range, "'healerctl history healer' shows this service, and no longer healer itself",
           "choose another name");
    else if (name.value.starts_with('-'))
      warn(Code::AwkwardName, name.range, fmt::format("healerctl would take '{}' for an option", shown),
           fmt::format("choose another name, or write '--' before it: healerctl status -- {}", shown));
  }

  void timeout(const CommandSyntax& command) {
    if (!command.timeout) return;
    if (command.timeout->value == Duration{0})
      warn(Code::Clamped, command.timeout->range, "a timeout of 0 would end every run at once: the default is used");
    long_duration(*command.timeout);
  }

  void schedule(const EverySyntax& every) {
    if (every_ != nullptr)
      warn(Code::DuplicateStatement, every_->range, "'every' is given again further down: only the last one counts");
    every_ = &every;
    if (every.interval) long_duration(*every.interval);
    if (every.cycles && every.cycles->value == 0)
      warn(Code::Clamped, every.cycles->range, "'every 0 cycles' is read as every cycle");
    if (every.cycles && every.cycles->value > kMaxEvery)
      warn(Code::Clamped, every.cycles->range, fmt::format("{} cycles are read as {}", every.cycles->value, kMaxEvery));
    if (!every.cron) return;
    const CronReading reading = read_cron(every.cron->value);
    for (const std::string& remark : reading.remarks) warn(Code::InvalidSchedule, every.cron->range, remark);
    if (!reading.error.empty()) return;
    if (!reading.never.empty())
      warn(Code::NeverRuns, every.cron->range,
           every.negated ? fmt::format("no {} matches: no time is excluded", reading.never)
                         : fmt::format("no {} matches: the service is never run", reading.never));
    else if (reading.comes_alive && !every.negated && !check_->foreground)
      warn(Code::Dormant, every.cron->range, "Monit never matches this schedule: there the service is never run",
           dormant_hint("the rules of the service are"));
  }

  /// What becomes of rules that come alive here.
  [[nodiscard]] std::string dormant_hint(std::string_view what) const {
    if (accept_dormant_) return "healer acts on it because of 'set accept dormant'";
    return fmt::format("{} dormant until 'healerctl accept {}' or 'set accept dormant'", what,
                       printable(check_->name.value));
  }

  void statement(const IfSyntax& rule) {
    for (const TermSyntax& term : rule.condition.terms) {
      if (const auto* test = std::get_if<CompareSyntax>(&term.test)) compared(*test);
      if (const auto* test = std::get_if<ConnectionSyntax>(&term.test)) connection(*test);
      if (const auto* test = std::get_if<MatchesSyntax>(&term.test)) pattern(test->pattern);
      if (const auto* total = std::get_if<TotalSyntax>(&term.test);
          total != nullptr && total->span.value == Duration{0} && !check_->kind->traits.is_unit)
        warn(Code::Clamped, total->span.range, "a total over no time is read as that of the last 24 hours");
    }
    action(rule.action, false);
    if (rule.recovery) action(rule.recovery->action, true);
    for (const Silence& silence : silences(*check_, programs_, rule))
      warn(Code::Dormant, silence.range, silence.message,
           silence.remedy + (silence.remedy.empty() ? "" : "; ") +
               dormant_hint(silence.is_by_quotes ? "until then the rule is" : "the rule is"));
    if (counts_restarts(rule))
      restarts(*rule.tolerance);
    else if (rule.tolerance)
      tolerance(*rule.tolerance);
    if (rule.recovery && rule.recovery->tolerance) tolerance(*rule.recovery->tolerance);
  }

  /// What somebody has printed and saved.
  void hidden(const Word& secret) {
    if (secret.value != kHidden) return;
    warn(Code::HiddenSecret, secret.range, std::string(kHiddenSecret), "write the secret");
  }

  void connection(const ConnectionSyntax& test) {
    constexpr std::array<std::string_view, 3> kSecret{"password", "secret", "community"};
    for (const SettingSyntax& one : test.settings)
      if (std::ranges::find(kSecret, one.name.value) != kSecret.end()) hidden(one.value);
  }

  void compared(const CompareSyntax& test) {
    const QuantityReading reading = read_quantity(*check_->kind, test);
    if (!reading.error.empty() || reading.row == nullptr) return;
    if (reading.row->metric == engine::Metric::Status) return status(test, reading);
    few_bytes(test, reading);
    percentage(test, reading);
  }

  void status(const CompareSyntax& test, const QuantityReading& reading) {
    if (reading.value <= kMaxStatus) return;
    const engine::Comparison op = comparison(test.comparison);
    const bool always =
        op == engine::Comparison::NotEqual || op == engine::Comparison::Less || op == engine::Comparison::LessEqual;
    warn(Code::NeverTrue, test.number.range,
         fmt::format("an exit status is at most {}, so this is {} true", kMaxStatus, always ? "always" : "never"));
  }

  /// A part of a whole that is held against more than all of it.
  void percentage(const CompareSyntax& test, const QuantityReading& reading) {
    if (!reading.row->is_part) return;
    const engine::Comparison op = comparison(test.comparison);
    const auto of = [&](double measured) { return engine::compare(op, measured, reading.value); };
    const bool most = of(kWhole);
    if (of(0) != most || of(std::clamp(reading.value, 0.0, kWhole)) != most) return;
    const bool is_own = reading.row->metric == engine::Metric::Cpu;
    warn(Code::NeverTrue, test.number.range,
         fmt::format("'{}' is between 0% and 100%: this is {} true", test.name.value, most ? "always" : "never"),
         is_own ? "100% means all the cores that the process can use with its threads" : "");
  }

  /// `memory > 80`, `memory > 500`: bytes, where its writer thinks of a percentage or of megabytes.
  void few_bytes(const CompareSyntax& test, const QuantityReading& reading) {
    const bool is_bytes = engine::unit_of(reading.row->metric) == engine::Unit::Bytes;
    if (!is_bytes || reading.value == 0 || reading.value >= kLeastMemory) return;
    if (std::ranges::none_of(check_->kind->quantities, [&](const engine::Quantity& row) {
          return row.words == reading.row->words && engine::unit_of(row.metric) == engine::Unit::Percent;
        }))
      return;
    const engine::Comparison op = comparison(test.comparison);
    const bool is_over = op == engine::Comparison::Greater || op == engine::Comparison::GreaterEqual;
    const bool never_under = (test.name.value == "memory" || test.name.value == "total memory") &&
                             op != engine::Comparison::Equal && op != engine::Comparison::NotEqual;
    if (test.unit && !never_under) return;
    const std::string meaning = test.unit ? fmt::format("this is {}", quantity_text(test))
                                          : fmt::format("without a unit this is {} B", test.number.value);
    warn(never_under ? Code::NeverTrue : Code::Suspicious, test.number.range,
         never_under ? fmt::format("{}, and {} uses more: it is {} true", meaning,
                                   check_->kind->traits.is_machine ? "every machine" : "every process",
                                   is_over ? "always" : "never")
                     : meaning,
         reading.value <= kWhole && !test.unit
             ? fmt::format("write {0}% for a percentage, or {0} MB", test.number.value)
             : fmt::format("write the unit that is meant, as in {} MB", test.number.value));
  }

  /// `content = "\d+"`: valid, and never what its writer means.
  void pattern(const Word& pattern) {
    if (pattern.value.starts_with('/') && check_->kind->traits.has_lines) return;  // a file of them
    if (const PatternSlip slip = pattern_slip(pattern.value); !slip.written.empty())
      warn(Code::Suspicious, pattern.range,
           fmt::format("'{}' is {} in a POSIX regular expression", slip.written, slip.meaning), "write " + slip.meant);
  }

  /// Monit passes them on like any argument, too; their writer thinks of a shell, or of a statement of healer's own.
  void arguments(const CommandSyntax& command) {
    if (command.shell_sign)
      warn(Code::Misread, command.shell_sign->range,
           fmt::format("no shell reads this command: {} is passed to {} as an argument",
                       in_quotes(command.shell_sign->value), in_quotes(command.arguments.front())),
           "write \"/bin/sh -c 'COMMAND'\" for a command of the shell");
    if (command.next_line)
      warn(Code::Misread, command.next_line->range,
           fmt::format(
               "{} is passed to {} as an argument, because it follows the command and does not begin a statement",
               in_quotes(command.next_line->value), in_quotes(command.arguments.front())),
           "put the command with its arguments in one pair of double quotes");
    if (command.readiness)
      warn(Code::Misread, *command.readiness,
           fmt::format("'ready' is for a process that healer runs itself: this is passed to {} as arguments",
                       in_quotes(command.arguments.front())),
           "put each word in quotes to mean an argument, or remove them");
  }

  void action(const ActionSyntax& action, bool is_recovery) {
    startable(action);
    if (action.command->timeout) long_duration(*action.command->timeout);
    if (action.lasting) long_duration(*action.lasting);
    if (!action.repeat) return;
    if (is_recovery)
      warn(Code::NoEffect, action.repeat->range, "'repeat' has no effect on the 'else' branch");
    else if (action.repeat->value == 0)
      warn(Code::NoEffect, action.repeat->range, "'repeat every 0 cycles' repeats nothing");
    else if (action.repeat->value > kMaxRepeat)
      warn(Code::Clamped, action.repeat->range,
           fmt::format("{} cycles are read as {}", action.repeat->value, kMaxRepeat));
  }

  /// Whether there is a program for what is to be done.
  void startable(const ActionSyntax& action) {
    const bool starts = action.kind == ActionSyntax::Kind::Start ||
                        (action.kind == ActionSyntax::Kind::Restart && programs_.restart == nullptr);
    const bool has_none = programs_.start == nullptr && !check_->foreground && !check_->kind->traits.is_unit;
    if (starts && has_none && !check_->broken && !check_->lacks_statements)
      warn(Code::NoStartProgram, action.range,
           fmt::format("{} has no start program: nothing can be started", in_quotes(check_->name.value)),
           "add one, as in start program = \"/path/of/program\"");
  }

  void restarts(const ToleranceSyntax& tolerance) {
    if (tolerance.window->value > engine::kMaxWindow)
      warn(Code::Clamped, tolerance.window->range,
           fmt::format("restarts are counted over at most {} cycles: this is read as {}", engine::kMaxWindow,
                       engine::kMaxWindow));
    readings(tolerance);
  }

  void tolerance(const ToleranceSyntax& tolerance) {
    if (tolerance.held) long_duration(*tolerance.held);
    readings(tolerance);
  }

  /// Where `every N cycles` meets `for M cycles`: M runs, or M polls?
  void readings(const ToleranceSyntax& tolerance) {
    if (every_ == nullptr || !every_->cycles || !tolerance.count) return;
    const std::uint64_t every = every_->cycles->value;
    const std::uint64_t window = tolerance.window ? tolerance.window->value : tolerance.count->value;
    // Values out of range are the validator's.
    if (every < 2 || every > 1'000'000 || window < 2 || window > 64) return;
    const std::uint64_t polls = (window + every - 1) / every;
    const auto time = [&](std::uint64_t runs) {
      return format_duration(std::min(cycle_, kMaxDuration) * static_cast<std::int64_t>(runs * every));
    };
    const std::uint64_t runs = count_polls_ ? polls : window;
    std::string message = fmt::format("'{} cycles' with 'every {} cycles' is {} of this service: {}", window, every,
                                      runs == 1 ? "1 run" : fmt::format("{} runs", runs), time(runs));
    std::string remedy = count_polls_ ? fmt::format("without 'set cycles count polls', and in Monit, it is {} runs: {}",
                                                    window, time(window))
                                      : fmt::format("with 'set cycles count polls' it is {} run{}: {}", polls,
                                                    polls == 1 ? "" : "s", time(polls));
    report(diagnostics_, DiagnosticSeverity::Note, Code::Counting, tolerance.range, std::move(message),
           std::move(remedy));
    diagnostics_.back().on_request = true;
    if (count_polls_ && tolerance.window && tolerance.count->value > polls)
      warn(Code::Clamped, tolerance.count->range,
           fmt::format("{} times cannot happen within {} run{}: this is read as all of them", tolerance.count->value,
                       polls, polls == 1 ? "" : "s"));
  }

  void statement(const AlertSyntax& node) { alert(node); }
  void alert(const AlertSyntax& node) {
    mail_format(node.format);
    if (!has_mail_server_ && !reported_no_server_ && !node.to_contact) {
      reported_no_server_ = true;
      warn(Code::NoMailServer, node.address.range, "alerts are to be mailed, but there is no mail server",
           "add one, as in 'set mailserver mail.example.org'");
    }
    if (node.reminder && node.reminder->value > kMaxRepeat)
      warn(Code::Clamped, node.reminder->range,
           fmt::format("{} cycles are read as {}", node.reminder->value, kMaxRepeat));
    if (node.reminder && node.reminder->value == 0)
      warn(Code::NoEffect, node.reminder->range, "'reminder on 0 cycles' sends no reminders");
  }
  void statement(const NoAlertSyntax& node) {
    if (!global_addresses_.contains(to_lower(node.address.value)))
      warn(Code::NoEffect, node.address.range,
           fmt::format("'noalert' has no effect: there is no 'set alert {}'", printable(node.address.value)));
  }
  void statement(const ServiceProgramSyntax& program) {
    static constexpr std::array<std::string_view, 3> kNames{"start program", "stop program", "restart program"};
    const auto kind = static_cast<std::size_t>(program.kind);
    only_last(written_[kind], program.range, kNames[kind]);
    timeout(program.command);
    if (program.command.single_quoted_with_arguments)
      warn(Code::Dormant, program.command.range, "Monit takes all of this for the program's name and runs nothing",
           "in double quotes both run it as a command; " + dormant_hint("until then the rules that need it are"));
  }
  void statement(const StopSignalSyntax& stop) {
    if (stop.within) long_duration(*stop.within);
    static constexpr std::array kIgnored{SIGCHLD, SIGCONT, SIGURG, SIGWINCH};
    const std::optional<int> signal = signal_number(stop.signal.value);
    if (signal && std::ranges::find(kIgnored, *signal) != kIgnored.end())
      warn(Code::Suspicious, stop.signal.range,
           fmt::format("{} only ends processes that handle it: others ignore it", signal_name(*signal)),
           "TERM, INT and QUIT end most");
  }
  void statement(const ReadySyntax& ready) {
    only_last(ready_, ready.range, "ready");
    if (ready.time) long_duration(*ready.time);
  }
  void statement(const WatchdogSyntax& watchdog) {
    only_last(watchdog_, watchdog.range, "watchdog");
    long_duration(watchdog.time);
  }
  void statement(const LeftoversSyntax& leftovers) {
    only_last(leftovers_, leftovers.range, "leftovers ended");
    if (check_->foreground)
      warn(Code::NoEffect, leftovers.range,
           "this has no effect: what is left over from a process that healer runs itself is always ended");
  }
  void statement(const IgnoreSyntax& ignore) { pattern(ignore.lines.pattern); }
  void statement(const DependsSyntax&) {}
  void statement(const EverySyntax&) {}
  void statement(const GroupSyntax&) {}
  void statement(const ModeSyntax& mode) { only_last(mode_, mode.mode.range, "mode"); }
  void statement(const DelaySyntax& delay) { only_last(delay_, delay.range, "delay"); }
  void statement(const OnRebootSyntax& reboot) { only_last(reboot_, reboot.policy.range, "onreboot"); }

  bool ssl_ = false, fips_ = false;  ///< it is told that they do little or nothing yet
  const Sources& sources_;
  Diagnostics& diagnostics_;
  Duration cycle_ = engine::Settings{}.cycle_length();
  bool count_polls_ = false;
  bool accept_dormant_ = false;
  bool has_mail_server_ = false, reported_no_server_ = false;
  std::set<std::string> global_addresses_;
  std::size_t services_ = 0;
  const CheckSyntax* check_ = nullptr;
  const EverySyntax* every_ = nullptr;
  const SourceRange* daemon_ = nullptr;
  const SourceRange* url_ = nullptr;
  const SourceRange* log_ = nullptr;
  const SourceRange* mail_format_ = nullptr;
  const SourceRange* settle_ = nullptr;
  const SourceRange* healing_mode_ = nullptr;
  const SourceRange* event_queue_ = nullptr;
  const SourceRange* mail_limit_ = nullptr;
  const SourceRange* ready_ = nullptr;  ///< of the service, as the four that follow
  const SourceRange* watchdog_ = nullptr;
  const SourceRange* leftovers_ = nullptr;
  const SourceRange* mode_ = nullptr;
  const SourceRange* reboot_ = nullptr;
  const SourceRange* delay_ = nullptr;
  std::array<const SourceRange*, 5> paths_{};
  ServicePrograms programs_;
  std::array<const SourceRange*, 3> written_{};  ///< start, stop and restart program of the service
};

}  // namespace

void lint(const Document& document, const Sources& sources, Diagnostics& diagnostics) {
  Linter(sources, diagnostics).run(document);
}

}  // namespace healer::config
