// SPDX-License-Identifier: MIT
// `${NAME}` in workflows: where it may stand, and who knows the name.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "config/passes/passes.hpp"
#include "config/syntax/workflow_syntax.hpp"

namespace healer::config {

/// `${NAME}` in a text; `$${` is none.
struct VariableUse {
  std::string_view name;  ///< "NODE.ip", "secret:token"
  bool closed = true;     ///< there is a `}`
  [[nodiscard]] bool is_secret() const { return name.starts_with("secret:"); }
};

[[nodiscard]] std::vector<VariableUse> variables_in(std::string_view text);
[[nodiscard]] bool holds_variable(std::string_view text);
[[nodiscard]] bool holds_secret(std::string_view text);
/// The `$NAME`s of a filter of jq that it does not bind itself.
[[nodiscard]] std::vector<std::string> outside_variables(const std::string& filter);
/// The filter as it is when they are bound, in form.
[[nodiscard]] std::string with_variables(const std::string& filter);
/// Letters, digits and '_', the first no digit.
[[nodiscard]] bool is_variable_name(std::string_view name);
/// SERVICE, TARGET, EVENT and its fields, ..., HEALER_...
[[nodiscard]] bool is_built_in(std::string_view name);

/// Calls `visit(text, range, place)` for each text of a program in which values are filled in.
template <typename Program, typename Visit>
void for_each_program_text(Program& program, Visit&& visit) {
  for (auto& argument : program.command.arguments) visit(argument, program.command.range, TextPlace::Argument);
  for (auto& variable : program.environment)
    visit(variable.second.value, variable.second.range, TextPlace::Environment);
  if (program.directory) visit(program.directory->value, program.directory->range, TextPlace::Directory);
}

/// The same of a request.
template <typename Request, typename Visit>
void for_each_request_text(Request& request, Visit&& visit) {
  visit(request.url.value, request.url.range, TextPlace::Url);
  if (request.user) visit(request.user->value, request.user->range, TextPlace::Header);
  if (request.password) visit(request.password->value, request.password->range, TextPlace::Header);
  for (auto& header : request.headers) visit(header.value, header.range, TextPlace::Header);
  if (request.body) visit(request.body->value, request.body->range, TextPlace::Body);
  if (request.body_file) visit(request.body_file->value, request.body_file->range, TextPlace::BodyFile);
}

/// The same of a step; not of those within it.
template <typename Step, typename Visit>
void for_each_text(Step& step, Visit&& visit) {
  if (auto* program = std::get_if<ProgramStepSyntax>(&step.what)) for_each_program_text(*program, visit);
  if (auto* http = std::get_if<HttpStepSyntax>(&step.what)) {
    for_each_request_text(http->request, visit);
    if (http->until) for_each_request_text(http->until->request, visit);
  }
  std::visit(
      [&]([[maybe_unused]] auto& kind) {
        using Kind = std::remove_cvref_t<decltype(kind)>;
        if constexpr (requires { Kind::kTexts; })
          for (const auto& [text, place] : Kind::kTexts) visit((kind.*text).value, (kind.*text).range, place);
      },
      step.what);
}

/// Names that nobody knows, in workflows and in the targets that rules name; values that a shell would read as a
/// script; secret ones that are lost in a crash.
void check_variables(const Document& document, Diagnostics& diagnostics);

}  // namespace healer::config
