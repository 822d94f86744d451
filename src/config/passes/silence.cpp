// SPDX-License-Identifier: MIT
#include "config/passes/silence.hpp"

#include <algorithm>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "config/passes/passes.hpp"

namespace healer::config {
namespace {

using Act = ActionSyntax::Kind;

/// Whether the rule's own action finds a process to end: not where it is gone, nor where it keeps dying.
bool may_find_process(const IfSyntax& rule) {
  return std::ranges::none_of(rule.condition.terms, [](const TermSyntax& term) {
    const auto* exist = std::get_if<PresentSyntax>(&term.test);
    return (exist != nullptr && exist->negated) || std::holds_alternative<RestartsSyntax>(term.test);
  });
}

bool is_quoted(const ServiceProgramSyntax* program) {
  return program != nullptr && program->command.single_quoted_with_arguments;
}

/// What Monit has one test of in a service: the last. Empty: it has as many as are written.
std::string_view tested_once(const TermSyntax& term) {
  const auto* differs = std::get_if<DiffersSyntax>(&term.test);
  const auto* changed = std::get_if<ChangedSyntax>(&term.test);
  const std::string_view what = differs != nullptr   ? std::string_view(differs->what)
                                : changed != nullptr ? std::string_view(changed->what)
                                                     : std::string_view();
  if (what.ends_with("checksum")) return "checksum";
  for (const std::string_view one : {"permission", "uid", "gid"})
    if (what == one) return one;
  return {};
}

class Silences {
 public:
  Silences(const engine::CheckKind& kind, const ServicePrograms& programs) : kind_(kind), programs_(programs) {}

  std::vector<Silence> of(const IfSyntax& rule) {
    condition(rule);
    only_last(rule);
    action(rule.action, may_find_process(rule));
    if (rule.recovery) action(rule.recovery->action, true);
    return std::move(found_);
  }

 private:
  void condition(const IfSyntax& rule) {
    const auto& [terms, postfix] = rule.condition;
    const bool has_not = std::ranges::find(postfix, engine::Op::Not) != postfix.end();  // which Monit refuses
    if (terms.size() > 1 && !has_not && stands_in_row(kind_, rule))
      add({terms.front().range.file, terms.front().range.begin, terms.back().range.end},
          "Monit ignores all but the last of these conditions");
  }

  void only_last(const IfSyntax& rule) {
    for (const TermSyntax& term : rule.condition.terms)
      if (const std::string_view what = tested_once(term); !what.empty() && programs_.tests.at(what) != &rule)
        return add(term.range, fmt::format("Monit keeps only the last test of a {} in a service", what));
  }

  void action(const ActionSyntax& action, bool finds_process) {
    if (action.command->single_quoted_with_arguments)
      add(action.command->range, "Monit takes all of this for the program's name and runs nothing",
          "in double quotes both run it as a command", true);
    const ServiceProgramSyntax* const start = programs_.start;
    const ServiceProgramSyntax* const stop = programs_.stop;
    const ServiceProgramSyntax* const restart = programs_.restart;
    const bool ends = action.kind == Act::Stop || (action.kind == Act::Restart && restart == nullptr);
    if (kind_.traits.has_process && ends && stop == nullptr && finds_process)
      add(action.range, "without a stop program Monit does nothing here while the process runs",
          "healer ends it with a signal");
    const bool starts = action.kind == Act::Start || (action.kind == Act::Restart && restart == nullptr);
    if ((action.kind == Act::Restart && is_quoted(restart)) || (ends && is_quoted(stop)) ||
        (starts && is_quoted(start)))
      add(action.range, "Monit finds no program for this: its arguments are in single quotes",
          "in double quotes both run it as a command", true);
  }

  void add(const SourceRange& range, std::string message, std::string remedy = {}, bool is_by_quotes = false) {
    found_.push_back({range, std::move(message), std::move(remedy), is_by_quotes});
  }

  const engine::CheckKind& kind_;
  const ServicePrograms& programs_;
  std::vector<Silence> found_;
};

}  // namespace

bool stands_in_row(const engine::CheckKind& kind, const IfSyntax& rule) {
  const bool has_rows = kind.traits.has_process || kind.traits.is_machine;
  return has_rows && std::ranges::all_of(rule.condition.terms, [](const TermSyntax& term) {
           const auto* resource = std::get_if<CompareSyntax>(&term.test);
           return resource != nullptr && resource->name.value != "status" && !resource->name.value.ends_with("time") &&
                  resource->name.value != "timestamp" && !resource->name.value.ends_with("filedescriptors") &&
                  !resource->name.value.starts_with("children ");
         });
}

std::vector<Silence> silences(const CheckSyntax& check, const ServicePrograms& programs, const IfSyntax& rule) {
  // A foreground process is nothing that Monit knows, and a broken one may be.
  if (check.foreground || check.broken) return {};
  return Silences(*check.kind, programs).of(rule);
}

ServicePrograms programs_of(const CheckSyntax& check) {
  ServicePrograms programs;
  for (const ServiceStatement& statement : check.statements) {
    if (const auto* const rule = std::get_if<IfSyntax>(&statement))
      for (const TermSyntax& term : rule->condition.terms)
        if (const std::string_view what = tested_once(term); !what.empty()) programs.tests.insert_or_assign(what, rule);
    const auto* program = std::get_if<ServiceProgramSyntax>(&statement);
    if (program == nullptr) continue;
    switch (program->kind) {
      case ServiceProgramSyntax::Kind::Start: programs.start = program; break;
      case ServiceProgramSyntax::Kind::Stop: programs.stop = program; break;
      case ServiceProgramSyntax::Kind::Restart: programs.restart = program; break;
    }
  }
  return programs;
}

bool tests_existence(const CheckSyntax& check) {
  return any_test(check, [](const TestSyntax& test) { return std::holds_alternative<PresentSyntax>(test); });
}

}  // namespace healer::config
