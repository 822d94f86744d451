// SPDX-License-Identifier: MIT
// What workflows and the rules that heal with them say of each other: names that must be there, circles, steps that
// want another. Values that cannot be are here, too.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/compile/workflow.hpp"
#include "config/passes/passes.hpp"
#include "config/passes/workflow_variables.hpp"
#include "config/steps/step_check.hpp"
#include "config/steps/step_kinds.hpp"
#include "engine/healing/variables.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr double kMostPercent = 100;

/// The names of one kind of thing, compared without case.
class Names {
 public:
  void add(const std::string& name) { names_.emplace(to_lower(name), name); }
  [[nodiscard]] bool has(const std::string& name) const { return names_.contains(to_lower(name)); }
  /// "did you mean 'x'?", or nothing.
  [[nodiscard]] std::string remedy(const std::string& name) const {
    std::vector<std::string_view> known;
    for (const auto& [low, written] : names_) known.push_back(low);
    const std::string_view near = nearest_word(to_lower(name), known);
    return near.empty() ? "" : fmt::format("did you mean {}?", in_quotes(names_.find(std::string(near))->second));
  }

 private:
  std::map<std::string, std::string, std::less<>> names_;
};

class WorkflowChecker final : public StepChecker {
 public:
  WorkflowChecker(const Document& document, const Sources& sources, Diagnostics& diagnostics)
      : document_(document), sources_(sources), diagnostics_(diagnostics) {
    for_each_workflow(document, [this](const WorkflowSyntax& workflow) {
      const auto [known, is_new] = workflows_.emplace(to_lower(workflow.name.value), &workflow);
      if (is_new) return workflow_names_.add(workflow.name.value);
      const SourceRange& first = known->second->range;
      error(Code::DuplicateName, workflow.name.range,
            fmt::format("there is a workflow {} already", in_quotes(workflow.name.value)),
            fmt::format("the first one is at {}:{}; case makes no difference", printable(sources_.at(first.file).path),
                        sources_.position(first.file, first.begin).line));
    });
  }

  void run() {
    for_each_workflow(document_, [this](const WorkflowSyntax& workflow) { check(workflow); });
    for_each_check(document_, [this](const CheckSyntax& check) {
      for (const ServiceStatement& statement : check.statements)
        if (const auto* rule = std::get_if<IfSyntax>(&statement)) {
          action(rule->action);
          target(check, rule->action);
          if (rule->recovery) recovery(rule->recovery->action);
        }
    });
    for_each_set<SetHealingLimit>(document_,
                                  [this](const SetHealingLimit& set, const SourceRange&) { limit(set.limit); });
    for_each_set<SetHealingOnlyWhile>(document_, [this](const SetHealingOnlyWhile& set, const SourceRange&) {
      for (const Word& name : set.services) service(name);
    });
    for_each_set<SetMaintenance>(document_, [this](const SetMaintenance& set, const SourceRange&) {
      if (set.group) group(*set.group);
    });
    circles();
    check_variables(document_, diagnostics_);
  }

  void error(Code code, const SourceRange& range, std::string message, std::string remedy = {}) override {
    report(diagnostics_, DiagnosticSeverity::Error, code, range, std::move(message), std::move(remedy));
  }
  void positive(const Located<Duration>& duration) override {
    if (duration.value <= Duration{0}) error(Code::OutOfRange, duration.range, "the duration must be longer than 0");
  }
  void service(const Word& name) override {
    if (declared().services.has(name.value) || !document_.is_whole || holds_variable(name.value)) return;
    if (!document_.expansion.lists.empty())
      return warn(Code::UnknownService, name.range, fmt::format("there is no service {} now", in_quotes(name.value)),
                  "this changes as soon as a list contains it");
    error(Code::UnknownService, name.range, fmt::format("there is no service {}", in_quotes(name.value)),
          declared().services.remedy(name.value));
  }
  void workflow(const Word& name) override {
    if (workflow_names_.has(name.value) || !document_.is_whole) return;
    error(Code::UnknownWorkflow, name.range, fmt::format("there is no workflow {}", in_quotes(name.value)),
          workflow_names_.remedy(name.value));
  }
  void request(const HttpRequestSyntax& request) override { check_request(request, diagnostics_); }

