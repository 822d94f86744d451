// SPDX-License-Identifier: MIT
// if CONDITION [TOLERANCE] then ACTION [else if succeeded [TOLERANCE] then ACTION].
// if N restarts within M cycles then ACTION.
#pragma once

#include "grammar/connection.hpp"
#include "grammar/healing.hpp"
#include "grammar/test.hpp"

namespace healer::grammar {

// clang-format off

// json '.worst' > 90
struct queried_word   : text<"json"> { static constexpr std::string_view kExpected = "a test such as 'status != 0' or 'cpu > 80%'"; };
struct queried_test   : extension<"a test of JSON", queried_word, json_filter, comparison, json_value> {};

// `and`, `or` and parentheses are noise to the lexer: terms stand side by side. How they are joined the lexer has noted
// beside the tokens.
struct term           : sor<status_test, content_test, content_change, match_test, children_test, row_test, total_test, lone_test, link_count_test, exist_test, owner_test, attribute_test, security_test, permission_test, checksum_test, connection_test, changed_status, changed_attribute, changed_link_count, changed_checksum, link_test, changed_link, rate_test, members_test, event_count, queried_test, missed_test, failed_alone, run_time_test, active_test, state_test, tasks_test, unit_restarts_test> {};
struct operand        : seq<star<negated>, term> {};
struct more_terms     : star<extension<"more than one condition", operand>> {};
struct condition      : sor<seq<plus<row_test>, more_terms>, seq<operand, more_terms>> {};

// exec "PROGRAM" [as uid U and gid G] [timeout N seconds] [repeat every [N] cycles] [overlapping]
struct exec_word      : token<Kind::Exec> {};
struct repeat_count   : number {};
struct repeat_always  : since<MonitVersion::V5_34, "'repeat every cycles' without a number", token<Kind::Cycle>> {};
struct repeat         : seq<token<Kind::Repeat>, token<Kind::Every>, sor<repeat_always, seq<repeat_count, token<Kind::Cycle>>>> {};
struct exec_timeout   : since<MonitVersion::V5_34, "a timeout of an exec", token<Kind::Timeout>, seconds> {};
struct overlapping    : text<"overlapping"> {};
// Right after the program Monit takes `overlapping` for an argument, so there it is an argument (see README.md).
struct exec_option    : sor<uid_owner, gid_owner, repeat, exec_timeout, extension<"'overlapping'", overlapping>> {};
struct exec           : seq<exec_word, program_word, star<argument>, star<exec_option>> {};
struct ignore_action  : since<MonitVersion::V5_34, "the action 'ignore'", token<Kind::Ignore>> {};
struct plain_action   : sor<token<Kind::Alert, Kind::Restart, Kind::Start, Kind::Stop, Kind::Unmonitor>, ignore_action> {};
// unmonitor for 1 hour
struct unmonitor_time : extension<"a time after 'unmonitor'", duration> {};
struct unmonitor_for  : seq<pegtl::at<token<Kind::Unmonitor>>, plain_action, opt<unmonitor_time>> {};
struct action         : sor<unmonitor_for, plain_action, exec, heal> {};
struct main_action    : action {};
struct recovery_action: action {};

struct main_tolerance     : tolerance {};
struct recovery_tolerance : tolerance {};
struct else_word      : token<Kind::Else> {};
struct then_word      : token<Kind::Then> {};
// What `link up` and `succeeded port 80` recover to is failed, in Monit's words.
struct recovery_failed: token<Kind::Failed> { static constexpr std::string_view kExpected = ""; };
struct recovery_word  : sor<token<Kind::Succeeded>, recovery_failed> {};
struct recovery       : seq<else_word, sor<seq<token<Kind::If>, recovery_word, opt<recovery_tolerance>, then_word, recovery_action>,
                                           recovery_action>> {};
struct give_up        : token<Kind::Timeout> {};
struct if_restarts    : seq<restarts_test, then_word, sor<main_action, give_up>> {};
struct if_condition   : seq<condition, opt<main_tolerance>, then_word, main_action> {};
struct if_statement   : seq<token<Kind::If>, sor<if_restarts, if_condition>, opt<recovery>> {};
// clang-format on

}  // namespace healer::grammar
