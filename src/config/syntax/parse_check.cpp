// SPDX-License-Identifier: MIT
// grammar/check.hpp to CheckSyntax and the small statements of a service.
#include <algorithm>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/syntax/parse_build.hpp"
#include "config/syntax/parse_test.hpp"
#include "grammar/check.hpp"

namespace healer::config::parsing {
namespace {

using grammar::Kind;

struct CheckScratch {
  CheckSyntax check;
  EverySyntax every;
  StopSignalSyntax stop_signal;
  ReadySyntax ready;
  ServiceStatement statement;
};

}  // namespace

template <>
struct action<grammar::service_name> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    scratch.check.name = build.word(at.begin);
    if (scratch.check.name.value.starts_with('/'))
      build.complain(at, "the name of a service must not begin with '/'", "remove the '/'");
  }
};

template <>
struct action<grammar::pid_file> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.check.pid_file = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::checked_path> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.check.path = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::filesystem_name> : action<grammar::checked_path> {};

template <>
struct action<grammar::checked_host> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.check.host = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::network_address> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.check.address = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::interface_name> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.check.interface = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::process_pattern> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.check.pattern = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::assigned_command> : action<grammar::program_word> {};

template <>
struct action<grammar::assigned_other> {
  static void apply(const auto& in, Build& build, CheckScratch&) {
    build.begin_command(matched(in, build).begin);
    build.command.single_quoted_with_arguments = false;  // to Monit this is no program at all
  }
};

template <>
struct action<grammar::foreground_program> : action<grammar::assigned_other> {};

template <>
struct action<grammar::composite_member> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.check.members.push_back(build.word(matched(in, build).begin));
  }
};

template <>
struct action<grammar::member_group_name> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.check.member_groups.push_back(build.word(matched(in, build).begin));
  }
};

template <>
struct action<grammar::beat_interval> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.check.heartbeat = HeartbeatSyntax{.every = build.duration(matched(in, build)), .within = {}};
  }
};

template <>
struct action<grammar::beat_lateness> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.check.heartbeat->within = build.duration(matched(in, build));
  }
};

namespace {

/// An option of a hook, or of a heartbeat, once.
template <typename Value>
void set_once(Build& build, const TokenRange& at, Rare<Value>& option, Value value, std::string_view name) {
  if (option) build.complain(at, fmt::format("{} is given twice", name), "keep one of them");
  option = std::move(value);
}

}  // namespace

template <>
struct action<grammar::beat_token> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.check.heartbeat->token, build.word(at.begin), "'token'");
  }
};

template <>
struct action<grammar::beat_certificate> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.check.heartbeat->certificate, build.word(at.begin), "'certificate'");
  }
};

template <>
struct action<grammar::hook_path> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.check.hook = HookSyntax{};
    scratch.check.hook->path = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::hook_secrets> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    if (!scratch.check.hook->secrets.empty())
      build.complain(at, "'secret' is given twice", "write both behind one: secret \"A\", \"B\"");
    for (std::size_t token = at.begin + 1; token < at.end; ++token)
      scratch.check.hook->secrets.push_back(build.word(token));
  }
};

template <>
struct action<grammar::hook_token> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.check.hook->token, build.word(at.end - 1), "'token'");
  }
};

template <>
struct action<grammar::hook_certificate> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.check.hook->certificate, build.word(at.end - 1), "'certificate'");
  }
};

template <>
struct action<grammar::hook_format> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.check.hook->format, build.word(at.end - 1), "'format'");
  }
};

template <>
struct action<grammar::hook_key> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.check.hook->key, build.word(at.end - 1), "'key'");
  }
};

template <>
struct action<grammar::hook_state> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.check.hook->state, build.word(at.end - 1), "'state'");
  }
};

template <>
struct action<grammar::hook_window> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.check.hook->within, build.duration(at), "'within'");
  }
};

template <>
struct action<grammar::hook_valid> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.check.hook->valid, build.duration({at.begin + 1, at.end}), "'valid'");
  }
};

template <>
struct action<grammar::unit_name> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.check.unit = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::foreground> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    note_extension<grammar::foreground>(in, build);
    scratch.check.foreground = true;
  }
};

