// SPDX-License-Identifier: MIT
// For parse_if.cpp alone: what the parts of a rule are gathered in, and the tests that Monit has not.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/syntax/parse_build.hpp"
#include "config/syntax/parse_condition.hpp"
#include "config/syntax/parse_rule_scratch.hpp"
#include "config/syntax/parse_test.hpp"
#include "grammar/condition.hpp"
#include "util/text.hpp"

namespace healer::config::parsing {

/// A text that is compared: `sign` is the token of its operator, which may be followed by a '~'.
inline void add_text(Build& build, IfScratch& scratch, TokenRange at, std::string what, std::size_t sign) {
  scratch.has_else = true;
  const bool is_pattern = build.kind(sign) == grammar::Kind::String || at.end - sign == 3;
  const ComparisonWord comparison =
      is_pattern && build.kind(sign) == grammar::Kind::String ? ComparisonWord::Equal : comparison_of(build.text(sign));
  if (comparison != ComparisonWord::Equal && comparison != ComparisonWord::NotEqual)
    build.complain({sign, sign + 1}, fmt::format("a {} cannot be compared with '{}'", what, build.text(sign)),
                   "the operators are =, !=, =~ and !=~");
  add_term(build, scratch, at,
           TextSyntax{.what = std::move(what),
                      .comparison = comparison,
                      .is_pattern = is_pattern,
                      .value = build.word(at.end - 1)});
}

template <>
struct action<grammar::resource_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    const bool joins = build.service == nullptr || build.service->target != engine::Target::Path;
    if (!joins && !scratch.statement.condition.terms.empty()) build.extend("more than one condition", at);
    CompareSyntax test = resource_of(build, at);
    if (test.name.value == "total upload" || test.name.value == "total download")
      build.complain(at, "a total needs a time span", "as in 'total upload > 1 GB in last hour'");
    add_term(build, scratch, at, std::move(test));
  }
};

template <>
struct action<grammar::queried_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::queried_test>(in, build);
    const auto at = matched(in, build);
    scratch.has_else = true;
    const grammar::Kind kind = build.kind(at.end - 1);
    add_term(build, scratch, at,
             QueriedSyntax{{.filter = build.word(at.begin + 1),
                            .comparison = comparison_of(build.text(at.begin + 2)),
                            .value = build.word(at.end - 1),
                            .quoted = kind == grammar::Kind::Quoted || kind == grammar::Kind::Path}});
  }
};

template <>
struct action<grammar::members_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    using Kinds = engine::Quota::Kind;
    note_extension<grammar::members_test>(in, build);
    const auto at = matched(in, build);
    scratch.has_else = true;
    const std::string_view first = build.text(at.begin);
    engine::Quota quota{.kind = iequals(first, "all") ? Kinds::All : Kinds::Any};
    const bool is_share = build.kind(at.begin) == grammar::Kind::Operator;
    if (is_share || build.kind(at.begin) == grammar::Kind::Number) {
      quota.kind = is_share ? Kinds::MoreThan : Kinds::AtLeast;
      quota.number = std::strtod(std::string(build.text(at.begin + (is_share ? 1 : 0))).c_str(), nullptr);
    }
    add_term(build, scratch, at, MembersSyntax{quota});
  }
};

template <>
struct action<grammar::missed_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::missed_test>(in, build);
    scratch.has_else = true;
    add_term(build, scratch, matched(in, build), HeartbeatTestSyntax{.missed = true});
  }
};

template <>
struct action<grammar::failed_alone> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::failed_alone>(in, build);
    scratch.has_else = true;
    add_term(build, scratch, matched(in, build), HeartbeatTestSyntax{});
  }
};

template <>
struct action<grammar::active_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::active_test>(in, build);
    scratch.has_else = true;
    add_term(build, scratch, matched(in, build), ActiveSyntax{});
  }
};

template <>
struct action<grammar::state_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::state_test>(in, build);
    const auto at = matched(in, build);
    add_text(build, scratch, at, to_lower(build.text(at.begin)), at.begin + 1);
  }
};

template <>
struct action<grammar::tasks_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::tasks_test>(in, build);
    action<grammar::resource_test>::apply(in, build, scratch);
  }
};

template <>
struct action<grammar::restarts_count> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    scratch.total = resource_of(build, matched(in, build));
    scratch.total_end = matched(in, build).end;
  }
};

template <>
struct action<grammar::unit_restarts_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::unit_restarts_test>(in, build);
    const auto at = matched(in, build);
    scratch.has_else = true;
    if (at.end == scratch.total_end) return add_term(build, scratch, at, std::move(scratch.total));
    add_term(build, scratch, at,
             TotalSyntax{.amount = std::move(scratch.total), .span = build.duration({scratch.total_end, at.end})});
  }
};

template <>
struct action<grammar::run_time_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::run_time_test>(in, build);
    action<grammar::resource_test>::apply(in, build, scratch);
  }
};

}  // namespace healer::config::parsing
