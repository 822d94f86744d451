// SPDX-License-Identifier: MIT
// `--dialect monit`: would that version of Monit still take this file? The only reader of LoadOptions::monit_dialect.
// What the grammar has marked is told here; the rest are values that only healer, or another version, understands.
#include <algorithm>
#include <limits>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/compile/cron.hpp"
#include "config/passes/passes.hpp"
#include "config/text/rule_text.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kSha1Digits = 40;    // Monit 5 knows no longer checksum
constexpr std::size_t kSha256Digits = 64;  // nor any Monit this one

constexpr std::uint64_t kLastPort = 65'535;

/// What no version of Monit minds, though it cannot be: on such a port Monit listens somewhere else.
void check_ports(const Document& document, Diagnostics& diagnostics) {
  for_each_set<SetHttpd>(document, [&](const SetHttpd& set, const SourceRange&) {
    if (set.port && (set.port->value < 1 || set.port->value > kLastPort))
      report(diagnostics, DiagnosticSeverity::Error, Code::OutOfRange, set.port->range,
             fmt::format("there is no port {}", set.port->value), "ports go from 1 to 65535; that of Monit is 2812");
  });
}

/// What is left of a number in Monit, which keeps numbers in 32 bits.
std::int32_t in_monit(std::uint64_t number) {
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int32_t>(std::min(number, most));
}

class Dialect {
 public:
  Dialect(MonitVersion version, Diagnostics& diagnostics) : version_(version), diagnostics_(diagnostics) {}

  void extension(const Extension& one) {
    if (!one.since) return refuse(one.range, one.name);
    one.is_refused ? refuse_since(*one.since, one.range, one.name) : need(*one.since, one.range, one.name);
  }

  void settings(const Document& document) {
    for_each_set<SetLog>(document, [&](const SetLog& set, const SourceRange&) {
      if (set.facility && iequals(set.facility->value, "log_user"))
        need(MonitVersion::V6, set.facility->range, "the facility 'log_user'");
    });
    for_each_set<SetLimits>(document, [&](const SetLimits& set, const SourceRange&) {
      for (const SetLimits::Item& item : set.items)
        if (std::visit([](auto value) { return value == decltype(value){0}; }, item.value))
          refuse_since(MonitVersion::V5_34, item.range, "a limit of 0");
    });
    for_each_set<SetMailServer>(document, [&](const SetMailServer& set, const SourceRange&) { timeout(set.timeout); });
    for_each_set<SetMmonit>(document, [&](const SetMmonit& set, const SourceRange&) { timeout(set.timeout); });
    for_each_set<SetHttpd>(document, [&](const SetHttpd& set, const SourceRange&) {
      for (const SetHttpd::Allow& allow : set.allow)
        if (allow.kind == SetHttpd::Allow::Kind::File && version_ == MonitVersion::V5_34)
          tell(allow.who.range, "Monit 5.34 understands no file of passwords", "Monit 5.33 and 6 do");
    });
    for_each_set<SetMailServer>(document, [&](const SetMailServer& set, const SourceRange&) {
      for (const SetMailServer::Server& server : set.servers) sum(server.checksum);
    });
    for_each_set<SetMmonit>(document, [&](const SetMmonit& set, const SourceRange&) { sum(set.checksum); });
    bool has_cycle = false;
    for_each_set<SetDaemon>(document, [&](const SetDaemon&, const SourceRange&) { has_cycle = true; });
    for_each_set<SetSwitch>(document, [&](const SetSwitch& set, const SourceRange& range) {
      if (set.kind == SetSwitch::Kind::Init && !std::exchange(has_cycle, true))
        refuse(range, "'set init' without 'set daemon'");
    });
  }

  void service(const CheckSyntax& check) {
    if (check.command->single_quoted_with_arguments)
      refuse(check.command->range, "a command with arguments in single quotes",
             "Monit takes all of it for the program's name; write it in double quotes");
    links(check);
    timeout(check.command->timeout);
    for (const ServiceStatement& statement : check.statements)
      if (const auto* every = std::get_if<EverySyntax>(&statement); every != nullptr && every->cron) {
        schedule(*every->cron);
      } else if (const auto* program = std::get_if<ServiceProgramSyntax>(&statement)) {
        timeout(program->command.timeout);
      } else if (const auto* rule = std::get_if<IfSyntax>(&statement)) {
        for (const TermSyntax& term : rule->condition.terms)
          if (const auto* test = std::get_if<ConnectionSyntax>(&term.test)) {
            connection(*test);
            timeout(test->timeout);
          }
        restarts(*rule);
        repeat(rule->action);
        if (rule->recovery) repeat(rule->recovery->action);
      }
  }