template <>
struct action<grammar::signal_name> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.stop_signal.signal = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::stop_within> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.stop_signal.within = build.duration(matched(in, build));
  }
};

template <>
struct action<grammar::stop_signal> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    note_extension<grammar::stop_signal>(in, build);
    scratch.stop_signal.range = build.range(matched(in, build));
    scratch.statement = std::move(scratch.stop_signal);
  }
};

template <>
struct action<grammar::ready_notify> {
  static void apply(const auto&, Build&, CheckScratch& scratch) { scratch.ready.by_notice = true; }
};

template <>
struct action<grammar::ready_time> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    scratch.ready.time = build.duration(matched(in, build));
  }
};

template <>
struct action<grammar::ready> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    note_extension<grammar::ready>(in, build);
    scratch.ready.range = build.range(matched(in, build));
    scratch.statement = scratch.ready;
  }
};

template <>
struct action<grammar::watchdog> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    note_extension<grammar::watchdog>(in, build);
    const auto at = matched(in, build);
    scratch.statement = WatchdogSyntax{build.duration({at.begin + 1, at.end}), build.range(at)};
  }
};

template <>
struct action<grammar::row_delay> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    note_extension<grammar::row_delay>(in, build);
    const auto at = matched(in, build);
    scratch.statement = DelaySyntax{build.duration({at.begin + 1, at.end}), build.range(at)};
  }
};

template <>
struct action<grammar::leftovers> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    note_extension<grammar::leftovers>(in, build);
    scratch.statement = LeftoversSyntax{build.range(matched(in, build))};
  }
};

template <>
struct action<grammar::ignore> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    const Kind second = build.kind(at.begin + 1);
    const bool is_negated = second == Kind::Content ? negates_content(build, at.begin + 2) : second == Kind::Not;
    scratch.statement =
        IgnoreSyntax{.lines = {.negated = is_negated, .of_lines = true, .pattern = build.word(at.end - 1)},
                     .range = build.range(at)};
  }
};

template <>
struct action<grammar::service_program> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    using enum ServiceProgramSyntax::Kind;
    const Kind word = build.kind(at.begin);
    scratch.statement = ServiceProgramSyntax{.kind = word == Kind::Start  ? Start
                                                     : word == Kind::Stop ? Stop
                                                                          : Restart,
                                             .command = build.take_command(),
                                             .range = build.range(at)};
  }
};

template <>
struct action<grammar::depends> {
  static void apply(const auto& in, Build& build, CheckScratch& scratch) {
    const auto at = matched(in, build);
    DependsSyntax depends;
    for (std::size_t token = at.begin + 1; token < at.end; ++token) depends.names.push_back(build.word(token));
    scratch.statement = std::move(depends);
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

const engine::CheckKind* kind_of_check(Kind check) {
  static constexpr std::pair<Kind, std::string_view> kWords[] = {{Kind::CheckProcess, "process"},
                                                                 {Kind::CheckFile, "file"},
                                                                 {Kind::CheckDirectory, "directory"},
                                                                 {Kind::CheckFilesystem, "filesystem"},
                                                                 {Kind::CheckFifo, "fifo"},
                                                                 {Kind::CheckHost, "host"},
                                                                 {Kind::CheckSystem, "system"},
                                                                 {Kind::CheckProgram, "program"},
                                                                 {Kind::CheckNetwork, "network"},
                                                                 {Kind::CheckComposite, "composite"},
                                                                 {Kind::CheckHeartbeat, "heartbeat"},
                                                                 {Kind::CheckEvent, "event"},
                                                                 {Kind::CheckRow, "row"},
                                                                 {Kind::CheckUnit, "unit"}};
  const auto* found = std::ranges::find(kWords, check, &std::pair<Kind, std::string_view>::first);
  return found == std::end(kWords) ? nullptr : engine::kind_named(found->second);
}

bool parse_check(grammar::TokenInput& in, Build& build, CheckSyntax& out) {
  CheckScratch scratch;
  const std::size_t begin = in.index();
  if (!match<grammar::check>(in, build, scratch)) return false;
  out = std::move(scratch.check);
  if (const engine::CheckKind* kind = kind_of_check(build.kind(begin))) out.kind = kind;
  if (out.kind->target == engine::Target::Program || out.foreground) out.command = build.take_command();
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
