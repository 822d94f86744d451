// SPDX-License-Identifier: MIT
// check program, check process, check system, and the statements of a service other than `if` and `alert`.
#pragma once

#include "grammar/common.hpp"

namespace healer::grammar {

// clang-format off
struct service_name   : token<Kind::Name> { static constexpr std::string_view kExpected = "a name of the service"; };
struct program_option : sor<uid_owner, gid_owner, timeout> {};

// check program NAME with path "PROGRAM" [as uid U and gid G] [with timeout N seconds]
struct check_program  : seq<token<Kind::CheckProgram>, service_name, token<Kind::PathWord>, program_word, star<argument>, star<program_option>> {};

// check process NAME with pidfile PATH, check process NAME matching "REGEX"
struct pid_file       : path_word {};
struct process_pattern: token<Kind::String, Kind::Quoted, Kind::Address, Kind::Path> { static constexpr std::string_view kExpected = "a regular expression"; };
struct check_process  : seq<token<Kind::CheckProcess>, service_name, sor<seq<token<Kind::PidFile, Kind::PathWord>, pid_file>,
                                                                         seq<token<Kind::Match>, process_pattern>>> {};

// check system NAME
struct check_system   : seq<token<Kind::CheckSystem>, service_name> {};

struct check          : sor<check_program, check_process, check_system> {};

// start program = "PROGRAM" [as uid U and gid G] [with timeout N seconds], and the same of stop and restart
struct assigned_command : token<Kind::Command> { static constexpr std::string_view kExpected = "a program in double quotes"; };
struct assigned_other : token<Kind::Path, Kind::Quoted, Kind::String, Kind::Address> { static constexpr std::string_view kExpected = "a program in double quotes"; };
struct assigned       : sor<assigned_command, extension<"a program after '=' that is not in double quotes", assigned_other>> {};
struct service_program: seq<token<Kind::Start, Kind::Stop, Kind::Restart>, sor<seq<token<Kind::Equal>, assigned>, program_word>,
                            star<argument>, star<program_option>> {};

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

struct service_statement : sor<every, not_every, group, mode, on_reboot, service_program, depends> {};
// clang-format on

}  // namespace healer::grammar
