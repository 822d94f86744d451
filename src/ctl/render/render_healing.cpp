// SPDX-License-Identifier: MIT
// What healerctl shows of healing: `healing status`, `healing report`, and its parts of `status` and `explain`.
#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "ctl/render/render.hpp"
#include "ctl/render/render_parts.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

/// What is done now, or what it waits for: "rebuild, waits for its program to end (pid 42, at most 3 m more)".
std::string what_of(const HealingView& healing) {
  std::string text = healing.waits ? healing.reason : healing.doing;
  if (text.empty()) text = healing.stage;
  if (!healing.waits && !healing.waits_for.empty()) text += fmt::format(", waits for {}", healing.waits_for);
  std::string details;
  if (healing.pid != 0) details = fmt::format("pid {}", healing.pid);
  if (healing.left)
    details += fmt::format("{}at most {} more", details.empty() ? "" : ", ", whole_seconds(*healing.left));
  if (!details.empty()) text += fmt::format(" ({})", details);
  if (!healing.hint.empty()) text += "; " + healing.hint;
  if (!healing.failure.empty() && text.find(healing.failure) == std::string::npos) text += "; " + healing.failure;
  if (!healing.cancelled_by.empty()) text += fmt::format("; cancelled by {}", healing.cancelled_by);
  if (!healing.abandoned.empty()) text += fmt::format("; abandoned, nothing follows: {}", healing.abandoned);
  return text;
}

std::string approval_line(const HealingView& healing) {
  return fmt::format("healerctl approve {} --plan {}", healing.id, healing.plan_hash);
}

/// What waits for an answer of people, with all that they are to know of it.
std::string approvals_text(std::span<const HealingView> healings, const Style& style) {
  std::string text;
  for (const HealingView& healing : healings) {
    if (healing.plan_hash.empty()) continue;
    text +=
        hanging("", fmt::format("healing {} of {} waits for approval:", healing.id, printable(healing.target)), style);
    text += fmt::format("  {}\n", approval_line(healing));
    text += plan_text(healing, style);
  }
  return text;
}

/// Its stage, and how careful it is where that is not plain.
std::string stage_of(const HealingView& healing) {
  return healing.mode == "automatic" ? healing.stage : fmt::format("{} ({})", healing.stage, healing.mode);
}

std::string plan_of(const HealingView& healing) {
  return iequals(healing.plan, healing.workflow) ? healing.plan
                                                 : fmt::format("{} (after {})", healing.plan, healing.workflow);
}

std::string holds_text(const HealingHolds& holds, const Style& style) {
  std::string text;
  if (!holds.doubt.empty())
    text += hanging("", "nothing is healed now, because healer doubts what it sees: " + printable(holds.doubt), style);
  for (const PauseView& pause : holds.pauses)
    text += hanging("", fmt::format("only alerts are sent: paused {}", printable(pause_text(pause, style))), style);
  for (const ClosedBrakeView& brake : holds.closed)
    text += hanging("",
                    fmt::format("workflow {} is paused, for {}: more than {:.3g} % of {} {} were not well; now {}",
                                printable(brake.workflow), lasting(brake.since, style), brake.above,
                                brake.list.empty() ? "group" : "list",
                                printable(brake.list.empty() ? brake.group : brake.list), printable(brake.text)),
                    style);
  for (const OpenBreakerView& breaker : holds.open) {
    const std::string name = printable(breaker.workflow);
    text += hanging(
        "",
        fmt::format("the breaker of workflow {} is open: {} failed{}{}; `healerctl healing reset {}`", name,
                    breaker.failed,
                    breaker.targets.empty()
                        ? ""
                        : fmt::format(" (of {})", printable(fmt::format("{}", fmt::join(breaker.targets, ", ")))),
                    breaker.failed_at ? ", the last " + ago(*breaker.failed_at, style) : std::string{}, name),
        style);
  }
  for (const std::string& target : holds.spent)
    text += hanging("",
                    fmt::format("{0} stands failed, and its rules heal it again only after it has recovered and fails "
                                "anew; `healerctl heal {0}` heals it now",
                                printable(target)),
                    style);
  for (const CooldownView& one : holds.cooldowns)
    text += hanging("", printable(fmt::format("{} {}", one.target, rest_text(one, style))), style);
  return text;
}

}  // namespace

std::string plan_text(const HealingView& healing, const Style& style) {
  std::string text;
  for (const std::string& line : healing.plan_lines) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    text += hanging("  " + std::string(indent, ' '), printable(line.substr(indent)), style);
  }
  return text;
}

std::string rest_text(const CooldownView& one, const Style& style) {
  std::string text;
  const auto add = [&](const std::string& part) { text += text.empty() ? part : ", " + part; };
  if (one.left > Duration{0}) add(fmt::format("in its cooldown for another {}", whole_seconds(one.left)));
  if (one.probation)
    add(fmt::format("{}on probation for another {}", text.empty() ? "is " : "", whole_seconds(*one.probation)));
  if (one.until_recovered)
    add(fmt::format("{}healed again by rules only after it has recovered; `healerctl heal {}{}` heals it before that",
                    text.empty() ? "is " : "then ", printable(one.target),
                    one.left > Duration{0} ? " --override cooldown" : ""));
  text += fmt::format(" (healing {}: {} {})", one.healing, one.end, ago(one.ended, style));
  return one.rehearsed ? text + ", from dry runs" : text;
}

