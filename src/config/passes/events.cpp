// SPDX-License-Identifier: MIT
// Checks of events: who may send to their hooks, and what their rules make of what comes.
#include "config/passes/events.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "config/passes/workflow_variables.hpp"
#include "config/syntax/values.hpp"
#include "config/text/secret.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/occurrence.hpp"
#include "util/base64.hpp"
#include "util/jq.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::string_view kHooks = "/hooks/";
constexpr std::string_view kField = "EVENT.";

void add_event_fields(std::string_view text, std::set<std::string>& fields) {
  for (const VariableUse& use : variables_in(text))
    if (use.closed && is_event_field(use.name)) fields.emplace(use.name);
}

/// The texts of a service in which values of an event may stand.
template <typename Visit>
void for_each_event_text(const CheckSyntax& check, Visit&& visit) {
  const auto action = [&](const ActionSyntax& one) {
    if (one.target) visit(one.target->value, one.target->range);
    if (one.kind == ActionSyntax::Kind::Exec)
      for (const std::string& argument : one.command->arguments) visit(argument, one.command->range);
  };
  for (const ServiceStatement& statement : check.statements) {
    if (const auto* const rule = std::get_if<IfSyntax>(&statement)) {
      action(rule->action);
      if (rule->recovery) action(rule->recovery->action);
    }
    if (const auto* const alert = std::get_if<AlertSyntax>(&statement))
      for (const Rare<Word>* const part : {&alert->format.subject, &alert->format.message})
        if (*part) visit((*part)->value, (*part)->range);
  }
}

/// Whether only this machine can reach what is served over HTTP; and whether anything is served.
struct Reach {
  bool is_served = false;
  bool is_local = true;
};

bool is_local_address(std::string_view address) {
  return iequals(address, "localhost") || address.starts_with("127.") || address == "::1";
}

Reach reach_of(const Document& document) {
  Reach reach;
  bool has_port = false, is_tls = false, has_address = false;
  for_each_set<SetHttpd>(document, [&](const SetHttpd& set, const SourceRange&) {
    has_port |= set.port.has_value();
    reach.is_served |= set.port.has_value() || set.unix_socket.has_value();
    is_tls |= set.tls.value_or(false);
    has_address |= !set.addresses.empty();
    for (const Word& address : set.addresses) reach.is_local = reach.is_local && is_local_address(address.value);
  });
  if (has_port && is_tls && !has_address) reach.is_local = false;  // without TLS it is loopback alone
  return reach;
}

class EventChecker {
 public:
  EventChecker(const Document& document, Diagnostics& diagnostics)
      : document_(document), fields_(document), reach_(reach_of(document)), diagnostics_(diagnostics) {}

  void run() {
    for_each_check(document_, [this](const CheckSyntax& check) {
      const bool is_event = check.hook.has_value();
      if (is_event) hook(check);
      for (const ServiceStatement& statement : check.statements) {
        const auto* const rule = std::get_if<IfSyntax>(&statement);
        if (rule == nullptr) {
          if (const auto* const every = std::get_if<EverySyntax>(&statement); every != nullptr && is_event)
            error(Code::WrongPlace, every->range, "events are judged when they come: a check of them has no schedule",
                  "remove it");
          continue;
        }
        is_event ? rule_of_events(check, *rule) : other_rule(check, *rule);
      }
    });
  }

 private:
  void error(Code code, const SourceRange& range, std::string message, std::string remedy = {}) {
    report(diagnostics_, DiagnosticSeverity::Error, code, range, std::move(message), std::move(remedy));
  }

  void longer_than_nothing(const Rare<Located<Duration>>& duration, std::string_view what) {
    if (duration && duration->value <= Duration{0})
      error(Code::OutOfRange, duration->range, fmt::format("the duration of '{}' must be longer than 0", what));
  }

  void filter(const Rare<Word>& filter, std::string_view what, bool is_json) {
    if (!filter) return;
    if (!is_json)
      return error(Code::WrongPlace, filter->range,
                   fmt::format("'{}' is for the format json: the other formats say it themselves", what), "remove it");
    if (const std::string problem = jq_problem(filter->value); !problem.empty())
      error(Code::InvalidPattern, filter->range,
            fmt::format("'{}' is not a valid jq filter: {}", printable(filter->value), problem));
  }

