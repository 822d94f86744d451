// SPDX-License-Identifier: MIT
// Trees and messages of the parser as text, to be compared.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config/compile/connection.hpp"
#include "config/source.hpp"
#include "config/syntax/parser.hpp"
#include "util/text.hpp"

namespace healer::config::syntax_text {

inline std::string show(const Word& word) { return "'" + printable(word.value) + "'"; }
inline std::string show(const Located<Duration>& duration) { return fmt::format("{}ms", duration.value.count()); }

inline std::string show(const TlsSyntax& tls) {
  std::string out = show(*tls.version);
  for (const auto& [name, value] : tls.options) out += " " + name.value + ":" + show(value);
  return out;
}

template <typename T>
inline std::string optional(const char* name, const Rare<T>& value) {
  if (!value) return "";
  if constexpr (std::is_same_v<T, Number>) {
    return fmt::format(" {}={}", name, value->value);
  } else {
    return fmt::format(" {}={}", name, show(*value));
  }
}

inline std::string show(const CommandSyntax& command) {
  std::string out;
  for (const auto& argument : command.arguments) out += "[" + printable(argument) + "]";
  out += optional("uid", command.uid) + optional("gid", command.gid) + optional("timeout", command.timeout);
  return out + (command.single_quoted_with_arguments ? " single-quoted" : "");
}

inline std::string show(const ToleranceSyntax& tolerance) {
  return "for" + optional("count", tolerance.count) + optional("window", tolerance.window) +
         optional("held", tolerance.held);
}

inline std::string show(const ActionSyntax& action) {
  static constexpr const char* kKinds[] = {"alert", "exec", "unmonitor", "start", "stop", "restart", "heal"};
  std::string out = kKinds[static_cast<std::size_t>(action.kind)];
  if (action.kind == ActionSyntax::Kind::Exec) out += " " + show(*action.command);
  if (action.kind == ActionSyntax::Kind::Heal)
    out += optional("target", action.target) + " with " + show(*action.workflow) + (action.dry_run ? " dry run" : "");
  return out + optional("repeat", action.repeat) + (action.overlapping ? " overlapping" : "");
}

inline std::string show(const TermSyntax& term) {
  static constexpr const char* kSigns[] = {"=", "!=", "<", "<=", ">", ">="};
  if (const auto* test = std::get_if<CompareSyntax>(&term.test))
    return fmt::format("{} {} {}{}", test->name.value, kSigns[static_cast<std::size_t>(test->comparison)],
                       test->number.value, test->unit ? " " + show(*test->unit) : "");
  if (const auto* test = std::get_if<MatchesSyntax>(&term.test))
    return std::string(test->negated ? "content != " : "content = ") + show(test->pattern);
  if (const auto* test = std::get_if<ChangedSyntax>(&term.test)) return "changed " + test->what;
  if (const auto* test = std::get_if<PresentSyntax>(&term.test)) return test->negated ? "not exist" : "exist";
  if (const auto* test = std::get_if<DiffersSyntax>(&term.test))
    return test->is_text ? "attribute " + show(test->value)
                         : fmt::format("failed {} {}", test->what, show(test->value));
  if (const auto* test = std::get_if<ConnectionSyntax>(&term.test)) return connection_text(*test);
  return "restarts";
}

inline std::string show(const MailFormatSyntax& format) {
  return optional("from", format.from) + optional("reply-to", format.reply_to) + optional("subject", format.subject) +
         optional("message", format.message);
}

inline std::string show(const AlertSyntax& alert) {
  std::string out = (alert.to_contact ? "to " : "") + show(alert.address);
  for (const auto& event : alert.events) out += (alert.negated ? " not " : " ") + event.value;
  return out + optional("reminder", alert.reminder) + (alert.digest ? " digest" : "") + show(alert.format);
}

inline std::string show(const IfSyntax& rule) {
  std::string out = "if";
  const auto in = [](bool needed, const std::string& text) { return needed ? "(" + text + ")" : text; };
  out += " " + engine::fold<std::string>(
                   rule.condition.postfix, rule.condition.terms.size(),
                   [&](std::size_t term) { return show(rule.condition.terms[term]); },
                   [&](const std::string& text) {
                     return "not " + in(text.find(" or ") != text.npos || text.find(" and ") != text.npos, text);
                   },
                   [&](engine::Op op, const std::string& left, const std::string& right) {
                     const bool is_or = op == engine::Op::Or;
                     const auto inner = [&](const std::string& text) {
                       return in(!is_or && text.find(" or ") != text.npos, text);
                     };
                     return inner(left) + (is_or ? " or " : " and ") + inner(right);
                   });
  if (rule.tolerance) out += " " + show(*rule.tolerance);
  out += " then " + show(rule.action);
  if (!rule.recovery) return out;
  out += " else ";
  if (rule.recovery->tolerance) out += show(*rule.recovery->tolerance) + " ";
  return out + show(rule.recovery->action);
}

struct ShowService {
  std::string operator()(const IfSyntax& rule) const { return show(rule); }
  std::string operator()(const EverySyntax& every) const {
    return (every.negated ? "not every" : "every") + optional("cycles", every.cycles) + optional("cron", every.cron) +
           optional("interval", every.interval);
  }
  std::string operator()(const AlertSyntax& alert) const { return "alert " + show(alert); }
  std::string operator()(const NoAlertSyntax& alert) const { return "noalert " + show(alert.address); }
  std::string operator()(const GroupSyntax& group) const { return "group " + show(group.name); }
  std::string operator()(const ModeSyntax& mode) const { return "mode " + show(mode.mode); }
  std::string operator()(const OnRebootSyntax& policy) const { return "onreboot " + show(policy.policy); }
  std::string operator()(const ServiceProgramSyntax& program) const {
    static constexpr const char* kKinds[] = {"start ", "stop ", "restart "};
    return kKinds[static_cast<std::size_t>(program.kind)] + show(program.command);
  }
  std::string operator()(const StopSignalSyntax& stop) const {
    return "stop signal " + show(stop.signal) + optional("within", stop.within);
  }
  std::string operator()(const ReadySyntax& ready) const {
    return std::string(ready.by_notice ? "ready on notify" : "ready after") + optional("time", ready.time);
  }
  std::string operator()(const WatchdogSyntax& watchdog) const { return "watchdog " + show(watchdog.time); }
  std::string operator()(const DelaySyntax& delay) const { return "delay " + show(delay.time); }
  std::string operator()(const LeftoversSyntax&) const { return "leftovers ended"; }
  std::string operator()(const IgnoreSyntax& ignore) const {
    return fmt::format("ignore {}'{}'", ignore.lines.negated ? "not " : "", ignore.lines.pattern.value);
  }
  std::string operator()(const DependsSyntax& depends) const {
    std::string out = "depends";
    for (const auto& name : depends.names) out += " " + show(name);
    return out;
  }
};

struct ShowSet {
  std::string operator()(const SetDaemon& set) const {
    return "daemon " + show(set.cycle) + optional("delay", set.start_delay);
  }
  std::string operator()(const SetLog& set) const {
    return "log " + (set.syslog ? "syslog" : show(set.path)) + optional("facility", set.facility);
  }
  std::string operator()(const SetPath& set) const {
    static constexpr const char* kKinds[] = {"pidfile ", "idfile ", "statefile ", "control socket "};
    return kKinds[static_cast<std::size_t>(set.kind)] + show(set.path);
  }
  std::string operator()(const SetOperators& set) const {
    std::string out = "operators";
    for (const Word& user : set.users) out += " " + show(user);
    return out;
  }
  std::string operator()(const SetSsl& set) const {
    std::string out = "ssl";
    for (const auto& [name, value] : set.tls.options) out += " " + name.value + ":" + show(value);
    return out;
  }
  static std::string addresses(const SetHttpd& set) {
    std::string out;
    for (const Word& address : set.addresses) out += " address " + show(address);
    return out;
  }
  std::string operator()(const SetUrl& set) const { return "url " + show(set.url); }
  std::string operator()(const SetHttpd& set) const {
    static constexpr const char* kKinds[] = {"host ", "login ", "group ", "file ", "token "};
    std::string out = "httpd" + optional("port", set.port) + (set.port_read_only ? " read-only" : "") + addresses(set) +
                      optional("unixsocket", set.unix_socket) + optional("uid", set.uid) + optional("gid", set.gid) +
                      optional("permission", set.permission) + (set.socket_read_only ? " read-only" : "") +
                      optional("signature", set.signature);
    if (set.tls) out += *set.tls ? " tls" : " no tls";
    for (const auto& [name, value] : set.tls_options) out += " " + name.value + ":" + show(value);
    for (const SetHttpd::Allow& allow : set.allow) {
      out += " allow " + (kKinds[static_cast<std::size_t>(allow.kind)] + show(allow.who)) +
             optional("password", allow.password) + optional("how", allow.how);
      for (const Word& user : allow.users) out += " " + show(user);
      if (allow.role != engine::Role::Admin) out += allow.role == engine::Role::ReadOnly ? " read-only" : " operator";
    }
    return out;
  }
  std::string operator()(const SetMmonit& set) const {
    std::string out = "mmonit";
    for (const Word& url : set.urls) out += " " + show(url);
    return out + optional("timeout", set.timeout) + optional("tls", set.tls) + optional("checksum", set.checksum) +
           (set.without_credentials ? " without credentials" : "");
  }
  std::string operator()(const SetMonit& set) const { return "monit " + show(set.version); }
  std::string operator()(const SetExpectBuffer& set) const { return fmt::format("expectbuffer {}", set.bytes.value); }
  std::string operator()(const SetLimits& set) const {
    std::string out = "limits";
    for (const auto& item : set.items) {
      out += " " + item.name.value;
      out += item.value.index() == 0 ? fmt::format("={}B", std::get<0>(item.value))
                                     : fmt::format("={}ms", std::get<1>(item.value).count());
    }
    return out;
  }
  std::string operator()(const SetMailServer& set) const {
    std::string out = "mailserver";
    for (const auto& server : set.servers) {
      out += " (" + show(server.host) + optional("port", server.port) + optional("user", server.username) +
             optional("password", server.password) + optional("tls", server.tls) +
             optional("type", server.checksum_type) + optional("checksum", server.checksum) + ")";
    }
    return out + optional("timeout", set.timeout) + optional("hostname", set.hostname);
  }
  std::string operator()(const SetMailFormat& set) const { return "mail-format" + show(set.format); }
  std::string operator()(const SetAlert& set) const { return "alert " + show(set.alert); }
  std::string operator()(const SetEventQueue& set) const {
    return "eventqueue" + optional("directory", set.directory) + optional("slots", set.slots);
  }
  std::string operator()(const SetMailLimit& set) const {
    return fmt::format("mail limit {} within {}", set.mails.value, show(set.within));
  }
  std::string operator()(const SetContact& set) const {
    std::string out = "contact " + show(set.name) + " " + set.kind.value + optional("place", set.place) +
                      optional("method", set.method);
    for (const Word& header : set.headers) out += " header " + show(header);
    out += optional("body", set.body) + optional("timeout", set.timeout);
    for (const auto& [name, value] : set.settings) out += " " + name.value + "=" + show(value);
    return out;
  }
  std::string operator()(const SetEnvironment& set) const {
    return "environment " + show(set.name) + "=" + show(set.value);
  }
  std::string operator()(const SetSettle& set) const { return "settle " + show(set.settle); }
  std::string operator()(const SetSwitch& set) const {
    static constexpr const char* kKinds[] = {"init",           "shadow",        "dry run",
                                             "accept dormant", "leftovers end", "terminal batch",
                                             "fips",           "cycles: polls", "cycles: runs"};
    return kKinds[static_cast<std::size_t>(set.kind)];
  }
  std::string operator()(const SetHealingLimit& set) const {
    return fmt::format("healing limit {}{}{}{}", set.limit.number.value, set.limit.percent ? "%" : "",
                       optional("group", set.limit.group), optional("within", set.limit.within));
  }
  std::string operator()(const SetHealingMode& set) const {
    return fmt::format("healing mode {}", engine::to_string(set.mode.mode));
  }
  std::string operator()(const SetHealingOnlyWhile& set) const {
    std::string out = "healing only while";
    for (const auto& name : set.services) out += " " + show(name);
    return out;
  }
  std::string operator()(const SetMaintenance& set) const {
    return "maintenance " + show(set.cron) + " for " + show(set.length) + optional("group", set.group);
  }
  std::string operator()(const SetOnReboot& set) const { return "onreboot " + show(set.policy); }
};

inline std::string show(const std::vector<ServiceStatement>& statements) {
  std::string out;
  for (const auto& statement : statements) out += "  " + std::visit(ShowService{}, statement) + "\n";
  return out;
}

struct ShowStatement {
  std::string operator()(const SetSyntax& set) const { return "set " + std::visit(ShowSet{}, set.statement) + "\n"; }
  std::string operator()(const IncludeSyntax& include) const { return "include " + show(include.pattern) + "\n"; }
  std::string operator()(const CheckSyntax& check) const {
    return (check.kind->word == "program" ? "check" : std::string(check.kind->word)) + " " + show(check.name) +
           (check.broken ? " broken" : "") + (check.foreground ? " runs" : "") +
           (check.command->arguments.empty() ? "" : " " + show(*check.command)) + optional("pidfile", check.pid_file) +
           optional("matching", check.pattern) + optional("path", check.path) + "\n" + show(check.statements);
  }
  std::string operator()(const WorkflowSyntax& workflow) const {
    return fmt::format("workflow {}{} steps={}\n", show(workflow.name), workflow.broken ? " broken" : "",
                       workflow.steps.size());
  }
  std::string operator()(const UnknownCheckSyntax& check) const {
    std::string out = "unknown";
    for (const auto& name : check.names) out += " " + name;
    return out + "\n";
  }
  std::string operator()(const DefineSyntax& define) const {
    return "define " + define.name.value + " '" + define.value.value + "'\n";
  }
  std::string operator()(const ForEachSyntax& list) const {
    std::string out = "for each " + list.name.value;
    for (const auto& item : list.items)
      out += " '" + item.first.value + "'" + (item.last ? " .. '" + item.last->value + "'" : "");
    if (list.command) out += " command " + show(*list.command);
    if (list.file) out += " file '" + list.file->value + "'";
    if (list.every) out += " every " + std::to_string(list.every->value.count());
    return out + " {\n";
  }
  std::string operator()(const EndSyntax&) const { return "}\n"; }
  std::string operator()(const ContinuationSyntax& more) const { return "continued\n" + show(more.statements); }
};

struct Parsed {
  Sources sources;
  FileSyntax file;
  std::vector<Diagnostic> diagnostics;
};

inline Parsed parsed(std::string text) {
  Parsed out;
  const auto index = out.sources.add("f", std::move(text));
  out.file = parse(index, out.sources.at(index).text, out.diagnostics);
  return out;
}

inline std::string messages(const Parsed& parsed) {
  std::string out;
  for (const auto& one : parsed.diagnostics) {
    const auto at = parsed.sources.position(one.range->file, one.range->begin);
    out += fmt::format("{}:{}: {}{}", at.line, at.column,
                       one.severity == DiagnosticSeverity::Warning ? "warning: " : "", one.message);
    if (!one.remedy.empty()) out += " (" + one.remedy + ")";
    out += "\n";
  }
  return out;
}

/// The tree of a text without errors.
inline std::string tree(std::string text) {
  const auto result = parsed(std::move(text));
  std::string out = messages(result);
  for (const auto& statement : result.file.statements) out += std::visit(ShowStatement{}, statement);
  return out;
}

/// The messages of a text.
inline std::string errors(std::string text) { return messages(parsed(std::move(text))); }

/// What only healer understands of a text, with the words it is written in.
inline std::string extensions(std::string text) {
  const auto result = parsed(std::move(text));
  std::string out = messages(result);
  for (const auto& one : result.file.extensions)
    out += one.name + ": " + std::string(result.sources.text(one.range)) + "\n";
  return out;
}

inline const std::string kCheck = "check program x path \"/bin/x\" ";

inline std::string rule(const std::string& text) { return tree(kCheck + text); }
inline std::string rule_errors(const std::string& text) { return errors("check program x path \"/bin/x\"\n" + text); }
inline std::string rule_extensions(const std::string& text) { return extensions(kCheck + text); }

}  // namespace healer::config::syntax_text