std::string healing_text(const HealingView& healing, const Style& style) {
  std::string text = fmt::format("{} with {}", stage_of(healing), plan_of(healing));
  if (healing.round > 0 && healing.tries > 1) text += fmt::format(", try {} of {}", healing.round, healing.tries);
  if (healing.step != 0) text += fmt::format(", step {} of {}", healing.step, healing.steps);
  if (healing.since) text += fmt::format(", for {}", lasting(*healing.since, style));
  if (const std::string what = what_of(healing); what != healing.stage) text += ": " + what;
  if (!healing.plan_hash.empty()) text += "; " + approval_line(healing);
  text += fmt::format(" (healing {}, requested {} by {}", healing.id, ago(healing.asked, style),
                      healing.by_kind == "rule" ? "its rule" : healing.by);
  if (!healing.overrides.empty()) text += fmt::format(", {} overridden", join_words(healing.overrides, "and"));
  return text + ")";
}

std::string heal_lines(const HealExplanation& heals, const Style& style, bool all) {
  std::string text;
  const auto line = [&](std::string_view label, std::string_view sentence) {
    text += hanging_lines(fmt::format("     {:<13}", label), sentence, style);
  };
  std::string how = fmt::format("{} with {}", heals.target, heals.workflow);
  if (!heals.mode.empty() && heals.mode != "automatic") how += fmt::format(" ({})", heals.mode);
  if (!heals.guard.empty()) how += fmt::format("; its guard is {}", heals.guard);
  line("heals", how);
  line("healing", heals.healing ? healing_text(*heals.healing, style)
                  : heals.spent ? "none is under way; the rule asks for one again only when it has recovered and fails "
                                  "anew, `healerctl heal` at once"
                                : "none is under way or requested");
  // First what lasts: what time alone opens, by how long that takes, comes after what it does not.
  std::vector<BrakeView> brakes = heals.brakes;
  const auto rank = [](const BrakeView& one) {
    return one.lets ? Duration::max() : one.left ? -*one.left : Duration::min();
  };
  std::ranges::stable_sort(brakes, {}, rank);
  std::string_view label = "brakes";
  for (const BrakeView& brake : brakes) {
    if (brake.lets && !all) break;
    line(label, fmt::format("{} {}{}", brake.lets ? "allowed by" : "blocked by", brake.brake,
                            brake.text.empty() ? "" : ": " + brake.text));
    label = "";
  }
  if (!brakes.empty() && brakes.front().lets && !all) line(label, "none blocks it");
  return text;
}

std::string render_healings(std::span<const HealingView> healings, const HealingHolds& holds, const Style& style) {
  Column id{.title = "ID"}, target{.title = "TARGET"}, plan{.title = "WORKFLOW"}, stage{.title = "STAGE"};
  Column round{.title = "TRY", .spare = true}, step{.title = "STEP", .spare = true},
      since{.title = "FOR", .spare = true};
  Column what{.title = "WHAT", .whole = true};
  target.most = plan.most = style.width == 0 ? 0 : std::max<std::size_t>(style.width / 4, 12);
  for (const HealingView& healing : healings) {
    id.add(fmt::format("{}", healing.id));
    target.add(printable(healing.target));
    plan.add(printable(plan_of(healing)));
    stage.add(printable(stage_of(healing)), healing.waits ? colour_of("warning") : "");
    round.add(healing.round == 0 ? "" : fmt::format("{}/{}", healing.round, healing.tries));
    step.add(healing.step == 0 ? "" : fmt::format("{}/{}", healing.step, healing.steps));
    since.add(lasting(healing.since.value_or(healing.asked), style));
    what.add(printable(what_of(healing)));
  }
  const std::string held = holds_text(holds, style);
  std::string text = !healings.empty() ? table({std::move(id), std::move(target), std::move(plan), std::move(stage),
                                                std::move(round), std::move(step), std::move(since), std::move(what)},
                                               style)
                     : held.empty()    ? "nothing is being healed or held back\n"
                                       : "no healing is under way\n";
  for (const std::string& rest : {approvals_text(healings, style), held})
    if (!rest.empty()) text += "\n" + rest;
  return text;
}

std::string render_healing_report(std::span<const WorkflowReport> reports, const Style& style) {
  if (reports.empty()) return "the rules have no workflow\n";
  Column name{.title = "WORKFLOW"}, proposed{.title = "PROPOSED"}, would_run{.title = "WOULD HAVE RUN", .spare = true};
  Column approved{.title = "APPROVED", .spare = true}, rejected{.title = "REJECTED", .spare = true};
  Column ran{.title = "RAN"}, recovered{.title = "RECOVERED"}, failed{.title = "FAILED"};
  Column abandoned{.title = "ABANDONED", .spare = true};
  name.most = style.width == 0 ? 0 : std::max<std::size_t>(style.width / 4, 12);
  const auto number = [](std::uint64_t count) { return fmt::format("{}", count); };
  for (const WorkflowReport& report : reports) {
    name.add(printable(report.workflow) + (report.known ? "" : " (gone)"));
    proposed.add(number(report.proposed));
    would_run.add(number(report.would_run));
    approved.add(number(report.approved));
    rejected.add(number(report.rejected));
    ran.add(number(report.ran));
    recovered.add(number(report.recovered));
    failed.add(number(report.failed), report.failed == 0 ? "" : colour_of("failed"));
    abandoned.add(report.abandoned == 0 ? "" : number(report.abandoned));
  }
  return table({std::move(name), std::move(proposed), std::move(would_run), std::move(approved), std::move(rejected),
                std::move(ran), std::move(recovered), std::move(failed), std::move(abandoned)},
               style);
}

}  // namespace healer::control
