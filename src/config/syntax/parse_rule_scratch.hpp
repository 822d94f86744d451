// SPDX-License-Identifier: MIT
// What is known of a rule while it is read.
#pragma once

#include <cstddef>
#include <utility>

#include "config/syntax/parse_build.hpp"
#include "config/syntax/parse_condition.hpp"
#include "config/syntax/parse_connection.hpp"

namespace healer::config::parsing {

/// A rule as far as it was read.
struct IfScratch : ConnectionScratch {
  IfSyntax statement;
  ActionSyntax action;
  Word heal_target, heal_workflow;
  bool heal_dry_run = false, heal_any_target = false;
  CompareSyntax total;  ///< the amount of a total, which ends before this token:
  std::size_t total_end = 0;
  bool has_else = false;     ///< whether the condition may have an `else` branch
  WrittenCondition written;  ///< where its tests are
};

inline void add_term(Build& build, IfScratch& scratch, TokenRange at, TestSyntax test) {
  scratch.statement.condition.terms.push_back({.test = std::move(test), .range = build.range(at)});
  scratch.written.terms.push_back(at);
}

}  // namespace healer::config::parsing
