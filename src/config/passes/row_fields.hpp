// SPDX-License-Identifier: MIT
// Which fields of the rows of a list the rules name.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <string_view>

#include "config/passes/expand.hpp"
#include "config/syntax/syntax.hpp"

namespace healer::config {

/// Notes what the statements of a block, those from `begin` to `end`, want of the rows of its list, however many rows
/// there are now. `variable`: NODE.
void note_needs(std::deque<Statement>& statements, std::size_t begin, std::size_t end, std::string_view variable,
                ListDeclaration& list);
/// Whether it is `define`, `for each`, or the end of such a block.
[[nodiscard]] bool is_of_block(const Statement& statement);
/// Whether a group of a service has a name in it.
[[nodiscard]] bool names_group(const Statement& statement);
/// Adds the fields that a text names: "ip" and "spec.zone" of ${NODE.ip} and ${NODE.spec.zone}.
void collect_fields(std::string_view text, std::string_view variable, std::set<std::string>& fields);

}  // namespace healer::config
