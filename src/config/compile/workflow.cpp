// SPDX-License-Identifier: MIT
#include "config/compile/workflow.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "config/compile/fingerprint.hpp"
#include "config/compile/url.hpp"
#include "config/steps/saving.hpp"
#include "config/steps/step_kinds.hpp"
#include "config/syntax/vocabulary.hpp"

namespace healer::config {

Duration in_bounds(Duration duration) { return std::clamp(duration, Duration{0}, kMaxDuration); }

static std::uint32_t in_bounds(std::uint64_t number) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, std::numeric_limits<std::uint32_t>::max()));
}

namespace {

Duration value_or(const Rare<Located<Duration>>& written, Duration otherwise) {
  return written ? in_bounds(written->value) : otherwise;
}

engine::PauseWhile pause_while(const ShareSyntax& syntax) {
  engine::PauseWhile result{.group = syntax.group.value, .above = percent_of(syntax.above)};
  if (syntax.until) result.until = percent_of(*syntax.until);
  return result;
}

}  // namespace

engine::HttpRequest request_of(const HttpRequestSyntax& syntax) {
  engine::HttpRequest result;
  result.method = syntax.method.value;
  result.url =
      syntax.user ? url_with_login(syntax.url.value, {syntax.user->value, syntax.password->value}) : syntax.url.value;
  for (const Word& header : syntax.headers) result.headers.push_back(header.value);
  if (syntax.body) result.body = syntax.body->value;
  if (syntax.body_file) result.body_file = syntax.body_file->value;
  result.follow = syntax.follow;
  result.insecure = syntax.insecure;
  if (syntax.limit) result.limit = syntax.limit->value;
  return result;
}

namespace {

/// What a step without a name of its own is called.
std::string title_of(const engine::StepWhat& what) {
  return std::visit([]<typename What>(const What& one) { return SyntaxOf<What>::title(one); }, what);
}

class WorkflowCompiler {
 public:
  WorkflowCompiler(const Lookups& lookups, const Sources& sources) : lookups_(lookups), sources_(sources) {}

  std::shared_ptr<const engine::Workflow> compile(const WorkflowSyntax& syntax) {
    for_each_step_of(syntax, [this](const StepSyntax& step) {
      if (step.name) names_.insert(step.name->value);
    });
    engine::Workflow result;
    result.name = syntax.name.value;
    if (syntax.guard)
      result.guard = engine::Guard{.program = program(syntax.guard->program),
                                   .timeout = value_or(syntax.guard->timeout, engine::Guard{}.timeout),
                                   .once = syntax.guard->once};
    result.steps = steps(syntax.steps);
    if (syntax.on_failure) result.on_failure = steps(*syntax.on_failure);
    if (syntax.on_cancel) result.on_cancel = steps(*syntax.on_cancel);
    for (const HealingLimitSyntax& limit : syntax.limits) result.limits.push_back(healing_limit(limit));
    for (const ShareSyntax& share : syntax.pauses) result.pauses.push_back(pause_while(share));
    result.cooldown = value_or(syntax.cooldown, Duration{0});
    if (syntax.tries) result.tries = in_bounds(syntax.tries->value);
    for (const Number& number : syntax.ramp) result.ramp.push_back(in_bounds(number.value));
    result.probation = value_or(syntax.probation, Duration{0});
    if (syntax.breaker)
      result.breaker = engine::Breaker{.failed = in_bounds(syntax.breaker->failed.value),
                                       .within = in_bounds(syntax.breaker->within.value)};
    if (syntax.approval) {
      result.approval.emplace();
      result.approval->within = value_or(syntax.approval->within, result.approval->within);
      result.approval->else_run = syntax.approval->else_run;
      if (syntax.approval->when) result.approval->when = pause_while(*syntax.approval->when);
    }
    if (syntax.mode) result.mode = syntax.mode->mode;
    result.key = fingerprint(result);
    const Position position = sources_.position(syntax.range.file, syntax.range.begin);
    result.place = {.file = static_cast<std::uint16_t>(syntax.range.file),
                    .column = static_cast<std::uint16_t>(std::min<std::size_t>(position.column, 65535)),
                    .line = position.line};
    return std::make_shared<const engine::Workflow>(std::move(result));
  }

 private:
  std::vector<engine::Step> steps(const std::vector<StepSyntax>& syntax) {
    std::vector<engine::Step> result;
    for (const StepSyntax& one : syntax) {
      engine::Step step;
      step.what = std::visit([this](const auto& what) { return kind_of(what); }, one.what);
      step.name = one.name ? one.name->value : title(title_of(step.what));
      step.timeout = value_or(one.timeout, Duration{0});
      if (one.retries) step.retries = in_bounds(one.retries->value);
      step.pause = value_or(one.pause, Duration{0});
      step.repeatable = one.repeatable;
      result.push_back(std::move(step));
    }
    return result;
  }

  /// A name that no other step has.
  std::string title(const std::string& wanted) {
    std::string result = wanted;
    for (int number = 2; !names_.insert(result).second; ++number) result = fmt::format("{} {}", wanted, number);
    return result;
  }

  [[nodiscard]] engine::step::Program program(const ProgramStepSyntax& syntax) const {
    engine::step::Program result;
    result.command.arguments = syntax.command.arguments;
    if (const auto found = lookups_.identities.find(&syntax.command); found != lookups_.identities.end())
      result.command.identity = found->second;
    for (const auto& [name, value] : syntax.environment) result.environment.emplace_back(name.value, value.value);
    if (syntax.directory) result.directory = syntax.directory->value;
    result.saves = config::compile(syntax.saves);
    return result;
  }

  template <typename Syntax>
  [[nodiscard]] engine::StepWhat kind_of(const Syntax& syntax) {
    if constexpr (std::is_same_v<Syntax, ProgramStepSyntax>)
      return program(syntax);
    else if constexpr (std::is_same_v<Syntax, ParallelStepSyntax>)
      return engine::step::Parallel{steps(syntax.steps)};
    else
      return syntax.compile();
  }

  const Lookups& lookups_;
  const Sources& sources_;
  std::set<std::string> names_;
};

}  // namespace

std::shared_ptr<const engine::Workflow> compile_workflow(const WorkflowSyntax& syntax, const Lookups& lookups,
                                                         const Sources& sources) {
  return WorkflowCompiler(lookups, sources).compile(syntax);
}

engine::HealingLimit healing_limit(const HealingLimitSyntax& syntax) {
  return {.number = in_bounds(syntax.number.value),
          .percent = syntax.percent,
          .group = syntax.group ? syntax.group->value : "",
          .within = value_or(syntax.within, Duration{0})};
}

double percent_of(const Word& written) {
  double value = 0;
  std::from_chars(written.value.data(), written.value.data() + written.value.size(), value);
  return value;
}

bool only_alerts(const WorkflowSyntax& syntax) {
  bool tells = true;
  for_each_step_of(syntax, [&](const StepSyntax& step) { tells = tells && told_by(step) != nullptr; });
  return tells;
}

}  // namespace healer::config
