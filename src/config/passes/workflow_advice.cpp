// SPDX-License-Identifier: MIT
// Advice on workflows, for `healerctl lint` alone: those that no rule heals with, and alerts that reach nobody.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/passes/passes.hpp"
#include "config/steps/step_kinds.hpp"
#include "config/syntax/vocabulary.hpp"
#include "engine/rules/event_kind.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

/// Whether what healings tell goes to that address: it goes as events of actions.
bool takes_healings(const AlertSyntax& alert) {
  const bool named = std::ranges::any_of(
      alert.events, [](const Word& event) { return event_kind(event.value) == engine::EventKind::Action; });
  return alert.events.empty() || named != alert.negated;
}

class WorkflowAdviser {
 public:
  WorkflowAdviser(const Document& document, Diagnostics& diagnostics) : document_(document), diagnostics_(diagnostics) {
    for_each_workflow(document, [this](const WorkflowSyntax& workflow) {
      workflows_.emplace(to_lower(workflow.name.value), &workflow);
      is_whole_ = is_whole_ && !workflow.broken;
    });
    for_each_set<SetAlert>(document, [this](const SetAlert& set, const SourceRange&) {
      if (takes_healings(set.alert)) global_.insert(to_lower(set.alert.address.value));
    });
  }

  void run() {
    std::set<std::string> used;
    for_each_check(document_, [&](const CheckSyntax& check) {
      const bool reaches = reaches_somebody(check);
      for (const ServiceStatement& statement : check.statements) {
        const auto* rule = std::get_if<IfSyntax>(&statement);
        if (rule == nullptr || rule->action.kind != ActionSyntax::Kind::Heal) continue;
        each_after(rule->action.workflow->value, [&](const WorkflowSyntax& workflow) {
          used.insert(to_lower(workflow.name.value));
          if (!reaches) alerts_nobody(workflow, check);
        });
      }
    });
    for (const auto& [name, workflow] : workflows_)
      if (!used.contains(name) && is_whole_)
        say(Code::NoEffect, workflow->name.range,
            fmt::format("no rule heals with the workflow {}", in_quotes(workflow->name.value)),
            fmt::format("write 'then heal with {}' in a rule; a person can also start it: `healerctl heal NAME --with`",
                        printable(workflow->name.value)));
  }

 private:
  void say(Code code, const SourceRange& range, std::string message, std::string remedy) {
    report(diagnostics_, DiagnosticSeverity::Note, code, range, std::move(message), std::move(remedy));
  }

  [[nodiscard]] bool reaches_somebody(const CheckSyntax& check) const {
    std::set<std::string> reached = global_;
    // A service's own word on an address stands in place of the global one.
    for (const ServiceStatement& statement : check.statements) {
      if (const auto* alert = std::get_if<AlertSyntax>(&statement)) reached.erase(to_lower(alert->address.value));
      if (const auto* none = std::get_if<NoAlertSyntax>(&statement)) reached.erase(to_lower(none->address.value));
    }
    return !reached.empty() || std::ranges::any_of(check.statements, [](const ServiceStatement& statement) {
      const auto* alert = std::get_if<AlertSyntax>(&statement);
      return alert != nullptr && takes_healings(*alert);
    });
  }

  /// A workflow and those that it goes on with.
  template <typename Visit>
  void each_after(const std::string& first, Visit&& visit) const {
    std::set<std::string> done;
    std::vector<std::string> next{to_lower(first)};
    while (!next.empty()) {
      const auto found = workflows_.find(next.back());
      next.pop_back();
      if (found == workflows_.end() || !done.insert(found->first).second) continue;
      visit(*found->second);
      for_each_step_of(*found->second, [&](const StepSyntax& step) {
        if (const auto* to = std::get_if<EscalateStepSyntax>(&step.what)) next.push_back(to_lower(to->workflow.value));
      });
    }
  }

  /// Once of each workflow, for the first service.
  void alerts_nobody(const WorkflowSyntax& workflow, const CheckSyntax& check) {
    for_each_step_of(workflow, [&](const StepSyntax& step) {
      const Word* const told = told_by(step);
      if (told == nullptr || !reported_.insert(&workflow).second) return;
      say(Code::NoRecipient, told->range,
          fmt::format("where {} is healed nobody receives this alert: it is only in the log and the history",
                      in_quotes(check.name.value)),
          "add 'set alert ADDRESS', or 'alert ADDRESS' to the service; one with a list of events must include "
          "'action'");
    });
  }

  const Document& document_;
  Diagnostics& diagnostics_;
  bool is_whole_ = document_.is_whole;  ///< no service is missing, and what each workflow goes on with is known
  std::map<std::string, const WorkflowSyntax*> workflows_;
  std::set<std::string> global_;  ///< addresses, in lower case
  std::set<const WorkflowSyntax*> reported_;
};

}  // namespace

void advise_workflows(const Document& document, Diagnostics& diagnostics) {
  WorkflowAdviser(document, diagnostics).run();
}

}  // namespace healer::config
