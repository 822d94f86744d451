// SPDX-License-Identifier: MIT
// set ..., but for `set alert` and `set mail-format`, and include.
#pragma once

#include "grammar/alert.hpp"
#include "grammar/check.hpp"

namespace healer::grammar {

// clang-format off

// set daemon 5 with start delay 60
struct daemon_cycle   : seq<number, opt<extension<"a unit of the poll time", any_unit>>> {};
struct tight_cycle_time : extension<"a unit of the poll time", tight_duration> {};
struct start_delay    : sor<seq<number, opt<extension<"a unit of the start delay", any_unit>>>, extension<"a unit of the start delay", tight_duration>> {};
struct set_daemon     : seq<token<Kind::Daemon>, sor<daemon_cycle, tight_cycle_time>, opt<seq<token<Kind::Start>, token<Kind::Delay>, start_delay>>> {};

// set log /var/log/healer.log, set log syslog facility log_daemon
struct syslog_word    : token<Kind::Syslog> {};
struct facility       : token<Kind::String, Kind::Quoted> { static constexpr std::string_view kExpected = "a facility such as log_daemon"; };
struct log_path       : path_word {};
struct set_log        : seq<token<Kind::Log>, sor<log_path, seq<syslog_word, opt<seq<token<Kind::Facility>, facility>>>>> {};

// set pidfile, idfile, statefile PATH
struct file_word      : token<Kind::PidFile, Kind::IdFile, Kind::StateFile> {};
struct file_path      : path_word {};
struct set_path       : seq<file_word, file_path> {};

// set eventqueue basedir PATH slots 100
struct queue_directory: path_word {};
struct queue_slots    : number {};
struct queue_size     : seq<token<Kind::Slots>, queue_slots> {};
struct set_eventqueue : seq<token<Kind::EventQueue>, sor<seq<token<Kind::BaseDir>, queue_directory, opt<queue_size>>, queue_size>> {};

// set limits { programOutput: 1 kB, networkTimeout: 5 s }
struct size_unit      : token<Kind::SizeUnit> {};
struct size_name      : token<Kind::SizeLimit> { static constexpr std::string_view kExpected = "the name of a limit"; };
struct tight_size     : tight<is_tight_size> {};
struct size_value     : sor<seq<number, opt<size_unit>>, extension<"a size without a blank before its unit", tight_size>> {};
struct size_limit     : seq<size_name, token<Kind::Colon>, size_value> {};
struct time_name      : token<Kind::TimeLimit> { static constexpr std::string_view kExpected = "the name of a limit"; };
struct limit_second   : token<Kind::Second, Kind::Millisecond> { static constexpr std::string_view kExpected = "a unit such as 'seconds'"; };
struct limit_unit     : sor<limit_second, extension<"a limit in other units than seconds", any_unit>> {};
struct time_value     : sor<seq<number, limit_unit>, extension<"a duration without a blank before its unit", tight_duration>> {};
struct time_limit     : seq<time_name, token<Kind::Colon>, time_value> {};
struct limit_item     : sor<size_limit, time_limit> {};
struct set_limits     : seq<token<Kind::Limits>, token<Kind::LeftBrace>, star<limit_item>, token<Kind::RightBrace>> {};

// using tls with options { verify: enable, version: tlsv12 }
struct tls_version    : token<Kind::SslVersion, Kind::Auto> {};
struct tls_flag_name  : token<Kind::Verify> {};
struct tls_flag       : token<Kind::Enable, Kind::Disable> {};
struct tls_self_name  : token<Kind::SelfSigned> {};
struct tls_self       : token<Kind::Allow, Kind::Reject> {};
struct tls_text_name  : token<Kind::Ciphers> {};
struct tls_text       : string_word {};
struct tls_path_name  : token<Kind::PemPath, Kind::CaPath> {};
struct tls_path       : path_word {};
struct tls_version_name : token<Kind::Version> {};
struct tls_option     : sor<seq<tls_flag_name, token<Kind::Colon>, tls_flag>,
                            seq<tls_self_name, token<Kind::Colon>, tls_self>,
                            seq<tls_text_name, token<Kind::Colon>, tls_text>,
                            seq<tls_path_name, token<Kind::Colon>, tls_path>,
                            seq<tls_version_name, token<Kind::Colon>, star<tls_version>>> {};
struct tls_options    : seq<token<Kind::LeftBrace>, star<tls_option>, token<Kind::RightBrace>> {};
struct tls_word       : token<Kind::Ssl> {};
struct tls_only_version : token<Kind::SslVersion, Kind::Auto> {};
struct tls            : sor<seq<tls_word, opt<tls_options>>,
                            seq<tls_only_version, opt<extension<"options after a version", tls_options>>>> {};

// Any word or text at all.
struct any_word       : pegtl::not_one<static_cast<char>(Kind::Broken), static_cast<char>(Kind::Colon), static_cast<char>(Kind::LeftBrace),
                                       static_cast<char>(Kind::RightBrace), static_cast<char>(Kind::Percent), static_cast<char>(Kind::Equal),
                                       static_cast<char>(Kind::Operator)> { static constexpr std::string_view kExpected = "a text"; };

// set mailserver HOST [port N] [username S password S] [using tls] [certificate checksum MD5 S], HOST2 ... [timeout] [hostname]
struct credential_text: token<Kind::String, Kind::Quoted, Kind::Mail, Kind::Address> { static constexpr std::string_view kExpected = "a text"; };
struct credential_word: pegtl::seq<pegtl::not_at<pegtl::one<static_cast<char>(Kind::Username), static_cast<char>(Kind::Password), static_cast<char>(Kind::Port),
                                                            static_cast<char>(Kind::Timeout), static_cast<char>(Kind::Set), static_cast<char>(Kind::Include)>>, any_word> {};
struct credential     : sor<credential_text, extension<"a word of the language as a credential", credential_word>> {};
struct username       : credential {};
struct password       : credential {};
struct server_host    : string_word { static constexpr std::string_view kExpected = "a host name"; };
struct server_port    : number {};
struct port_option    : seq<token<Kind::Port>, server_port> {};
struct username_option: seq<token<Kind::Username>, username> {};
struct password_option: seq<token<Kind::Password>, password> {};
struct checksum_type  : token<Kind::ChecksumType> {};
struct checksum_value : token<Kind::String, Kind::Quoted> { static constexpr std::string_view kExpected = "a checksum"; };
struct certmd5_word   : token<Kind::CertMd5> {};
struct certificate    : sor<seq<token<Kind::Certificate>, token<Kind::Checksum>, opt<token<Kind::Equal>>, opt<checksum_type>, checksum_value>,
                            seq<certmd5_word, checksum_value>> {};
struct tls_server     : tls {};
struct timeout_option : timeout {};
struct hostname_value : string_word {};
struct hostname_option: seq<token<Kind::HostName>, hostname_value> {};
struct server_option  : sor<port_option, username_option, password_option, tls_server, certificate, timeout_option, hostname_option> {};
struct server         : seq<server_host, star<server_option>> {};
struct set_mailserver : seq<token<Kind::MailServer>, plus<server>> {};

struct set_mail_format: seq<token<Kind::MailFormat>, format_block> {};
struct set_alert      : alert {};
struct set_onreboot   : on_reboot {};

// Statements of a word or two.
struct set_init       : token<Kind::Init> {};
struct set_terminal   : seq<token<Kind::Terminal>, token<Kind::Batch>> {};
struct set_shadow     : extension<"set shadow", text<"shadow">> {};
struct set_dry_run    : extension<"set dry run", text<"dry">, text<"run">> {};
struct set_dormant    : extension<"set accept dormant", text<"accept">, text<"dormant">> {};
struct count_polls    : text<"polls"> {};
struct count_runs     : text<"runs"> {};
struct set_counting   : extension<"set cycles count", token<Kind::Cycle>, token<Kind::Count>, sor<count_polls, count_runs>> {};
struct set_settle     : extension<"set settle", text<"settle">, duration> {};
struct set_leftovers  : extension<"set leftovers", text<"leftovers">, text<"end">> {};
struct mail_count     : number {};
struct mail_period    : token<Kind::Number> { static constexpr std::string_view kExpected = "a time such as 'within 1 hour'"; };
struct mail_window    : sor<seq<mail_period, any_unit>, tight_duration> {};
struct set_mail_limit : extension<"set mail limit", text<"mail">, text<"limit">, mail_count, opt<text<"mails", "mail">>, mail_window> {};
struct socket_path    : path_word {};
struct set_socket     : extension<"set control socket", text<"control">, text<"socket">, socket_path> {};
// The names of variables may be words of the language (PATH).
struct variable_name  : any_word { static constexpr std::string_view kExpected = "the name of a variable"; };
struct variable_value : any_word {};
struct set_environment: extension<"set environment", text<"environment">, variable_name, variable_value> {};

struct set_statement  : seq<token<Kind::Set>, sor<set_daemon, set_log, set_path, set_limits, set_mailserver, set_mail_format, set_alert, set_onreboot,
                                                  set_init, set_terminal, set_shadow, set_dry_run, set_dormant, set_counting, set_settle, set_leftovers, set_socket,
                                                  set_environment, set_eventqueue, set_mail_limit>> {};

struct include        : seq<token<Kind::Include>, token<Kind::Pattern>> {};
// clang-format on

}  // namespace healer::grammar
