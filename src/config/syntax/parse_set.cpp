// SPDX-License-Identifier: MIT
// grammar/set.hpp to SetSyntax.
#include <limits>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/syntax/parse_access.hpp"
#include "config/syntax/parse_alert.hpp"
#include "config/syntax/parse_build.hpp"
#include "config/syntax/parse_contact.hpp"
#include "config/syntax/parse_healing.hpp"
#include "config/syntax/parse_httpd.hpp"
#include "grammar/set.hpp"
#include "util/text.hpp"

namespace healer::config::parsing {
namespace {

using grammar::Kind;

struct SetScratch : AlertScratch, HttpdScratch, HealingScratch, ContactScratch {
  SetDaemon daemon;
  SetLog log;
  SetLimits limits;
  Located<std::uint64_t> size;
  SetEventQueue queue;
  Number mail_count;
  std::vector<Word> services, operators;
  SetMaintenance maintenance;
  SetMailServer mail;
  int last_server_option = 0;  ///< Monit's order: port 1, the others 2, timeout 3, hostname 4
  bool counts_polls = false;

  SetMailServer::Server& server() { return mail.servers.back(); }

  /// Notes that option `rank` of a mail server comes.
  void server_option(Build& build, TokenRange at, int rank) {
    if (rank < last_server_option) build.extend("options in another order", at);
    if (rank == last_server_option && rank != 2)
      build.complain(at, fmt::format("'{}' is given twice", to_lower(build.text(at.begin))), "keep one of them");
    last_server_option = rank;
  }
};

/// `10 MB` in two tokens, `10MB` or `10` in one. Saturates.
std::uint64_t size_of(const Build& build, TokenRange at) {
  const auto value = grammar::tight_number(build.text(at.begin));
  if (!value) return 0;
  const auto unit = to_lower(at.end - at.begin > 1 ? build.text(at.begin + 1) : value->rest);
  const int shift = unit.starts_with('k') ? 10 : unit.starts_with('m') ? 20 : unit.starts_with('g') ? 30 : 0;
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return value->number > (kMost >> shift) ? kMost : value->number << shift;
}

}  // namespace

// ---- daemon, log, paths

template <>
struct action<grammar::daemon_cycle> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.daemon.cycle = build.duration(matched(in, build));
  }
};

template <>
struct action<grammar::tight_cycle_time> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::tight_cycle_time>(in, build);
    scratch.daemon.cycle = build.duration(matched(in, build));
  }
};

template <>
struct action<grammar::start_delay> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.daemon.start_delay = build.duration(matched(in, build));
  }
};

template <>
struct action<grammar::set_daemon> {
  static void apply(const auto&, Build&, SetScratch& scratch) { scratch.statement = std::move(scratch.daemon); }
};

template <>
struct action<grammar::log_path> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.log.path = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::syslog_word> {
  static void apply(const auto&, Build&, SetScratch& scratch) { scratch.log.syslog = true; }
};

template <>
struct action<grammar::facility> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.log.facility = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::set_log> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    const auto at = matched(in, build);
    if (iequals(build.text(at.begin), "logfile")) build.deprecate("'set logfile'", "'set log'", at);
    scratch.statement = std::move(scratch.log);
  }
};

template <>
struct action<grammar::set_path> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    const auto at = matched(in, build).begin;
    const auto kind = build.kind(at) == Kind::PidFile  ? SetPath::Kind::PidFile
                      : build.kind(at) == Kind::IdFile ? SetPath::Kind::IdFile
                                                       : SetPath::Kind::StateFile;
    scratch.statement = SetPath{kind, build.word(at + 1)};
  }
};

template <>
struct action<grammar::set_socket> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_socket>(in, build);
    scratch.statement = SetPath{SetPath::Kind::ControlSocket, build.word(matched(in, build).end - 1)};
  }
};

template <>
struct action<grammar::set_secrets> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_secrets>(in, build);
    scratch.statement = SetPath{SetPath::Kind::Secrets, build.word(matched(in, build).end - 1)};
  }
};

// ---- event queue, mail limit

template <>
struct action<grammar::queue_directory> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.queue.directory = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::queue_slots> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.queue.slots = build.number(matched(in, build).begin);
  }
};

template <>
struct action<grammar::set_eventqueue> {
  static void apply(const auto&, Build&, SetScratch& scratch) { scratch.statement = std::move(scratch.queue); }
};

