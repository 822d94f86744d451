// SPDX-License-Identifier: MIT
// grammar/condition.hpp to IfSyntax.
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "config/parse_build.hpp"
#include "config/parse_test.hpp"
#include "config/rule_text.hpp"
#include "grammar/condition.hpp"
#include "util/text.hpp"

namespace healer::config::parsing {
namespace {

using grammar::Kind;

struct IfScratch {
  IfSyntax statement;
  ActionSyntax action;
  std::size_t last_term_end = 0;  ///< token
  bool has_else = false;          ///< whether the condition may have an `else` branch
};

/// What is written between two tokens, without comments.
std::string between(const Build& build, std::size_t token, std::size_t next) {
  const auto& tokens = build.tokens.tokens;
  const std::size_t begin = tokens[token].offset + tokens[token].length;
  std::string out;
  bool comment = false;
  for (const char c : build.tokens.text.substr(begin, tokens[next].offset - begin)) {
    comment = c == '\n' ? false : comment || c == '#';
    if (!comment) out += c;
  }
  return out;
}

bool says_or(std::string_view gap) {
  for (std::size_t at = 0; at < gap.size();) {
    const std::size_t begin = std::min(gap.find_first_not_of(" \t\r\n,;()", at), gap.size());
    const std::size_t end = std::min(gap.find_first_of(" \t\r\n,;()", begin), gap.size());
    if (iequals(gap.substr(begin, end - begin), "or")) return true;
    at = end;
  }
  return false;
}

void add_term(Build& build, IfScratch& scratch, TokenRange at, TestSyntax test) {
  TermSyntax term{.test = std::move(test), .range = build.range(at)};
  auto& condition = scratch.statement.condition;
  if (!condition.empty()) {
    const auto gap = between(build, scratch.last_term_end - 1, at.begin);
    term.or_before = says_or(gap);
    if (gap.find_first_of("()") != std::string::npos)
      build.complain(at, "parentheses do not group conditions", "'and' binds tighter than 'or'; write it out");
  }
  condition.push_back(std::move(term));
  scratch.last_term_end = at.end;
}

}  // namespace

template <>
struct action<grammar::status_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    if (at.end - at.begin == 3 && build.kind(at.begin + 1) == Kind::Changed)
      return add_term(build, scratch, at, ChangedStatusSyntax{});
    add_term(build, scratch, at, status_of(build, at));
  }
};

template <>
struct action<grammar::changed_status> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    add_term(build, scratch, matched(in, build), ChangedStatusSyntax{});
  }
};

template <>
struct action<grammar::content_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    const auto comparison = comparison_of(build.text(at.begin + 1));
    if (comparison != ComparisonWord::Equal && comparison != ComparisonWord::NotEqual)
      build.complain({at.begin + 1, at.begin + 2},
                     fmt::format("a content cannot be compared with '{}'", build.text(at.begin + 1)),
                     "write content = \"...\" or content != \"...\"");
    add_term(build, scratch, at,
             ContentSyntax{.negated = comparison == ComparisonWord::NotEqual, .pattern = build.word(at.begin + 2)});
  }
};

template <>
struct action<grammar::resource_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    add_term(build, scratch, at, resource_of(build, at));
  }
};

template <>
struct action<grammar::lone_test> : action<grammar::resource_test> {};

template <>
struct action<grammar::exist_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    add_term(build, scratch, at, ExistSyntax{.negated = build.kind(at.begin) == Kind::Not});
  }
};

template <>
struct action<grammar::owner_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    using enum OwnerSyntax::Kind;
    const Kind kind = build.kind(at.begin + 1);
    add_term(build, scratch, at,
             OwnerSyntax{.kind = kind == Kind::Uid    ? Uid
                                 : kind == Kind::Euid ? Euid
                                                      : Gid,
                         .owner = build.word(at.begin + 2)});
  }
};

template <>
struct action<grammar::attribute_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    add_term(build, scratch, at, AttributeSyntax{build.word(at.end - 1)});
  }
};

template <>
struct action<grammar::changed_pid> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    add_term(build, scratch, at, ChangedPidSyntax{.parent = build.kind(at.begin + 1) == Kind::Ppid});
  }
};

