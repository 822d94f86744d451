// SPDX-License-Identifier: MIT
// Workflows and what else is said of healing: syntax to what the engine reads, and that to canonical text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "config/passes/passes.hpp"
#include "config/syntax/syntax.hpp"
#include "engine/rules/contact.hpp"
#include "engine/rules/workflow.hpp"
#include "util/time.hpp"

namespace healer::config {

/// Requires: the passes before found no error.
[[nodiscard]] std::shared_ptr<const engine::Workflow> compile_workflow(const WorkflowSyntax& syntax,
                                                                       const Lookups& lookups, const Sources& sources);
/// Not negative, and no longer than any may be.
[[nodiscard]] Duration in_bounds(Duration duration);
/// Of a step, or of a list.
[[nodiscard]] engine::HttpRequest request_of(const HttpRequestSyntax& syntax);
[[nodiscard]] engine::HealingLimit healing_limit(const HealingLimitSyntax& syntax);
/// A number that may have a fraction.
[[nodiscard]] double percent_of(const Word& written);
/// Whether all that it does is to tell people.
[[nodiscard]] bool only_alerts(const WorkflowSyntax& syntax);

/// `workflow NAME { ... }` over lines, as the language reads it again. What may be a secret is not shown.
[[nodiscard]] std::string workflow_text(const engine::Workflow& workflow);
/// `contact wall url "https://wall.example" header "X: y" body "..."`, likewise.
[[nodiscard]] std::string contact_text(const engine::Contact& contact);
/// `limit 20% of group webboxes at once`
[[nodiscard]] std::string limit_text(const engine::HealingLimit& limit);
/// A value that others must not read, but for the names of what it is made of, in quotes.
[[nodiscard]] std::string hidden_value(std::string_view value);
/// A header of a request in quotes, its value hidden where that may be a secret.
[[nodiscard]] std::string header_text(const std::string& header);
/// A name where any word may be one.
[[nodiscard]] std::string written_name(std::string_view name);

}  // namespace healer::config
