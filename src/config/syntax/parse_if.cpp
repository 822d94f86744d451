// SPDX-License-Identifier: MIT
// grammar/condition.hpp to IfSyntax.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/syntax/parse_build.hpp"
#include "config/syntax/parse_condition.hpp"
#include "config/syntax/parse_connection.hpp"
#include "config/syntax/parse_own_rules.hpp"
#include "config/syntax/parse_own_tests.hpp"
#include "config/syntax/parse_test.hpp"
#include "config/text/rule_text.hpp"
#include "grammar/condition.hpp"
#include "protocols/digest.hpp"
#include "util/text.hpp"

namespace healer::config::parsing {

using grammar::Kind;

template <>
struct action<grammar::status_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    if (at.end - at.begin == 3 && build.kind(at.begin + 1) == Kind::Changed)
      return add_term(build, scratch, at, ChangedSyntax{"status"});
    add_term(build, scratch, at, status_of(build, at));
  }
};

template <>
struct action<grammar::changed_status> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    add_term(build, scratch, matched(in, build), ChangedSyntax{"status"});
  }
};

template <>
struct action<grammar::content_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    const bool is_negated = negates_content(build, at.begin + 1);
    const bool has_lines = build.service != nullptr && build.service->traits.has_lines;
    if (!has_lines && build.kind(at.begin + 2) == Kind::Path)
      build.extend("a pattern that begins with '/'", {at.begin + 2, at.begin + 3});
    add_term(build, scratch, at, MatchesSyntax{.negated = is_negated, .pattern = build.word(at.begin + 2)});
  }
};

template <>
struct action<grammar::content_change> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    add_term(build, scratch, at, OutputChangedSyntax{.negated = build.kind(at.end - 2) == Kind::Not});
  }
};

template <>
struct action<grammar::match_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    add_term(build, scratch, at,
             MatchesSyntax{
                 .negated = build.kind(at.begin) == Kind::Not, .of_lines = true, .pattern = build.word(at.end - 1)});
  }
};

template <>
struct action<grammar::lone_test> : action<grammar::resource_test> {};

template <>
struct action<grammar::link_count_test> : action<grammar::resource_test> {};

template <>
struct action<grammar::children_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::children_test>(in, build);
    action<grammar::resource_test>::apply(in, build, scratch);
  }
};

template <>
struct action<grammar::page_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    CompareSyntax test = resource_of(build, at);
    test.unit.reset();  // what it is per
    add_term(build, scratch, at, std::move(test));
  }
};

template <>
struct action<grammar::exist_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    add_term(build, scratch, at, PresentSyntax{.negated = build.kind(at.begin) == Kind::Not});
  }
};

template <>
struct action<grammar::owner_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    const Kind kind = build.kind(at.begin + 1);
    add_term(build, scratch, at,
             DiffersSyntax{.what = kind == Kind::Uid    ? "uid"
                                   : kind == Kind::Euid ? "euid"
                                                        : "gid",
                           .value = build.word(at.begin + 2)});
  }
};

template <>
struct action<grammar::attribute_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    add_term(build, scratch, at,
             DiffersSyntax{.what = "security attribute", .value = build.word(at.end - 1), .is_text = true});
  }
};

template <>
struct action<grammar::security_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    add_text(build, scratch, at, "security attribute", at.begin + 2);
  }
};

template <>
struct action<grammar::permission_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    add_term(build, scratch, at, DiffersSyntax{.what = "permission", .value = build.word(at.begin + 2)});
  }
};

namespace {

/// The checksum that a test is about: written, or known by its length; else the version of Monit says which it is
/// (choose_checksums).
std::string checksum_name(const Build& build, TokenRange at, std::string_view digits) {
  const bool is_written = build.kind(at.begin + 1) != Kind::Checksum;
  const protocols::ChecksumType* known = protocols::find_checksum(digits.size());
  if (!is_written && known == nullptr && digits.empty()) return std::string(kAnyChecksum);
  const std::string_view name = is_written ? build.text(at.begin + 1) : known != nullptr ? known->name : "md5";
  return to_lower(name) + " checksum";
}

}  // namespace

template <>
struct action<grammar::checksum_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    DiffersSyntax test;
    if (build.kind(at.end - 1) != Kind::Checksum) test.value = build.word(at.end - 1);
    test.value.value = to_lower(test.value.value);
    test.what = checksum_name(build, at, test.value.value);
    const bool is_written = build.kind(at.begin + 1) != Kind::Checksum;
    if (!is_written && test.what == "sha256 checksum") build.extend("a SHA256 checksum", at, MonitVersion::V6);
    if (!is_written && test.what == "sha512 checksum") build.extend("a SHA512 checksum", at);
    // Of this kind alone Monit takes any text.
    test.is_loose =
        is_written && test.what == "sha256 checksum" && !test.value.value.empty() &&
        (test.value.value.size() != protocols::find_checksum("sha256")->digits || !protocols::is_hex(test.value.value));
    add_term(build, scratch, at, std::move(test));
  }
};

template <>
struct action<grammar::changed_link_count> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    add_term(build, scratch, matched(in, build), ChangedSyntax{"hardlink"});
  }
};

