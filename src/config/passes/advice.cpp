// SPDX-License-Identifier: MIT
// Advice, for `healerctl lint` alone: rules that do what they say, but say it twice, against each other, too late, or
// to nobody.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <spdlog/fmt/fmt.h>

#include "config/compile/connection.hpp"
#include "config/compile/quantity.hpp"
#include "config/passes/passes.hpp"
#include "config/passes/silence.hpp"
#include "config/text/rule_text.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

using Act = ActionSyntax::Kind;

constexpr std::uint64_t kLongestCertificate = 398;  // days that public authorities sign for
constexpr Duration kOneDay = hours{24};

struct UsualPort {
  std::uint64_t port;
  std::string_view wrong, right;
};
constexpr std::array<UsualPort, 8> kUsualPorts{{{80, "https", "http"},
                                                {443, "http", "https"},
                                                {143, "imaps", "imap"},
                                                {993, "imap", "imaps"},
                                                {110, "pops", "pop"},
                                                {995, "pop", "pops"},
                                                {25, "smtps", "smtp"},
                                                {465, "smtp", "smtps"}}};

/// The values that a comparison lets through.
struct Span {
  double from = -std::numeric_limits<double>::infinity();
  double to = std::numeric_limits<double>::infinity();
  bool from_open = false;
  bool to_open = false;

  void narrow(engine::Comparison op, double value) {
    using engine::Comparison;
    const bool low = op == Comparison::Greater || op == Comparison::GreaterEqual || op == Comparison::Equal;
    const bool high = op == Comparison::Less || op == Comparison::LessEqual || op == Comparison::Equal;
    if (low && value >= from) from_open = (value == from && from_open) || op == Comparison::Greater, from = value;
    if (high && value <= to) to_open = (value == to && to_open) || op == Comparison::Less, to = value;
  }
  [[nodiscard]] bool is_empty() const { return from > to || (from == to && (from_open || to_open)); }
};

/// Tests that must hold at once; those marked must not.
using Way = std::vector<std::pair<const TermSyntax*, bool>>;

/// All ways in which a condition may hold, one of which must. None: there are too many to look at.
std::vector<Way> ways_to_hold(const ConditionSyntax& condition) {
  constexpr std::size_t kMost = 64;
  struct Ways {
    std::vector<Way> to_hold, not_to_hold;
    bool is_whole = true;
  };
  const auto either = [](std::vector<Way> left, const std::vector<Way>& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
  };
  const auto both = [](const std::vector<Way>& left, const std::vector<Way>& right) {
    std::vector<Way> ways;
    for (const Way& first : left)
      for (const Way& second : right) ways.emplace_back(first).insert(ways.back().end(), second.begin(), second.end());
    return ways;
  };
  Ways ways = engine::fold<Ways>(
      condition.postfix, condition.terms.size(),
      [&](std::size_t term) {
        const TermSyntax* one = &condition.terms[term];
        return Ways{{{{one, false}}}, {{{one, true}}}};
      },
      [](Ways of) {
        std::swap(of.to_hold, of.not_to_hold);
        return of;
      },
      [&](engine::Op op, const Ways& left, const Ways& right) {
        const bool is_and = op == engine::Op::And;
        const auto size = [](const auto& a, const auto& b) { return a.size() * b.size(); };
        if (!left.is_whole || !right.is_whole || size(left.to_hold, right.to_hold) > kMost ||
            size(left.not_to_hold, right.not_to_hold) > kMost)
          return Ways{.to_hold = {}, .not_to_hold = {}, .is_whole = false};
        Ways joined;
        joined.to_hold = is_and ? both(left.to_hold, right.to_hold) : either(left.to_hold, right.to_hold);
        joined.not_to_hold =
            is_and ? either(left.not_to_hold, right.not_to_hold) : both(left.not_to_hold, right.not_to_hold);
        return joined;
      });
  return ways.is_whole ? std::move(ways.to_hold) : std::vector<Way>{};
}

class Adviser {
 public:
  Adviser(const Sources& sources, Diagnostics& diagnostics) : sources_(sources), diagnostics_(diagnostics) {}