  void hook(const CheckSyntax& check) {
    const HookSyntax& hook = *check.hook;
    path(hook.path);
    std::optional<engine::EventFormat> format = engine::EventFormat::Json;
    if (hook.format) format = engine::event_format_of(hook.format->value);
    if (!format)
      error(Code::InvalidValue, hook.format->range,
            fmt::format("'{}' is not a format of events", printable(hook.format->value)),
            "the formats are json, aodh, zaqar, alertmanager and cloudevents");
    filter(hook.key, "key", !format || *format == engine::EventFormat::Json);
    filter(hook.state, "state", !format || *format == engine::EventFormat::Json);
    longer_than_nothing(hook.within, "within");
    longer_than_nothing(hook.valid, "valid");
    for (const Word& secret : hook.secrets) {
      check_token(secret, "secret", diagnostics_);
      if (!holds_secret(secret.value) && secret.value != kHidden && !is_base64(secret.value))
        report(diagnostics_, DiagnosticSeverity::Warning, Code::InvalidValue, secret.range,
               "this secret signs nothing: it is not base64, with or without 'whsec_' before it",
               "one is written by: openssl rand -base64 24");
    }
    if (hook.token) check_token(*hook.token, "token", diagnostics_);
    constexpr std::size_t kMostSecrets = 2;
    if (hook.secrets.size() > kMostSecrets)
      error(Code::TooMany, hook.secrets.back().range, "a hook has two secrets at most",
            "two are for the time in which they are changed");
    protection(hook);
  }

  static bool is_base64(std::string_view text) {
    constexpr std::string_view kPrefix = "whsec_";
    if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
    return base64_decoded(text).has_value();
  }

  void path(const Word& path) {
    const auto is_plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
             std::string_view("/._~-").find(c) != std::string_view::npos;
    };
    const std::string_view text = path.value;
    if (!text.starts_with(kHooks) || text.size() == kHooks.size() || text.ends_with('/') ||
        text.find("//") != std::string_view::npos || !std::ranges::all_of(text, is_plain))
      return error(Code::InvalidValue, path.range, fmt::format("'{}' is not a path of a hook", printable(text)),
                   "it begins with /hooks/, and a name of letters, digits and . _ ~ - follows: \"/hooks/aodh\"");
    const auto [known, is_new] = paths_.emplace(path.value, &path);
    if (!is_new)
      error(Code::DuplicateName, path.range, fmt::format("the hook {} is another check's already", printable(text)),
            "give each check of events a hook of its own");
  }

  /// Who can reach a hook may send, unless something keeps him out.
  void protection(const HookSyntax& hook) {
    const int ways = (hook.secrets.empty() ? 0 : 1) + (hook.token ? 1 : 0) + (hook.certificate ? 1 : 0);
    if (ways > 1)
      error(Code::WrongPlace, hook.path.range, "a hook has one way to know its senders",
            "keep one of 'secret', 'token' and 'certificate'");
    if (hook.certificate) check_certificate(*hook.certificate, document_, diagnostics_);
    if (ways == 0 && !reach_.is_local && document_.is_whole)
      error(Code::ExposedSecret, hook.path.range, "everybody who reaches this hook could send events to it",
            "add 'secret', 'token' or 'certificate'; without one it is allowed on loopback and unix sockets alone");
    if (!reach_.is_served && document_.is_whole)
      report(diagnostics_, DiagnosticSeverity::Warning, Code::Suspicious, hook.path.range,
             "nothing is served over HTTP: events come by 'healerctl event' alone",
             "add 'set httpd port 2812 allow localhost'");
  }

  void rule_of_events(const CheckSyntax& check, const IfSyntax& rule) {
    bool counts = false;
    for (const TermSyntax& term : rule.condition.terms)
      counts = counts || std::holds_alternative<EventCountSyntax>(term.test);
    if (counts && rule.condition.terms.size() > 1)
      error(Code::WrongTest, rule.condition.terms.front().range, "'more than N events' stands alone in its rule",
            "write two rules");
    if (rule.tolerance)
      error(Code::WrongPlace, rule.tolerance->range, "each event is judged alone: a rule of events has no 'for'",
            "'more than 5 events within 1 minute' counts them");
    if (rule.recovery && !counts)
      error(Code::WrongPlace, rule.range, "each event is judged alone: nothing recovers",
            "write a rule for the event that says so");
    action(check, rule.action);
    if (rule.recovery) action(check, rule.recovery->action);
  }

  void action(const CheckSyntax& check, const ActionSyntax& action) {
    using Kind = ActionSyntax::Kind;
    if (action.kind == Kind::Start || action.kind == Kind::Stop || action.kind == Kind::Restart)
      error(Code::WrongPlace, action.range,
            fmt::format("'{}' is nothing that can be started or stopped", printable(check.name.value)),
            "write exec, or heal with a workflow");
    if (action.any_target && !action.target)
      error(Code::WrongPlace, action.workflow->range, "'any target' wants a target that the event names",
            "write it as in: heal \"${EVENT.instance_id}\" with W any target");
    if (action.kind != Kind::Exec) return;
    const std::vector<std::string>& arguments = action.command->arguments;
    const std::size_t script = config::script_of(arguments);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      for (const VariableUse& use : variables_in(arguments[i])) {
        if (!use.closed || !is_event_field(use.name)) continue;
        if (i == 0)
          return error(Code::OutsideValue, action.command->range, "the event would say which program is run",
                       "write the program's path");
        if (script == i)
          return error(
              Code::OutsideValue, action.command->range,
              fmt::format("the shell would interpret the value of ${{{}}} as part of its script", printable(use.name)),
              fmt::format("use the environment variable: \"${}\"", engine::environment_name(use.name)));
      }
  }

  void other_rule(const CheckSyntax& check, const IfSyntax& rule) {
    const auto action = [&](const ActionSyntax& one) {
      if (one.kind != ActionSyntax::Kind::Heal) return;
      if (one.any_target)
        error(Code::WrongPlace, one.workflow->range, "'any target' is for checks of events", "remove it");
      if (one.target)
        for (const VariableUse& use : variables_in(one.target->value))
          if (is_event_field(use.name))
            error(Code::UnknownVariable, one.target->range,
                  fmt::format("${{{}}} is known to the rules of a 'check event' alone", printable(use.name)));
      const std::set<std::string> needed = fields_.of_workflow(one.workflow->value);
      if (!needed.empty())
        error(Code::UnknownVariable, one.workflow->range,
              fmt::format("the workflow '{}' needs ${{{}}}, and '{}' is no check of events",
                          printable(one.workflow->value), printable(*needed.begin()), printable(check.name.value)),
              "heal with it from a 'check event' only");
    };
    action(rule.action);
    if (rule.recovery) action(rule.recovery->action);
  }

  const Document& document_;
  EventFieldNames fields_;
  Reach reach_;
  Diagnostics& diagnostics_;
  std::map<std::string, const Word*> paths_;
};

}  // namespace

