// SPDX-License-Identifier: MIT
#include "config/text/rule_text.hpp"

#include <array>
#include <string_view>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "config/compile/connection.hpp"
#include "config/compile/quantity.hpp"
#include "config/compile/workflow.hpp"
#include "config/syntax/vocabulary.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

/// "hour", "2 hours", "30 minutes": whatever else would not be read back.
std::string span_text(Duration span) {
  const bool is_hours = span > Duration{0} && span % hours{1} == Duration{0};
  const auto count = is_hours ? span / hours{1} : span / minutes{1};
  const std::string_view unit = is_hours ? "hour" : "minute";
  return count == 1 ? std::string(unit) : fmt::format("{} {}s", count, unit);
}

std::string quota_text(const engine::Quota& quota) {
  using Kinds = engine::Quota::Kind;
  switch (quota.kind) {
    case Kinds::Any: return "any member failed";
    case Kinds::All: return "all members failed";
    case Kinds::AtLeast: return fmt::format("{} member{} failed", quota.number, quota.number == 1 ? "" : "s");
    case Kinds::MoreThan: return fmt::format("more than {}% members failed", quota.number);
  }
  return {};
}

/// Each shape of test. Attributes that are texts are in quotes, names only where they must be.
struct TestText {
  std::string operator()(const CompareSyntax& test) const {
    return fmt::format("{} {} {}", test.name.value, to_symbol(comparison(test.comparison)), quantity_text(test));
  }
  std::string operator()(const TotalSyntax& test) const {
    if (test.amount.name.value == "restarts")
      return fmt::format("{} within {}", (*this)(test.amount), written(test.span.value));
    return fmt::format("{} in last {}", (*this)(test.amount), span_text(test.span.value));
  }
  std::string operator()(const LinkSyntax& test) const { return test.up ? "link up" : "link down"; }
  std::string operator()(const DiffersSyntax& test) const {
    if (test.what.ends_with("checksum"))
      return fmt::format("failed {}{}{}", test.what, test.value.value.empty() ? "" : " expect ", test.value.value);
    return fmt::format("failed {} {}", test.what,
                       test.is_text ? written_text(test.value.value) : written_string(test.value.value));
  }
  std::string operator()(const ChangedSyntax& test) const { return "changed " + test.what; }
  std::string operator()(const TextSyntax& test) const {
    return fmt::format("{} {}{} {}", test.what, to_symbol(comparison(test.comparison)), test.is_pattern ? "~" : "",
                       written_text(test.value.value));
  }
  std::string operator()(const OutputChangedSyntax& test) const {
    return test.negated ? "content not changed" : "content changed";
  }
  std::string operator()(const PresentSyntax& test) const { return test.negated ? "does not exist" : "exist"; }
  std::string operator()(const MatchesSyntax& test) const {
    return fmt::format("content {} {}", test.negated ? "!=" : "=", written_text(test.pattern.value));
  }
  std::string operator()(const ConnectionSyntax& test) const { return connection_text(test); }
  std::string operator()(const MembersSyntax& test) const { return quota_text(test.quota); }
  std::string operator()(const QueriedSyntax& test) const {
    const JsonTestSyntax& json = test.json;
    return fmt::format("json {} {} {}", written_text(json.filter.value), to_symbol(comparison(json.comparison)),
                       json.quoted ? written_text(json.value.value) : json.value.value);
  }
  std::string operator()(const EventCountSyntax& test) const {
    return fmt::format("more than {} event{} within {}", test.above.value, test.above.value == 1 ? "" : "s",
                       written(test.within.value));
  }
  std::string operator()(const HeartbeatTestSyntax& test) const { return test.missed ? "missed" : "failed"; }
  std::string operator()(const ActiveSyntax&) const { return "active"; }
  std::string operator()(const RestartsSyntax&) const { return {}; }  // restarts_text() has it all
};

std::string tolerance_text(const Rare<ToleranceSyntax>& tolerance) {
  if (!tolerance || is_plain_single(*tolerance)) return "";
  if (tolerance->held) return fmt::format(" for {}", written(tolerance->held->value));
  const std::uint64_t count = tolerance->count ? tolerance->count->value : 1;
  if (tolerance->window && tolerance->window->value != count)
    return fmt::format(" for {} times within {} cycles", count, tolerance->window->value);
  return fmt::format(" for {} cycles", count);
}

/// `3 restarts within 5 cycles`: the numbers are the tolerance.
std::string restarts_text(const ToleranceSyntax& tolerance) {
  return fmt::format(" {} restart{} within {} cycle{}", tolerance.count->value, tolerance.count->value == 1 ? "" : "s",
                     tolerance.window->value, tolerance.window->value == 1 ? "" : "s");
}