template <>
struct action<grammar::restarts_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    add_term(build, scratch, at, RestartsSyntax{});
    scratch.statement.tolerance = ToleranceSyntax{
        .count = build.number(at.begin), .window = build.number(at.begin + 2), .held = {}, .range = build.range(at)};
  }
};

/// `then timeout` is Monit's older word for it.
template <>
struct action<grammar::give_up> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    scratch.statement.action = {
        .kind = ActionSyntax::Kind::Unmonitor, .command = {}, .repeat = {}, .range = build.range(matched(in, build))};
  }
};

template <>
struct action<grammar::main_tolerance> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    scratch.statement.tolerance = build.tolerance(matched(in, build));
  }
};

template <>
struct action<grammar::recovery_tolerance> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    scratch.statement.recovery->tolerance = build.tolerance(matched(in, build));
  }
};

template <>
struct action<grammar::plain_action> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build).begin;
    scratch.action = {};
    using enum ActionSyntax::Kind;
    switch (build.kind(at)) {
      case Kind::Unmonitor: scratch.action.kind = Unmonitor; break;
      case Kind::Start: scratch.action.kind = Start; break;
      case Kind::Stop: scratch.action.kind = Stop; break;
      case Kind::Restart: scratch.action.kind = Restart; break;
      default: scratch.action.kind = Alert; break;
    }
  }
};

template <>
struct action<grammar::exec_word> {
  static void apply(const auto&, Build&, IfScratch& scratch) {
    scratch.action = {};
    scratch.action.kind = ActionSyntax::Kind::Exec;
  }
};

template <>
struct action<grammar::repeat_count> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    if (scratch.action.repeat) build.complain(at, "'repeat' is given twice", "keep one of them");
    scratch.action.repeat = build.number(at.begin);
    build.command_has_timeout = true;  // owners after it are in another order
  }
};

template <>
struct action<grammar::exec_timeout> {
  static void apply(const auto& in, Build& build, IfScratch&) {
    note_extension<grammar::exec_timeout>(in, build);
    const auto at = matched(in, build);
    if (build.command.timeout) build.complain(at, "'timeout' is given twice", "keep one of them");
    build.command.timeout = build.duration({at.begin + 1, at.end});
  }
};

template <>
struct action<grammar::overlapping> {
  static void apply(const auto&, Build&, IfScratch& scratch) { scratch.action.overlapping = true; }
};

namespace {

ActionSyntax finished(Build& build, IfScratch& scratch, TokenRange at) {
  ActionSyntax action = std::exchange(scratch.action, {});
  if (action.kind == ActionSyntax::Kind::Exec) {
    action.command = build.take_command();
    // Right after the program Monit takes this word for one more argument. Nobody writes that: it is ours.
    auto& arguments = action.command.arguments;
    const bool ends_with_it = !action.overlapping && arguments.size() > 1 && iequals(arguments.back(), "overlapping");
    if (ends_with_it && build.range(at).end == action.command.range.end && build.kind(at.end - 1) == Kind::String) {
      arguments.pop_back();
      action.overlapping = true;
    }
  }
  action.range = build.range(at);
  return action;
}

}  // namespace

template <>
struct action<grammar::main_action> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    scratch.statement.action = finished(build, scratch, matched(in, build));
  }
};

template <>
struct action<grammar::else_word> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    scratch.statement.recovery.emplace();
    // Content and changed tests act on every match and every change: there is nothing to recover from.
    if (scratch.has_else) return;
    const bool restarts = counts_restarts(scratch.statement);
    const bool of_pid = std::holds_alternative<ChangedPidSyntax>(scratch.statement.condition.front().test);
    build.complain(
        matched(in, build),
        restarts ? "a test of restarts has no 'else'"
                 : "content and changed tests have no 'else': they act on every match or change",
        restarts || of_pid ? "take the 'else' branch away" : "take the 'else' branch away, or test the status");
  }
};

template <>
struct action<grammar::recovery_action> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    scratch.statement.recovery->action = finished(build, scratch, matched(in, build));
  }
};

bool parse_if(grammar::TokenInput& in, Build& build, IfSyntax& out) {
  IfScratch scratch;
  const std::size_t begin = in.index();
  if (!match<grammar::if_statement>(in, build, scratch)) return false;
  out = std::move(scratch.statement);
  out.range = build.range({begin, in.index()});
  return true;
}

}  // namespace healer::config::parsing