  void run(const Document& document) {
    for_each_set<SetDaemon>(document, [&](const SetDaemon& set, const SourceRange&) { cycle_ = set.cycle.value; });
    for_each_set<SetAlert>(document, [&](const SetAlert&, const SourceRange&) { everybody_ = true; });
    for_each_set<SetSwitch>(document, [&](const SetSwitch& set, const SourceRange&) {
      if (set.kind == SetSwitch::Kind::CyclesCountPolls) count_polls_ = true;
      if (set.kind == SetSwitch::Kind::CyclesCountRuns) count_polls_ = false;
    });
    for_each_set<SetLimits>(document, [&](const SetLimits& set, const SourceRange&) {
      for (const SetLimits::Item& item : set.items)
        if (const auto* time = std::get_if<Duration>(&item.value);
            time != nullptr && item.name.value == "networktimeout")
          network_timeout_ = *time;
    });
    cycle_ = std::clamp(cycle_, Duration{1}, kOneDay);
    for_each_check(document, [&](const CheckSyntax& check) { service(check); });
  }

 private:
  void say(Code code, const SourceRange& range, std::string message, std::string remedy) {
    report(diagnostics_, DiagnosticSeverity::Note, code, range, std::move(message), std::move(remedy));
  }

  [[nodiscard]] std::uint32_t line_of(const SourceRange& range) const {
    return sources_.position(range.file, range.begin).line;
  }

