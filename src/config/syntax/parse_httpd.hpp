// SPDX-License-Identifier: MIT
// set ssl, set httpd and set mmonit of grammar/set.hpp to their trees: actions of parse_set.cpp.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "config/compile/url.hpp"
#include "config/syntax/parse_access.hpp"
#include "config/syntax/parse_build.hpp"
#include "grammar/host_groups.hpp"
#include "grammar/set.hpp"

namespace healer::config::parsing {

struct HttpdScratch : AccessScratch {
  SetStatement statement;
  SetHttpd httpd;
  SetHttpd::Allow allow;
  std::vector<Word> more_addresses;
  bool is_read_only = false;
  bool is_operator = false;
  SetMmonit mmonit;
};

template <>
struct action<grammar::set_ssl> {
  static void apply(const auto&, Build&, HttpdScratch& scratch) {
    scratch.statement = SetSsl{std::exchange(scratch.tls, {})};
  }
};

template <>
struct action<grammar::httpd_word> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.httpd = {.range = build.range(matched(in, build))};
  }
};

template <>
struct action<grammar::read_only> {
  static void apply(const auto&, Build&, HttpdScratch& scratch) { scratch.is_read_only = true; }
};

template <>
struct action<grammar::httpd_port> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.httpd.port = build.number(matched(in, build).begin + 1);
    scratch.httpd.port_read_only = std::exchange(scratch.is_read_only, false);
  }
};

template <>
struct action<grammar::httpd_address> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    // As in Monit, a later one replaces those before it.
    scratch.httpd.addresses.assign(1, build.word(matched(in, build).begin + 1));
    std::ranges::move(std::exchange(scratch.more_addresses, {}), std::back_inserter(scratch.httpd.addresses));
  }
};

template <>
struct action<grammar::more_address> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    note_extension<grammar::more_address>(in, build);
    scratch.more_addresses.push_back(build.word(matched(in, build).begin));
  }
};

template <>
struct action<grammar::operator_role> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    note_extension<grammar::operator_role>(in, build);
    scratch.is_operator = true;
  }
};

template <>
struct action<grammar::token_secret> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.allow = {.kind = SetHttpd::Allow::Kind::Token, .password = build.word(matched(in, build).begin)};
  }
};

template <>
struct action<grammar::allowed_token> {
  static void apply(const auto& in, Build& build, HttpdScratch&) { note_extension<grammar::allowed_token>(in, build); }
};

template <>
struct action<grammar::proxy_address> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.httpd.proxies.push_back(build.word(matched(in, build).begin));
  }
};

template <>
struct action<grammar::httpd_proxy> {
  static void apply(const auto& in, Build& build, HttpdScratch&) { note_extension<grammar::httpd_proxy>(in, build); }
};

template <>
struct action<grammar::httpd_socket_path> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.httpd.unix_socket = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::socket_uid> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.httpd.uid = build.word(matched(in, build).begin + 1);
  }
};

template <>
struct action<grammar::socket_gid> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.httpd.gid = build.word(matched(in, build).begin + 1);
  }
};

template <>
struct action<grammar::socket_permission> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.httpd.permission = build.word(matched(in, build).begin + 1);
  }
};

template <>
struct action<grammar::httpd_socket> {
  static void apply(const auto&, Build&, HttpdScratch& scratch) {
    scratch.httpd.socket_read_only = std::exchange(scratch.is_read_only, false);
  }
};

template <>
struct action<grammar::httpd_signature> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    const auto at = matched(in, build).begin;
    scratch.httpd.signature = lower_word(build, build.kind(at) == grammar::Kind::Signature ? at + 1 : at);
  }
};

template <>
struct action<grammar::httpd_tls> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    // As in Monit, what is on stays on.
    scratch.httpd.tls =
        scratch.httpd.tls.value_or(false) || build.kind(matched(in, build).end - 1) != grammar::Kind::Disable;
    for (auto& option : scratch.tls.options) scratch.httpd.tls_options.push_back(std::move(option));
    scratch.tls = {};
  }
};

