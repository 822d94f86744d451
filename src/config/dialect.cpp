// SPDX-License-Identifier: MIT
// `--dialect monit`: would Monit still take this file? The only reader of LoadOptions::monit_dialect. What the grammar
// has marked is told here; the rest are values that only healer understands.
#include <algorithm>
#include <limits>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/cron.hpp"
#include "config/passes.hpp"
#include "config/rule_text.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kSha1Digits = 40;  // Monit knows no longer checksum

/// What is left of a number in Monit, which keeps numbers in 32 bits.
std::int32_t in_monit(std::uint64_t number) {
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int32_t>(std::min(number, most));
}

class Dialect {
 public:
  explicit Dialect(Diagnostics& said) : said_(said) {}

  void settings(const Document& document) {
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
    for (const ServiceStatement& statement : check.statements)
      if (const auto* every = std::get_if<EverySyntax>(&statement); every != nullptr && every->cron) {
        if (read_cron(every->cron->value).is_own) refuse(every->cron->range, "steps and names in a schedule");
      } else if (const auto* rule = std::get_if<IfSyntax>(&statement)) {
        for (const TermSyntax& term : rule->condition.terms)
          if (const auto* test = std::get_if<ConnectionSyntax>(&term.test)) connection(*test);
        restarts(*rule);
        repeat(rule->action);
        if (rule->recovery) repeat(rule->recovery->action);
      }
  }

  void sum(const Rare<Word>& checksum) {
    if (checksum && checksum->value.size() > kSha1Digits) refuse(checksum->range, "a checksum longer than SHA1");
  }

  void connection(const ConnectionSyntax& test) {
    sum(test.checksum);
    for (const SettingSyntax& setting : test.settings)
      if (setting.name.value.ends_with("checksum")) sum(setting.value);
  }

  void refuse(const SourceRange& range, std::string_view what, std::string remedy = {}) {
    report(said_, DiagnosticSeverity::Error, Code::OnlyHealer, range, fmt::format("only healer understands {}", what),
           std::move(remedy));
  }

 private:
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

  Diagnostics& said_;
};

}  // namespace

void check_dialect(const Document& document, const LoadOptions& options, Diagnostics& said) {
  if (!options.monit_dialect) return;
  if (!document.directory.empty())
    report(said, DiagnosticSeverity::Error, Code::OnlyHealer, document.directory,
           "only healer understands a directory of rules files");
  Dialect dialect(said);
  for (const Extension& extension : document.extensions) dialect.refuse(extension.range, extension.name);
  dialect.settings(document);
  for_each_check(document, [&](const CheckSyntax& check) { dialect.service(check); });
}

}  // namespace healer::config