  void service(const CheckSyntax& check) {
    check_ = &check;
    programs_ = programs_of(check);
    rules_.clear();
    conditions_.clear();
    every_ = 1;
    interval_.reset();
    by_schedule_ = false;
    limits_restarts_ = ends_it_ = false;
    bool has_alert = everybody_;
    for (const ServiceStatement& statement : check.statements) {
      if (const auto* every = std::get_if<EverySyntax>(&statement)) {
        if (every->cycles) every_ = std::clamp<std::uint64_t>(every->cycles->value, 1, 100'000);
        if (every->interval) interval_ = every->interval->value;
        by_schedule_ = by_schedule_ || (every->cron && !every->negated);
      }
      has_alert = has_alert || std::holds_alternative<AlertSyntax>(statement);
      if (const auto* rule = std::get_if<IfSyntax>(&statement))
        limits_restarts_ = limits_restarts_ || counts_restarts(*rule);
    }
    programs();
    timeout(*check.command);
    if (check.pid_file) shared_folder(*check.pid_file);
    for (const ServiceStatement& statement : check.statements)
      if (const auto* rule = std::get_if<IfSyntax>(&statement)) {
        this->rule(*rule);
        if (!has_alert && !reported_no_recipient_ && rule->action.kind == Act::Alert) {
          reported_no_recipient_ = true;
          say(Code::NoRecipient, rule->action.range,
              "nobody receives this alert: it is only in the log and the history",
              "add 'set alert ADDRESS', or 'alert ADDRESS' to the service");
        }
      }
    if (ends_it_ && !limits_restarts_ && programs_.start != nullptr)
      say(Code::EndlessRestarts, check.name.range,
          fmt::format("{} is restarted again and again, even if that never helps", in_quotes(check.name.value)),
          "add 'if 5 restarts within 10 cycles then unmonitor'");
  }

  // ---- programs

  void programs() {
    const auto* start = programs_.start;
    const auto* stop = programs_.stop;
    if (start != nullptr && stop != nullptr && start->command.arguments == stop->command.arguments)
      say(Code::SameProgram, stop->range, "the stop program is the start program", "write the command that stops it");
  }

  void timeout(const CommandSyntax& command) {
    const Duration between = interval_.value_or(cycle_ * static_cast<std::int64_t>(every_));
    if (!command.timeout || command.timeout->value <= between || check_->foreground || by_schedule_) return;
    say(Code::SlowCheck, command.timeout->range,
        fmt::format("it may run for {}, but it is due every {}: runs are skipped while one is under way",
                    format_duration(command.timeout->value), format_duration(between)),
        "give it less time, or run it less often, as in 'every 5 cycles'");
  }

  void shared_folder(const Word& path) {
    for (const std::string_view folder : {"/tmp/", "/var/tmp/", "/dev/shm/"})
      if (path.value.starts_with(folder))
        say(Code::SharedFolder, path.range,
            fmt::format("everybody can create files in {}: whoever makes this one first decides which process it names",
                        folder),
            "let the service write its pid file to /run");
  }

  // ---- rules

  void rule(const IfSyntax& rule) {
    const std::string condition = condition_text(rule);
    const std::string text = rule_text(rule, condition);
    if (const auto [first, is_new] = rules_.emplace(text, rule.range); !is_new) {
      say(Code::DuplicateRule, rule.range, fmt::format("this repeats the rule at line {}", line_of(first->second)),
          "remove one of them");
    } else if (!counts_restarts(rule)) {
      const auto [other, is_first] = conditions_.emplace(condition, &rule);
      if (!is_first) against(*other->second, rule);
    }
    impossible(rule);
    for (const TermSyntax& term : rule.condition.terms)
      if (const auto* test = std::get_if<ConnectionSyntax>(&term.test)) {
        connection(*test);
        certificate(*test, term.range);
      }
    const Act act = rule.action.kind;
    ends_it_ = ends_it_ || act == Act::Restart;
    if (act == Act::Restart || act == Act::Stop) without_stop(rule);
    if (rule.tolerance) late(*rule.tolerance);
  }

  static std::uint64_t window_of(const IfSyntax& rule) {
    if (!rule.tolerance) return 1;
    if (rule.tolerance->held) return 0;
    return rule.tolerance->window  ? rule.tolerance->window->value
           : rule.tolerance->count ? rule.tolerance->count->value
                                   : 1;
  }

  /// Two rules of one condition: what the one that fires first makes of the other.
  void against(const IfSyntax& one, const IfSyntax& other) {
    const std::uint64_t first = window_of(one), second = window_of(other);
    if (first == 0 || second == 0) return;
    const auto contrary = [](Act a, Act b) {
      return (a == Act::Stop || a == Act::Unmonitor) && (b == Act::Start || b == Act::Restart);
    };
    if (first == second &&
        (contrary(one.action.kind, other.action.kind) || contrary(other.action.kind, one.action.kind)))
      return say(Code::Contradiction, other.range,
                 fmt::format("the rule at line {} does the opposite under the same condition", line_of(one.range)),
                 "keep one of them, or let one of them wait longer, as in 'for 5 cycles'");
    const IfSyntax& sooner = first < second ? one : other;
    const IfSyntax& later = first < second ? other : one;
    if (first != second && sooner.action.kind == Act::Unmonitor)
      say(Code::Unreachable, later.range,
          fmt::format("this never acts: the rule at line {} unmonitors the service first", line_of(sooner.range)),
          "let this rule fire sooner than the other");
  }

  /// `cpu > 90% and cpu < 10%`.
  void impossible(const IfSyntax& rule) {
    const auto ways = ways_to_hold(rule.condition);
    std::vector<const TermSyntax*> last;  // of each way that there is not
    for (const Way& way : ways)
      if (const TermSyntax* const one = end_of(way)) last.push_back(one);
    constexpr std::string_view kRemedy = "'or' joins conditions that need not hold at the same time";
    // Behind parentheses and `not` what rules a test out may be far from it.
    if (is_plain(rule.condition)) {
      for (const TermSyntax* const one : last)
        say(Code::NeverTrue, one->range,
            fmt::format("'{}' can never be true together with the conditions before it",
                        std::get<CompareSyntax>(one->test).name.value),
            std::string(kRemedy));
    } else if (!ways.empty() && last.size() == ways.size()) {
      const SourceRange& first = rule.condition.terms.front().range;
      say(Code::NeverTrue, {first.file, first.begin, rule.condition.terms.back().range.end, first.row},
          "this condition can never hold: its tests rule each other out", std::string(kRemedy));
    }
  }

  /// Whether a condition has neither `not` nor an `or` within an `and`.
  static bool is_plain(const ConditionSyntax& condition) {
    enum class Part : std::uint8_t { Tests, Alternatives, Grouped };
    return engine::fold<Part>(
               condition.postfix, condition.terms.size(), [](std::size_t) { return Part::Tests; },
               [](Part) { return Part::Grouped; },
               [](engine::Op op, Part left, Part right) {
                 const Part most = std::max(left, right);
                 if (op == engine::Op::Or) return std::max(most, Part::Alternatives);
                 return most == Part::Tests ? most : Part::Grouped;
               }) != Part::Grouped;
  }

  /// The test that cannot hold beside those before it; null: there is none.
  [[nodiscard]] const TermSyntax* end_of(const Way& way) const {
    std::map<std::pair<std::string, int>, Span> spans;
    for (const auto& [term, negated] : way) {
      const auto* test = std::get_if<CompareSyntax>(&term->test);
      if (test == nullptr) continue;
      const QuantityReading reading = read_quantity(*check_->kind, *test);
      if (reading.row == nullptr) continue;
      Span& span = spans[{test->name.value, static_cast<int>(reading.row->metric)}];
      const engine::Comparison written = comparison(test->comparison);
      span.narrow(negated ? engine::opposite(written) : written, reading.value);
      if (span.is_empty()) return term;
    }
    return nullptr;
  }

  void without_stop(const IfSyntax& rule) {
    if (check_->foreground || check_->broken || programs_.stop != nullptr || programs_.start == nullptr) return;
    if (rule.action.kind == Act::Restart && programs_.restart != nullptr) return;
    const bool is_process = check_->kind->traits.has_process;
    // Where it is gone there is nothing to stop.
    if (is_process && std::ranges::all_of(rule.condition.terms, [](const TermSyntax& term) {
          const auto* exist = std::get_if<PresentSyntax>(&term.test);
          return exist != nullptr && exist->negated;
        }))
      return;
    say(Code::NoStopProgram, rule.action.range,
        is_process
            ? fmt::format("{} has no stop program: its process is ended with a signal", in_quotes(check_->name.value))
            : fmt::format("{} has no stop program: nothing is stopped before it is started",
                          in_quotes(check_->name.value)),
        "add one, as in stop program = \"/usr/bin/systemctl stop NAME\"");
  }

  /// `every 100 cycles` and `for 50 cycles`.
  void late(const ToleranceSyntax& tolerance) {
    if (tolerance.held || !tolerance.count) return;
    const std::uint64_t window = tolerance.window ? tolerance.window->value : tolerance.count->value;
    const std::uint64_t runs = std::min<std::uint64_t>(count_polls_ ? (window + every_ - 1) / every_ : window, 64);
    const Duration between =
        std::min(interval_.value_or(cycle_ * static_cast<std::int64_t>(every_)), Duration{days{365}});
    const Duration whole = between * static_cast<std::int64_t>(runs);
    if (whole <= kOneDay || runs < 2 || by_schedule_) return;
    say(Code::SlowToNotice, tolerance.range,
        fmt::format("{} runs, one every {}: it may take {} until this fires", runs, format_duration(between),
                    format_duration(whole)),
        "check more often, or after fewer failures");
  }

  // ---- connections

  void connection(const ConnectionSyntax& test) {
    if (test.port && test.protocol)
      for (const UsualPort& usual : kUsualPorts)
        if (test.port->value == usual.port && iequals(test.protocol->value, usual.wrong) &&
            !(test.tls && usual.wrong == "http"))
          say(Code::WrongPort, test.protocol->range,
              fmt::format("port {} is that of {}, not of {}", usual.port, usual.right, usual.wrong),
              fmt::format("write 'protocol {}', or the other port", usual.right));
    if (test.count && test.count->value == 0)
      say(Code::Clamped, test.count->range, "a ping of no packets is treated as one of one packet", "write 'count 3'");
    const Duration timeout = test.timeout ? test.timeout->value : network_timeout_;
    if (test.response_time && timeout > Duration{0} && test.response_time->value >= timeout)
      say(Code::NeverTrue, test.response_time->range,
          fmt::format("no answer takes {}: the test is given up after {}", format_duration(test.response_time->value),
                      format_duration(timeout)),
          "write a longer timeout, or a shorter response time");
    if (test.valid_days && test.valid_days->value > kLongestCertificate)
      say(Code::NeverTrue, test.valid_days->range,
          fmt::format("public authorities issue certificates for at most {} days: these always fail this test",
                      kLongestCertificate),
          "30 days leave time to renew one");
  }

  /// TLS without a look at the certificate, as Monit does it.
  void certificate(const ConnectionSyntax& test, const SourceRange& range) {
    const std::optional<protocols::TlsPlan> tls = read_connection(test, range, std::string(kLocalHost), {}).plan.tls;
    if (!tls || tls->verify || tls->valid_days || !tls->checksum.empty()) return;
    say(Code::UnverifiedCertificate, range,
        "as in Monit, the certificate of this server is not checked: an expired one, or another's, passes",
        "add 'using tls with options { verify: enable }', or 'certificate valid > 30 days' for its date alone");
  }

  const Sources& sources_;
  Diagnostics& diagnostics_;
  Duration cycle_ = engine::Settings{}.cycle_length();
  Duration network_timeout_ = engine::Limits{}.network_timeout;
  bool count_polls_ = false;
  bool everybody_ = false;              ///< there is a `set alert`
  bool reported_no_recipient_ = false;  ///< it was said that alerts reach nobody
  // Of the service:
  const CheckSyntax* check_ = nullptr;
  ServicePrograms programs_;
  std::uint64_t every_ = 1;
  std::optional<Duration> interval_;  ///< `every 10 seconds`
  bool by_schedule_ = false;          ///< `every "* 5 * * *"`
  bool limits_restarts_ = false;
  bool ends_it_ = false;  ///< a rule restarts it
  std::map<std::string, SourceRange> rules_;
  std::map<std::string, const IfSyntax*> conditions_;
};

}  // namespace

void advise(const Document& document, const Sources& sources, Diagnostics& diagnostics) {
  Adviser(sources, diagnostics).run(document);
  advise_workflows(document, diagnostics);
}

}  // namespace healer::config
