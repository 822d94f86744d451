// SPDX-License-Identifier: MIT
// Private to parse_if: what it gathers, and the parts of rules that are healer's own and stand for themselves: `heal`,
// counts of events.
#pragma once

#include <cstddef>
#include <utility>

#include "config/syntax/parse_build.hpp"
#include "config/syntax/parse_condition.hpp"
#include "config/syntax/parse_rule_scratch.hpp"
#include "grammar/condition.hpp"

namespace healer::config::parsing {

template <>
struct action<grammar::heal_target> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    scratch.heal_target = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::heal_workflow> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    scratch.heal_workflow = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::heal_named> {
  static void apply(const auto&, Build&, IfScratch& scratch) {
    scratch.action = {};
    scratch.action.target = std::exchange(scratch.heal_target, {});
  }
};

template <>
struct action<grammar::heal_dry_run> {
  static void apply(const auto&, Build&, IfScratch& scratch) { scratch.heal_dry_run = true; }
};

template <>
struct action<grammar::heal_any_target> {
  static void apply(const auto&, Build&, IfScratch& scratch) { scratch.heal_any_target = true; }
};

template <>
struct action<grammar::heal> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::heal>(in, build);
    scratch.action.kind = ActionSyntax::Kind::Heal;
    scratch.action.workflow = std::exchange(scratch.heal_workflow, {});
    scratch.action.dry_run = std::exchange(scratch.heal_dry_run, false);
    scratch.action.any_target = std::exchange(scratch.heal_any_target, false);
  }
};

template <>
struct action<grammar::event_count> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::event_count>(in, build);
    const auto at = matched(in, build);
    scratch.has_else = true;
    add_term(build, scratch, at,
             EventCountSyntax{.above = build.number(at.begin + 1), .within = build.duration({at.begin + 3, at.end})});
  }
};

}  // namespace healer::config::parsing