template <>
struct action<grammar::changed_checksum> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    add_term(build, scratch, at, ChangedSyntax{checksum_name(build, at, {})});
  }
};

template <>
struct action<grammar::changed_attribute> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = build.kind(at.begin + 1) == Kind::Permission;  // and a link's: alone of all changes
    add_term(build, scratch, at, ChangedSyntax{attribute_name(build.kind(at.begin + 1))});
  }
};

template <>
struct action<grammar::connection_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    add_term(build, scratch, at, std::exchange(scratch.connection, {}));
  }
};

template <>
struct action<grammar::link_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    if (build.kind(at.begin) == Kind::Failed) build.deprecate("'if failed link'", "'if link down'", at);
    add_term(build, scratch, at, LinkSyntax{.up = build.kind(at.begin + 1) == Kind::Up});
  }
};

template <>
struct action<grammar::changed_link> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    scratch.has_else = true;
    add_term(build, scratch, matched(in, build), ChangedSyntax{"link"});
  }
};

template <>
struct action<grammar::rate_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    CompareSyntax test = resource_of(build, at);
    if (test.unit && grammar::kind_of_word(test.unit->value) == Kind::Second) test.unit.reset();  // `3 per second`
    add_term(build, scratch, at, std::move(test));
  }
};

template <>
struct action<grammar::negated> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::negated>(in, build);
    scratch.written.negations.push_back(matched(in, build).begin);
  }
};

template <>
struct action<grammar::total_amount> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    scratch.total = resource_of(build, matched(in, build));
    scratch.total_end = matched(in, build).end;
  }
};

template <>
struct action<grammar::total_test> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    scratch.has_else = true;
    const bool counted = build.kind(at.end - 2) == Kind::Number && at.end - 2 >= scratch.total_end;
    TotalSyntax test{.amount = std::move(scratch.total), .span = {}};
    // More than any total is kept for, and no sum of it overflows.
    const std::uint64_t count = counted ? std::min<std::uint64_t>(build.number(at.end - 2).value, 1'000'000) : 1;
    const Kind unit = build.kind(at.end - 1);
    const Duration one = unit == Kind::Minute ? Duration{minutes{1}} : unit == Kind::Hour ? hours{1} : days{1};
    test.span = {one * static_cast<Duration::rep>(count), build.range({at.end - (counted ? 2 : 1), at.end})};
    if (unit == Kind::Minute && count > 60) build.extend("a total over more than 60 minutes", at);
    add_term(build, scratch, at, std::move(test));
  }
};

/// In Monit tests of `link up` and of `succeeded` recover to failed.
template <>
struct action<grammar::recovery_word> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    const auto at = matched(in, build);
    const bool is_failed = build.kind(at.begin) == Kind::Failed;
    if (is_failed == recovers_to_failed(scratch.statement)) return;
    if (is_failed)
      return build.complain(at, "'else if failed' is only possible after 'link up' and 'succeeded'",
                            "write 'else if succeeded then'");
    build.extend("'else if succeeded' where Monit has 'else if failed'", at);
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
      case Kind::Ignore: scratch.action.kind = Ignore; break;
      default: scratch.action.kind = Alert; break;
    }
  }
};

template <>
struct action<grammar::unmonitor_time> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::unmonitor_time>(in, build);
    scratch.action.lasting = build.duration(matched(in, build));
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
struct action<grammar::repeat_always> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::repeat_always>(in, build);
    const auto at = matched(in, build);
    if (scratch.action.repeat) build.complain(at, "'repeat' is given twice", "keep one of them");
    scratch.action.repeat = Number{1, build.range(at)};
    build.command_has_timeout = true;
  }
};

template <>
struct action<grammar::exec_timeout> {
  static void apply(const auto& in, Build& build, IfScratch& scratch) {
    note_extension<grammar::exec_timeout>(in, build);
    const auto at = matched(in, build);
    if (build.command.timeout) build.complain(at, "'timeout' is given twice", "keep one of them");
    if (scratch.action.repeat) build.extend("options in another order", at);
    build.command.timeout = build.duration({at.begin + 1, at.end});
    build.command_has_timeout = true;
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
    CommandSyntax command = build.take_command();
    // Right after the program Monit takes this word for one more argument. Nobody writes that: it is ours.
    auto& arguments = command.arguments;
    const bool ends_with_it = !action.overlapping && arguments.size() > 1 && iequals(arguments.back(), "overlapping");
    if (ends_with_it && build.range(at).end == command.range.end && build.kind(at.end - 1) == Kind::String) {
      arguments.pop_back();
      action.overlapping = true;
    }
    action.command = std::move(command);
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
    const auto* changed = std::get_if<ChangedSyntax>(&scratch.statement.condition.terms.front().test);
    const bool of_pid = changed != nullptr && changed->what != "status";
    build.complain(matched(in, build),
                   restarts ? "a test of restarts has no 'else'"
                            : "content and changed tests have no 'else': they act on every match or change",
                   restarts || of_pid ? "remove the 'else' branch" : "remove the 'else' branch, or test the status");
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
  scratch.written.begin = begin + 1;
  scratch.statement.condition.postfix = joined(build, scratch.written);
  out = std::move(scratch.statement);
  out.range = build.range({begin, in.index()});
  return true;
}

}  // namespace healer::config::parsing
