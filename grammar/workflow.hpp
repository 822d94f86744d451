// SPDX-License-Identifier: MIT
// workflow NAME { ... }: what is run to heal, healer's own from its first word to its last brace.
#pragma once

#include "grammar/healing.hpp"

namespace healer::grammar {

// clang-format off

// program "PROGRAM" [timeout D] [retry N times [every D]] [repeatable] [environment NAME "value"] [directory "PATH"]
//   [as uid U and gid G] [save ... as X [secret]]
struct own_program_word : text<"program"> {};
struct own_command    : token<Kind::Command, Kind::Path, Kind::Quoted> { static constexpr std::string_view kExpected = "a program in double quotes"; };
struct own_program    : seq<own_program_word, own_command> {};
struct step_timeout   : seq<opt<text<"with">>, text<"timeout">, own_duration> {};
struct retry_count    : number {};
struct retry_pause    : own_duration {};
struct step_retry     : seq<text<"retry">, retry_count, opt<text<"times", "time">>, opt<text<"every">, retry_pause>> {};
struct step_repeatable: text<"repeatable"> {};
struct own_variable   : token<Kind::String> { static constexpr std::string_view kExpected = "the name of a variable"; };
struct environment_value : token<Kind::Quoted, Kind::Path, Kind::String, Kind::Number> { static constexpr std::string_view kExpected = "a text in quotes"; };
struct own_environment: seq<text<"environment">, own_variable, environment_value> {};
struct directory_path : token<Kind::Path, Kind::Quoted> { static constexpr std::string_view kExpected = "an absolute path"; };
struct own_directory  : seq<text<"directory">, directory_path> {};
struct own_uid        : seq<opt<text<"as">>, text<"uid">, owner_name> {};
struct own_gid        : seq<opt<text<"as", "and">>, text<"gid">, owner_name> {};
struct save_secret    : text<"secret"> {};
struct saved_name     : own_variable {};
struct save_json      : seq<text<"json">, own_text> {};
struct save_header    : seq<text<"header">, own_text> {};
struct save_text      : own_text { static constexpr std::string_view kExpected = "'json', 'header' or a regular expression in quotes"; };
struct save           : seq<text<"save">, sor<save_json, save_header, save_text>, text<"as">, saved_name, opt<save_secret>> {};
struct attempt_option : sor<step_timeout, step_retry, step_repeatable> {};
struct own_program_option : sor<attempt_option, own_environment, own_directory, own_uid, own_gid, save> {};
struct program_step   : seq<own_program, star<own_program_option>> {};

// http get "URL" [username U password P] [header "NAME: VALUE"] [body 'TEXT'|body file "PATH"] [expect 200, 201] [json 'F' = V] [save ...] ...
struct http_method    : text<"get", "head", "post", "put", "patch", "delete"> { static constexpr std::string_view kExpected = "a method such as 'get' or 'post'"; };
struct http_url       : token<Kind::Quoted, Kind::Url> { static constexpr std::string_view kExpected = "a URL in quotes"; };
struct login_text     : token<Kind::Quoted, Kind::Path, Kind::String, Kind::Mail, Kind::Number> {};
struct http_user      : login_text { static constexpr std::string_view kExpected = "the name of a user"; };
struct http_password  : login_text { static constexpr std::string_view kExpected = "a password"; };
struct http_login     : seq<text<"username">, http_user, text<"password">, http_password> {};
struct http_header    : seq<text<"header">, own_text> {};
struct body_path      : token<Kind::Path, Kind::Quoted> { static constexpr std::string_view kExpected = "an absolute path"; };
struct body_file      : seq<text<"file">, body_path> {};
struct request_text      : own_text {};
struct http_body      : seq<text<"body">, sor<body_file, request_text>> {};
struct http_follow    : text<"follow"> {};
struct http_insecure  : text<"insecure"> {};
struct answer_unit    : text<"b", "byte", "bytes", "kb", "mb", "gb"> { static constexpr std::string_view kExpected = "a unit such as 'MB'"; };
struct answer_limit   : seq<text<"limit">, sor<seq<number, answer_unit>, tight<is_tight_size>>> {};
struct request_option : sor<http_login, http_header, http_body, http_follow, http_insecure, answer_limit> {};
struct json_operator  : token<Kind::Equal, Kind::Operator> { static constexpr std::string_view kExpected = "an operator such as '='"; };
struct wanted_value     : token<Kind::Quoted, Kind::Path, Kind::String, Kind::Number, Kind::Real> { static constexpr std::string_view kExpected = "a value"; };
struct json_test      : seq<text<"json">, own_text, json_operator, wanted_value> {};
struct http_code      : number {};
struct http_expect    : seq<text<"expect">, plus<http_code>> {};
struct http_json      : json_test {};
struct until_word     : text<"until"> {};
struct until_json     : json_test {};
struct until_fail     : seq<text<"fail">, json_test> {};
struct until_every    : seq<text<"every">, own_duration> {};
struct until_within   : seq<text<"within">, own_duration> {};
struct http_until     : seq<until_word, http_method, http_url, star<sor<until_json, until_fail, until_every, until_within, request_option>>> {};
struct http_option    : sor<attempt_option, request_option, http_expect, http_json, save, http_until> {};
struct http_word      : text<"http"> {};
struct http_step      : seq<http_word, http_method, http_url, star<http_option>> {};

// One of the kinds of steps, which whoever reads them knows: the others have their forms in config/steps/NAME.cpp.
struct step_kind {
  using rule_t = typename pegtl::one<static_cast<char>(Kind::String)>::rule_t;  // each begins with a word
  using subs_t = pegtl::empty_list;

