// SPDX-License-Identifier: MIT
// grammar/connection.hpp to ConnectionSyntax: the actions of parse_if.cpp.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/compile/url.hpp"
#include "config/syntax/parse_access.hpp"
#include "config/syntax/parse_build.hpp"
#include "config/syntax/parse_test.hpp"
#include "grammar/connection.hpp"

namespace healer::config::parsing {

/// What a test of a connection is built in.
struct ConnectionScratch : AccessScratch {
  ConnectionSyntax connection;

  /// TLS comes, perhaps once more: what was said of it before stays.
  void use_tls() {
    TlsSyntax more = std::exchange(tls, {});
    if (!connection.tls) {
      connection.tls = std::move(more);
      return;
    }
    const bool is_version = more.version && more.version->value != "ssl" && more.version->value != "tls";
    if (is_version) connection.tls->version = std::move(more.version);
    for (auto& option : more.options) connection.tls->options.push_back(std::move(option));
  }

  /// An option of the protocol, whose value is the last token of `at`.
  void setting(Build& build, std::string name, TokenRange at) {
    const bool repeats = name == "send" || name == "expect" || name == "headers" || name == "json";
    const auto is_same = [&](const SettingSyntax& one) { return one.name.value == name; };
    if (!repeats && std::erase_if(connection.settings, is_same) > 0)
      build.warn(at, "this is given again: only the last one counts", "");
    // A checksum of a content is none of the certificate.
    sum.reset();
    sum_type.reset();
    SettingSyntax setting{.name = {std::move(name), build.range({at.begin, at.begin + 1})},
                          .value = build.word(at.end - 1)};
    const auto sign = build.kind(at.begin + 1);
    if (sign == grammar::Kind::Operator || sign == grammar::Kind::Equal || sign == grammar::Kind::Changed)
      setting.comparison = comparison_of(build.text(at.begin + 1));
    connection.settings.push_back(std::move(setting));
  }
};

template <>
struct action<grammar::connection_state> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    const auto at = matched(in, build);
    scratch.connection = {};
    scratch.tls = {};
    scratch.sum.reset();
    scratch.sum_type.reset();
    scratch.connection.succeeded = build.kind(at.begin) == grammar::Kind::Succeeded;
    if (scratch.connection.succeeded && !iequals(build.text(at.begin), "succeeded"))
      build.extend("another word for 'succeeded' before a connection", at);
  }
};

// ---- what is connected to

template <>
struct action<grammar::tested_host> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    scratch.connection.place = build.word(matched(in, build).end - 1);
  }
};
template <>
struct action<grammar::tested_port> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    const std::size_t port = matched(in, build).end - 1;
    scratch.connection.port = build.number(port);
    if (build.kind(port) != grammar::Kind::Number) scratch.connection.port_name = build.word(port);
  }
};
template <>
struct action<grammar::unix_socket> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    scratch.connection.target = ConnectionSyntax::Target::UnixSocket;
    const auto at = matched(in, build);
    scratch.connection.place = build.word(at.end - 1);
    if (build.service != nullptr && build.service->connections.pings) build.extend("a unix socket in 'check host'", at);
  }
};
template <>
struct action<grammar::ping_kind> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    scratch.connection.target = ConnectionSyntax::Target::Ping;
    const auto at = matched(in, build);
    scratch.connection.place = lower_word(build, at.begin);
    if (build.kind(at.begin) == grammar::Kind::Icmp) scratch.connection.place.value = "ping";
  }
};
template <>
struct action<grammar::tested_url> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    const auto at = matched(in, build);
    scratch.connection.target = ConnectionSyntax::Target::Url;
    scratch.connection.place = build.word(at.end - 1);
    const UrlParts parts = split_url(scratch.connection.place.value);
    if (parts.user && !parts.password) build.extend("a name without a password in a URL", at);
    if (parts.wrong.empty() && !is_monit_host(parts.host)) build.extend("this name of a host in a URL", at);
  }
};

// ---- options

