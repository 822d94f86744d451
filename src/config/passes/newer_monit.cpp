// SPDX-License-Identifier: MIT
// What depends on the version of Monit whose meaning counts, and what newer ones warn of.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/compile/cron.hpp"
#include "config/passes/passes.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

/// Says once of each kind of wording that Monit 6 warns of it.
class Newer {
 public:
  explicit Newer(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void run(const Document& document) {
    for (const Deprecation& one : document.deprecations) add(one.was, one.instead, one.range);
    for_each_set<SetExpectBuffer>(document, [&](const SetExpectBuffer&, const SourceRange& range) {
      add("'set expectbuffer'", "'set limits { sendExpectBuffer: ... }'", range);
    });
    for_each_check(document, [&](const CheckSyntax& check) {
      for (const ServiceStatement& statement : check.statements) {
        if (const auto* rule = std::get_if<IfSyntax>(&statement)) this->rule(*rule);
        if (const auto* ignore = std::get_if<IgnoreSyntax>(&statement); ignore != nullptr && ignore->lines.of_lines)
          add("'ignore match'", "'ignore content'", ignore->range);
        if (const auto* mode = std::get_if<ModeSyntax>(&statement);
            mode != nullptr && iequals(mode->mode.value, "manual"))
          add("'mode manual'", "'onreboot laststate'", mode->mode.range);
        if (const auto* every = std::get_if<EverySyntax>(&statement); every != nullptr && every->cycles)
          add("'every N cycles'", "'every \"*/N * * * *\"' for every N minutes", every->range);
      }
    });
    for (const auto& [was, found] : found_) {
      const std::size_t others = found.count - 1;
      report(
          diagnostics_, DiagnosticSeverity::Note, Code::Deprecated, found.first,
          fmt::format("Monit 6 warns of {}{}", was,
                      others == 0 ? "" : fmt::format(", here and in {} more place{}", others, others == 1 ? "" : "s")),
          fmt::format("there it is {}; healer takes both", found.instead));
    }
  }

 private:
  struct Found {
    std::string_view instead;
    SourceRange first;
    std::size_t count = 0;
  };

  void add(std::string_view was, std::string_view instead, const SourceRange& range) {
    Found& found = found_.try_emplace(was, Found{instead, range}).first->second;
    ++found.count;
  }

  void rule(const IfSyntax& rule) {
    for (const TermSyntax& term : rule.condition.terms) {
      if (const auto* lines = std::get_if<MatchesSyntax>(&term.test); lines != nullptr && lines->of_lines)
        add("'if match'", "'if content'", term.range);
      const auto* connection = std::get_if<ConnectionSyntax>(&term.test);
      if (connection != nullptr && connection->transport && connection->transport->value == "tcpssl")
        add("'type tcpssl'", "'type tcp' and 'with ssl { ... }', or a protocol such as https",
            connection->transport->range);
    }
  }

  Diagnostics& diagnostics_;
  std::map<std::string_view, Found> found_;
};

}  // namespace

void choose_checksums(Document& document) {
  const std::string_view chosen = monit_of(document) >= MonitVersion::V6 ? "sha256 checksum" : "md5 checksum";
  const auto choose = [&](std::string& what) {
    if (what == kAnyChecksum) what = chosen;
  };
  for_each_check(document, [&](CheckSyntax& check) {
    for (ServiceStatement& statement : check.statements)
      if (auto* rule = std::get_if<IfSyntax>(&statement))
        for (TermSyntax& term : rule->condition.terms) {
          if (auto* differs = std::get_if<DiffersSyntax>(&term.test)) choose(differs->what);
          if (auto* changed = std::get_if<ChangedSyntax>(&term.test)) choose(changed->what);
        }
  });
}

MonitVersion needed_monit(const Document& document) {
  MonitVersion needed = MonitVersion::V5_33;
  for (const Extension& one : document.extensions)
    if (one.since && !one.is_refused) needed = std::max(needed, *one.since);
  for_each_check(document, [&](const CheckSyntax& check) {
    for (const ServiceStatement& statement : check.statements)
      if (const auto* every = std::get_if<EverySyntax>(&statement); every != nullptr && every->cron)
        if (const CronReading reading = read_cron(every->cron->value); reading.has_steps && !reading.is_own)
          needed = std::max(needed, MonitVersion::V6);
  });
  return needed;
}