template <>
struct action<grammar::httpd_pem> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    const auto at = matched(in, build).begin;
    build.deprecate("'pemfile'", "'ssl { pemfile: ... }'", {at, at + 1});
    scratch.httpd.tls_options.emplace_back(lower_word(build, at), build.word(at + 1));
    if (!scratch.httpd.tls) scratch.httpd.tls = true;
  }
};

template <>
struct action<grammar::httpd_self_signed> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    const SourceRange range = build.range(matched(in, build));
    build.deprecate("'allowselfcertification'", "'ssl { selfsigned: allow }'", matched(in, build));
    scratch.httpd.tls_options.emplace_back(Word{"selfsigned", range}, Word{"allow", range});
    if (!scratch.httpd.tls) scratch.httpd.tls = true;
  }
};

template <>
struct action<grammar::allowed_user> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.allow = {.kind = SetHttpd::Allow::Kind::Login, .who = build.word(matched(in, build).begin)};
  }
};

template <>
struct action<grammar::allowed_password> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.allow.password = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::allowed_group> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.allow = {.kind = SetHttpd::Allow::Kind::Group, .who = build.word(matched(in, build).begin + 1)};
  }
};

template <>
struct action<grammar::password_file> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    const auto at = matched(in, build).begin;
    scratch.allow = {.kind = SetHttpd::Allow::Kind::File, .who = build.word(at)};
    if (build.kind(at - 1) != grammar::Kind::Allow) scratch.allow.how = lower_word(build, at - 1);
  }
};

template <>
struct action<grammar::file_user> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.allow.users.push_back(build.word(matched(in, build).begin));
  }
};

template <>
struct action<grammar::allowed_host> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.allow = {.kind = SetHttpd::Allow::Kind::Host, .who = build.word(matched(in, build).begin)};
  }
};

template <>
struct action<grammar::httpd_allow> {
  static void apply(const auto&, Build&, HttpdScratch& scratch) {
    if (std::exchange(scratch.is_operator, false)) scratch.allow.role = engine::Role::Operator;
    if (std::exchange(scratch.is_read_only, false)) scratch.allow.role = engine::Role::ReadOnly;
    scratch.httpd.allow.push_back(std::exchange(scratch.allow, {}));
  }
};

template <>
struct action<grammar::set_httpd> {
  static void apply(const auto&, Build&, HttpdScratch& scratch) { scratch.statement = std::move(scratch.httpd); }
};

template <>
struct action<grammar::mmonit_url> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    const auto at = matched(in, build);
    scratch.mmonit.urls.push_back(build.raw(at.begin));
    const UrlParts parts = split_url(scratch.mmonit.urls.back().value);
    if (parts.wrong.empty() && !is_monit_host(parts.host)) build.extend("this name of a host in a URL", at);
  }
};

template <>
struct action<grammar::mmonit_timeout> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    const auto at = matched(in, build);
    scratch.mmonit.timeout = build.duration({at.begin + 1, at.end});
  }
};

template <>
struct action<grammar::mmonit_tls> {
  static void apply(const auto&, Build&, HttpdScratch& scratch) { scratch.mmonit.tls = std::exchange(scratch.tls, {}); }
};

template <>
struct action<grammar::mmonit_sum> {
  static void apply(const auto&, Build&, HttpdScratch& scratch) {
    scratch.mmonit.checksum_type = std::exchange(scratch.sum_type, {});
    scratch.mmonit.checksum = std::exchange(scratch.sum, {});
  }
};

template <>
struct action<grammar::mmonit_groups> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    grammar::each_host_group(build.text(matched(in, build).end - 1), 0,
                             [&](std::string_view name) { scratch.mmonit.host_groups.emplace_back(name); });
  }
};

template <>
struct action<grammar::mmonit_register> {
  static void apply(const auto&, Build&, HttpdScratch& scratch) { scratch.mmonit.without_credentials = true; }
};

template <>
struct action<grammar::set_mmonit> {
  static void apply(const auto& in, Build& build, HttpdScratch& scratch) {
    scratch.mmonit.range = build.range(matched(in, build));
    scratch.statement = std::move(scratch.mmonit);
  }
};

}  // namespace healer::config::parsing
