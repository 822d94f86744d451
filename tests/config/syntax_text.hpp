// SPDX-License-Identifier: MIT
// Trees and messages of the parser as text, to be compared.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config/parser.hpp"
#include "config/source.hpp"
#include "util/text.hpp"

namespace healer::config::syntax_text {

inline std::string show(const Word& word) { return "'" + printable(word.value) + "'"; }
inline std::string show(const Located<Duration>& duration) { return fmt::format("{}ms", duration.value.count()); }

std::string show(const TlsSyntax& tls);

template <typename T>
std::string optional(const char* name, const std::optional<T>& value);

std::string show(const CommandSyntax& command);

std::string show(const ToleranceSyntax& tolerance);

std::string show(const ActionSyntax& action);

std::string show(const TermSyntax& term);

std::string show(const MailFormatSyntax& format);

std::string show(const AlertSyntax& alert);

std::string show(const IfSyntax& rule);

struct ShowService {
  std::string operator()(const IfSyntax& rule) const { return show(rule); }
  std::string operator()(const EverySyntax& every) const;
  std::string operator()(const AlertSyntax& alert) const { return "alert " + show(alert); }
  std::string operator()(const NoAlertSyntax& alert) const { return "noalert " + show(alert.address); }
  std::string operator()(const GroupSyntax& group) const { return "group " + show(group.name); }
  std::string operator()(const ModeSyntax& mode) const { return "mode " + show(mode.mode); }
  std::string operator()(const OnRebootSyntax& policy) const { return "onreboot " + show(policy.policy); }
  std::string operator()(const ServiceProgramSyntax& program) const;
  std::string operator()(const StopSignalSyntax& stop) const;
  std::string operator()(const ReadySyntax& ready) const;
  std::string operator()(const LeftoversSyntax&) const { return "leftovers ended"; }
  std::string operator()(const DependsSyntax& depends) const;
};

struct ShowSet {
  std::string operator()(const SetDaemon& set) const;
  std::string operator()(const SetLog& set) const;
  std::string operator()(const SetPath& set) const;
  std::string operator()(const SetLimits& set) const;
  std::string operator()(const SetMailServer& set) const;
  std::string operator()(const SetMailFormat& set) const { return "mail-format" + show(set.format); }
  std::string operator()(const SetAlert& set) const { return "alert " + show(set.alert); }
  std::string operator()(const SetEventQueue& set) const;
  std::string operator()(const SetMailLimit& set) const;
  std::string operator()(const SetEnvironment& set) const;
  std::string operator()(const SetSettle& set) const { return "settle " + show(set.settle); }
  std::string operator()(const SetSwitch& set) const;
  std::string operator()(const SetOnReboot& set) const { return "onreboot " + show(set.policy); }
};

std::string show(const std::vector<ServiceStatement>& statements);

struct ShowStatement {
  std::string operator()(const SetSyntax& set) const { return "set " + std::visit(ShowSet{}, set.statement) + "\n"; }
  std::string operator()(const IncludeSyntax& include) const { return "include " + show(include.pattern) + "\n"; }
  std::string operator()(const CheckSyntax& check) const;
  std::string operator()(const UnknownCheckSyntax& check) const;
  std::string operator()(const ContinuationSyntax& more) const { return "continued\n" + show(more.statements); }
};

struct Parsed {
  Sources sources;
  FileSyntax file;
  std::vector<Diagnostic> diagnostics;
};

Parsed parsed(std::string text);

std::string messages(const Parsed& parsed);

/// The tree of a text without errors.
std::string tree(std::string text);

/// The messages of a text.
inline std::string errors(std::string text) { return messages(parsed(std::move(text))); }

/// What only healer understands of a text, with the words it is written in.
std::string extensions(std::string text);

inline const std::string kCheck = "check program x path \"/bin/x\" ";

inline std::string rule(const std::string& text) { return tree(kCheck + text); }
inline std::string rule_errors(const std::string& text) { return errors("check program x path \"/bin/x\"\n" + text); }
inline std::string rule_extensions(const std::string& text) { return extensions(kCheck + text); }

}  // namespace healer::config::syntax_text
