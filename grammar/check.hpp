// SPDX-License-Identifier: MIT
// check program, and the statements of a service other than `if` and `alert`.
#pragma once

#include "grammar/common.hpp"

namespace healer::grammar {

// clang-format off

// check program NAME with path "PROGRAM" [as uid U and gid G] [with timeout N seconds]
struct service_name   : token<Kind::Name> { static constexpr std::string_view kExpected = "a name of the service"; };
struct program_option : sor<uid_owner, gid_owner, timeout> {};
struct check_program  : seq<token<Kind::CheckProgram>, service_name, token<Kind::PathWord>, program_word, star<argument>, star<program_option>> {};

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

struct service_statement : sor<every, not_every, group, mode, on_reboot> {};
// clang-format on

}  // namespace healer::grammar
