// SPDX-License-Identifier: MIT
// The only owner of default values: writes into the document what its writer left to healer. As in Monit, `set limits`
// and `set onreboot` hold for the services that are written after them.
#include <algorithm>
#include <string>
#include <utility>

#include "config/compile/workflow.hpp"
#include "config/passes/passes.hpp"
#include "config/passes/silence.hpp"
#include "config/syntax/vocabulary.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

template <typename Kind>
bool has(const CheckSyntax& check) {
  return std::ranges::any_of(check.statements,
                             [](const ServiceStatement& statement) { return std::holds_alternative<Kind>(statement); });
}

/// What Monit does of itself: if does not exist then restart, if changed fsflags then alert.
IfSyntax own_rule(TestSyntax test, ActionSyntax::Kind action, const SourceRange& range) {
  IfSyntax rule;
  rule.condition.terms.push_back({.test = std::move(test), .range = range});
  rule.action.kind = action;
  rule.action.range = rule.range = range;
  return rule;
}

bool tests_link(const CheckSyntax& check) {
  return any_test(check, [](const TestSyntax& test) { return std::holds_alternative<LinkSyntax>(test); });
}

bool tests_change(const CheckSyntax& check, std::string_view attribute) {
  return any_test(check, [&](const TestSyntax& test) {
    const auto* changed = std::get_if<ChangedSyntax>(&test);
    return changed != nullptr && changed->what == attribute;
  });
}

bool is_manual(const CheckSyntax& check) {
  return std::ranges::any_of(check.statements, [](const ServiceStatement& statement) {
    const auto* mode = std::get_if<ModeSyntax>(&statement);
    return mode != nullptr && iequals(mode->mode.value, "manual");
  });
}

class Defaults {
 public:
  void apply(SetSyntax& set) {
    if (const auto* policy = std::get_if<SetOnReboot>(&set.statement)) on_reboot_ = policy->policy.value;
    if (const auto* limits = std::get_if<SetLimits>(&set.statement))
      for (const SetLimits::Item& item : limits->items)
        if (const Limit* limit = find_limit(item.name.value); limit != nullptr && limit->time != nullptr)
          if (const auto* timeout = std::get_if<Duration>(&item.value); timeout != nullptr && *timeout > Duration{0})
            limits_.*limit->time = *timeout;
    if (auto* mail = std::get_if<SetMailServer>(&set.statement))
      for (SetMailServer::Server& server : mail->servers)
        if (!server.port) server.port = Number{.value = kSmtpPort, .range = server.host.range};
  }

  void apply(WorkflowSyntax& workflow) const {
    if (workflow.guard && !workflow.guard->timeout)
      workflow.guard->timeout = Located<Duration>{kGuardTimeout, workflow.guard->range};
    for_each_step_of(workflow, [this](StepSyntax& step) {
      if (step.timeout) return;
      if (std::holds_alternative<ProgramStepSyntax>(step.what))
        step.timeout = Located<Duration>{limits_.program_timeout, step.range};
      if (std::holds_alternative<HttpStepSyntax>(step.what))
        step.timeout = Located<Duration>{kRequestTimeout, step.range};
    });
    if (only_alerts(workflow)) return;
    // Each until a word of its own kind is written.
    const bool counts = std::ranges::any_of(workflow.limits, [](const auto& limit) { return !limit.within; });
    if (!counts && workflow.ramp.empty())
      workflow.limits.push_back({.number = {1, workflow.range}, .group = {}, .within = {}, .range = workflow.range});
    if (workflow.pauses.empty())
      workflow.pauses.push_back(
          {.above = {"50", workflow.range}, .group = {"", workflow.range}, .until = {}, .range = workflow.range});
    if (!workflow.cooldown) workflow.cooldown = Located<Duration>{kCooldown, workflow.range};
  }

  void apply(CheckSyntax& check) const {
    if (check.kind->traits.is_run) set_timeout(*check.command, limits_.program_timeout);
    for (ServiceStatement& statement : check.statements)
      if (auto* program = std::get_if<ServiceProgramSyntax>(&statement))
        set_timeout(program->command, timeout_of(*program));
    check.statements.reserve(check.statements.size() + 4);
    if (check.foreground) run_in_foreground(check);
    if (check.kind->presence && !tests_existence(check))
      check.statements.emplace_back(own_rule(PresentSyntax{.negated = true}, ActionSyntax::Kind::Restart, check.range));
    if (check.kind->traits.has_link && !tests_link(check))
      check.statements.emplace_back(own_rule(LinkSyntax{.up = false}, ActionSyntax::Kind::Alert, check.range));
    for (const engine::AttributeRow& row : check.kind->attributes)
      if (row.alerts_on_change && !tests_change(check, row.words))
        check.statements.emplace_back(
            own_rule(ChangedSyntax{std::string(row.words)}, ActionSyntax::Kind::Alert, check.range));
    // Monit's old `mode manual` is: active, but as it was left.
    if (!has<OnRebootSyntax>(check))
      check.statements.emplace_back(
          OnRebootSyntax{{.value = is_manual(check) ? "laststate" : on_reboot_, .range = check.range}});
    check.statements.shrink_to_fit();  // of many services all are there until the last is compiled
  }

 private:
  /// How a foreground process is ended, and when it counts as ready.
  void run_in_foreground(CheckSyntax& check) const {
    if (!has<StopSignalSyntax>(check))
      check.statements.emplace_back(StopSignalSyntax{.signal = {"TERM", check.range}, .range = check.range});
    if (!has<ReadySyntax>(check)) check.statements.emplace_back(ReadySyntax{.range = check.range});
    for (ServiceStatement& statement : check.statements) {
      if (auto* stop = std::get_if<StopSignalSyntax>(&statement); stop != nullptr && !stop->within)
        stop->within = Located<Duration>{limits_.stop_timeout, stop->range};
      if (auto* ready = std::get_if<ReadySyntax>(&statement); ready != nullptr && !ready->time)
        ready->time = Located<Duration>{ready->by_notice ? limits_.start_timeout : kReadyAfter, ready->range};
    }
  }

  /// A timeout of nothing would end every run at once.
  static void set_timeout(CommandSyntax& command, Duration timeout) {
    if (!command.timeout || command.timeout->value <= Duration{0})
      command.timeout = Located<Duration>{.value = timeout, .range = command.range};
  }

  [[nodiscard]] Duration timeout_of(const ServiceProgramSyntax& program) const {
    switch (program.kind) {
      case ServiceProgramSyntax::Kind::Start: return limits_.start_timeout;
      case ServiceProgramSyntax::Kind::Stop: return limits_.stop_timeout;
      case ServiceProgramSyntax::Kind::Restart: return limits_.restart_timeout;
    }
    return limits_.program_timeout;
  }

  static constexpr std::uint64_t kSmtpPort = 25;
  static constexpr Duration kReadyAfter = seconds{1};
  static constexpr Duration kGuardTimeout = seconds{30};
  static constexpr Duration kRequestTimeout = seconds{30};
  static constexpr Duration kCooldown = minutes{10};

  std::string on_reboot_ = "start";
  engine::Limits limits_;
};

}  // namespace

void apply_defaults(Document& document) {
  Defaults defaults;
  for (Document::Statement& statement : document.statements)
    std::visit([&](auto& node) { defaults.apply(node); }, statement);
}

}  // namespace healer::config
