// SPDX-License-Identifier: MIT
// grammar/access.hpp to TlsSyntax and checksums: actions that parse_set.cpp and parse_if.cpp share.
#pragma once

#include <utility>

#include "config/syntax/parse_build.hpp"
#include "config/syntax/parse_test.hpp"
#include "grammar/access.hpp"

namespace healer::config::parsing {

/// What TLS is built in; the scratch of a group that has it derives from it.
struct AccessScratch {
  TlsSyntax tls;
  std::size_t option_name = 0;  ///< token
  std::optional<Word> sum_type, sum;
};

template <>
struct action<grammar::tls_word> {
  static void apply(const auto& in, Build& build, AccessScratch& scratch) {
    scratch.tls = {};
    scratch.tls.version = lower_word(build, matched(in, build).begin);
  }
};
template <>
struct action<grammar::tls_only_version> : action<grammar::tls_word> {};

template <>
struct action<grammar::tls_flag_name> {
  static void apply(const auto& in, Build& build, AccessScratch& scratch) {
    scratch.option_name = matched(in, build).begin;
  }
};
template <>
struct action<grammar::tls_self_name> : action<grammar::tls_flag_name> {};
template <>
struct action<grammar::tls_text_name> : action<grammar::tls_flag_name> {};
template <>
struct action<grammar::tls_path_name> : action<grammar::tls_flag_name> {};
template <>
struct action<grammar::tls_version_name> : action<grammar::tls_flag_name> {};

template <>
struct action<grammar::tls_flag> {
  static void apply(const auto& in, Build& build, AccessScratch& scratch) {
    scratch.tls.options.emplace_back(lower_word(build, scratch.option_name), build.word(matched(in, build).begin));
  }
};
template <>
struct action<grammar::tls_self> : action<grammar::tls_flag> {};
template <>
struct action<grammar::tls_text> : action<grammar::tls_flag> {};
template <>
struct action<grammar::tls_path> : action<grammar::tls_flag> {};
template <>
struct action<grammar::tls_version> : action<grammar::tls_flag> {};

template <>
struct action<grammar::sum_type> {
  static void apply(const auto& in, Build& build, AccessScratch& scratch) {
    scratch.sum_type = lower_word(build, matched(in, build).begin);
  }
};
template <>
struct action<grammar::own_sum_word> : action<grammar::sum_type> {};
template <>
struct action<grammar::certmd5_word> {
  static void apply(const auto& in, Build& build, AccessScratch& scratch) {
    build.deprecate("'certmd5'", "'certificate checksum' with SHA1", matched(in, build));
    scratch.sum_type = Word{"md5", build.range(matched(in, build))};
  }
};
template <>
struct action<grammar::sum_equal> {
  static void apply(const auto& in, Build& build, AccessScratch&) {
    const auto at = matched(in, build);
    if (comparison_of(build.text(at.begin)) != ComparisonWord::Equal)
      build.complain(at, "a checksum can only be equal", "write '='");
  }
};
template <>
struct action<grammar::sum_value> {
  static void apply(const auto& in, Build& build, AccessScratch& scratch) {
    scratch.sum = build.word(matched(in, build).begin);
  }
};

}  // namespace healer::config::parsing