std::string action_text(const ActionSyntax& action) {
  switch (action.kind) {
    case ActionSyntax::Kind::Alert: return "alert";
    case ActionSyntax::Kind::Unmonitor:
      return action.lasting ? "unmonitor for " + written(action.lasting->value) : "unmonitor";
    case ActionSyntax::Kind::Start: return "start";
    case ActionSyntax::Kind::Stop: return "stop";
    case ActionSyntax::Kind::Restart: return "restart";
    case ActionSyntax::Kind::Ignore: return "ignore";
    case ActionSyntax::Kind::Heal:
      return fmt::format("heal {}with {}{}{}", action.target ? written_name(action.target->value) + ' ' : "",
                         written_name(action.workflow->value), action.dry_run ? " dry run" : "",
                         action.any_target ? " any target" : "");
    case ActionSyntax::Kind::Exec: break;
  }
  std::string text = "exec " + written(action.command->arguments);
  if (action.command->uid) text += " as uid " + written_string(action.command->uid->value);
  if (action.command->gid)
    text += fmt::format("{} gid {}", action.command->uid ? " and" : " as", written_string(action.command->gid->value));
  if (action.command->timeout) text += " timeout " + written(action.command->timeout->value);
  if (action.repeat && action.repeat->value > 0)
    text += fmt::format(" repeat every {} cycle{}", action.repeat->value, action.repeat->value == 1 ? "" : "s");
  if (action.overlapping) text += " overlapping";
  return text;
}

}  // namespace

engine::Comparison comparison(ComparisonWord word) {
  switch (word) {
    case ComparisonWord::Equal: return engine::Comparison::Equal;
    case ComparisonWord::NotEqual: return engine::Comparison::NotEqual;
    case ComparisonWord::Less: return engine::Comparison::Less;
    case ComparisonWord::LessEqual: return engine::Comparison::LessEqual;
    case ComparisonWord::Greater: return engine::Comparison::Greater;
    case ComparisonWord::GreaterEqual: return engine::Comparison::GreaterEqual;
  }
  return engine::Comparison::Equal;
}

bool counts_restarts(const IfSyntax& rule) {
  return std::holds_alternative<RestartsSyntax>(rule.condition.terms.front().test);
}

bool recovers_to_failed(const IfSyntax& rule) {
  const auto* link = std::get_if<LinkSyntax>(&rule.condition.terms.front().test);
  const auto* connection = std::get_if<ConnectionSyntax>(&rule.condition.terms.front().test);
  return rule.condition.terms.size() == 1 && rule.condition.postfix.empty() &&
         ((link != nullptr && link->up) || (connection != nullptr && connection->succeeded));
}

bool is_plain_single(const ToleranceSyntax& tolerance) {
  return !tolerance.held && (!tolerance.count || tolerance.count->value == 1) &&
         (!tolerance.window || tolerance.window->value == 1);
}

std::string condition_text(const IfSyntax& rule) {
  if (counts_restarts(rule)) return "restarts";
  if (rule.condition.terms.size() == 1 && rule.condition.postfix.empty())
    return std::visit(TestText{}, rule.condition.terms.front().test);
  using engine::Op;
  /// A part of the condition, and what joins it: Op::Leaf where nothing does.
  struct Part {
    std::string text;
    Op by = Op::Leaf;
  };
  const auto in = [](bool needed, const Part& part) { return needed ? "(" + part.text + ")" : part.text; };
  return engine::fold<Part>(
             rule.condition.postfix, rule.condition.terms.size(),
             [&](std::size_t term) {
               return Part{std::visit(TestText{}, rule.condition.terms[term].test), Op::Leaf};
             },
             [&](const Part& part) {
               return Part{"not " + in(part.by == Op::And || part.by == Op::Or, part), Op::Not};
             },
             [&](Op op, const Part& left, const Part& right) {
               const auto inner = [&](const Part& part) { return in(op == Op::And && part.by == Op::Or, part); };
               return Part{inner(left) + (op == Op::Or ? " or " : " and ") + inner(right), op};
             })
      .text;
}

std::string rule_text(const IfSyntax& rule, const std::string& condition) {
  const bool restarts = counts_restarts(rule);
  std::string text = "if" + (restarts ? restarts_text(*rule.tolerance) : ' ' + condition);
  text += (restarts ? "" : tolerance_text(rule.tolerance)) + " then " + action_text(rule.action);
  if (rule.recovery)
    text += fmt::format(" else if {}{} then {}", recovers_to_failed(rule) ? "failed" : "succeeded",
                        tolerance_text(rule.recovery->tolerance), action_text(rule.recovery->action));
  return text;
}

std::string schedule_text(const EverySyntax& every) {
  if (every.interval) return "every " + written(every.interval->value);
  if (every.cycles) return fmt::format("every {} cycle{}", every.cycles->value, every.cycles->value == 1 ? "" : "s");
  return fmt::format("{}every {}", every.negated ? "not " : "", written_text(every.cron ? every.cron->value : ""));
}

}  // namespace healer::config