 private:
  void warn(Code code, const SourceRange& range, std::string message, std::string remedy = {}) {
    report(diagnostics_, DiagnosticSeverity::Warning, code, range, std::move(message), std::move(remedy));
  }

  // ---- names

  void action(const ActionSyntax& action) {
    if (action.kind == ActionSyntax::Kind::Heal) workflow(*action.workflow);
  }

  /// Whom it heals: a target, else a service.
  void target(const CheckSyntax& check, const ActionSyntax& action) {
    if (action.kind != ActionSyntax::Kind::Heal || !action.target || action.any_target || !document_.is_whole) return;
    engine::Variables known{{"SERVICE", check.name.value},
                            {"TARGET", check.row ? check.row->target : check.name.value}};
    if (check.row) known.insert(check.row->variables.begin(), check.row->variables.end());
    const engine::Filled filled = engine::fill(action.target->value, known);
    if (!filled.missing.empty() || declared().targets.has(filled.text) || declared().services.has(filled.text)) return;
    const std::string named = declared().targets.remedy(filled.text);
    const std::string near = named.empty() ? declared().services.remedy(filled.text) : named;
    if (!document_.expansion.lists.empty())
      return warn(Code::UnknownService, action.target->range,
                  fmt::format("there is no target and no service {} now: a healing of it would check nothing",
                              in_quotes(filled.text)),
                  near.empty() ? "this changes as soon as a list contains it" : near);
    error(Code::UnknownService, action.target->range,
          fmt::format("there is no target and no service {} to heal", in_quotes(filled.text)),
          near.empty() ? "name a service, or a row of a 'for each'; 'heal with' alone heals the service itself" : near);
  }

  void recovery(const ActionSyntax& action) {
    if (action.kind == ActionSyntax::Kind::Heal)
      error(Code::WrongPlace, action.workflow->range, "a recovery cannot be healed",
            "write 'heal' after 'then'; 'else' takes an alert or an exec");
  }

  /// A brake of a group that nobody is in would never hold: a typo in its name would disable it.
  void group(const Word& name) {
    if (declared().groups.has(name.value) || !document_.is_whole || holds_variable(name.value)) return;
    const std::string near = declared().groups.remedy(name.value);
    if (document_.expansion.groups_vary)
      return warn(Code::UnknownGroup, name.range,
                  fmt::format("no service is in the group {} now", in_quotes(name.value)),
                  "this changes as soon as a list contains one");
    error(Code::UnknownGroup, name.range, fmt::format("no service is in the group {}", in_quotes(name.value)),
          near.empty() ? fmt::format("add 'group {}' to the services that belong to it", printable(name.value)) : near);
  }

  // ---- numbers

  void positive(const Rare<Located<Duration>>& duration) {
    if (duration) positive(*duration);
  }
  void at_least_one(const Number& number, std::string_view what) {
    if (number.value < 1)
      error(Code::OutOfRange, number.range, fmt::format("the number of {} must be at least 1", what));
  }
  void percent(const Word& number) {
    if (percent_of(number) > kMostPercent) error(Code::OutOfRange, number.range, "the percentage can be 100 at most");
  }

  void limit(const HealingLimitSyntax& limit) {
    if (limit.percent && limit.number.value > 100)
      error(Code::OutOfRange, limit.number.range, "the percentage can be 100 at most");
    at_least_one(limit.number, limit.percent ? "percent" : "healings");
    if (limit.percent && !limit.group)
      error(Code::MissingOption, limit.range, "a percentage needs a group",
            "as in 'limit 20% of group webboxes at once'");
    if (limit.percent && limit.within)
      error(Code::InvalidValue, limit.within->range, "a percentage can only limit how many are healed at once",
            "as in 'limit 20% of group webboxes at once'");
    positive(limit.within);
    if (limit.group) group(*limit.group);
  }

