// SPDX-License-Identifier: MIT
// grammar/list.hpp to DefineSyntax and ForEachSyntax.
#include <spdlog/fmt/fmt.h>

#include <utility>

#include "config/diagnostic.hpp"
#include "config/syntax/parse_build.hpp"
#include "grammar/lexer.hpp"
#include "grammar/list.hpp"

namespace healer::config::parsing {
namespace {

struct ListScratch {
  Word name;
  DefineSyntax define;
  ForEachSyntax for_each;
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
  if (out.items.empty() && !out.file) {
    out.command = build.take_command();
    out.command->single_quoted_with_arguments = false;
  }
  out.range = build.range({begin, in.index()});
  return true;
}

}  // namespace healer::config::parsing
