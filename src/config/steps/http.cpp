// SPDX-License-Identifier: MIT
// `http METHOD "URL" ...`. Its form and its actions are in grammar/workflow and config/syntax/parse_step, for lists
// make requests, too.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/compile/url.hpp"
#include "config/compile/workflow.hpp"
#include "config/steps/saving.hpp"
#include "config/steps/step_check.hpp"
#include "config/steps/step_syntax.hpp"
#include "config/syntax/parse_step.hpp"
#include "config/syntax/vocabulary.hpp"
#include "config/text/rule_text.hpp"
#include "util/jq.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

void check_json(const JsonTestSyntax& test, StepChecker& checker) {
  check_filter(test.filter, checker);
  if (!test.quoted && !is_json_literal(test.value.value))
    checker.error(Code::InvalidValue, test.value.range,
                  fmt::format("{} is not a number, 'true', 'false' or 'null'", in_quotes(test.value.value)),
                  "put a text in double quotes");
}

std::vector<engine::JsonTest> json_tests(const std::vector<JsonTestSyntax>& syntax) {
  std::vector<engine::JsonTest> result;
  for (const JsonTestSyntax& one : syntax)
    result.push_back({.filter = one.filter.value,
                      .comparison = comparison(one.comparison),
                      .value = one.value.value,
                      .quoted = one.quoted});
  return result;
}

std::string test_text(const engine::JsonTest& test) {
  return fmt::format("json {} {} {}", written_text(test.filter), to_symbol(test.comparison),
                     test.quoted ? written_text(test.value) : test.value);
}

std::string request_text(const engine::HttpRequest& request) {
  const auto [url, login] = without_login(request.url);
  std::string text = fmt::format("{} {}", to_lower(request.method), written_text(url));
  if (login) text += fmt::format(" username {} password {}", written_text(login->user), hidden_value(login->password));
  for (const std::string& header : request.headers) text += " header " + header_text(header);
  if (!request.body_file.empty()) text += " body file " + written_text(request.body_file);
  if (!request.body.empty()) text += " body " + written_text(request.body);
  if (request.follow) text += " follow";
  if (request.insecure) text += " insecure";
  if (request.limit != engine::HttpRequest{}.limit) text += " limit " + written_size(request.limit);
  return text;
}

}  // namespace

bool HttpStepSyntax::parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch) {
  return parsing::match<grammar::http_step>(in, build, scratch);
}

void HttpStepSyntax::check(StepChecker& checker) const {
  checker.request(request);
  for (const Number& code : expect)
    if (code.value < 100 || code.value > 599)
      checker.error(Code::OutOfRange, code.range, fmt::format("{} is not an HTTP status", code.value),
                    "it has three digits, as 200");
  for (const JsonTestSyntax& test : expect_json) check_json(test, checker);
  check_saves(saves, true, checker);
  if (!until) return;
  checker.request(until->request);
  if (until->met.empty())
    checker.error(Code::MissingOption, until->range, "'until' does not say what to wait for",
                  "as in: until get \"URL\" json '.status' = \"DONE\" every 5 seconds within 10 minutes");
  for (const JsonTestSyntax& test : until->met) check_json(test, checker);
  for (const JsonTestSyntax& test : until->failed) check_json(test, checker);
  if (until->every) checker.positive(*until->every);
  if (until->within) checker.positive(*until->within);
}

engine::step::Http HttpStepSyntax::compile() const {
  engine::step::Http result;
  result.request = request_of(request);
  for (const Number& code : expect) result.expect.push_back(static_cast<std::uint16_t>(code.value));
  result.expect_json = json_tests(expect_json);
  result.saves = config::compile(saves);
  if (until) {
    engine::step::Until made;
    made.request = request_of(until->request);
    made.met = json_tests(until->met);
    made.failed = json_tests(until->failed);
    if (until->every) made.every = in_bounds(until->every->value);
    if (until->within) made.within = in_bounds(until->within->value);
    result.until = std::move(made);
  }
  return result;
}

std::string HttpStepSyntax::title(const engine::step::Http& step) { return "http " + to_lower(step.request.method); }

std::string HttpStepSyntax::written(const engine::step::Http& step) {
  std::string text = "http " + request_text(step.request);
  for (std::size_t i = 0; i < step.expect.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? " expect " : ", ", step.expect[i]);
  for (const engine::JsonTest& test : step.expect_json) text += " " + test_text(test);
  text += config::written(step.saves);
  if (!step.until) return text;
  text += " until " + request_text(step.until->request);
  for (const engine::JsonTest& test : step.until->met) text += " " + test_text(test);
  for (const engine::JsonTest& test : step.until->failed) text += " fail " + test_text(test);
  return text +
         fmt::format(" every {} within {}", config::written(step.until->every), config::written(step.until->within));
}

}  // namespace healer::config
