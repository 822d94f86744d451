// SPDX-License-Identifier: MIT
// Workflows as the language reads them again.
#include <algorithm>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/compile/url.hpp"
#include "config/compile/workflow.hpp"
#include "config/steps/step_kinds.hpp"
#include "config/syntax/vocabulary.hpp"
#include "config/text/secret.hpp"
#include "delivery/contact.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

/// "40", "2.5".
std::string percent_text(double percent) { return fmt::format("{:g}%", percent); }

std::string share_text(const engine::PauseWhile& share) {
  return fmt::format("more than {} of group {} failed", percent_text(share.above), written_name(share.group));
}

std::string step_text(const engine::Step& step, std::string_view indent);

std::string block_text(const std::vector<engine::Step>& steps, std::string_view indent) {
  const std::string inner = std::string(indent) + "  ";
  std::string text = "{\n";
  for (const engine::Step& step : steps) text += fmt::format("{}{}\n", inner, step_text(step, inner));
  return text + std::string(indent) + "}";
}

struct StepText {
  std::string_view indent;

  std::string operator()(const engine::step::Parallel& parallel) const {
    return "parallel " + block_text(parallel.steps, indent);
  }
  template <typename What>
  std::string operator()(const What& what) const {
    return SyntaxOf<What>::written(what);
  }
};

std::string step_text(const engine::Step& step, std::string_view indent) {
  std::string text = std::visit(StepText{indent}, step.what);
  if (std::holds_alternative<engine::step::Parallel>(step.what)) return text;
  if (step.timeout > Duration{0}) text += " timeout " + written(step.timeout);
  if (step.retries > 0) text += fmt::format(" retry {} time{}", step.retries, step.retries == 1 ? "" : "s");
  if (step.retries > 0 && step.pause > Duration{0}) text += " every " + written(step.pause);
  if (step.repeatable) text += " repeatable";
  return fmt::format("step {} {}", written_text(step.name), text);
}

}  // namespace

std::string limit_text(const engine::HealingLimit& limit) {
  std::string text = fmt::format("limit {}{}", limit.number, limit.percent ? "%" : "");
  const std::string group = limit.group.empty() ? "" : " group " + written_name(limit.group);
  if (limit.percent) text += " of" + group;
  text += limit.within > Duration{0} ? " within " + written(limit.within) : " at once";
  return text + (limit.percent ? "" : group);
}

std::string contact_text(const engine::Contact& contact) {
  std::string text = fmt::format("contact {} {}", written_name(contact.name), contact.kind);
  if (!contact.place.empty()) text += " " + written_text(shown_url(contact.place));
  if (!contact.method.empty()) text += " method " + to_lower(contact.method);
  for (const std::string& header : contact.headers) text += " header " + header_text(header);
  if (!contact.body.empty()) text += " body " + written_text(contact.body);
  const delivery::Kind* const kind = delivery::find_kind(contact.kind);
  for (const auto& [name, value] : contact.settings) {
    const bool is_secret = kind != nullptr && std::ranges::any_of(kind->settings, [&](const delivery::Setting& one) {
                             return one.is_secret && one.name == name;
                           });
    text += fmt::format(" {} {}", name, is_secret ? hidden_value(value) : written_text(value));
  }
  if (contact.timeout != engine::kContactTimeout) text += " timeout " + written(contact.timeout);
  return text;
}

std::string hidden_value(std::string_view value) {
  return written_text(value.find("${") == std::string_view::npos ? kHidden : value);
}

std::string header_text(const std::string& header) {
  const std::size_t colon = std::min(header.find(':'), header.size());
  const std::string_view name = std::string_view(header).substr(0, colon);
  if (is_open_header(trim(name)) || header.find("${") != std::string::npos) return written_text(header);
  return written_text(fmt::format("{}: {}", name, kHidden));
}

std::string written_name(std::string_view name) {
  // A word that begins what may come next is a name in quotes only.
  const bool plain =
      !name.empty() && !name.starts_with('/') && !iequals(name, "with") && std::ranges::all_of(name, [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
      });
  return plain ? std::string(name) : written_text(name);
}

std::string workflow_text(const engine::Workflow& workflow) {
  std::string text = fmt::format("workflow {} {{\n", written_name(workflow.name));
  const auto line = [&](std::string_view what) { text += fmt::format("  {}\n", what); };
  if (workflow.guard)
    line(fmt::format("guard {}program {}{} timeout {}", workflow.guard->once ? "once " : "",
                     written(workflow.guard->program.command.arguments),
                     ProgramStepSyntax::written_options(workflow.guard->program), written(workflow.guard->timeout)));
  for (const engine::Step& step : workflow.steps) line(step_text(step, "  "));
  if (!workflow.on_failure.empty()) line("on failure " + block_text(workflow.on_failure, "  "));
  if (!workflow.on_cancel.empty()) line("on cancel " + block_text(workflow.on_cancel, "  "));
  for (const engine::HealingLimit& limit : workflow.limits) line(limit_text(limit));
  for (const engine::PauseWhile& pause : workflow.pauses) {
    if (pause.group.empty()) continue;  // healer's own default
    line("pause while " + share_text(pause) +
         (pause.until ? fmt::format(" until less than {}", percent_text(*pause.until)) : ""));
  }
  if (workflow.cooldown > Duration{0}) line("cooldown " + written(workflow.cooldown));
  if (workflow.tries > 1) line(fmt::format("tries {}", workflow.tries));
  for (std::size_t i = 0; i < workflow.ramp.size(); ++i)
    text +=
        fmt::format("{}{}{}", i == 0 ? "  ramp " : ", ", workflow.ramp[i], i + 1 == workflow.ramp.size() ? "\n" : "");
  if (workflow.probation > Duration{0}) line("probation " + written(workflow.probation));
  if (workflow.breaker)
    line(fmt::format("breaker {} failed within {}", workflow.breaker->failed, written(workflow.breaker->within)));
  if (workflow.approval)
    line(fmt::format("approval within {} else {}{}", written(workflow.approval->within),
                     workflow.approval->else_run ? "run" : "skip",
                     workflow.approval->when ? " when " + share_text(*workflow.approval->when) : ""));
  if (workflow.mode != engine::HealingMode::Automatic) line(fmt::format("mode {}", to_string(workflow.mode)));
  return text + "}\n";
}

}  // namespace healer::config