template <>
struct action<grammar::source_address> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    scratch.connection.source = build.word(matched(in, build).end - 1);
  }
};
template <>
struct action<grammar::ip_version> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    scratch.connection.family = lower_word(build, matched(in, build).begin);
  }
};
template <>
struct action<grammar::transport_word> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    scratch.connection.transport = lower_word(build, matched(in, build).begin);
  }
};
template <>
struct action<grammar::unix_transport> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    scratch.connection.transport = lower_word(build, matched(in, build).end - 1);
  }
};
template <>
struct action<grammar::tls_transport> {
  static void apply(const auto&, Build&, ConnectionScratch& scratch) {
    scratch.use_tls();
    if (scratch.sum) {
      scratch.connection.checksum_type = std::exchange(scratch.sum_type, {});
      scratch.connection.checksum = std::exchange(scratch.sum, {});
    }
  }
};
template <>
struct action<grammar::tls_use> {
  static void apply(const auto&, Build&, ConnectionScratch& scratch) { scratch.use_tls(); }
};
template <>
struct action<grammar::connection_sum> {
  static void apply(const auto&, Build&, ConnectionScratch& scratch) {
    scratch.connection.checksum_type = std::exchange(scratch.sum_type, {});
    scratch.connection.checksum = std::exchange(scratch.sum, {});
  }
};
template <>
struct action<grammar::certificate_days> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    const auto at = matched(in, build);
    scratch.connection.valid_days = build.number(at.end - 2);
  }
};
template <>
struct action<grammar::valid_sign> {
  static void apply(const auto& in, Build& build, ConnectionScratch&) {
    const auto at = matched(in, build);
    if (comparison_of(build.text(at.begin)) != ComparisonWord::Greater)
      build.complain(
          at, fmt::format("the days that a certificate is valid cannot be compared with '{}'", build.text(at.begin)),
          "write certificate valid > 30 days");
  }
};
template <>
struct action<grammar::response_time> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    const auto at = matched(in, build);
    const bool tight = grammar::is_tight_duration(build.text(at.end - 1));
    const std::size_t number = at.end - (tight ? 1 : 2);
    scratch.connection.response_time = build.duration({number, at.end});
    scratch.connection.response_comparison.reset();
    if (number > at.begin + 1) scratch.connection.response_comparison = comparison_of(build.text(at.begin + 1));
  }
};
template <>
struct action<grammar::connection_time> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    const auto at = matched(in, build);
    scratch.connection.timeout = build.duration({at.begin + 1, at.end});
  }
};
template <>
struct action<grammar::retry> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    scratch.connection.retry = build.number(matched(in, build).end - 1);
  }
};
template <>
struct action<grammar::ping_number> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    const auto at = matched(in, build);
    (build.kind(at.begin) == grammar::Kind::Count ? scratch.connection.count : scratch.connection.size) =
        build.number(at.end - 1);
  }
};

// ---- what is said

template <>
struct action<grammar::protocol_name> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    scratch.connection.protocol = lower_word(build, matched(in, build).begin);
    // As in Monit the last protocol counts, and in place of what is sent and expected before it.
    std::erase_if(scratch.connection.settings, [](const SettingSyntax& one) { return one.name.value != "content"; });
  }
};
template <>
struct action<grammar::own_protocol> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    note_extension<grammar::own_protocol>(in, build);
    action<grammar::protocol_name>::apply(in, build, scratch);
  }
};
/// One whose name is its first word.
struct WordSetting {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    const auto at = matched(in, build);
    scratch.setting(build, to_lower(build.text(at.begin)), at);
  }
};
template <>
struct action<grammar::text_option> : WordSetting {};
template <>
struct action<grammar::number_option> : WordSetting {};
template <>
struct action<grammar::credential_option> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    WordSetting::apply(in, build, scratch);
    constexpr std::string_view kWithoutLogin[] = {"imap", "imaps", "pop", "pops", "redis"};
    if (scratch.connection.protocol &&
        std::ranges::find(kWithoutLogin, scratch.connection.protocol->value) != std::end(kWithoutLogin))
      build.extend(fmt::format("a login with protocol {}", scratch.connection.protocol->value), matched(in, build));
  }
};
template <>
struct action<grammar::method_option> : WordSetting {};
template <>
struct action<grammar::status_option> : WordSetting {};
template <>
struct action<grammar::sum_option> : WordSetting {};
template <>
struct action<grammar::send> : WordSetting {};
template <>
struct action<grammar::expect> : WordSetting {};
/// Whether what is compared with is a text, whatever it says.
inline bool is_quoted(grammar::Kind kind) { return kind == grammar::Kind::Quoted || kind == grammar::Kind::Path; }