std::vector<std::string> differences(const Document& document, MonitVersion monit) {
  bool has_cron = false, has_slow_program = false, has_exec_timeout = false, has_paging = false, has_load = false;
  const bool is_new = monit >= MonitVersion::V6;
  for_each_set<SetLimits>(document, [&](const SetLimits& set, const SourceRange&) {
    for (const SetLimits::Item& item : set.items)
      has_exec_timeout = has_exec_timeout || item.name.value == "exectimeout";
  });
  for_each_check(document, [&](const CheckSyntax& check) {
    for (const ServiceStatement& statement : check.statements) {
      if (const auto* every = std::get_if<EverySyntax>(&statement)) {
        has_cron = has_cron || every->cron;
        has_slow_program = has_slow_program || (every->cycles && check.kind->traits.is_run);
      }
      const auto* rule = std::get_if<IfSyntax>(&statement);
      if (rule == nullptr) continue;
      const auto is_timed = [](const ActionSyntax& action) {
        return action.kind == ActionSyntax::Kind::Exec && action.command->timeout.has_value();
      };
      has_exec_timeout =
          has_exec_timeout || is_timed(rule->action) || (rule->recovery && is_timed(rule->recovery->action));
    }
    const auto compares = [&](std::string_view words) {
      return any_test(check, [words](const TestSyntax& test) {
        const auto* compared = std::get_if<CompareSyntax>(&test);
        return compared != nullptr && compared->name.value.starts_with(words);
      });
    };
    has_paging = has_paging || compares("page");
    has_load = has_load || (check.kind->traits.has_process && compares("loadavg"));
  });
  std::vector<std::string> changes;
  if (has_cron)
    changes.emplace_back(
        is_new ? "schedules: Monit 6 loses a minute in which it waits for a program, and runs a minute again "
                 "after a reload; healer runs each once"
               : "schedules: Monit runs at each poll in a matching minute, and may miss one; healer runs each "
                 "once");
  if (has_slow_program && is_new)
    changes.emplace_back("'every N cycles' of a check program: Monit 6 runs it every N+1 cycles; healer every N");
  if (has_exec_timeout)
    changes.emplace_back(
        is_new ? "timeouts of 'exec': Monit 6 does not enforce them; healer does, and waits for nothing"
               : "timeouts of 'exec': Monit 5.34 checks nothing while such a program runs; healer waits for "
                 "nothing");
  if (has_paging) changes.emplace_back("'pagein' and 'pageout': always 0 to Monit 6.0; healer measures them");
  if (has_load && !is_new)
    changes.emplace_back("'loadavg' of a process: Monit 5 accepts it and never tests it; healer does");
  return changes;
}

void lint_versions(const Document& document, Diagnostics& diagnostics) {
  const SourceRange* before = nullptr;
  for_each_set<SetMonit>(document, [&](const SetMonit&, const SourceRange& range) {
    if (before != nullptr)
      report(diagnostics, DiagnosticSeverity::Warning, Code::DuplicateStatement, *before,
             "'set monit' is set again further down: only the last one counts");
    before = &range;
  });
  for_each_check(document, [&](const CheckSyntax& check) {
    for (const ServiceStatement& statement : check.statements)
      if (const auto* rule = std::get_if<IfSyntax>(&statement))
        for (const TermSyntax& term : rule->condition.terms)
          if (const auto* test = std::get_if<DiffersSyntax>(&term.test); test != nullptr && test->is_loose)
            report(diagnostics, DiagnosticSeverity::Warning, Code::NeverTrue, test->value.range,
                   fmt::format("{} is not a SHA256 checksum: no file has it, so this is always true",
                               in_quotes(test->value.value)),
                   "it has 64 hexadecimal digits");
  });
}

void advise_newer_monit(const Document& document, Diagnostics& diagnostics) { Newer(diagnostics).run(document); }

}  // namespace healer::config