  /// Of two that count the same the smaller one holds, and the other has no effect.
  void same_limits(const std::vector<HealingLimitSyntax>& limits) {
    const auto group = [](const HealingLimitSyntax& one) { return one.group ? to_lower(one.group->value) : ""; };
    const auto within = [](const HealingLimitSyntax& one) { return one.within ? one.within->value : Duration{0}; };
    for (std::size_t i = 1; i < limits.size(); ++i)
      for (std::size_t k = 0; k < i; ++k) {
        const HealingLimitSyntax& one = limits[i];
        const HealingLimitSyntax& before = limits[k];
        if (one.percent != before.percent || group(one) != group(before) || within(one) != within(before)) continue;
        const bool is_smaller = one.number.value < before.number.value;
        const SourceRange& other = is_smaller ? one.range : before.range;
        warn(Code::DuplicateStatement, is_smaller ? before.range : one.range,
             fmt::format("this limit has no effect: line {} limits the same, and is {}",
                         sources_.position(other.file, other.begin).line,
                         one.number.value == before.number.value ? "as small" : "smaller"),
             "keep one of them");
      }
  }

  void share(const ShareSyntax& share) {
    percent(share.above);
    if (share.until) {
      percent(*share.until);
      if (percent_of(*share.until) > percent_of(share.above))
        error(Code::OutOfRange, share.until->range, "the brake would open before it closes",
              "write a smaller number after 'until less than'");
    }
    group(share.group);
  }

  // ---- workflows

  void check(const WorkflowSyntax& workflow) {
    if (workflow.broken) return;
    if (workflow.steps.empty())
      error(Code::NoSteps, workflow.range, fmt::format("the workflow {} has no steps", in_quotes(workflow.name.value)),
            "as in: step \"rebuild\" program \"/usr/local/bin/rebuild ${TARGET}\"");
    if (workflow.guard) {
      positive(workflow.guard->timeout);
      workflow.guard->program.check_run(*this);
    }
    std::set<std::string> names;
    for_each_step_of(workflow, [&](const StepSyntax& step) {
      if (step.name && !names.insert(step.name->value).second)
        error(Code::DuplicateName, step.name->range,
              fmt::format("there is a step {} already", in_quotes(step.name->value)), "give it another name");
      this->step(step);
    });
    const bool has_recovered = recovers(workflow.steps);
    if (!workflow.ramp.empty() && !has_recovered) needs_recovered(workflow.ramp.front().range, "ramp");
    if (workflow.probation && !has_recovered) needs_recovered(workflow.probation->range, "probation");
    places(workflow.steps, nullptr);
    if (workflow.on_failure && !workflow.on_failure->empty())
      places(*workflow.on_failure, &workflow.on_failure->back());
    if (workflow.on_cancel) places(*workflow.on_cancel, nullptr);
    for (const HealingLimitSyntax& one : workflow.limits) limit(one);
    same_limits(workflow.limits);
    for (const ShareSyntax& one : workflow.pauses) share(one);
    if (workflow.tries) at_least_one(*workflow.tries, "tries");
    for (const Number& one : workflow.ramp) at_least_one(one, "healings");
    if (workflow.breaker) {
      at_least_one(workflow.breaker->failed, "failed healings");
      positive(workflow.breaker->within);
    }
    if (workflow.approval) {
      positive(workflow.approval->within);
      if (workflow.approval->when) share(*workflow.approval->when);
    }
    if (!workflow.guard && changes(workflow.steps))
      warn(Code::NoGuard, workflow.range,
           fmt::format("the workflow {} changes something and has no guard", in_quotes(workflow.name.value)),
           "as in: guard program \"/usr/local/bin/may-be-healed ${TARGET}\"");
  }

  static bool recovers(const std::vector<StepSyntax>& steps) {
    return std::ranges::any_of(steps, [](const StepSyntax& step) { return verifies(step); });
  }

  void needs_recovered(const SourceRange& range, std::string_view what) {
    error(Code::MissingOption, range, fmt::format("'{}' needs a 'recovered' step", what),
          "as in: step \"verify\" recovered within 5 minutes");
  }

