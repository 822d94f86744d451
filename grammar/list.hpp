// SPDX-License-Identifier: MIT
// define NAME "value", for each NAME in "a", "b1" .. "b9" { ... }, for each NAME from command|file|http "..." { ... }
#pragma once

#include "grammar/workflow.hpp"

namespace healer::grammar {

// clang-format off
struct defined_name  : token<Kind::String> { static constexpr std::string_view kExpected = "a name such as NODE"; };
struct defined_value : token<Kind::String, Kind::Quoted, Kind::Path, Kind::Number, Kind::Real, Kind::Address, Kind::Url, Kind::Mail> { static constexpr std::string_view kExpected = "a text in double quotes"; };
struct define        : extension<"'define'", text<"define">, defined_name, defined_value> {};

// "webbox1", "db1" .. "db9"
struct range_sign    : text<".."> {};
struct row_name      : token<Kind::String, Kind::Quoted, Kind::Number, Kind::Address> { static constexpr std::string_view kExpected = "a name of a row"; };
struct no_row_name   : text<"..", "from"> {};
struct list_value    : seq<pegtl::not_at<no_row_name>, row_name> {};
struct range_end     : seq<pegtl::not_at<no_row_name>, row_name> {};
struct list_item     : seq<list_value, opt<range_sign, range_end>> {};

struct list_program  : token<Kind::Path, Kind::Quoted, Kind::String> { static constexpr std::string_view kExpected = "a program in quotes"; };
struct list_file     : path_word {};
struct list_interval : duration {};

// http "URL" [header "NAME: VALUE"] ... rows 'F' name 'F' [next json 'F'|next link] [every D] [timeout D]
//   [with token http post "URL" ... save header "NAME" as TOKEN]
struct list_http_word : text<"http"> {};
struct list_rows      : seq<text<"rows">, own_text> {};
struct list_row_name  : seq<text<"name">, own_text> {};
struct next_json      : seq<text<"json">, own_text> {};
struct next_link      : text<"link"> {};
struct list_next      : seq<text<"next">, sor<next_json, next_link>> {};
struct http_interval  : seq<text<"every">, own_duration> {};
struct list_timeout   : seq<opt<text<"with">>, text<"timeout">, own_duration> {};
struct token_word     : text<"token"> {};
struct list_token     : seq<opt<text<"with">>, token_word, http_word, http_method, http_url, star<sor<request_option, http_expect>>, save> {};
struct list_http      : seq<list_http_word, opt<http_method>, http_url, star<sor<request_option, list_rows, list_row_name, list_next, http_interval, list_timeout, list_token>>> {};
struct list_http_source : extension<"a list over HTTP", list_http> {};
struct list_source   : seq<text<"from">, sor<list_http_source, seq<sor<seq<text<"command">, list_program>, seq<text<"file">, list_file>>, opt<token<Kind::Every>, list_interval>>>> {};
struct block_begin   : token<Kind::LeftBrace> {};
struct for_each      : extension<"'for each'", text<"each">, defined_name, sor<list_source, plus<list_item>>, block_begin> {};
// clang-format on

}  // namespace healer::grammar
