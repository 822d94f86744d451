// SPDX-License-Identifier: MIT
// check program, check process, check system, check network, checks of paths, and the statements of a service other
// than `if` and `alert`.
#pragma once

#include "grammar/common.hpp"

namespace healer::grammar {

/// Whether `stop signal` is healer's own here: Monit takes `signal` for the name of a stop program, up to a number. Of
/// a foreground process a slip in the word is no program's name either.
[[nodiscard]] inline bool is_stop_signal(const TokenInput& in) {
  static constexpr std::string_view kSignal[] = {"signal"};
  if (in.kind(1) != Kind::String) return false;
  if (in.is_foreground()) return !nearest_word(in.text(1), kSignal).empty();
  return iequals(in.text(1), kSignal[0]) && (in.kind(2) == Kind::Number || in.kind(3) == Kind::Number);
}

/// Whether what comes is no more argument of a foreground process: it begins a line, or the statement `ready`.
[[nodiscard]] inline bool ends_foreground_program(const TokenInput& in) {
  if ((in.flags() & kFirstOfLine) != 0 || is_watchdog_statement(in)) return true;
  return in.kind() == Kind::String && iequals(in.text(), "ready") && in.kind(1) == Kind::String &&
         (iequals(in.text(1), "after") || iequals(in.text(1), "notify"));
}

/// What stands between a token and the one before it, up to the end of the line: blanks, noise words, signs, a comment.
[[nodiscard]] inline std::string_view gap_before(const TokenInput& in) {
  const TokenStream& stream = in.stream();
  const Token& before = stream.tokens[in.index() - 1];
  const std::size_t end = before.offset + before.length;
  const std::string_view gap = stream.text.substr(end, stream.tokens[in.index()].offset - end);
  return gap.substr(0, gap.find('\n'));
}

/// Whether the program just taken, which is not in quotes, goes on: its arguments would be cut by the rules of the
/// language, which drops words and begins statements where the writer means a command.
[[nodiscard]] inline bool goes_on_without_quotes(const TokenInput& in) {
  const TokenStream& stream = in.stream();
  const Token& program = stream.tokens[in.index() - 1];
  if (const char first = stream.text[program.offset]; first == '"' || first == '\'') return false;
  const std::string_view gap = gap_before(in);
  const std::size_t end = program.offset + program.length + gap.size();
  if (in.empty() || end < stream.tokens[in.index()].offset) {  // it is the last of its line
    const std::string_view rest = trim(gap);
    return !rest.empty() && rest.front() != '#';
  }
  switch (in.kind()) {
    case Kind::Uid:
    case Kind::Gid:
    case Kind::Timeout: return false;
    case Kind::Start:
    case Kind::Stop:
    case Kind::Restart: return in.kind(1) != Kind::Equal;
    default: return true;
  }
}

/// Whether a word is dropped right before this argument.
[[nodiscard]] inline bool follows_dropped_word(const TokenInput& in) { return !trim(gap_before(in)).empty(); }

/// Whether the token is in the list of a composite's members.
[[nodiscard]] inline bool is_member(const TokenInput& in) { return (in.flags() & kMember) != 0; }

// clang-format off
struct service_name   : token<Kind::Name> { static constexpr std::string_view kExpected = "a name of the service"; };
struct program_option : sor<uid_owner, gid_owner, timeout> {};

// check program NAME with path "PROGRAM" [as uid U and gid G] [with timeout N seconds]
struct check_program  : seq<token<Kind::CheckProgram>, service_name, token<Kind::PathWord>, program_word, star<argument>, star<program_option>> {};

// check process NAME with pidfile PATH, check process NAME matching "REGEX"
struct pid_file       : path_word {};
struct process_pattern: token<Kind::String, Kind::Quoted, Kind::Address, Kind::Path> { static constexpr std::string_view kExpected = "a regular expression"; };

// check process NAME with program "PROGRAM" [as uid U and gid G]: a foreground process
struct foreground_program  : after_program<Kind::Command, Kind::Path, Kind::Quoted, Kind::String, Kind::Address> { static constexpr std::string_view kExpected = "'program \"...\"'"; };
struct foreground_argument : seq<pegtl::not_at<ahead<ends_foreground_program>>, pegtl::not_at<ahead<follows_dropped_word>>, argument> {};
struct foreground     : extension<"a program in place of a pid file", foreground_program, star<foreground_argument>, star<program_option>> {};
struct check_process  : seq<token<Kind::CheckProcess>, service_name, sor<seq<token<Kind::PidFile, Kind::PathWord>, pid_file>,
                                                                         seq<token<Kind::Match>, process_pattern>,
                                                                         foreground>> {};

// check system NAME
struct check_system   : seq<token<Kind::CheckSystem>, service_name> {};

// check fifo NAME with path PATH, and whatever else is nothing but a path
struct checked_path   : path_word {};
struct filesystem_name: sor<written_path, string_word> {};
struct check_filesystem : seq<token<Kind::CheckFilesystem>, service_name, token<Kind::PathWord>, filesystem_name> {};
struct check_path     : seq<token<Kind::CheckFile, Kind::CheckDirectory, Kind::CheckFifo>, service_name, token<Kind::PathWord>, checked_path> {};

// check host NAME with address HOST
struct checked_host   : string_word { static constexpr std::string_view kExpected = "the name or address of a host"; };
struct check_host     : seq<token<Kind::CheckHost>, service_name, token<Kind::AddressWord>, checked_host> {};

// check network NAME with address IP, check network NAME with interface NAME
struct network_address: string_word { static constexpr std::string_view kExpected = "an address of this machine"; };
struct interface_name : string_word { static constexpr std::string_view kExpected = "the name of an interface"; };
struct check_network  : seq<token<Kind::CheckNetwork>, service_name, sor<seq<token<Kind::AddressWord>, network_address>, seq<token<Kind::Interface>, interface_name>>> {};

// check composite NAME with members A, B, of group G
struct composite_member : token<Kind::Name> { static constexpr std::string_view kExpected = "a name of a member"; };
struct member_group_name : token<Kind::Name> { static constexpr std::string_view kExpected = "a name of the group"; };
struct composite_part : sor<seq<ahead<is_member>, token<Kind::Group>, member_group_name>, composite_member> {};
struct check_composite : extension<"a service made of others", token<Kind::CheckComposite>, text<"composite">, service_name, text<"members">, plus<composite_part>> {};

// check heartbeat NAME every D within D [token "..."] [certificate "..."]
struct beat_interval  : duration {};
struct lateness_number: number { static constexpr std::string_view kExpected = "'within' and a time"; };
struct beat_lateness  : sor<seq<lateness_number, any_unit>, tight_duration> {};
struct beat_token     : string_word {};
struct beat_certificate : string_word {};
struct beat_option    : sor<seq<text<"token">, beat_token>, seq<token<Kind::Certificate>, beat_certificate>> {};
struct check_heartbeat : extension<"a heartbeat", token<Kind::CheckHeartbeat>, text<"heartbeat">, service_name, token<Kind::Every>, beat_interval, beat_lateness,
                                   star<beat_option>> {};

// check event NAME with hook "/hooks/aodh", and in any order: secret "A", "B"; token "T"; certificate "CN"; format aodh;
// key json 'F'; state json 'F'; within 10 minutes, whose word is dropped; valid 1 hour
struct hook_path      : token<Kind::Path, Kind::Quoted> { static constexpr std::string_view kExpected = "a path in quotes such as \"/hooks/aodh\""; };
struct hook_text      : token<Kind::Quoted, Kind::Path, Kind::Address> { static constexpr std::string_view kExpected = "a text in quotes"; };
struct hook_format_name : token<Kind::String, Kind::Quoted> { static constexpr std::string_view kExpected = "a format: json, aodh, zaqar, alertmanager or cloudevents"; };
struct hook_filter    : token<Kind::String, Kind::Quoted, Kind::Path> { static constexpr std::string_view kExpected = "a filter of jq in quotes"; };
struct hook_secrets   : seq<token<Kind::Secret>, plus<hook_text>> {};
struct hook_token     : seq<text<"token">, string_word> {};
struct hook_certificate : seq<token<Kind::Certificate>, string_word> {};
struct hook_format    : seq<text<"format">, hook_format_name> {};
struct hook_key       : seq<text<"key">, text<"json">, hook_filter> {};
struct hook_state     : seq<text<"state">, text<"json">, hook_filter> {};
struct hook_window    : duration {};
struct hook_valid     : seq<token<Kind::Valid>, duration> {};
struct hook_option    : sor<hook_secrets, hook_token, hook_certificate, hook_format, hook_key, hook_state, hook_window, hook_valid> {};
struct check_event    : extension<"a check of events", token<Kind::CheckEvent>, text<"event">, service_name, text<"hook">, hook_path, star<hook_option>> {};

// check row NAME
struct check_row      : extension<"a row of a list", token<Kind::CheckRow>, text<"row">, service_name> {};

// check unit NAME with name "nginx.service"
struct unit_name      : string_word { static constexpr std::string_view kExpected = "the name of a unit, as in \"nginx.service\""; };
struct check_unit     : extension<"a unit of systemd", token<Kind::CheckUnit>, text<"unit">, service_name, text<"name">, unit_name> {};

struct check          : sor<check_host, check_program, check_composite, check_heartbeat, check_event, check_row, check_unit, check_process, check_system, check_filesystem, check_network, check_path> {};

// start program = "PROGRAM" [as uid U and gid G] [with timeout N seconds], and the same of stop and restart
struct assigned_command : token<Kind::Command> { static constexpr std::string_view kExpected = "a program in double quotes"; };
struct assigned_word  : token<Kind::Path, Kind::Quoted, Kind::String, Kind::Address> { static constexpr std::string_view kExpected = "a program in double quotes"; };
struct assigned_other : seq<assigned_word, pegtl::not_at<ahead<goes_on_without_quotes>>> {};
struct assigned       : sor<assigned_command, extension<"a program after '=' that is not in double quotes", assigned_other>> {};
struct service_program: seq<pegtl::not_at<ahead<is_stop_signal>>, token<Kind::Start, Kind::Stop, Kind::Restart>, sor<seq<token<Kind::Equal>, assigned>, program_word>,
                            star<argument>, star<program_option>> {};

// stop signal TERM within 20 seconds, of a foreground process
struct signal_name    : token<Kind::String, Kind::Quoted, Kind::Number, Kind::Stop> { static constexpr std::string_view kExpected = "a signal such as TERM"; };
struct stop_within    : duration {};
struct stop_signal    : extension<"'stop signal'", ahead<is_stop_signal>, token<Kind::Stop>, text<"signal">, signal_name, opt<stop_within>> {};

// ready after 5 seconds, ready on notify within 30 seconds, of a foreground process
struct ready_time     : duration {};
struct ready_notify   : text<"notify"> {};
struct ready          : extension<"'ready'", text<"ready">, sor<seq<text<"after">, ready_time>, seq<ready_notify, opt<ready_time>>>> {};

// watchdog 30 seconds, of a foreground process
struct watchdog_time  : duration {};
struct watchdog       : extension<"'watchdog'", text<"watchdog">, watchdog_time> {};

// delay 20 minutes, of a row
struct delay_time     : duration {};
struct row_delay      : extension<"'delay'", ahead<is_delay_statement>, token<Kind::Delay>, delay_time> {};

// with leftovers ended
struct leftovers      : extension<"'leftovers ended'", text<"leftovers">, text<"ended">> {};

// depends on A, B
struct depended_name  : token<Kind::Name> { static constexpr std::string_view kExpected = "a name of a service"; };
struct depends        : seq<token<Kind::Depends>, plus<depended_name>> {};

// every 2 cycles, every "0 8 * * 1-5", not every "...", every 30 seconds
struct schedule       : token<Kind::Schedule> { static constexpr std::string_view kExpected = "a quoted schedule"; };
struct every_count    : number {};
struct every_other_unit: extension<"an interval in place of cycles", any_unit> {};
struct every          : seq<token<Kind::Every>, sor<schedule, seq<every_count, sor<cycle_word, every_other_unit>>>> {};
struct not_every      : seq<token<Kind::NotEvery>, schedule> {};

struct group_name     : token<Kind::Name> { static constexpr std::string_view kExpected = "a name of the group"; };
struct group          : seq<token<Kind::Group>, group_name> {};
struct mode_value     : token<Kind::Active, Kind::Passive, Kind::Manual> {};
struct mode           : seq<token<Kind::Mode>, mode_value> {};
struct reboot_policy  : token<Kind::Start, Kind::NoStart, Kind::LastState> {};
struct on_reboot      : seq<token<Kind::OnReboot>, reboot_policy> {};

// ignore content = "regular expression", ignore [not] match "regular expression", of a file
struct ignored_pattern: token<Kind::String, Kind::Quoted, Kind::Address, Kind::Path> { static constexpr std::string_view kExpected = "a regular expression"; };
struct ignored_operator : token<Kind::Operator, Kind::Equal> { static constexpr std::string_view kExpected = "an operator such as '='"; };
struct ignore         : seq<token<Kind::Ignore>, sor<seq<token<Kind::Content>, ignored_operator, ignored_pattern>,
                                                     seq<opt<token<Kind::Not>>, token<Kind::Match>, ignored_pattern>>> {};

struct service_statement : sor<every, not_every, group, mode, on_reboot, stop_signal, ready, watchdog, row_delay, leftovers, ignore, service_program, depends> {};
// clang-format on

}  // namespace healer::grammar