  /// Whether a step may change something.
  static bool changes(const std::vector<StepSyntax>& steps) {
    bool found = false;
    for_each_step(steps, [&](const StepSyntax& step) { found = found || may_change(step); });
    return found;
  }

  /// `last`: of `on failure`; null: it is not that.
  void places(const std::vector<StepSyntax>& steps, const StepSyntax* last, bool in_parallel = false) {
    for (const StepSyntax& step : steps) {
      if (const auto* parallel = std::get_if<ParallelStepSyntax>(&step.what)) places(parallel->steps, nullptr, true);
      const StepPlace place{
          .range = step.range, .in_parallel = in_parallel, .in_on_failure = last != nullptr, .is_last = &step == last};
      std::visit(
          [&]<typename Kind>([[maybe_unused]] const Kind& kind) {
            if constexpr (requires { &Kind::check_place; }) kind.check_place(place, *this);
          },
          step.what);
    }
  }

  // ---- steps

  void step(const StepSyntax& step) {
    positive(step.timeout);
    positive(step.pause);
    if (const auto* parallel = std::get_if<ParallelStepSyntax>(&step.what);
        parallel != nullptr && parallel->steps.empty())
      error(Code::NoSteps, step.range, "'parallel' has no steps", "write one, or remove it");
    std::visit([this](const auto& what) { kind(what); }, step.what);
  }

  template <typename Kind>
  void kind([[maybe_unused]] const Kind& step) {
    if constexpr (requires { &Kind::check; }) step.check(*this);
  }

  // ---- escalation

  static const EscalateStepSyntax* escalation(const WorkflowSyntax& workflow) {
    if (!workflow.on_failure || workflow.on_failure->empty()) return nullptr;
    return std::get_if<EscalateStepSyntax>(&workflow.on_failure->back().what);
  }

  /// Each workflow goes on with one other at most: a circle is found by going round.
  void circles() {
    std::set<const WorkflowSyntax*> done;
    for (const auto& [name, first] : workflows_) {
      std::vector<const WorkflowSyntax*> way;
      const WorkflowSyntax* at = first;
      while (at != nullptr && !done.contains(at)) {
        const auto before = std::ranges::find(way, at);
        if (before != way.end()) {
          circle({before, way.end()});
          break;
        }
        way.push_back(at);
        const EscalateStepSyntax* to = escalation(*at);
        const auto next = to == nullptr ? workflows_.end() : workflows_.find(to_lower(to->workflow.value));
        at = next == workflows_.end() ? nullptr : next->second;
      }
      done.insert(way.begin(), way.end());
    }
  }

  void circle(const std::vector<const WorkflowSyntax*>& way) {
    std::string text;
    for (const WorkflowSyntax* one : way) text += fmt::format("{} with ", in_quotes(one->name.value));
    error(Code::Circle, escalation(*way.back())->workflow.range,
          fmt::format("circular healing: {}{}", text, in_quotes(way.front()->name.value)),
          "the last of them must not heal with the first");
  }

  /// What checks declare.
  struct Declared {
    Names services, targets, groups;
  };
  /// Gathered where it is asked for: most files have many checks, and no workflows.
  const Declared& declared() {
    if (declared_) return *declared_;
    declared_.emplace();
    for_each_check(document_, [this](const CheckSyntax& check) {
      declared_->services.add(check.name.value);
      declared_->targets.add(check.row ? check.row->target : check.name.value);
      for (const ServiceStatement& statement : check.statements)
        if (const auto* group = std::get_if<GroupSyntax>(&statement)) declared_->groups.add(group->name.value);
    });
    for (const std::string& name : document_.unknown) declared_->services.add(name);
    return *declared_;
  }

  const Document& document_;
  const Sources& sources_;
  Diagnostics& diagnostics_;
  Names workflow_names_;
  std::optional<Declared> declared_;
  std::map<std::string, const WorkflowSyntax*> workflows_;
};

}  // namespace

void check_workflows(const Document& document, const Sources& sources, Diagnostics& diagnostics) {
  WorkflowChecker(document, sources, diagnostics).run();
}

}  // namespace healer::config
