// SPDX-License-Identifier: MIT
// Every text and every place of a statement, one after the other: what config/passes/expand writes over.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "config/syntax/syntax.hpp"

namespace healer::config {

/// Visits what is written in a statement. A visitor has
///   text(Word&)               a name or text of any kind
///   path(Word&)               one that must be an absolute path
///   url(Word&)                one that is a URL, or the path of one
///   json(Word&)               one that is sent as JSON
///   filter(Word&)             a filter of jq
///   port(ConnectionSyntax&)   one that has a name in place of its port
///   arguments(CommandSyntax&) those of a program
///   place(SourceRange&)       every place, also those of the words above
template <typename Visitor>
class Walk {
 public:
  explicit Walk(Visitor& visitor) : visitor_(visitor) {}

  void operator()(CheckSyntax& check) {
    visitor_.place(check.range);
    text(check.name);
    if (check.has_command()) (*this)(*check.command);
    path(check.pid_file);
    text(check.pattern);
    // A filesystem may be named by something else than a path.
    check.kind->word == "filesystem" ? text(check.path) : path(check.path);
    text(check.host);
    text(check.address);
    text(check.interface);
    for (Word& member : check.members) text(member);
    for (Word& group : check.member_groups) text(group);
    if (check.heartbeat) {
      place(check.heartbeat->every);
      place(check.heartbeat->within);
      text(check.heartbeat->token);
      text(check.heartbeat->certificate);
    }
    if (check.hook) (*this)(*check.hook);
    text(check.unit);
    for (ServiceStatement& statement : check.statements) (*this)(statement);
  }

  void operator()(ServiceStatement& statement) {
    std::visit([this](auto& node) { (*this)(node); }, statement);
  }

  void operator()(CommandSyntax& command) {
    visitor_.place(command.range);
    visitor_.arguments(command);
    text(command.uid);
    text(command.gid);
    place(command.timeout);
    place(command.shell_sign);
    place(command.next_line);
    if (command.readiness) visitor_.place(*command.readiness);
  }

  void operator()(IfSyntax& rule) {
    visitor_.place(rule.range);
    for (TermSyntax& term : rule.condition.terms) {
      visitor_.place(term.range);
      std::visit([this](auto& test) { (*this)(test); }, term.test);
    }
    (*this)(rule.tolerance);
    (*this)(rule.action);
    if (rule.recovery) {
      (*this)(rule.recovery->tolerance);
      (*this)(rule.recovery->action);
    }
  }
  void operator()(EverySyntax& every) {
    visitor_.place(every.range);
    place(every.cycles);
    text(every.cron);
    place(every.interval);
  }
  void operator()(AlertSyntax& alert) {
    visitor_.place(alert.range);
    visitor_.place(alert.digest_range);
    visitor_.place(alert.format_range);
    text(alert.address);
    for (Word& event : alert.events) place(event);
    place(alert.reminder);
    (*this)(alert.format);
  }
  void operator()(MailFormatSyntax& format) {
    text(format.from);
    text(format.reply_to);
    text(format.subject);
    text(format.message);
  }
  void operator()(NoAlertSyntax& alert) { text(alert.address); }
  void operator()(GroupSyntax& group) { text(group.name); }
  void operator()(ModeSyntax& mode) { place(mode.mode); }
  void operator()(OnRebootSyntax& policy) { place(policy.policy); }
  void operator()(ServiceProgramSyntax& program) {
    visitor_.place(program.range);
    (*this)(program.command);
  }
  void operator()(DependsSyntax& depends) {
    for (Word& name : depends.names) text(name);
  }
  void operator()(StopSignalSyntax& stop) {
    visitor_.place(stop.range);
    text(stop.signal);
    place(stop.within);
  }
  void operator()(ReadySyntax& ready) {
    visitor_.place(ready.range);
    place(ready.time);
  }
  void operator()(WatchdogSyntax& watchdog) {
    visitor_.place(watchdog.range);
    visitor_.place(watchdog.time.range);
  }
  void operator()(DelaySyntax& delay) {
    visitor_.place(delay.range);
    visitor_.place(delay.time.range);
  }
  void operator()(LeftoversSyntax& leftovers) { visitor_.place(leftovers.range); }
  void operator()(IgnoreSyntax& ignore) {
    visitor_.place(ignore.range);
    (*this)(ignore.lines);
  }

  // ---- tests