/// One of healer's own.
template <typename Rule>
struct OwnSetting {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    note_extension<Rule>(in, build);
    WordSetting::apply(in, build, scratch);
  }
};
template <>
struct action<grammar::starttls_option> : OwnSetting<grammar::starttls_option> {};
template <>
struct action<grammar::http2_option> : OwnSetting<grammar::http2_option> {};
template <>
struct action<grammar::redirects_option> : OwnSetting<grammar::redirects_option> {};
template <>
struct action<grammar::query_text> : WordSetting {};
template <>
struct action<grammar::query_type> : WordSetting {};
template <>
struct action<grammar::query_expect> : WordSetting {};
template <>
struct action<grammar::query_option> {
  static void apply(const auto& in, Build& build, ConnectionScratch&) {
    note_extension<grammar::query_option>(in, build);
  }
};
template <>
struct action<grammar::offset_option> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    note_extension<grammar::offset_option>(in, build);
    const auto at = matched(in, build);
    scratch.setting(build, "offset", {at.begin, at.end - 1});
  }
};
template <>
struct action<grammar::community_option> : OwnSetting<grammar::community_option> {};
template <>
struct action<grammar::container_option> : OwnSetting<grammar::container_option> {};
template <>
struct action<grammar::object_option> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    note_extension<grammar::object_option>(in, build);
    const auto at = matched(in, build);
    scratch.setting(build, "oid", at);
    SettingSyntax& setting = scratch.connection.settings.back();
    setting.of = build.word(at.begin + 1);
    setting.comparison.reset();
    if (at.end - at.begin == 2) {
      setting.value = {};
      return;
    }
    setting.comparison = comparison_of(build.text(at.begin + 2));
    setting.is_text = is_quoted(build.kind(at.end - 1));
  }
};
template <>
struct action<grammar::service_option> : OwnSetting<grammar::service_option> {};
template <>
struct action<grammar::json_option> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    OwnSetting<grammar::json_option>::apply(in, build, scratch);
    const auto at = matched(in, build);
    SettingSyntax& setting = scratch.connection.settings.back();
    setting.of = build.word(at.begin + 1);
    setting.comparison = comparison_of(build.text(at.begin + 2));
    setting.is_text = is_quoted(build.kind(at.end - 1));
  }
};
template <>
struct action<grammar::body_option> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    OwnSetting<grammar::body_option>::apply(in, build, scratch);
    const auto at = matched(in, build);
    scratch.connection.settings.back().is_file = at.end - at.begin == 3;
  }
};
template <>
struct action<grammar::share_option> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    const auto at = matched(in, build);
    scratch.setting(build, to_lower(build.text(at.begin)), {at.begin, at.end - 1});
  }
};
template <>
struct action<grammar::key_sum_option> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    const auto at = matched(in, build);
    const Rare<Word> type = scratch.sum_type ? Rare<Word>(*scratch.sum_type) : Rare<Word>();
    scratch.setting(build, "rsakey checksum", at);
    if (type) scratch.connection.settings.back().of = *type;
    scratch.connection.settings.back().comparison.reset();
  }
};
template <>
struct action<grammar::headers_option> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    const auto at = matched(in, build);
    scratch.setting(build, "headers", at);
    std::string& list = scratch.connection.settings.back().value.value;
    list = list.substr(1, list.size() - 2);
    // To Monit a colon begins a value, which is not empty.
    for (std::size_t colon = list.find(':'); colon != std::string::npos; colon = list.find(':', colon + 1))
      if (colon + 1 == list.size() || list[colon + 1] == ':' || list[colon + 1] == ',')
        return build.extend("a header's value with such a colon", at);
  }
};
template <>
struct action<grammar::content_option> {
  static void apply(const auto& in, Build& build, ConnectionScratch& scratch) {
    const auto at = matched(in, build);
    scratch.setting(build, "content", at);
    (void)negates_content(build, at.begin + 1);  // complains of other operators
  }
};

}  // namespace healer::config::parsing
