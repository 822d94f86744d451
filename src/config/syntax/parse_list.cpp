// SPDX-License-Identifier: MIT
// grammar/list.hpp to DefineSyntax and ForEachSyntax. Requests of lists are written as those of steps.
#include <spdlog/fmt/fmt.h>

#include <utility>

#include "config/diagnostic.hpp"
#include "config/syntax/parse_build.hpp"
#include "config/syntax/parse_step.hpp"
#include "grammar/lexer.hpp"
#include "grammar/list.hpp"

namespace healer::config::parsing {
namespace {

struct ListScratch : WorkflowScratch {
  Word name;
  DefineSyntax define;
  ForEachSyntax for_each;
  HttpListSyntax list;         ///< under way
  HttpRequestSyntax awaiting;  ///< its own request, while that of its token is read
};

}  // namespace

template <>
struct action<grammar::defined_name> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    const auto at = matched(in, build);
    scratch.name = build.raw(at.begin);
    if (!grammar::is_identifier(scratch.name.value))
      build.complain(at, fmt::format("{} is not a valid name for a value", in_quotes(scratch.name.value)),
                     "a name has letters, digits and '_', and begins with no digit");
  }
};

template <>
struct action<grammar::defined_value> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    scratch.define.value = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::list_value> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    scratch.for_each.items.push_back({.first = build.word(matched(in, build).begin), .last = {}});
  }
};

template <>
struct action<grammar::range_end> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    scratch.for_each.items.back().last = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::list_program> : action<grammar::program_word> {};

template <>
struct action<grammar::list_file> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    scratch.for_each.file = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::list_interval> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    scratch.for_each.every = build.duration(matched(in, build));
  }
};

// ---- over HTTP

template <>
struct action<grammar::list_http_word> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    scratch.http = {};
    scratch.list = {};
    scratch.list.range = build.range(matched(in, build));
  }
};

template <>
struct action<grammar::list_rows> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.list.rows, build.word(at.end - 1));
  }
};

template <>
struct action<grammar::list_row_name> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.list.name, build.word(at.end - 1));
  }
};

template <>
struct action<grammar::next_json> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, {at.begin - 1, at.end}, scratch.list.next, build.word(at.end - 1));
  }
};

template <>
struct action<grammar::next_link> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, {at.begin - 1, at.end}, scratch.list.next_link);
  }
};

template <>
struct action<grammar::http_interval> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.for_each.every, last_duration(build, at));
  }
};

template <>
struct action<grammar::list_timeout> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.list.timeout, last_duration(build, at));
  }
};

template <>
struct action<grammar::token_word> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    if (scratch.list.token) build.complain(matched(in, build), "'token' is given twice", "keep one of them");
    scratch.awaiting = std::move(scratch.http.request);
  }
};

template <>
struct action<grammar::list_token> {
  static void apply(const auto&, Build&, ListScratch& scratch) {
    scratch.list.token = std::exchange(scratch.http, {});
    scratch.http.request = std::move(scratch.awaiting);
  }
};

template <>
struct action<grammar::list_http_source> {
  static void apply(const auto& in, Build& build, ListScratch& scratch) {
    note_extension<grammar::list_http_source>(in, build);
    scratch.list.request = std::move(scratch.http.request);
    if (scratch.list.request.method.value.empty()) scratch.list.request.method.value = "GET";
    scratch.for_each.http = std::move(scratch.list);
  }
};

bool parse_define(grammar::TokenInput& in, Build& build, DefineSyntax& out) {
  ListScratch scratch;
  const std::size_t begin = in.index();
  if (!match<grammar::define>(in, build, scratch)) return false;
  out = std::move(scratch.define);
  out.name = std::move(scratch.name);
  out.range = build.range({begin, in.index()});
  return true;
}

bool parse_for_each(grammar::TokenInput& in, Build& build, ForEachSyntax& out) {
  ListScratch scratch;
  const std::size_t begin = in.index();
  if (!match<grammar::for_each>(in, build, scratch)) return false;
  out = std::move(scratch.for_each);
  out.name = std::move(scratch.name);
  if (out.items.empty() && !out.file && !out.http) {
    out.command = build.take_command();
    out.command->single_quoted_with_arguments = false;
  }
  out.range = build.range({begin, in.index()});
  return true;
}

}  // namespace healer::config::parsing
