// SPDX-License-Identifier: MIT
// What rules, workflows and `set` say of healing alike, all of it healer's own: heal [NAME] with NAME, limits, modes,
// shares of a group, times. In these statements the lexer takes no word for noise and none for one of Monit's.
#pragma once

#include "grammar/common.hpp"

namespace healer::grammar {

// clang-format off
struct own_name       : token<Kind::String, Kind::Quoted, Kind::Number, Kind::Real, Kind::Mail, Kind::Address> { static constexpr std::string_view kExpected = "a name"; };
struct own_text       : token<Kind::Quoted, Kind::Path> { static constexpr std::string_view kExpected = "a text in quotes"; };
struct own_unit       : text<"ms", "millisecond", "milliseconds", "s", "second", "seconds", "m", "minute", "minutes", "h", "hour", "hours",
                             "day", "days", "week", "weeks"> { static constexpr std::string_view kExpected = "a unit such as 'seconds'"; };
struct own_duration   : sor<seq<number, own_unit>, tight_duration> {};
struct own_percent    : sor<token<Kind::Percent>, text<"percent">> {};

// heal with W, heal NAME with W, heal with W dry run
struct heal_target    : own_name {};
struct heal_workflow  : own_name { static constexpr std::string_view kExpected = "the name of a workflow"; };
struct heal_dry_run   : seq<text<"dry">, text<"run">> {};
// of a check event: heal "${EVENT.x}" with W any target
struct heal_any_target: seq<text<"any">, sor<token<Kind::Target>, text<"target">>> {};
struct heal_with      : seq<text<"with">, heal_workflow> {};
struct heal_named     : seq<heal_target, heal_with> {};
struct heal           : extension<"'heal'", text<"heal">, sor<heal_named, heal_with>, star<sor<heal_dry_run, heal_any_target>>> {};

// of group webboxes
struct own_group      : own_name { static constexpr std::string_view kExpected = "the name of a group"; };

// limit 2 at once, limit 4 within 1 hour, limit 20% of group webboxes at once, limit 1 at once group masters
struct limit_number   : number {};
struct limit_percent  : own_percent {};
struct limit_group    : own_group {};
struct limit_whole    : seq<text<"of">, text<"group">, limit_group> {};
struct limit_within   : own_duration {};
struct limit_once     : text<"once"> {};
struct healing_limit  : seq<text<"limit">, limit_number, opt<limit_percent>, opt<limit_whole>,
                            sor<seq<text<"at">, limit_once>, seq<text<"within">, limit_within>>, opt<seq<opt<text<"of">>, text<"group">, limit_group>>> {};

// mode shadow, mode dry run, mode approval, mode automatic
struct mode_word      : text<"shadow", "approval", "automatic"> {};
struct healing_mode   : seq<text<"mode">, sor<mode_word, seq<text<"dry">, text<"run">>>> {};

// more than 40% of group webboxes failed
struct share_number   : token<Kind::Number, Kind::Real> { static constexpr std::string_view kExpected = "a number"; };
struct share_group    : own_group {};
struct share          : seq<text<"more">, text<"than">, share_number, own_percent, text<"of">, text<"group">, share_group, text<"failed">> {};
// clang-format on

}  // namespace healer::grammar
