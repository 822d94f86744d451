// SPDX-License-Identifier: MIT
// The passes between syntax and rules, one function each, in the order in which load() runs them. All are pure: the
// machine is the Environment that they are given, what they have to say goes into `said`.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "config/diagnostic.hpp"
#include "config/environment.hpp"
#include "config/load.hpp"
#include "config/passes/expand.hpp"
#include "config/source.hpp"
#include "config/syntax/syntax.hpp"
#include "engine/rules/command.hpp"
#include "engine/rules/rule_set.hpp"

namespace healer::config {

/// A file that was read because another one names it.
struct Inclusion {
  std::uint32_t file = 0;
  SourceRange by;  ///< the pattern that matched it
};

/// All files of a run as one text: includes are replaced by what they hold, continuations joined to their service.
struct Document {
  using Statement = std::variant<SetSyntax, CheckSyntax, WorkflowSyntax>;
  std::deque<Statement> statements;
  std::vector<Extension> extensions;
  std::vector<Deprecation> deprecations;
  std::vector<Inclusion> inclusions;
  std::vector<std::string> unknown;          ///< names of services that healer does not know
  std::vector<std::string> unmatched;        ///< patterns that match no file, with their whole path
  bool is_whole = true;                      ///< false: there may be services that were not found
  MonitVersion monit = MonitVersion::V5_33;  ///< whose meaning counts where no `set monit` says
  Expansion expansion;                       ///< the rows and lists of `for each`
  std::string directory;                     ///< where the rules are a directory's *.rules: its path; else empty
};

/// Whose meaning counts where versions of Monit differ: that of the last `set monit`.
[[nodiscard]] inline MonitVersion monit_of(const Document& document);

/// Calls `visit(check)` for every service of the document (const or not).
template <typename AnyDocument, typename Visit>
void for_each_check(AnyDocument& document, Visit&& visit) {
  for (auto& statement : document.statements)
    if (auto* check = std::get_if<CheckSyntax>(&statement)) visit(*check);
}

/// The same for every workflow.
template <typename AnyDocument, typename Visit>
void for_each_workflow(AnyDocument& document, Visit&& visit) {
  for (auto& statement : document.statements)
    if (auto* workflow = std::get_if<WorkflowSyntax>(&statement)) visit(*workflow);
}

/// Calls `visit(statement, range)` for every `set` of the kind.
template <typename Kind, typename Visit>
void for_each_set(const Document& document, Visit&& visit) {
  for (const auto& statement : document.statements)
    if (const auto* set = std::get_if<SetSyntax>(&statement))
      if (const auto* kind = std::get_if<Kind>(&set->statement)) visit(*kind, set->range);
}

inline MonitVersion monit_of(const Document& document) {
  MonitVersion version = document.monit;
  for_each_set<SetMonit>(document, [&](const SetMonit& set, const SourceRange&) {
    version = monit_version(set.version.value).value_or(version);
  });
  return version;
}

/// Whether a rule of the service has a test such that `is(test)`.
template <typename Is>
bool any_test(const CheckSyntax& check, Is&& is) {
  for (const ServiceStatement& statement : check.statements)
    if (const auto* rule = std::get_if<IfSyntax>(&statement))
      for (const TermSyntax& term : rule->condition.terms)
        if (is(term.test)) return true;
  return false;
}

/// Calls `visit(command)` for every program that an action or the service itself may start.
template <typename Visit>
void for_each_started(const CheckSyntax& check, Visit&& visit) {
  for (const ServiceStatement& statement : check.statements) {
    if (const auto* program = std::get_if<ServiceProgramSyntax>(&statement)) visit(program->command);
    const auto* rule = std::get_if<IfSyntax>(&statement);
    if (rule == nullptr) continue;
    if (rule->action.kind == ActionSyntax::Kind::Exec) visit(*rule->action.command);
    if (rule->recovery && rule->recovery->action.kind == ActionSyntax::Kind::Exec)
      visit(*rule->recovery->action.command);
  }
}

/// What was found on the machine, by the node in the document that names it.
struct Lookups {
  std::unordered_map<const CommandSyntax*, engine::Identity> identities;  ///< who a command runs as
  std::unordered_map<const DiffersSyntax*, std::uint32_t> owners;         ///< numbers of users and groups
  std::unordered_map<const MatchesSyntax*, std::string> patterns;         ///< of a file of patterns, as one
  std::unordered_map<std::string, std::uint32_t> operators;               ///< numbers of users, by the name written
};

/// Reads and parses `path` and everything it includes. Where nothing can be read the document is empty and the reason
/// an error in `said`.
[[nodiscard]] Document read_documents(const std::string& path, const Environment& environment, Sources& sources,
                                      Diagnostics& diagnostics, MonitVersion monit = MonitVersion::V5_33);

/// Checksums of no kind become such as that version of Monit takes them for (monit_of()).
void choose_checksums(Document& document);

/// --dialect monit: everything that this version of Monit does not understand is an error. The only reader of
/// LoadOptions::monit_dialect.
void check_dialect(const Document& document, const LoadOptions& options, Diagnostics& diagnostics);

/// Dependencies on services that are not there, and circles of them: errors.
void check_depends(const Document& document, Diagnostics& diagnostics);

/// What workflows and those who heal with them want of each other: errors, and warnings.
void check_workflows(const Document& document, const Sources& sources, Diagnostics& diagnostics);
/// Contacts, what they are sent, and alerts to such that are not there: errors.
void check_contacts(const Document& document, const Sources& sources, Diagnostics& diagnostics);
/// Members of composites that are not there, and composites that are made of themselves: errors.
void check_composites(const Document& document, Diagnostics& diagnostics);
/// Times of heartbeats that cannot be, and tokens that are none: errors; tokens that can be guessed: warnings.
void check_heartbeats(const Document& document, Diagnostics& diagnostics);

/// A text that lets whoever knows it in, `what` for people: what it cannot be is an error, what can be guessed a
/// warning.
void check_token(const Word& token, std::string_view what, Diagnostics& diagnostics);
/// The name or the hash of a certificate of a client, which `set httpd` must ask for: else an error.
void check_certificate(const Word& certificate, const Document& document, Diagnostics& diagnostics);
/// Hooks that cannot be, or that keep nobody out; rules of events that could not act; `${EVENT.a}` where there is none.
void check_events(const Document& document, Diagnostics& diagnostics);
/// A checksum that has not the digits of its algorithm, by the words of a test, which begin with its name: an error.
void check_checksum(std::string_view words, const Word& sum, Diagnostics& diagnostics);
/// The same, by the name that stands before it, if one does.
void check_checksum(const Rare<Word>& written, const Word& sum, Diagnostics& diagnostics);
/// A request that cannot be made: errors; a secret that others see: a warning.
void check_request(const HttpRequestSyntax& request, Diagnostics& diagnostics);
/// Schedules of rows, which run when their lists are read: errors.
void check_rows(const Document& document, Diagnostics& diagnostics);

/// Values that cannot be: errors.
void validate(const Document& document, const Sources& sources, Diagnostics& diagnostics);

/// What is accepted but may not mean what its writer thinks: warnings and notes, about the text as written.
void lint(const Document& document, const Sources& sources, Diagnostics& diagnostics);

/// The same of what depends on the version of Monit.
void lint_versions(const Document& document, Diagnostics& diagnostics);

/// LoadOptions::advice: what could be said better, as notes. The only reader of that option is load().
void advise(const Document& document, const Sources& sources, Diagnostics& diagnostics);
/// What newer versions of Monit warn of.
void advise_newer_monit(const Document& document, Diagnostics& diagnostics);
/// The oldest Monit that understands all that the files say.
[[nodiscard]] MonitVersion needed_monit(const Document& document);
/// What healer does otherwise than that Monit, of what the files have, for people.
[[nodiscard]] std::vector<std::string> differences(const Document& document, MonitVersion monit);
/// The same of workflows.
void advise_workflows(const Document& document, Diagnostics& diagnostics);

/// Writes into the document whatever was left out. The only owner of default values.
void apply_defaults(Document& document);

/// Looks users, groups and programs up. The document must not change afterwards: the result points into it.
[[nodiscard]] Lookups resolve(const Document& document, const Environment& environment, Diagnostics& diagnostics);

/// Who else could write what healer runs by: Monit's rule for the main file, warnings for the rest.
void check_trust(const Document& document, const std::string& path, const Environment& environment,
                 const Sources& sources, Diagnostics& diagnostics);

/// Secrets of workflows that cannot be read: errors; warnings where nothing is looked up, or where the daemon may find
/// them elsewhere.
void check_secrets(const Document& document, const Environment& environment, Diagnostics& diagnostics);

/// Syntax to rules. Requires: the passes before found no error. The document goes whole, later: of a large one that
/// went piece by piece, the rules would lie in the gaps, and keep the memory of all of its tree.
[[nodiscard]] engine::RuleSet compile(const Document& document, const Lookups& lookups, const Sources& sources);

}  // namespace healer::config
