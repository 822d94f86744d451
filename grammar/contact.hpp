// SPDX-License-Identifier: MIT
// set contact NAME KIND ["TEXT"] ..., healer's own. Which kinds there are, and what options of its own each has, is no
// matter of the grammar: config/passes/contacts asks delivery/contact.
#pragma once

#include "grammar/workflow.hpp"

namespace healer::grammar {

// clang-format off

// set contact wall url "https://wall.example/api" method post header "X: y" body '{"text": "${EVENT} ${SERVICE}"}' timeout 10 seconds
struct contact_name   : own_name { static constexpr std::string_view kExpected = "a name of the contact"; };
struct contact_kind   : token<Kind::String> { static constexpr std::string_view kExpected = "a kind of contact such as 'url'"; };
struct contact_place  : token<Kind::Quoted, Kind::Url, Kind::Path> { static constexpr std::string_view kExpected = "a URL in quotes"; };
struct contact_verb   : text<"get", "post", "put", "patch", "delete"> { static constexpr std::string_view kExpected = "a method such as 'post' or 'put'"; };
struct contact_method : seq<text<"method">, contact_verb> {};
struct contact_header : seq<text<"header">, own_text> {};
struct contact_body   : seq<text<"body">, own_text> {};
struct contact_timeout: seq<opt<text<"with">>, text<"timeout">, own_duration> {};
struct contact_setting_name : token<Kind::String> { static constexpr std::string_view kExpected = "an option such as 'header' or 'body'"; };
struct contact_setting: seq<contact_setting_name, own_text> {};
struct contact_option : sor<contact_method, contact_header, contact_body, contact_timeout, contact_setting> {};
struct set_contact    : extension<"set contact", text<"contact">, contact_name, contact_kind, opt<contact_place>, star<contact_option>> {};
// clang-format on

}  // namespace healer::grammar
