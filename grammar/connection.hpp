// SPDX-License-Identifier: MIT
// Tests of connections: failed port 80 protocol http request "/", failed ping count 5, failed unixsocket /run/x.sock,
// failed url https://example.org/. Which protocol has which option, and which service which test, the validator says.
#pragma once

#include "grammar/access.hpp"
#include "grammar/test.hpp"

namespace healer::grammar {

[[nodiscard]] inline bool is_tls_transport(const TokenInput& in) { return iequals(in.text(), "tcpssl"); }

/// Whether the options of a connection begin before what is connected to, as Monit does not have it.
[[nodiscard]] inline bool begins_with_option(const TokenInput& in) {
  switch (in.kind()) {
    case Kind::AddressWord:
    case Kind::IpVersion:
    case Kind::Type:
    case Kind::Ssl:
    case Kind::Certificate:
    case Kind::Protocol:
    case Kind::ResponseTime:
    case Kind::Timeout:
    case Kind::Retry:
    case Kind::Send:
    case Kind::Expect: return true;
    default: return false;
  }
}

// clang-format off
struct connection_state : test_word<Kind::Failed, Kind::Succeeded> {};

// What a protocol is asked, right after its name.
struct protocol_name  : token<Kind::ProtocolName> { static constexpr std::string_view kExpected = "the name of a protocol"; };
// Further ones are healer's own.
struct own_protocol_name : text<"amqp", "docker", "grpc", "snmp"> { static constexpr std::string_view kExpected = "the name of a protocol"; };
struct own_protocol   : extension<"this protocol", own_protocol_name> {};
struct protocol_text  : token<Kind::String, Kind::Quoted, Kind::Address, Kind::Path, Kind::Mail, Kind::Command> { static constexpr std::string_view kExpected = "a text"; };
struct text_option    : seq<token<Kind::Request, Kind::HostHeader, Kind::PathWord, Kind::Database, Kind::Secret, Kind::Target, Kind::Host, Kind::Origin>, protocol_text> {};
struct number_option  : seq<token<Kind::MaxForward, Kind::Version>, number> {};
struct credential_option : seq<token<Kind::Username, Kind::Password>, credential> {};
struct other_method   : text<"post", "put", "patch", "delete"> {};
struct method_option  : seq<token<Kind::Method>, sor<token<Kind::Get, Kind::Head>, extension<"a method that Monit has not", other_method>>> {};
struct status_option  : seq<token<Kind::Status>, opt<any_operator>, number> {};
struct share_option   : seq<token<Kind::LimitName>, opt<any_operator>, number, token<Kind::Percent>> {};
struct sum_option     : seq<token<Kind::Checksum>, sum_value> {};
struct key_sum_option : seq<token<Kind::RsaKey>, token<Kind::Checksum>, opt<sor<sum_type, since<MonitVersion::V6, "'sha256' before the checksum of a key", own_sum_word>>>, opt<sum_equal>, sum_value> {};
struct headers_option : seq<token<Kind::HttpHeaders>, token<Kind::Headers>> {};
// Healer's own.
struct starttls_option: extension<"STARTTLS", text<"starttls">> {};
struct http2_option   : extension<"HTTP/2", text<"http2">> {};
struct redirects_option : extension<"redirects that are followed", text<"redirects">, number> {};
struct json_filter    : token<Kind::String, Kind::Quoted, Kind::Path> { static constexpr std::string_view kExpected = "a filter of jq in quotes"; };
struct json_value     : token<Kind::Number, Kind::Real, Kind::String, Kind::Quoted, Kind::Path> { static constexpr std::string_view kExpected = "a value"; };
struct json_option    : extension<"a test of JSON", text<"json">, json_filter, comparison, json_value> {};
struct body_text      : token<Kind::Quoted, Kind::Path> { static constexpr std::string_view kExpected = "a text in quotes"; };
struct body_option    : extension<"a body of a request", text<"body">, sor<seq<text<"file">, path_word>, body_text>> {};
struct query_text     : seq<text<"query">, protocol_text> {};
struct record_type    : text<"a", "aaaa", "cname", "mx", "ns", "ptr", "soa", "srv", "txt"> {};
struct query_type     : seq<token<Kind::Type>, record_type> {};
struct query_expect   : seq<token<Kind::Expect>, protocol_text> {};
struct query_option   : extension<"a query", query_text, opt<query_type>, opt<query_expect>> {};
struct offset_option  : extension<"an offset of the time", text<"offset">, opt<any_operator>, number, token<Kind::Millisecond>> {};
struct community_option : extension<"a community of SNMP", text<"community">, protocol_text> {};
struct container_option : extension<"a container of Docker", text<"container">, protocol_text> {};
struct object_value   : seq<comparison, json_value> {};
struct object_option  : extension<"an object of SNMP", text<"oid">, protocol_text, opt<object_value>> {};
struct service_option : extension<"a service of gRPC", text<"service">, protocol_text> {};
struct own_option     : sor<starttls_option, http2_option, redirects_option, json_option, body_option, query_option, offset_option, community_option, container_option, object_option, service_option> {};
struct protocol_option: sor<text_option, number_option, credential_option, method_option, status_option, share_option, sum_option, key_sum_option, headers_option, own_option> {};
struct protocol       : seq<token<Kind::Protocol>, sor<protocol_name, own_protocol>, star<protocol_option>> {};

// What any connection may be asked.
struct response_unit  : sor<token<Kind::Second, Kind::Millisecond>, extension<"a response time in other units than seconds", other_unit>> {};
struct response_time  : seq<token<Kind::ResponseTime>, opt<any_operator>, sor<seq<number, response_unit>,
                            extension<"a duration without a blank before its unit", tight_duration>>> {};
struct connection_time: seq<token<Kind::Timeout>, seconds> {};
struct retry          : seq<token<Kind::Retry>, number> {};
struct sent_text      : string_word {};
struct send           : seq<token<Kind::Send>, sent_text> {};
struct expect         : seq<token<Kind::Expect>, sent_text> {};
struct content_option : seq<token<Kind::Content>, comparison, sent_text> {};
struct talk_option    : sor<protocol, response_time, connection_time, retry, send, expect,
                            extension<"options in another order", protocol_option>> {};

struct source_address : seq<token<Kind::AddressWord>, string_word> {};
struct ip_version     : token<Kind::IpVersion> {};
struct transport_word : token<Kind::Transport> {};
struct tls_transport  : seq<pegtl::at<ahead<is_tls_transport>>, transport_word, star<tls_only_version>, opt<certificate_md5>> {};
struct transport      : seq<token<Kind::Type>, sor<tls_transport, transport_word>> {};
struct tls_use        : seq<tls_word, opt<tls_options>> {};
struct connection_sum : certificate_sum {};
struct valid_sign     : token<Kind::Operator> {};
struct certificate_days : seq<token<Kind::Certificate>, token<Kind::Valid>, opt<valid_sign>, number, token<Kind::Day>> {};

struct port_option_of : sor<source_address, ip_version, transport, tls_use, connection_sum, certificate_days, content_option, talk_option> {};
struct tested_host    : seq<token<Kind::Host>, string_word> {};
struct port_number    : sor<number, extension<"'${NAME}' in place of a port", named_text>> {};
struct tested_port    : seq<opt<tested_host>, token<Kind::Port>, port_number> {};
struct port_test      : sor<seq<tested_port, star<port_option_of>>,
                            extension<"options in another order", ahead<begins_with_option>, plus<port_option_of>, tested_port, star<port_option_of>>> {};

struct unix_socket    : seq<token<Kind::Unix>, path_word> {};
struct unix_transport : seq<token<Kind::Type>, token<Kind::Transport>> {};
struct unix_test      : seq<unix_socket, star<sor<unix_transport, talk_option, extension<"a content in a unix socket's test", content_option>>>> {};

struct ping_kind      : sor<token<Kind::Ping>, seq<token<Kind::Icmp>, token<Kind::Type>, token<Kind::Echo>>> {};
struct ping_number    : seq<token<Kind::Count, Kind::Size>, number> {};
struct ping_test      : seq<ping_kind, star<sor<ping_number, response_time, connection_time, source_address>>> {};

struct url_value      : sor<token<Kind::Url>, extension<"a URL in quotes", token<Kind::Quoted>>> { };
struct tested_url     : seq<token<Kind::UrlWord>, url_value> {};
struct url_test       : seq<tested_url, star<sor<content_option, connection_time, retry, tls_use, connection_sum, certificate_days,
                                                 extension<"a response time of a URL", response_time>>>> {};

struct connection_target : sor<port_test, unix_test, ping_test, url_test> {};
struct connection_test: seq<connection_state, connection_target> {};

// One by itself, as it is typed for a probe; and one whose port is that of its protocol.
struct lone_prefix    : seq<opt<token<Kind::If>>, opt<connection_state>> {};
struct lone_connection: seq<lone_prefix, connection_target> {};
struct lone_options   : seq<lone_prefix, plus<port_option_of>> {};
// clang-format on

}  // namespace healer::grammar
