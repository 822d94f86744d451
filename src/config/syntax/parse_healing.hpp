// SPDX-License-Identifier: MIT
// grammar/healing.hpp to limits, modes and shares: actions that parse_set.cpp and parse_workflow.cpp share.
#pragma once

#include "config/syntax/parse_build.hpp"
#include "grammar/healing.hpp"

namespace healer::config::parsing {

/// What limits and shares are built in; the scratch of a group that has them derives from it.
struct HealingScratch {
  HealingLimitSyntax limit;
  ShareSyntax share;
  HealingModeSyntax mode;
};

/// The duration that tokens end with, in one token or two.
[[nodiscard]] inline Located<Duration> last_duration(const Build& build, TokenRange at) {
  const bool tight = grammar::is_tight_duration(build.text(at.end - 1));
  return build.duration({at.end - (tight ? 1 : 2), at.end});
}

/// Of one token: the name, the text that it says.
[[nodiscard]] inline Word word_of(const auto& in, const Build& build) { return build.word(matched(in, build).begin); }

template <>
struct action<grammar::limit_number> {
  static void apply(const auto& in, Build& build, HealingScratch& scratch) {
    scratch.limit = {};
    scratch.limit.number = build.number(matched(in, build).begin);
  }
};

template <>
struct action<grammar::limit_percent> {
  static void apply(const auto&, Build&, HealingScratch& scratch) { scratch.limit.percent = true; }
};

template <>
struct action<grammar::limit_group> {
  static void apply(const auto& in, Build& build, HealingScratch& scratch) {
    if (scratch.limit.group) build.complain(matched(in, build), "'group' is given twice", "keep one of them");
    scratch.limit.group = word_of(in, build);
  }
};

template <>
struct action<grammar::limit_within> {
  static void apply(const auto& in, Build& build, HealingScratch& scratch) {
    scratch.limit.within = build.duration(matched(in, build));
  }
};

template <>
struct action<grammar::share_number> {
  static void apply(const auto& in, Build& build, HealingScratch& scratch) {
    scratch.share = {};
    scratch.share.above = word_of(in, build);
  }
};

template <>
struct action<grammar::share_group> {
  static void apply(const auto& in, Build& build, HealingScratch& scratch) { scratch.share.group = word_of(in, build); }
};

template <>
struct action<grammar::share> {
  static void apply(const auto& in, Build& build, HealingScratch& scratch) {
    scratch.share.range = build.range(matched(in, build));
  }
};

/// `mode dry run`, of its tokens.
[[nodiscard]] inline HealingModeSyntax mode_of(const Build& build, TokenRange at) {
  const std::string word = to_lower(build.text(at.begin + 1));
  using engine::HealingMode;
  const HealingMode mode = word == "shadow"     ? HealingMode::Shadow
                           : word == "approval" ? HealingMode::Approval
                           : word == "dry"      ? HealingMode::DryRun
                                                : HealingMode::Automatic;
  return {mode, build.range(at)};
}

}  // namespace healer::config::parsing