bool is_event_field(std::string_view name) { return name.starts_with(kField) && name.size() > kField.size(); }

EventFieldNames::EventFieldNames(const Document& document) {
  for_each_workflow(document, [this](const WorkflowSyntax& workflow) {
    Workflow& its = workflows_[to_lower(workflow.name.value)];
    const auto add = [&](const std::string& text, const SourceRange&, TextPlace) {
      add_event_fields(text, its.fields);
    };
    if (workflow.guard) for_each_program_text(workflow.guard->program, add);
    for_each_step_of(workflow, [&](const StepSyntax& step) { for_each_text(step, add); });
    if (workflow.on_failure && !workflow.on_failure->empty())
      if (const auto* const to = std::get_if<EscalateStepSyntax>(&workflow.on_failure->back().what))
        its.next = to_lower(to->workflow.value);
  });
}

std::set<std::string> EventFieldNames::of_workflow(std::string_view name) const {
  std::set<std::string> fields, done;
  for (std::string at = to_lower(name); done.insert(at).second;) {
    const auto found = workflows_.find(at);
    if (found == workflows_.end()) break;
    fields.insert(found->second.fields.begin(), found->second.fields.end());
    at = found->second.next;
  }
  return fields;
}

std::vector<std::string> EventFieldNames::of(const CheckSyntax& check) const {
  std::set<std::string> fields;
  for_each_event_text(check, [&](const std::string& text, const SourceRange&) { add_event_fields(text, fields); });
  for (const ServiceStatement& statement : check.statements) {
    const auto* const rule = std::get_if<IfSyntax>(&statement);
    if (rule == nullptr || rule->action.kind != ActionSyntax::Kind::Heal) continue;
    fields.merge(of_workflow(rule->action.workflow->value));
  }
  return {fields.begin(), fields.end()};
}

void check_events(const Document& document, Diagnostics& diagnostics) { EventChecker(document, diagnostics).run(); }

}  // namespace healer::config
