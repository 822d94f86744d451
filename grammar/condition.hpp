// SPDX-License-Identifier: MIT
// if CONDITION [TOLERANCE] then ACTION [else if succeeded [TOLERANCE] then ACTION], of check program.
#pragma once

#include "grammar/common.hpp"

namespace healer::grammar {

// clang-format off

// status != 0
// Monit takes `changed` for an operator, and the number after it for nothing: status changed 1.
struct status_operator: token<Kind::Operator, Kind::Equal, Kind::Changed> { static constexpr std::string_view kExpected = "an operator such as '!='"; };
struct comparison     : token<Kind::Operator, Kind::Equal> { static constexpr std::string_view kExpected = "an operator such as '!='"; };
struct status_word    : token<Kind::Status> {};
struct status_value   : number {};
struct tight_status   : tight<is_tight_status> {};
struct tight_status_operator : tight<is_tight_status_operator> {};
struct tight_operand  : tight<is_tight_operand> {};
struct status_test    : sor<seq<status_word, sor<status_value, seq<status_operator, status_value>,
                                extension<"an operator without blanks around it", tight_operand>>>,
                            extension<"an operator without blanks around it", sor<tight_status, seq<tight_status_operator, status_value>>>> {};

// changed status
struct changed_status : seq<token<Kind::Changed>, token<Kind::Status>> {};

// content = "regular expression"
struct pattern        : sor<string_word, extension<"a pattern that begins with '/'", token<Kind::Path>>> {};
struct content_word   : token<Kind::Content> {};
struct content_test   : seq<content_word, comparison, pattern> {};

// `and`, `or` and parentheses are noise to the lexer: terms stand side by side.
struct term           : sor<status_test, changed_status, content_test> {};
struct condition      : seq<term, star<extension<"more than one condition", term>>> {};

// exec "PROGRAM" [as uid U and gid G] [repeat every N cycles] [timeout D] [overlapping]
struct exec_word      : token<Kind::Exec> {};
struct repeat_count   : number {};
struct repeat         : seq<token<Kind::Repeat>, token<Kind::Every>, repeat_count, token<Kind::Cycle>> {};
struct exec_timeout   : extension<"a timeout of an exec", token<Kind::Timeout>, duration> {};
struct overlapping    : text<"overlapping"> {};
// Right after the program Monit takes `overlapping` for an argument, so there it is an argument (see README.md).
struct exec_option    : sor<uid_owner, gid_owner, repeat, exec_timeout, extension<"'overlapping'", overlapping>> {};
struct exec           : seq<exec_word, program_word, star<argument>, star<exec_option>> {};
struct plain_action   : token<Kind::Alert, Kind::Restart, Kind::Start, Kind::Stop, Kind::Unmonitor> {};
struct action         : sor<plain_action, exec> {};
struct main_action    : action {};
struct recovery_action: action {};

struct main_tolerance     : tolerance {};
struct recovery_tolerance : tolerance {};
struct else_word      : token<Kind::Else> {};
struct then_word      : token<Kind::Then> {};
struct recovery       : seq<else_word, sor<seq<token<Kind::If>, token<Kind::Succeeded>, opt<recovery_tolerance>, then_word, recovery_action>,
                                           recovery_action>> {};
struct if_statement   : seq<token<Kind::If>, condition, opt<main_tolerance>, then_word, main_action, opt<recovery>> {};
// clang-format on

}  // namespace healer::grammar