template <>
struct action<grammar::mail_count> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.mail_count = build.number(matched(in, build).begin);
  }
};

template <>
struct action<grammar::set_mail_limit> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_mail_limit>(in, build);
    const auto at = matched(in, build);
    const bool tight = grammar::is_tight_duration(build.text(at.end - 1));
    scratch.statement = SetMailLimit{scratch.mail_count, build.duration({at.end - (tight ? 1 : 2), at.end})};
  }
};

// ---- limits

template <>
struct action<grammar::size_name> : action<grammar::tls_flag_name> {};

template <>
struct action<grammar::time_name> : action<grammar::size_name> {};

template <>
struct action<grammar::size_value> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    const auto at = matched(in, build);
    scratch.size = {size_of(build, at), build.range(at)};
  }
};

template <>
struct action<grammar::size_limit> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.limits.items.push_back(
        {lower_word(build, scratch.option_name), scratch.size.value, build.range(matched(in, build))});
  }
};

template <>
struct action<grammar::set_expectbuffer> {
  static void apply(const auto&, Build&, SetScratch& scratch) { scratch.statement = SetExpectBuffer{scratch.size}; }
};

template <>
struct action<grammar::time_value> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    const auto at = matched(in, build);
    scratch.limits.items.push_back(
        {lower_word(build, scratch.option_name), build.duration(at).value, build.range({scratch.option_name, at.end})});
  }
};

template <>
struct action<grammar::set_limits> {
  static void apply(const auto&, Build&, SetScratch& scratch) { scratch.statement = std::move(scratch.limits); }
};

template <>
struct action<grammar::set_monit> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_monit>(in, build);
    scratch.statement = SetMonit{build.word(matched(in, build).end - 1)};
  }
};

template <>
struct action<grammar::set_fips> {
  static void apply(const auto&, Build&, SetScratch& scratch) { scratch.statement = SetSwitch{SetSwitch::Kind::Fips}; }
};

// ---- mail servers

template <>
struct action<grammar::server_host> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    const auto at = matched(in, build);
    if (scratch.last_server_option >= 3) build.extend("options in another order", at);
    scratch.mail.servers.push_back({.host = build.word(at.begin)});
    scratch.last_server_option = 0;
  }
};

template <>
struct action<grammar::port_option> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    const auto at = matched(in, build);
    scratch.server_option(build, at, 1);
    scratch.server().port = build.number(at.begin + 1);
  }
};

template <>
struct action<grammar::username_option> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    const auto at = matched(in, build);
    scratch.server_option(build, at, 2);
    scratch.server().username = build.word(at.begin + 1);
  }
};

template <>
struct action<grammar::password_option> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    const auto at = matched(in, build);
    scratch.server_option(build, at, 2);
    scratch.server().password = build.word(at.begin + 1);
  }
};

template <>
struct action<grammar::tls_server> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.server_option(build, matched(in, build), 2);
    scratch.server().tls = std::exchange(scratch.tls, {});
  }
};

template <>
struct action<grammar::certificate> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.server().checksum_type = std::exchange(scratch.sum_type, {});
    scratch.server().checksum = std::exchange(scratch.sum, {});
    scratch.server_option(build, matched(in, build), 2);
  }
};

template <>
struct action<grammar::timeout_option> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    const auto at = matched(in, build);
    scratch.server_option(build, at, 3);
    scratch.mail.timeout = build.duration({at.begin + 1, at.end});
  }
};

template <>
struct action<grammar::hostname_option> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    const auto at = matched(in, build);
    scratch.server_option(build, at, 4);
    scratch.mail.hostname = build.word(at.begin + 1);
  }
};

template <>
struct action<grammar::set_mailserver> {
  static void apply(const auto&, Build&, SetScratch& scratch) { scratch.statement = std::move(scratch.mail); }
};

// ---- alert and mail format

template <>
struct action<grammar::set_mail_format> {
  static void apply(const auto&, Build&, SetScratch& scratch) {
    scratch.statement = SetMailFormat{std::exchange(scratch.format, {})};
  }
};

template <>
struct action<grammar::set_alert> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.alert.range = build.range(matched(in, build));
    scratch.statement = SetAlert{std::move(scratch.alert)};
  }
};