  void operator()(CompareSyntax& test) {
    place(test.name);
    place(test.number);
    place(test.unit);
  }
  void operator()(TotalSyntax& test) {
    (*this)(test.amount);
    place(test.span);
  }
  void operator()(LinkSyntax&) {}
  void operator()(DiffersSyntax& test) { text(test.value); }
  void operator()(ChangedSyntax&) {}
  void operator()(TextSyntax& test) { text(test.value); }
  void operator()(OutputChangedSyntax&) {}
  void operator()(PresentSyntax&) {}
  void operator()(RestartsSyntax&) {}
  void operator()(MembersSyntax&) {}
  void operator()(HeartbeatTestSyntax&) {}
  void operator()(EventCountSyntax& test) {
    place(test.above);
    place(test.within);
  }
  void operator()(HookSyntax& hook) {
    path(hook.path);
    for (Word& secret : hook.secrets) text(secret);
    text(hook.token);
    text(hook.certificate);
    text(hook.format);
    if (hook.key) filter(*hook.key);
    if (hook.state) filter(*hook.state);
    if (hook.within) place(*hook.within);
    if (hook.valid) place(*hook.valid);
  }
  void operator()(ActiveSyntax&) {}
  void operator()(QueriedSyntax& test) {
    filter(test.json.filter);
    text(test.json.value);
  }
  void operator()(MatchesSyntax& test) { text(test.pattern); }
  void operator()(ConnectionSyntax& test) {
    using enum ConnectionSyntax::Target;
    switch (test.target) {
      case Url: url(test.place); break;
      case UnixSocket: path(test.place); break;
      case Port:
      case Ping: text(test.place); break;
    }
    place(test.port);
    if (test.port_name) visitor_.port(test);
    text(test.source);
    place(test.family);
    place(test.transport);
    if (test.tls) (*this)(*test.tls);
    place(test.checksum_type);
    text(test.checksum);
    place(test.valid_days);
    place(test.protocol);
    for (SettingSyntax& setting : test.settings) (*this)(setting);
    place(test.response_time);
    place(test.timeout);
    place(test.retry);
    place(test.count);
    place(test.size);
  }
  void operator()(SettingSyntax& setting) {
    place(setting.name);
    if (setting.name.value == "request")
      url(setting.value);
    else if (setting.name.value == "body" && !setting.is_file)
      json(setting.value);
    else if (setting.name.value == "body")
      path(setting.value);
    else
      text(setting.value);
    if (setting.name.value == "oid")
      text(setting.of);
    else
      filter(setting.of);
  }
  void operator()(TlsSyntax& tls) {
    place(tls.version);
    for (auto& [name, value] : tls.options) {
      place(name);
      text(value);
    }
  }
  void operator()(ActionSyntax& action) {
    visitor_.place(action.range);
    if (action.kind == ActionSyntax::Kind::Exec) (*this)(*action.command);
    text(action.target);
    place(action.repeat);
    place(action.lasting);
  }
  void operator()(Rare<ToleranceSyntax>& tolerance) {
    if (!tolerance) return;
    visitor_.place(tolerance->range);
    place(tolerance->count);
    place(tolerance->window);
    place(tolerance->held);
  }

  // ---- set, of which only texts matter: it stands in no row

  void operator()(SetSyntax& set) {
    std::visit([this](auto& node) { (*this)(node); }, set.statement);
  }
  void operator()(SetHealingLimit&) {}
  void operator()(SetHealingMode&) {}
  void operator()(SetHealingOnlyWhile& set) {
    for (Word& service : set.services) text(service);
  }
  void operator()(SetMaintenance& set) { text(set.group); }
  void operator()(SetUrl& set) { text(set.url); }
  void operator()(SetOperators& set) {
    for (Word& user : set.users) text(user);
  }
  void operator()(SetLog& set) {
    if (!set.syslog) path(set.path);
    text(set.facility);
  }
  void operator()(SetPath& set) { path(set.path); }
  void operator()(SetMailServer& set) {
    for (SetMailServer::Server& server : set.servers) {
      text(server.host);
      text(server.username);
      text(server.password);
      if (server.tls) (*this)(*server.tls);
      text(server.checksum);
    }
    text(set.hostname);
  }
  void operator()(SetMailFormat& set) { (*this)(set.format); }
  void operator()(SetAlert& set) { (*this)(set.alert); }
  void operator()(SetContact&) {}
  void operator()(SetEventQueue& set) { path(set.directory); }
  void operator()(SetEnvironment& set) { text(set.value); }
  void operator()(SetSsl& set) { (*this)(set.tls); }
  void operator()(SetHttpd& set) {
    for (Word& address : set.addresses) text(address);
    for (Word& proxy : set.proxies) text(proxy);
    path(set.unix_socket);
    text(set.uid);
    text(set.gid);
    for (auto& [name, value] : set.tls_options) text(value);
    for (SetHttpd::Allow& allow : set.allow) {
      allow.kind == SetHttpd::Allow::Kind::File ? path(allow.who) : text(allow.who);
      text(allow.password);
      for (Word& user : allow.users) text(user);
    }
  }
  void operator()(SetMmonit& set) {
    for (Word& one : set.urls) url(one);
    if (set.tls) (*this)(*set.tls);
    text(set.checksum);
  }
  void operator()(SetDaemon&) {}
  void operator()(SetLimits&) {}
  void operator()(SetMailLimit&) {}
  void operator()(SetSettle&) {}
  void operator()(SetSwitch&) {}
  void operator()(SetOnReboot&) {}
  void operator()(SetExpectBuffer&) {}
  void operator()(SetMonit&) {}

 private:
  template <typename T>
  void place(Located<T>& located) {
    visitor_.place(located.range);
  }
  template <typename T>
  void place(Rare<Located<T>>& located) {
    if (located) place(*located);
  }
  void text(Word& word) {
    place(word);
    visitor_.text(word);
  }
  void path(Word& word) {
    place(word);
    visitor_.path(word);
  }
  void url(Word& word) {
    place(word);
    visitor_.url(word);
  }
  void json(Word& word) {
    place(word);
    visitor_.json(word);
  }
  void filter(Word& word) {
    place(word);
    visitor_.filter(word);
  }
  void text(Rare<Word>& word) {
    if (word) text(*word);
  }
  void path(Rare<Word>& word) {
    if (word) path(*word);
  }

  Visitor& visitor_;
};

}  // namespace healer::config
