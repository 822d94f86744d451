// SPDX-License-Identifier: MIT
// grammar/workflow.hpp to WorkflowSyntax.
#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/syntax/parse_step.hpp"
#include "util/text.hpp"

namespace healer::config::parsing {

// ---- steps

namespace {

/// Those that have no form of their own to try: `parallel`.
template <typename Kind>
bool parse_kind([[maybe_unused]] grammar::TokenInput& in, [[maybe_unused]] Build& build,
                [[maybe_unused]] WorkflowScratch& scratch) {
  if constexpr (requires { &Kind::parse; })
    return Kind::parse(in, build, scratch);
  else
    return false;
}

template <typename... Kinds>
bool parse_any(std::type_identity<std::variant<Kinds...>> /*all*/, grammar::TokenInput& in, Build& build,
               WorkflowScratch& scratch) {
  return (parse_kind<Kinds>(in, build, scratch) || ...);
}

}  // namespace

bool WorkflowScratch::match_step(grammar::TokenInput& in, Build& build) {
  return parse_any(std::type_identity<StepKindSyntax>{}, in, build, *this);
}

template <>
struct action<grammar::step_name> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) { scratch.step.name = word_of(in, build); }
};

/// Remembers where an item begins.
template <>
struct action<grammar::workflow_item> {
  static void apply(const auto& in, Build& build, WorkflowScratch&) {
    const auto at = matched(in, build);
    build.items.push_back(build.range(at).begin);
  }
};

template <>
struct action<grammar::any_step> : action<grammar::workflow_item> {};

template <>
struct action<grammar::step> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    action<grammar::workflow_item>::apply(in, build, scratch);
    scratch.step.range = build.range(matched(in, build));
    scratch.blocks.back().push_back(std::exchange(scratch.step, {}));
  }
};

template <>
struct action<grammar::bare_step> : action<grammar::step> {};

template <>
struct action<grammar::parallel_word> {
  static void apply(const auto&, Build&, WorkflowScratch& scratch) { scratch.blocks.emplace_back(); }
};

template <>
struct action<grammar::parallel> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    ParallelStepSyntax parallel{std::move(scratch.blocks.back())};
    scratch.blocks.pop_back();
    StepSyntax step;
    step.what = std::move(parallel);
    step.range = build.range(matched(in, build));
    scratch.blocks.back().push_back(std::move(step));
  }
};

/// The steps of a `parallel` in another are read as the outer one's: what else is wrong with these is told as well.
static void give_to_outer(WorkflowScratch& scratch) {
  std::vector<StepSyntax> inner = std::move(scratch.blocks.back());
  scratch.blocks.pop_back();
  std::ranges::move(inner, std::back_inserter(scratch.blocks.back()));
}

template <int Deep>
struct action<grammar::deeper_parallel<Deep>> {
  static void apply(const auto&, Build&, WorkflowScratch& scratch) { give_to_outer(scratch); }
};

template <>
struct action<grammar::inner_parallel> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    give_to_outer(scratch);
    const auto at = matched(in, build);
    build.complain({at.begin, at.begin + 1}, "'parallel' cannot stand in 'parallel'",
                   "put these steps beside the others");
  }
};

// ---- the workflow

template <>
struct action<grammar::guard_once> {
  static void apply(const auto&, Build&, WorkflowScratch& scratch) { scratch.guard_once = true; }
};

template <>
struct action<grammar::guard> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    GuardSyntax guard{.program = std::exchange(scratch.program, {}),
                      .timeout = std::exchange(scratch.step, {}).timeout,
                      .once = std::exchange(scratch.guard_once, false),
                      .range = build.range(at)};
    set_once(build, {at.begin, at.begin + 1}, scratch.workflow.guard, std::move(guard));
  }
};

template <>
struct action<grammar::on_failure_word> : action<grammar::parallel_word> {};

template <>
struct action<grammar::on_cancel_word> : action<grammar::parallel_word> {};

template <>
struct action<grammar::on_failure> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    end(build, matched(in, build), scratch, scratch.workflow.on_failure, "on failure");
  }
  static void end(Build& build, TokenRange at, WorkflowScratch& scratch, Rare<std::vector<StepSyntax>>& to,
                  std::string_view what) {
    if (to) build.complain({at.begin - 1, at.begin + 1}, fmt::format("'{}' is given twice", what), "keep one of them");
    if (scratch.blocks.back().empty())
      build.complain({at.begin - 1, at.begin + 1}, fmt::format("'{}' has no steps", what), "write one, or remove it");
    to = std::move(scratch.blocks.back());
    scratch.blocks.pop_back();
  }
};

template <>
struct action<grammar::on_cancel> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    action<grammar::on_failure>::end(build, matched(in, build), scratch, scratch.workflow.on_cancel, "on cancel");
  }
};

template <>
struct action<grammar::workflow_limit> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.limit.range = build.range(matched(in, build));
    scratch.workflow.limits.push_back(std::exchange(scratch.limit, {}));
  }
};

template <>
struct action<grammar::until_share> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.share.until = word_of(in, build);
  }
};

template <>
struct action<grammar::pause_while> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.share.range = build.range(matched(in, build));
    scratch.workflow.pauses.push_back(std::exchange(scratch.share, {}));
  }
};

template <>
struct action<grammar::cooldown> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.workflow.cooldown, last_duration(build, at));
  }
};

template <>
struct action<grammar::tries> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.workflow.tries, build.number(at.end - 1));
  }
};

template <>
struct action<grammar::ramp> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    if (!scratch.workflow.ramp.empty()) build.complain(at, "'ramp' is given twice", "keep one of them");
    for (std::size_t token = at.begin + 1; token < at.end; ++token)
      scratch.workflow.ramp.push_back(build.number(token));
  }
};

template <>
struct action<grammar::probation> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.workflow.probation, last_duration(build, at));
  }
};

template <>
struct action<grammar::breaker> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.workflow.breaker, BreakerSyntax{build.number(at.begin + 1), last_duration(build, at)});
  }
};

template <>
struct action<grammar::approval_within> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.approval.within = last_duration(build, matched(in, build));
  }
};

template <>
struct action<grammar::approval_else> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.approval.else_run = iequals(build.text(matched(in, build).end - 1), "run");
  }
};

template <>
struct action<grammar::approval_when> {
  static void apply(const auto&, Build&, WorkflowScratch& scratch) {
    scratch.approval.when = std::exchange(scratch.share, {});
  }
};

template <>
struct action<grammar::approval> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.workflow.approval, std::exchange(scratch.approval, {}));
  }
};

template <>
struct action<grammar::workflow_mode> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.workflow.mode, mode_of(build, at));
  }
};

template <>
struct action<grammar::workflow_name> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.workflow.name = word_of(in, build);
  }
};

template <>
struct action<grammar::workflow> {
  static void apply(const auto& in, Build& build, WorkflowScratch&) {
    const auto at = matched(in, build);
    build.extend(grammar::workflow::kName, {at.begin, at.begin + 2});
  }
};

bool parse_workflow(grammar::TokenInput& in, Build& build, WorkflowSyntax& out) {
  WorkflowScratch scratch;
  const std::size_t begin = in.index();
  if (!match<grammar::workflow>(in, build, scratch)) return false;
  out = std::move(scratch.workflow);
  out.steps = std::move(scratch.blocks.front());
  out.range = build.range({begin, begin + 2});
  return true;
}

bool parse_workflow_item(grammar::TokenInput& in, Build& build) {
  WorkflowScratch scratch;
  return match<grammar::workflow_item>(in, build, scratch);
}

}  // namespace healer::config::parsing