template <>
struct action<grammar::set_contact> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_contact>(in, build);
    scratch.statement = std::move(scratch.contact);
  }
};

// ---- words

template <>
struct action<grammar::set_onreboot> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.statement = SetOnReboot{build.word(matched(in, build).end - 1)};
  }
};

template <>
struct action<grammar::set_init> {
  static void apply(const auto&, Build&, SetScratch& scratch) { scratch.statement = SetSwitch{SetSwitch::Kind::Init}; }
};

template <>
struct action<grammar::set_terminal> {
  static void apply(const auto&, Build&, SetScratch& scratch) {
    scratch.statement = SetSwitch{SetSwitch::Kind::TerminalBatch};
  }
};

template <>
struct action<grammar::set_shadow> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_shadow>(in, build);
    scratch.statement = SetSwitch{SetSwitch::Kind::Shadow};
  }
};

template <>
struct action<grammar::set_dry_run> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_dry_run>(in, build);
    scratch.statement = SetSwitch{SetSwitch::Kind::DryRun};
  }
};

template <>
struct action<grammar::set_dormant> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_dormant>(in, build);
    scratch.statement = SetSwitch{SetSwitch::Kind::AcceptDormant};
  }
};

template <>
struct action<grammar::set_leftovers> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_leftovers>(in, build);
    scratch.statement = SetSwitch{SetSwitch::Kind::EndLeftovers};
  }
};

template <>
struct action<grammar::count_polls> {
  static void apply(const auto&, Build&, SetScratch& scratch) { scratch.counts_polls = true; }
};

template <>
struct action<grammar::set_counting> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_counting>(in, build);
    scratch.statement =
        SetSwitch{scratch.counts_polls ? SetSwitch::Kind::CyclesCountPolls : SetSwitch::Kind::CyclesCountRuns};
  }
};

template <>
struct action<grammar::set_settle> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_settle>(in, build);
    const auto at = matched(in, build);
    scratch.statement = SetSettle{build.duration({at.begin + 1, at.end})};
  }
};

template <>
struct action<grammar::set_environment> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_environment>(in, build);
    const auto at = matched(in, build);
    scratch.statement = SetEnvironment{build.word(at.begin + 1), build.word(at.begin + 2)};
  }
};

// ---- operators

template <>
struct action<grammar::operator_name> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.operators.push_back(word_of(in, build));
  }
};

template <>
struct action<grammar::set_operators> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_operators>(in, build);
    scratch.statement = SetOperators{std::move(scratch.operators)};
  }
};

template <>
struct action<grammar::own_url> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.statement = SetUrl{word_of(in, build)};
  }
};

template <>
struct action<grammar::set_url> {
  static void apply(const auto& in, Build& build, SetScratch&) { note_extension<grammar::set_url>(in, build); }
};

// ---- healing

template <>
struct action<grammar::global_limit> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.limit.range = build.range(matched(in, build));
    scratch.statement = SetHealingLimit{std::move(scratch.limit)};
  }
};

template <>
struct action<grammar::global_mode> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.statement = SetHealingMode{mode_of(build, matched(in, build))};
  }
};

template <>
struct action<grammar::healing_service> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.services.push_back(word_of(in, build));
  }
};

template <>
struct action<grammar::only_while> {
  static void apply(const auto&, Build&, SetScratch& scratch) {
    scratch.statement = SetHealingOnlyWhile{std::move(scratch.services)};
  }
};

template <>
struct action<grammar::maintenance_cron> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.maintenance.cron = word_of(in, build);
  }
};

template <>
struct action<grammar::maintenance_length> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.maintenance.length = build.duration(matched(in, build));
  }
};

template <>
struct action<grammar::maintenance_group> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    scratch.maintenance.group = word_of(in, build);
  }
};

template <>
struct action<grammar::set_maintenance> {
  static void apply(const auto& in, Build& build, SetScratch& scratch) {
    note_extension<grammar::set_maintenance>(in, build);
    scratch.statement = std::move(scratch.maintenance);
  }
};

bool parse_set(grammar::TokenInput& in, Build& build, SetSyntax& out) {
  SetScratch scratch;
  const std::size_t begin = in.index();
  if (!match<grammar::set_statement>(in, build, scratch)) return false;
  out.statement = std::move(scratch.statement);
  out.range = build.range({begin, in.index()});
  return true;
}

}  // namespace healer::config::parsing
