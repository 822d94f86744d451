// SPDX-License-Identifier: MIT
// set ..., but for `set alert` and `set mail-format`, and include.
#pragma once

#include "grammar/access.hpp"
#include "grammar/alert.hpp"
#include "grammar/check.hpp"
#include "grammar/contact.hpp"
#include "grammar/healing.hpp"

namespace healer::grammar {

/// Whether a comma stands before what comes.
[[nodiscard]] inline bool follows_comma(const TokenInput& in) {
  const TokenStream& stream = in.stream();
  const Token& before = stream.tokens[in.index() - 1];
  const std::size_t end = before.offset + before.length;
  return stream.text.substr(end, stream.tokens[in.index()].offset - end).find(',') != std::string_view::npos;
}

/// Whether `user:password` comes.
[[nodiscard]] inline bool is_login(const TokenInput& in) { return in.kind(1) == Kind::Colon; }

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
struct old_time_name  : token<Kind::TimeLimit> { static constexpr std::string_view kExpected = "the name of a limit"; };
struct new_time_name  : text<"exectimeout"> { static constexpr std::string_view kExpected = "the name of a limit"; };
struct time_name      : sor<old_time_name, since<MonitVersion::V5_34, "the limit 'execTimeout'", new_time_name>> {};
struct limit_second   : token<Kind::Second, Kind::Millisecond> { static constexpr std::string_view kExpected = "a unit such as 'seconds'"; };
struct limit_unit     : sor<limit_second, extension<"a limit in other units than seconds", any_unit>> {};
struct time_value     : sor<seq<number, limit_unit>, extension<"a duration without a blank before its unit", tight_duration>> {};
struct time_limit     : seq<time_name, token<Kind::Colon>, time_value> {};
struct limit_item     : sor<size_limit, time_limit> {};
struct set_limits     : seq<token<Kind::Limits>, token<Kind::LeftBrace>, star<limit_item>, token<Kind::RightBrace>> {};

struct certificate    : sor<certificate_sum, certificate_md5> {};

// set ssl options { verify: enable }
struct set_ssl        : seq<tls_word, tls_options> {};

// set httpd port 2812 read-only, unixsocket /run/x permission 0600, allow admin:monit, allow 192.0.2.0/24, allow @group
struct httpd_word     : token<Kind::Httpd> {};
struct read_only      : token<Kind::ReadOnly> {};
struct httpd_port     : seq<token<Kind::Port>, number, opt<read_only>> {};
struct more_address   : extension<"another address", ahead<follows_comma>, string_word> {};
struct httpd_address  : seq<token<Kind::AddressWord>, string_word, star<more_address>> {};
struct socket_uid     : seq<token<Kind::Uid>, owner_name> {};
struct socket_gid     : seq<token<Kind::Gid>, owner_name> {};
struct socket_permission : seq<token<Kind::Permission>, number> {};
struct socket_option  : sor<socket_uid, socket_gid, socket_permission> {};
struct httpd_socket_path : path_word {};
struct httpd_socket   : seq<token<Kind::Unix>, httpd_socket_path, star<sor<socket_option, read_only>>> {};
struct httpd_signature: sor<seq<token<Kind::Signature>, token<Kind::Enable, Kind::Disable>>, seq<token<Kind::Enable, Kind::Disable>, token<Kind::Signature>>> {};
struct httpd_tls      : seq<tls_word, opt<sor<tls_options, token<Kind::Enable, Kind::Disable>>>> {};
struct httpd_pem      : seq<token<Kind::PemPath>, path_word> {};
struct httpd_self_signed : text<"allowselfcertification"> {};
struct allowed_user   : credential {};
struct allowed_password : credential {};
struct operator_role  : extension<"the role 'operator'", text<"operator">> {};
struct role           : sor<read_only, operator_role> {};
struct allowed_login  : seq<ahead<is_login>, allowed_user, token<Kind::Colon>, allowed_password, opt<role>> {};
struct allowed_group  : seq<token<Kind::At>, string_word, opt<role>> {};
struct token_secret   : token<Kind::Quoted> {};
struct allowed_token  : extension<"'allow token'", text<"token">, token_secret, opt<role>> {};
struct password_file  : path_word {};
struct trust_proxy    : seq<text<"trust">, text<"proxy">> {};
struct file_user      : seq<pegtl::not_at<trust_proxy>, string_word> {};
struct allowed_file   : seq<opt<token<Kind::Cleartext, Kind::Crypt, Kind::ChecksumType>>, password_file, star<file_user>> {};
struct allowed_host   : string_word { static constexpr std::string_view kExpected = "a host, a network or 'user:password'"; };
struct httpd_allow    : seq<token<Kind::Allow>, sor<allowed_login, allowed_group, allowed_token, allowed_file, allowed_host>> {};
struct proxy_address  : string_word { static constexpr std::string_view kExpected = "the address of a proxy"; };
struct more_proxies   : seq<ahead<follows_comma>, proxy_address> {};
struct httpd_proxy    : extension<"'trust proxy'", trust_proxy, proxy_address, star<more_proxies>> {};
struct set_httpd      : seq<httpd_word, star<sor<httpd_port, httpd_address, httpd_socket, httpd_signature, httpd_tls, httpd_pem, httpd_self_signed, httpd_allow, httpd_proxy>>> {};

// set mmonit https://monit:monit@mmonit.example.org/collector with timeout 30 seconds and register without credentials
struct mmonit_url     : token<Kind::Url> { static constexpr std::string_view kExpected = "a URL"; };
struct mmonit_timeout : seq<token<Kind::Timeout>, seconds> {};
struct mmonit_tls     : tls {};
struct mmonit_sum     : certificate {};
struct mmonit_register: seq<token<Kind::Register>, token<Kind::Credentials>> {};
struct group_names    : token<Kind::HostGroups> { static constexpr std::string_view kExpected = "names in brackets, as in [ Oslo, Bergen ]"; };
struct groups_sign    : token<Kind::Equal, Kind::Operator> { static constexpr std::string_view kExpected = group_names::kExpected; };
struct mmonit_groups  : seq<since<MonitVersion::V5_34, "'hostgroups'", text<"hostgroups">>, opt<groups_sign>, group_names> {};
struct set_mmonit     : seq<token<Kind::Mmonit>, mmonit_url, star<sor<mmonit_url, mmonit_timeout, mmonit_tls, mmonit_sum, mmonit_groups>>, opt<mmonit_register>> {};

// set monit 6: which version's meaning counts where they differ
struct monit_number   : token<Kind::Number, Kind::Real, Kind::String, Kind::Quoted> { static constexpr std::string_view kExpected = "a version of Monit: 5.33, 6 or 6.1"; };
struct set_monit      : extension<"set monit", text<"monit">, monit_number> {};

// set expectbuffer 5 kB: the older form of a limit
struct set_expectbuffer : seq<token<Kind::ExpectBuffer>, size_value> {};
struct set_fips       : token<Kind::Fips> {};

// set mailserver HOST [port N] [username S password S] [using tls] [certificate checksum MD5 S], HOST2 ... [timeout] [hostname]
struct username       : credential {};
struct password       : credential {};
struct server_host    : string_word { static constexpr std::string_view kExpected = "a host name"; };
struct server_port    : number {};
struct port_option    : seq<token<Kind::Port>, server_port> {};
struct username_option: seq<token<Kind::Username>, username> {};
struct password_option: seq<token<Kind::Password>, password> {};
struct tls_server     : tls {};
struct timeout_option : timeout {};
struct hostname_value : string_word {};
struct hostname_option: seq<token<Kind::HostName>, hostname_value> {};
struct server_option  : sor<port_option, username_option, password_option, tls_server, certificate, timeout_option, hostname_option> {};
struct server         : seq<pegtl::not_at<ahead<is_own_item>>, server_host, star<server_option>> {};
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

// set secrets "/etc/healer/secrets"
struct secrets_path   : path_word {};
struct set_secrets    : extension<"set secrets", text<"secrets">, secrets_path> {};

// set url "https://healer.example/ops"
struct own_url        : token<Kind::Quoted, Kind::Url> { static constexpr std::string_view kExpected = "a URL in quotes"; };
struct set_url        : extension<"set url", token<Kind::UrlWord>, own_url> {};

// set operators john, mary
struct operator_name  : own_name { static constexpr std::string_view kExpected = "the name of a user"; };
struct more_operators : seq<ahead<follows_comma>, operator_name> {};
struct set_operators  : extension<"set operators", text<"operators">, operator_name, star<more_operators>> {};

// set healing limit 2 at once, set healing mode dry run, set healing only while gateway, clock
struct healing_service: own_name { static constexpr std::string_view kExpected = "the name of a service"; };
struct more_services  : seq<ahead<follows_comma>, healing_service> {};
struct global_limit   : healing_limit {};
struct global_mode    : healing_mode {};
struct only_while     : seq<text<"only">, text<"while">, healing_service, star<more_services>> {};
struct set_healing    : extension<"set healing", text<"healing">, sor<global_limit, global_mode, only_while>> {};

// set maintenance "0 2 * * sun" for 2 hours group webboxes
struct maintenance_cron : token<Kind::Quoted> { static constexpr std::string_view kExpected = "a quoted schedule"; };
struct maintenance_length : own_duration {};
struct maintenance_group : own_group {};
struct set_maintenance: extension<"set maintenance", text<"maintenance">, maintenance_cron, text<"for">, maintenance_length, opt<text<"group">, maintenance_group>> {};

struct set_statement  : seq<token<Kind::Set>, sor<set_daemon, set_log, set_path, set_limits, set_mailserver, set_mail_format, set_alert, set_onreboot,
                                                  set_init, set_terminal, set_shadow, set_dry_run, set_dormant, set_counting, set_settle, set_leftovers, set_socket,
                                                  set_environment, set_eventqueue, set_mail_limit, set_ssl, set_httpd, set_mmonit, set_monit, set_expectbuffer, set_fips, set_secrets, set_url, set_operators, set_healing, set_maintenance, set_contact>> {};

struct include        : seq<token<Kind::Include>, token<Kind::Pattern>> {};
// clang-format on

}  // namespace healer::grammar