  template <pegtl::apply_mode, pegtl::rewind_mode, template <typename...> class, template <typename...> class>
  static bool match(TokenInput& in, auto& build, auto& scratch) { return scratch.match_step(in, build); }
};

// step "name" ...; after `on failure` and `on cancel` without these two words, too
struct step_word      : text<"step"> {};
struct step_name      : token<Kind::Quoted, Kind::Path> { static constexpr std::string_view kExpected = "a name of the step in quotes"; };
struct step           : seq<step_word, opt<step_name>, step_kind> {};
struct bare_step      : step_kind {};
struct parallel_word  : text<"parallel"> {};
// A `parallel` in another one, which is an error, is read all the same, so many deep.
template <int Deep>
struct deeper_parallel: seq<parallel_word, token<Kind::LeftBrace>, star<sor<step, deeper_parallel<Deep - 1>>>, token<Kind::RightBrace>> {};
template <>
struct deeper_parallel<0> : pegtl::failure {};
struct inner_parallel : deeper_parallel<4> {};
struct parallel       : seq<parallel_word, token<Kind::LeftBrace>, star<sor<step, inner_parallel>>, token<Kind::RightBrace>> {};
struct any_step       : sor<step, parallel, bare_step> {};
struct only_step      : sor<step, parallel, bare_step> {};
struct steps_body     : sor<seq<token<Kind::LeftBrace>, star<any_step>, token<Kind::RightBrace>>, only_step> {};

// guard [once] program "PROGRAM" ...
struct guard_word     : text<"guard"> {};
struct guard_once     : text<"once"> {};
struct guard_option   : sor<step_timeout, own_environment, own_directory, own_uid, own_gid> {};
struct guard          : seq<guard_word, opt<guard_once>, own_program, star<guard_option>> {};

struct on_failure_word: text<"failure"> {};
struct on_cancel_word : text<"cancel"> {};
struct on_failure     : seq<on_failure_word, steps_body> {};
struct on_cancel      : seq<on_cancel_word, steps_body> {};
struct on_end         : seq<text<"on">, sor<on_failure, on_cancel>> {};

struct workflow_limit : healing_limit {};
struct until_share    : token<Kind::Number, Kind::Real> { static constexpr std::string_view kExpected = "a number"; };
struct pause_while    : seq<text<"pause">, text<"while">, share, opt<text<"until">, text<"less">, text<"than">, until_share, own_percent>> {};
struct cooldown       : seq<text<"cooldown">, own_duration> {};
struct tries          : seq<text<"tries">, number> {};
struct ramp_number    : number {};
struct ramp           : seq<text<"ramp">, plus<ramp_number>> {};
struct probation      : seq<text<"probation">, own_duration> {};
struct breaker        : seq<text<"breaker">, number, text<"failed">, text<"within">, own_duration> {};
struct approval_within: seq<text<"within">, own_duration> {};
struct approval_else  : seq<text<"else">, text<"skip", "run">> {};
struct approval_when  : seq<text<"when">, share> {};
struct approval       : seq<text<"approval">, opt<approval_within>, opt<approval_else>, opt<approval_when>> {};
struct workflow_mode  : healing_mode {};
struct workflow_item  : sor<guard, step, parallel, on_end, workflow_limit, pause_while, cooldown, tries, ramp, probation, breaker, approval, workflow_mode> {};
struct workflow_name  : own_name { static constexpr std::string_view kExpected = "a name of the workflow"; };
struct workflow       : extension<"'workflow'", token<Kind::Workflow>, workflow_name, token<Kind::LeftBrace>, star<workflow_item>, token<Kind::RightBrace>> {};
// clang-format on

}  // namespace healer::grammar
