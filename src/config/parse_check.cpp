// SPDX-License-Identifier: MIT
// grammar/check.hpp to CheckProgramSyntax and the small statements of a service.
#include <utility>

#include "config/parse_build.hpp"
#include "grammar/check.hpp"

namespace healer::config::parsing {
namespace {

struct CheckScratch {
  Word name;
  EverySyntax every;
  ServiceStatement statement;
};

}  // namespace

template <>
struct action<grammar::service_name> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    scratch.name = build.word(at.begin);
    if (scratch.name.value.starts_with('/'))
      build.complain(at, "the name of a service must not begin with '/'", "take the '/' away");
  }
};

template <>
struct action<grammar::timeout> {
  static void apply(const auto& in, Build& build, CheckScratch&) {
    const auto at = matched(in, build);
    if (build.command.timeout) build.complain(at, "'timeout' is given twice", "keep one of them");
    build.command.timeout = build.duration({at.begin + 1, at.end});
    build.command_has_timeout = true;
  }
};

template <>
struct action<grammar::schedule> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.every.cron = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::every_count> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.every.cycles = build.number(matched(in, build).begin);
  }
};

template <>
struct action<grammar::every_other_unit> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    note_extension<grammar::every_other_unit>(in, build);
    const auto at = matched(in, build);
    scratch.every.cycles.reset();
    scratch.every.interval = build.duration({at.begin - 1, at.end});
  }
};

template <>
struct action<grammar::every> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.every.range = build.range(matched(in, build));
    scratch.statement = std::move(scratch.every);
  }
};

template <>
struct action<grammar::not_every> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.every.negated = true;
    action<grammar::every>::apply(in, build, scratch);
  }
};

template <>
struct action<grammar::group> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.statement = GroupSyntax{build.word(matched(in, build).begin + 1)};
  }
};

template <>
struct action<grammar::mode> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.statement = ModeSyntax{build.word(matched(in, build).begin + 1)};
  }
};

template <>
struct action<grammar::on_reboot> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.statement = OnRebootSyntax{build.word(matched(in, build).begin + 1)};
  }
};

bool parse_check_program(grammar::TokenInput& in, Build& build, CheckProgramSyntax& out) {
  CheckScratch scratch;
  const std::size_t begin = in.index();
  if (!match<grammar::check_program>(in, build, scratch)) return false;
  out.name = std::move(scratch.name);
  out.command = build.take_command();
  out.range = build.range({begin, in.index()});
  return true;
}

bool parse_service_statement(grammar::TokenInput& in, Build& build, ServiceStatement& out) {
  CheckScratch scratch;
  if (!match<grammar::service_statement>(in, build, scratch)) return false;
  out = std::move(scratch.statement);
  return true;
}

}  // namespace healer::config::parsing
