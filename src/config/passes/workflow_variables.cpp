// SPDX-License-Identifier: MIT
#include "config/passes/workflow_variables.hpp"
#include "config/passes/events.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <spdlog/fmt/fmt.h>

#include "util/jq.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::string_view kBuiltIn[] = {"SERVICE", "TARGET", "EVENT", "HOST", "DATE", "REASON", "HEALING", "STEP"};
/// What healer makes up itself: no text from outside is in it.
constexpr std::string_view kOwn[] = {"HOST", "DATE", "HEALING", "STEP"};

bool is_one_of(std::string_view name, const auto& names) { return std::ranges::find(names, name) != std::end(names); }

/// The name before the first dot: NODE of NODE.ip.
std::string_view stem(std::string_view name) { return name.substr(0, name.find('.')); }

/// The argument that is a script of a shell's; nothing: there is none.
std::optional<std::size_t> shell_script_of(const std::vector<std::string>& arguments) {
  static constexpr std::string_view kShells[] = {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish"};
  if (arguments.empty()) return std::nullopt;
  const std::string_view program = std::string_view(arguments.front()).substr(arguments.front().rfind('/') + 1);
  if (!is_one_of(program, kShells)) return std::nullopt;
  for (std::size_t i = 1; i + 1 < arguments.size() && arguments[i].starts_with('-'); ++i)
    if (!arguments[i].starts_with("--") && arguments[i].ends_with('c')) return i + 1;
  return std::nullopt;
}

/// A value that a step saves, and where.
struct Saved {
  const SavingSyntax* saving = nullptr;
  bool repeatable = false;  ///< its step
  std::string step{};       ///< its name, where it has one
};

/// What a workflow asks of whoever heals with it: names, and where each stands first.
using Wanted = std::map<std::string, SourceRange, std::less<>>;

/// One workflow, in the order in which its steps are run.
class WorkflowReader {
 public:
  explicit WorkflowReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  Wanted read(const WorkflowSyntax& workflow) {
    if (workflow.guard) program(workflow.guard->program);
    steps(workflow.steps);
    if (workflow.on_failure) steps(*workflow.on_failure);
    if (workflow.on_cancel) steps(*workflow.on_cancel);
    return std::move(wanted_);
  }
  /// Names of values that are saved, and the names of the steps that save them; a step may have none.
  [[nodiscard]] std::map<std::string, std::string> saved() const {
    std::map<std::string, std::string> names;
    for (const auto& [name, one] : saved_) names.emplace(name, one.step);
    return names;
  }

 private:
  [[nodiscard]] auto uses() {
    return [this](const std::string& text, const SourceRange& range, TextPlace place) { use(text, range, place); };
  }

  void steps(const std::vector<StepSyntax>& all) {
    for (const StepSyntax& step : all) {
      if (const auto* parallel = std::get_if<ParallelStepSyntax>(&step.what)) {
        // What one saves the others do not know.
        for (const StepSyntax& one : parallel->steps) texts(one);
        for (const StepSyntax& one : parallel->steps) save(one);
        continue;
      }
      texts(step);
      save(step);
    }
  }

  void save(const StepSyntax& step) {
    const auto remember = [&](const std::vector<SavingSyntax>& saves) {
      for (const SavingSyntax& saving : saves)
        saved_[saving.name.value] = {&saving, step.repeatable, step.name ? step.name->value : ""};
    };
    if (const auto* program = std::get_if<ProgramStepSyntax>(&step.what)) remember(program->saves);
    if (const auto* http = std::get_if<HttpStepSyntax>(&step.what)) remember(http->saves);
  }

  void texts(const StepSyntax& step) {
    if (const auto* one = std::get_if<ProgramStepSyntax>(&step.what)) return program(*one);
    if (const auto* http = std::get_if<HttpStepSyntax>(&step.what)) {
      for_each_request_text(http->request, uses());
      // What the call saves is known when its answers are asked for.
      if (http->until) {
        save(step);
        for_each_request_text(http->until->request, uses());
      }
      filters(*http);
      return;
    }
    for_each_text(step, uses());
  }

  void program(const ProgramStepSyntax& program) {
    for_each_program_text(program, uses());
    const std::vector<std::string>& arguments = program.command.arguments;
    if (!arguments.empty()) place_of_event(arguments.front(), program.command.range, TextPlace::Argument, true);
    if (const auto script = shell_script_of(arguments))
      for (const VariableUse& use : variables_in(arguments[*script]))
        if (!use.is_secret() && !is_one_of(use.name, kOwn)) {
          report(
              diagnostics_, DiagnosticSeverity::Error, Code::OutsideValue, program.command.range,
              fmt::format("the shell would interpret the value of ${{{}}} as part of its script", printable(use.name)),
              fmt::format("use the environment variable: \"$HEALER_{}\"", variable_of(use.name)));
          break;
        }
    for (const SavingSyntax& saving : program.saves) filter(saving);
  }

  /// HEALER_NODE_IP of NODE.ip.
  static std::string variable_of(std::string_view name) {
    std::string result(name);
    for (char& c : result) c = c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return result;
  }

  /// Whether what stands there is seen by others, or in the journal.
  static bool shows(TextPlace place) {
    return place == TextPlace::Argument || place == TextPlace::Directory || place == TextPlace::BodyFile ||
           place == TextPlace::Alert || place == TextPlace::Service;
  }

  void filters(const HttpStepSyntax& http) {
    for (const SavingSyntax& saving : http.saves) filter(saving);
    const auto tests = [this](const std::vector<JsonTestSyntax>& all) {
      for (const JsonTestSyntax& test : all) filter(test.filter);
    };
    tests(http.expect_json);
    if (http.until) {
      tests(http.until->met);
      tests(http.until->failed);
    }
  }

  void filter(const SavingSyntax& saving) {
    if (saving.from == engine::Saving::From::Json) filter(saving.what);
  }
  void filter(const Word& filter) {
    if (holds_variable(filter.value))
      report(diagnostics_, DiagnosticSeverity::Error, Code::OutsideValue, filter.range,
             "a value cannot be written into a jq filter", "it is a variable there: write $NAME");
    for (const std::string& name : outside_variables(filter.value))
      use(fmt::format("${{{}}}", name), filter.range, TextPlace::Body);
  }

  /// What an event says names no program, no file of healer's, and no server: whoever may send one would choose them.
  void place_of_event(const std::string& text, const SourceRange& range, TextPlace place, bool is_program) {
    const char* what = nullptr;
    std::size_t end = text.size();
    if (is_program)
      what = "which program is run";
    else if (place == TextPlace::Directory)
      what = "in which directory it runs";
    else if (place == TextPlace::BodyFile)
      what = "which file is sent";
    else if (place == TextPlace::Url)
      what = "which server is asked";
    if (what == nullptr) return;
    if (place == TextPlace::Url) {
      const std::size_t scheme = text.find("://");
      end = std::min(end, text.find_first_of("/?#", scheme == std::string::npos ? 0 : scheme + 3));
    }
    for (const VariableUse& use : variables_in(text))
      if (is_event_field(use.name) && static_cast<std::size_t>(use.name.data() - text.data()) < end) {
        report(diagnostics_, DiagnosticSeverity::Error, Code::OutsideValue, range,
               fmt::format("the event would say {}", what), "write it into the rules");
        return;
      }
  }

  void use(const std::string& text, const SourceRange& range, TextPlace place) {
    place_of_event(text, range, place, false);
    for (const VariableUse& use : variables_in(text)) {
      if (!use.closed) {
        report(diagnostics_, DiagnosticSeverity::Error, Code::InvalidValue, range, "'${' has no '}'",
               "write $${ for a literal ${");
        continue;
      }
      if (use.is_secret()) {
        // Of arguments and URLs it is said where they are checked.
        if (place == TextPlace::Alert || place == TextPlace::Service)
          report(diagnostics_, DiagnosticSeverity::Error, Code::ExposedSecret, range,
                 "a secret where others can read it", "remove it");
        continue;
      }
      if (is_built_in(use.name)) continue;
      if (const auto found = saved_.find(use.name); found != saved_.end()) {
        const auto& [name, saved] = *found;
        if (saved.saving->secret && shows(place)) {
          report(diagnostics_, DiagnosticSeverity::Error, Code::ExposedSecret, range,
                 fmt::format("{} is secret, and others can read this", in_quotes(name)),
                 place == TextPlace::Argument ? "write it into the environment: environment NAME \"${...}\""
                                              : "remove it");
          continue;
        }
        if (saved.saving->secret && !saved.repeatable && warned_.insert(name).second)
          report(diagnostics_, DiagnosticSeverity::Warning, Code::LostSecret, saved.saving->name.range,
                 fmt::format("after a crash {} is lost, and a step that needs it fails: its own step is not repeatable",
                             in_quotes(name)),
                 "add 'repeatable' to the step that saves it, if it may be run twice");
        continue;
      }
      wanted_.emplace(use.name, range);
    }
  }

  Diagnostics& diagnostics_;
  std::map<std::string, Saved, std::less<>> saved_;
  std::set<std::string> warned_;
  Wanted wanted_;
};

/// Whether a row has a value of that name, or may have one: as of rows that are read later only the name before the dot
/// is known.
bool may_have_value(const engine::Row* row, std::string_view name) {
  if (row == nullptr) return false;
  return std::ranges::any_of(row->variables,
                             [&](const auto& one) { return one.first == name || one.first == stem(name); });
}

/// Whether a healing of that check has a value of that name, as far as anybody knows now.
bool has_value(const CheckSyntax& check, std::string_view name) {
  if (check.stands_in) return may_have_value(check.row.get(), name);
  return check.row != nullptr &&
         std::ranges::any_of(check.row->variables, [&](const auto& one) { return one.first == name; });
}

/// The filter as if those names had values.
std::string bound_to_null(const std::string& filter, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    if (name != "ENV" && name != "__prog_args" && name != "__loc__") text += fmt::format("null as ${} | ", name);
  return text + filter;
}

class VariableChecker {
 public:
  VariableChecker(const Document& document, Diagnostics& diagnostics) : document_(document), diagnostics_(diagnostics) {
    for_each_workflow(document, [this](const WorkflowSyntax& workflow) {
      WorkflowReader reader(diagnostics_);
      Needs needs{.workflow = &workflow, .wanted = reader.read(workflow), .saved = reader.saved(), .known = {}};
      if (workflow.on_failure && !workflow.on_failure->empty())
        if (const auto* to = std::get_if<EscalateStepSyntax>(&workflow.on_failure->back().what))
          needs.next = to_lower(to->workflow.value);
      needs_.emplace(to_lower(workflow.name.value), std::move(needs));
    });
  }

  void run() {
    each_order([this](const CheckSyntax& check, const ActionSyntax& order) {
      target(check, order);
      each_needed(order, [&](Needs& needs, const std::string& name) {
        if (may_have_value(check.row.get(), name)) needs.known.insert(name);
      });
    });
    each_order([this](const CheckSyntax& check, const ActionSyntax& order) {
      each_needed(order, [&](const Needs& needs, const std::string& name) {
        if (!needs.known.contains(name) || has_value(check, name)) return;
        report(diagnostics_, DiagnosticSeverity::Error, Code::UnknownVariable, order.workflow->range,
               fmt::format("the workflow {} needs ${{{}}}, and {} has no such value",
                           in_quotes(needs.workflow->name.value), printable(name), in_quotes(check.name.value)),
               fmt::format("use it only for services in a 'for each {}'", printable(stem(name))),
               {check.name.range.row});
      });
    });
    for (const auto& [low, needs] : needs_)
      for (const auto& [name, range] : needs.wanted)
        if (!needs.known.contains(name)) unknown(needs, name, range);
  }

 private:
  struct Needs {
    const WorkflowSyntax* workflow = nullptr;
    Wanted wanted;
    std::map<std::string, std::string> saved;  ///< names of values, and the step that saves each; or empty
    std::string next{};                        ///< what it goes on with, in lower case
    std::set<std::string> known;               ///< what somebody who heals with it has
  };

  template <typename Visit>
  void each_order(Visit&& visit) {
    for_each_check(document_, [&](const CheckSyntax& check) {
      for (const ServiceStatement& statement : check.statements) {
        const auto* rule = std::get_if<IfSyntax>(&statement);
        if (rule == nullptr) continue;
        if (rule->action.kind == ActionSyntax::Kind::Heal) visit(check, rule->action);
        if (rule->recovery && rule->recovery->action.kind == ActionSyntax::Kind::Heal)
          visit(check, rule->recovery->action);
      }
    });
  }

  /// Calls `visit(needs, name)` for each name that the workflow of an order wants, and those that it goes on with.
  template <typename Visit>
  void each_needed(const ActionSyntax& order, Visit&& visit) {
    std::set<std::string> done;
    for (std::string at = to_lower(order.workflow->value); done.insert(at).second;) {
      const auto found = needs_.find(at);
      if (found == needs_.end()) return;
      for (const auto& [name, range] : found->second.wanted) visit(found->second, name);
      at = found->second.next;
    }
  }

  void target(const CheckSyntax& check, const ActionSyntax& order) {
    if (!order.target) return;
    for (const VariableUse& use : variables_in(order.target->value))
      if (!use.closed || use.is_secret() || (!is_built_in(use.name) && !has_value(check, use.name)))
        report(diagnostics_, DiagnosticSeverity::Error, Code::UnknownVariable, order.target->range,
               fmt::format("{} has no value ${{{}}}", in_quotes(check.name.value), printable(use.name)));
  }

  void unknown(const Needs& needs, const std::string& name, const SourceRange& range) {
    const auto say = [&](const std::string& message, const std::string& remedy) {
      report(diagnostics_, DiagnosticSeverity::Error, Code::UnknownVariable, range, message, remedy);
    };
    if (const auto saver = needs.saved.find(name); saver != needs.saved.end())
      return say(fmt::format("${{{}}} is not saved yet when this is run", printable(name)),
                 saver->second.empty()
                     ? "move this after the step that saves it"
                     : fmt::format("move this after the step {}, which saves it", in_quotes(saver->second)));
    std::vector<std::string> names(std::begin(kBuiltIn), std::end(kBuiltIn));
    for (const auto& [saved, step] : needs.saved) names.push_back(saved);
    bool of_row = false;
    for_each_check(document_, [&](const CheckSyntax& check) {
      of_row = of_row || may_have_value(check.row.get(), name);
      if (check.row)
        for (const auto& [variable, value] : check.row->variables) names.push_back(variable);
    });
    if (!document_.is_whole) return;  // whoever has it may be missing
    if (of_row)
      return say(fmt::format("${{{}}} only has a value inside its 'for each', and no rule there heals with {}",
                             printable(name), in_quotes(needs.workflow->name.value)),
                 fmt::format("move the rule that heals with it into the 'for each {}', or use ${{TARGET}}",
                             printable(stem(name))));
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string_view near = nearest_word(name, candidates);
    say(fmt::format("${{{}}} has no value here", printable(name)),
        near.empty() ? fmt::format("only values of a 'for each {}' around the services, and values that a "
                                   "step saves, can be used; write $${{ for a literal ${{",
                                   printable(stem(name)))
                     : fmt::format("did you mean ${{{}}}?", near));
  }

  const Document& document_;
  Diagnostics& diagnostics_;
  std::map<std::string, Needs> needs_;
};

}  // namespace

