// SPDX-License-Identifier: MIT
// Rules that several statements share: numbers with units, programs and their owners, tolerances.
#pragma once

#include "grammar/terminals.hpp"
#include "grammar/tight.hpp"

namespace healer::grammar {

using pegtl::opt;
using pegtl::plus;
using pegtl::seq;
using pegtl::sor;
using pegtl::star;

/// Whether `ready` begins a statement of healer's own here and is no argument: where Monit has a syntax error.
[[nodiscard]] inline bool is_ready_statement(const TokenInput& in) {
  if (in.kind() != Kind::String || !iequals(in.text(), "ready") || in.kind(1) != Kind::String) return false;
  if (iequals(in.text(1), "after")) return in.is_foreground() || in.kind(2) == Kind::Number;
  return iequals(in.text(1), "notify") && (in.is_foreground() || in.kind(2) == Kind::Number);
}

/// Whether `leftovers ended`, healer's own, comes. No program of Monit's has just these two for arguments.
[[nodiscard]] inline bool is_leftovers_statement(const TokenInput& in) {
  return in.kind() == Kind::String && iequals(in.text(), "leftovers") && in.kind(1) == Kind::String &&
         iequals(in.text(1), "ended");
}

/// Whether `watchdog 30 seconds`, healer's own, comes: a number is no argument to Monit.
[[nodiscard]] inline bool is_watchdog_statement(const TokenInput& in) {
  if (in.kind() != Kind::String || !iequals(in.text(), "watchdog")) return false;
  return in.kind(1) == Kind::Number || (in.is_foreground() && (in.flags() & kFirstOfLine) != 0);
}

/// Whether `delay 20 minutes`, healer's own, comes: to Monit the word stands behind `start`, in `set daemon`.
[[nodiscard]] inline bool is_delay_statement(const TokenInput& in) {
  return in.kind() == Kind::Delay && in.kind(1) == Kind::Number;
}

/// Whether `define NAME "value"` comes, in a `for each`: elsewhere Monit takes its words for arguments of a program.
[[nodiscard]] inline bool is_define_statement(const TokenInput& in) {
  return in.is_in_block() && (in.flags() & kFirstOfLine) != 0 && in.kind() == Kind::String &&
         iequals(in.text(), "define") && in.kind(1) == Kind::String;
}

/// Whether `for each NAME ... {` comes. Without the brace its words are arguments to Monit.
[[nodiscard]] inline bool is_for_each_statement(const TokenInput& in) {
  constexpr std::size_t kMostValues = 1000;
  if (in.kind() != Kind::String || !iequals(in.text(), "each") || in.kind(1) != Kind::String) return false;
  if (in.is_in_block()) return true;
  for (std::size_t i = 2; i < kMostValues; ++i) {
    const Kind kind = in.kind(i);
    if (kind == Kind::LeftBrace) return true;
    const bool is_value = kind == Kind::String || kind == Kind::Quoted || kind == Kind::Path || kind == Kind::Number ||
                          kind == Kind::Url || kind == Kind::Every || (kind >= Kind::Second && kind <= Kind::Month) ||
                          kind == Kind::SizeUnit;
    if (!is_value) return false;
  }
  return false;
}

[[nodiscard]] inline bool is_own_statement(const TokenInput& in) {
  return is_ready_statement(in) || is_leftovers_statement(in) || is_watchdog_statement(in) || is_delay_statement(in) ||
         is_define_statement(in) || is_for_each_statement(in);
}

/// Whether `define NAME "value"` or `for each NAME ... {` begins here, behind a list of words that has no end of its
/// own.
[[nodiscard]] inline bool is_own_item(const TokenInput& in) {
  return is_for_each_statement(in) || ((in.flags() & kFirstOfLine) != 0 && in.kind() == Kind::String &&
                                       iequals(in.text(), "define") && in.kind(1) == Kind::String);
}

// clang-format off
struct number        : token<Kind::Number> {};
struct cycle_word    : token<Kind::Cycle> {};

// Text that is not a path: what Monit calls a string.
struct string_word   : token<Kind::String, Kind::Quoted, Kind::Address> { static constexpr std::string_view kExpected = "a text"; };
struct written_path  : token<Kind::Path> { static constexpr std::string_view kExpected = "an absolute path"; };
struct path_word     : sor<written_path, extension<"'${NAME}' at the beginning of a path", named_text>> {};

// 90 seconds. Every unit but seconds is healer's own in most places.
struct second_unit   : token<Kind::Second> { static constexpr std::string_view kExpected = "a unit such as 'seconds'"; };
struct other_unit_word : token<Kind::Millisecond, Kind::Minute, Kind::Hour, Kind::Day> { static constexpr std::string_view kExpected = "a unit such as 'seconds'"; };
struct week_word     : text<"week", "weeks"> { static constexpr std::string_view kExpected = "a unit such as 'seconds'"; };
struct other_unit    : sor<other_unit_word, week_word> {};
struct any_unit      : sor<second_unit, other_unit> {};
struct tight_duration: tight<is_tight_duration> {};
struct duration      : sor<seq<number, any_unit>, tight_duration> {};

// 50, 50.5, 10MB, with or without a unit. Which units a quantity has the validator says.
struct quantity_unit : token<Kind::Percent, Kind::SizeUnit, Kind::Rate, Kind::Packet, Kind::PacketRate, Kind::Operation, Kind::OperationRate,
                             Kind::Millisecond, Kind::Second, Kind::Minute, Kind::Hour, Kind::Day, Kind::Month> { static constexpr std::string_view kExpected = ""; };
struct quantity_week : text<"week", "weeks"> { static constexpr std::string_view kExpected = ""; };
struct terabyte      : text<"TB", "TB/s", "terabyte", "terabytes"> { static constexpr std::string_view kExpected = ""; };
struct own_size_unit : extension<"'TB' as a unit", terabyte> {};
struct unit_of_quantity : sor<quantity_unit, own_size_unit, extension<"'weeks' as a unit", quantity_week>> {};
struct quantity_number : token<Kind::Number, Kind::Real> { static constexpr std::string_view kExpected = "a number"; };
struct tight_quantity: tight<is_tight_quantity> {};
struct quantity      : sor<seq<quantity_number, opt<unit_of_quantity>>,
                           extension<"a number without a blank before its unit", tight_quantity>> {};

// timeout 30 seconds
struct seconds       : sor<seq<number, sor<second_unit, extension<"a timeout in other units than seconds", other_unit>>>,
                           extension<"a duration without a blank before its unit", tight_duration>> {};
struct timeout       : seq<token<Kind::Timeout>, seconds> {};

// as uid USER and gid GROUP
struct owner_name    : token<Kind::String, Kind::Quoted, Kind::Number> { static constexpr std::string_view kExpected = "a name or number"; };
struct uid_owner     : seq<token<Kind::Uid>, owner_name> {};
struct gid_owner     : seq<token<Kind::Gid>, owner_name> {};

// The program and, outside of its quotes, more arguments.
struct program_word  : token<Kind::Command, Kind::Path, Kind::Quoted, Kind::String, Kind::Address> { static constexpr std::string_view kExpected = "a program"; };
struct argument_word : token<Kind::Path, Kind::Quoted, Kind::String, Kind::Address> { static constexpr std::string_view kExpected = ""; };
struct argument_url  : token<Kind::Url> { static constexpr std::string_view kExpected = ""; };
struct argument_text : sor<argument_word, extension<"a URL without quotes as an argument", argument_url>> {};
struct argument      : seq<pegtl::not_at<ahead<is_own_statement>>, argument_text> {};

// for 3 cycles, 2 times within 5 cycles, for 90 seconds
struct first_count   : number {};
struct second_count  : number {};
struct tight_cycles  : tight<is_tight_cycles> {};
struct counted       : seq<first_count, sor<cycle_word, seq<second_count, cycle_word>,
                           extension<"a count of cycles without a blank before 'cycles'", tight_cycles>,
                           extension<"a duration in place of cycles", any_unit>>> {};
struct tolerance     : sor<counted, extension<"a count of cycles without a blank before 'cycles'", tight_cycles>,
                           extension<"a duration in place of cycles", tight_duration>> {};
// clang-format on

}  // namespace healer::grammar