  void schedule(const Word& cron) {
    const CronReading reading = read_cron(cron.value);
    if (reading.is_own) return refuse(cron.range, "such steps, and names, in a schedule");
    if (reading.has_steps) need(MonitVersion::V6, cron.range, "steps in a schedule");
    if (reading.is_lax) refuse_since(MonitVersion::V6, cron.range, "such fields of a schedule");
  }

  void timeout(const Rare<Located<Duration>>& timeout) {
    if (timeout && timeout->value == Duration{0}) refuse_since(MonitVersion::V6, timeout->range, "a timeout of 0");
  }

  void sum(const Rare<Word>& checksum) {
    if (checksum) sum(*checksum);
  }
  void sum(const Word& checksum) {
    if (checksum.value.size() > kSha256Digits) return refuse(checksum.range, "a checksum longer than SHA256");
    if (checksum.value.size() > kSha1Digits) need(MonitVersion::V6, checksum.range, "a checksum longer than SHA1");
  }

  void connection(const ConnectionSyntax& test) {
    sum(test.checksum);
    for (const SettingSyntax& setting : test.settings)
      if (setting.name.value.ends_with("checksum")) sum(setting.value);
  }

  void refuse(const SourceRange& range, std::string_view what, std::string remedy = {}) {
    report(diagnostics_, DiagnosticSeverity::Error, Code::OnlyHealer, range,
           fmt::format("only healer understands {}", what), std::move(remedy));
  }

 private:
  void tell(const SourceRange& range, std::string message, std::string remedy = {}) {
    report(diagnostics_, DiagnosticSeverity::Error, Code::OtherMonit, range, std::move(message), std::move(remedy));
  }

  /// What Monit understands from a version on.
  void need(MonitVersion since, const SourceRange& range, std::string_view what) {
    if (version_ >= since) return;
    tell(range, fmt::format("Monit {} does not understand {}", to_string(version_), what),
         fmt::format("Monit {} and later ones do", to_string(since)));
  }

  /// What it takes up to a version.
  void refuse_since(MonitVersion since, const SourceRange& range, std::string_view what) {
    if (version_ >= since)
      tell(range, fmt::format("Monit {} refuses {}", to_string(version_), what),
           fmt::format("older ones than {} do not", to_string(since)));
  }

  void links(const CheckSyntax& check) {
    std::optional<bool> up;
    for (const ServiceStatement& statement : check.statements) {
      const auto* rule = std::get_if<IfSyntax>(&statement);
      if (rule == nullptr) continue;
      for (const TermSyntax& term : rule->condition.terms) {
        const auto* link = std::get_if<LinkSyntax>(&term.test);
        if (link != nullptr && up.value_or(link->up) != link->up)
          return refuse(term.range, "tests of 'link up' and 'link down' in one service");
        if (link != nullptr) up = link->up;
      }
    }
  }

  void restarts(const IfSyntax& rule) {
    if (!counts_restarts(rule)) return;
    for (const Number& number : {*rule.tolerance->count, *rule.tolerance->window})
      if (in_monit(number.value) <= 0) refuse(number.range, "a number of this size, which Monit reads as negative");
  }

  void repeat(const ActionSyntax& action) {
    if (action.repeat && in_monit(action.repeat->value) < 0)
      refuse(action.repeat->range, "a number of this size, which Monit reads as negative");
  }

  MonitVersion version_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_dialect(const Document& document, const LoadOptions& options, Diagnostics& diagnostics) {
  if (!options.monit_dialect) return check_ports(document, diagnostics);
  if (!document.directory.empty())
    report(diagnostics, DiagnosticSeverity::Error, Code::OnlyHealer, document.directory,
           "only healer understands a directory of rules files");
  Dialect dialect(*options.monit_dialect, diagnostics);
  for (const Extension& extension : document.extensions) dialect.extension(extension);
  dialect.settings(document);
  for_each_check(document, [&](const CheckSyntax& check) { dialect.service(check); });
}

}  // namespace healer::config