std::vector<VariableUse> variables_in(std::string_view text) {
  std::vector<VariableUse> found;
  for (std::size_t at = 0; (at = text.find("${", at)) != std::string_view::npos;) {
    if (at > 0 && text[at - 1] == '$') {
      at += 2;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) {
      found.push_back({.name = text.substr(at + 2), .closed = false});
      break;
    }
    found.push_back({.name = text.substr(at + 2, end - at - 2)});
    at = end + 1;
  }
  return found;
}

bool holds_variable(std::string_view text) { return !variables_in(text).empty(); }

bool holds_secret(std::string_view text) { return std::ranges::any_of(variables_in(text), &VariableUse::is_secret); }

std::vector<std::string> outside_variables(const std::string& filter) {
  std::vector<std::string> outside;
  if (jq_problem(filter).empty() || !jq_problem(with_variables(filter)).empty()) return outside;
  const std::vector<std::string> all = jq_variables(filter);
  for (const std::string& name : all) {
    std::vector<std::string> others;
    for (const std::string& other : all)
      if (other != name) others.push_back(other);
    if (!jq_problem(bound_to_null(filter, others)).empty()) outside.push_back(name);
  }
  return outside;
}

std::string with_variables(const std::string& filter) { return bound_to_null(filter, jq_variables(filter)); }

bool is_variable_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || is_digit(c); });
}

bool is_built_in(std::string_view name) {
  return is_one_of(name, kBuiltIn) || name.starts_with("EVENT.") || name.starts_with("HEALER_");
}

void check_variables(const Document& document, Diagnostics& diagnostics) {
  VariableChecker(document, diagnostics).run();
}

}  // namespace healer::config
