// SPDX-License-Identifier: MIT
#include "config/steps/saving.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "config/passes/workflow_variables.hpp"
#include "config/syntax/vocabulary.hpp"
#include "util/jq.hpp"
#include "util/regex.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

void check_regex(const Word& pattern, StepChecker& checker) {
  if (std::string problem = regex_problem(pattern.value); !problem.empty())
    return checker.error(Code::InvalidPattern, pattern.range,
                         fmt::format("the regular expression {} is too large: {}", in_quotes(pattern.value), problem));
  if (std::string problem = pattern_problem(pattern.value); !problem.empty())
    return checker.error(Code::InvalidPattern, pattern.range,
                         fmt::format("{} is not a valid regular expression: {}", in_quotes(pattern.value), problem));
  if (pattern.value.find('(') == std::string::npos)
    checker.error(Code::InvalidPattern, pattern.range,
                  fmt::format("{} has no capture group, so nothing would be saved", in_quotes(pattern.value)),
                  "put what is to be saved in parentheses, as in \"evicted ([0-9]+)\"");
}

}  // namespace

void check_saves(const std::vector<SavingSyntax>& saves, bool of_request, StepChecker& checker) {
  using From = engine::Saving::From;
  for (const SavingSyntax& saving : saves) {
    if (saving.from == From::Json) check_filter(saving.what, checker);
    if (saving.from == From::Header && !of_request)
      checker.error(Code::WrongPlace, saving.what.range, "a program has no headers",
                    "write save json 'FILTER' as NAME, or save \"REGEX\" as NAME");
    if (saving.from == From::Regex) check_regex(saving.what, checker);
    if (!is_variable_name(saving.name.value))
      checker.error(Code::InvalidValue, saving.name.range,
                    fmt::format("{} cannot be the name of a variable", in_quotes(saving.name.value)),
                    "letters, digits and '_', the first no digit");
    else if (is_built_in(saving.name.value))
      checker.error(Code::InvalidValue, saving.name.range,
                    fmt::format("{} is reserved for healer", in_quotes(saving.name.value)), "choose another name");
  }
}

void check_filter(const Word& filter, StepChecker& checker) {
  if (const std::string problem = jq_problem(with_variables(filter.value)); !problem.empty())
    checker.error(Code::InvalidPattern, filter.range,
                  fmt::format("{} is not a valid jq filter: {}", in_quotes(filter.value), problem));
}

std::vector<engine::Saving> compile(const std::vector<SavingSyntax>& saves) {
  std::vector<engine::Saving> result;
  for (const SavingSyntax& one : saves)
    result.push_back({.from = one.from, .what = one.what.value, .name = one.name.value, .secret = one.secret});
  return result;
}

std::string written(const std::vector<engine::Saving>& saves) {
  static constexpr std::string_view kFrom[] = {"", "json ", "header "};
  std::string text;
  for (const engine::Saving& saving : saves)
    text += fmt::format(" save {}{} as {}{}", kFrom[static_cast<std::size_t>(saving.from)], written_text(saving.what),
                        saving.name, saving.secret ? " secret" : "");
  return text;
}

}  // namespace healer::config
