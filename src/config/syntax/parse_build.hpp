// SPDX-License-Identifier: MIT
// What the parse_*.cpp share: the state that a statement is built in, the control that remembers what was tried, and
// the actions of the rules in grammar/common.hpp.
//
// Actions run while a statement is still being tried: they fill scratch fields, and a statement is taken over only when
// its own rule has matched. They check no values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/diagnostic.hpp"
#include "config/syntax/syntax.hpp"
#include "config/text/spliced_text.hpp"
#include "grammar/common.hpp"
#include "grammar/errors.hpp"
#include "grammar/tight.hpp"

namespace healer::config::parsing {

namespace pegtl = tao::pegtl;

/// Whether a word of healer's own begins a statement of a service.
[[nodiscard]] inline bool is_own_word(std::string_view text) {
  return iequals(text, "ready") || iequals(text, "leftovers") || iequals(text, "watchdog");
}

/// Tokens [begin, end).
struct TokenRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Build {
  Build(const grammar::TokenStream& stream, std::uint32_t file_index, const SplicedText* text_of_files)
      : tokens(stream), file(file_index), spliced(text_of_files) {}

  const grammar::TokenStream& tokens;
  std::uint32_t file = 0;
  const SplicedText* spliced = nullptr;        ///< what the text is made of; null: of the file
  const engine::CheckKind* service = nullptr;  ///< the kind of the service whose statements these are; null: unknown
  grammar::Expectation expectation;
  std::vector<Extension> extensions;      ///< of the statement under way
  std::vector<Deprecation> deprecations;  ///< the same
  std::vector<Diagnostic> complaints;     ///< about it, where its structure is right
  std::vector<std::uint32_t> items;       ///< where those between its braces begin, in any order
  CommandSyntax command;                  ///< scratch, emptied by whoever takes it
  struct ShellSign {
    std::size_t argument;      ///< which one
    std::string_view written;  ///< in the text
  };
  std::vector<ShellSign> shell_signs;  ///< arguments of the command that are meant for a shell
  bool command_has_timeout = false;    ///< to see that owners come before it

  /// Forgets what an unfinished or finished statement has left. What was tried stays.
  void begin_statement();

  /// Where the bytes [begin, end) of the text stand.
  [[nodiscard]] SourceRange place(std::uint32_t begin, std::uint32_t end) const {
    return spliced != nullptr ? spliced->place(begin, end) : SourceRange{file, begin, end};
  }
  [[nodiscard]] SourceRange range(TokenRange tokens_of) const;
  [[nodiscard]] Word word(std::size_t token) const;
  /// A token's text as it is written.
  [[nodiscard]] Word raw(std::size_t token) const;
  [[nodiscard]] Number number(std::size_t token) const;
  [[nodiscard]] std::string_view text(std::size_t token) const { return tokens.text_of(token); }
  [[nodiscard]] grammar::Kind kind(std::size_t token) const { return tokens.tokens[token].kind; }
  /// `90 seconds` in two tokens or `90seconds` in one; without a unit seconds. Saturates at a hundred years.
  [[nodiscard]] Located<Duration> duration(TokenRange tokens_of) const;
  [[nodiscard]] ToleranceSyntax tolerance(TokenRange tokens_of) const;

  /// Notes what only healer, or Monit only from a version on, understands.
  void extend(std::string_view name, TokenRange where, std::optional<MonitVersion> since = {});
  void deprecate(std::string_view was, std::string_view instead, TokenRange where);
  /// Notes of each token of a statement that was taken what is to be said of it, whatever the statement is.
  void note_tokens(TokenRange tokens_of);
  void complain(TokenRange where, std::string message, std::string remedy);
  void warn(TokenRange where, std::string_view message, std::string_view remedy);
  /// The program of a command, and what is written after it.
  void begin_command(std::size_t token);
  void add_argument(std::size_t token);
  [[nodiscard]] CommandSyntax take_command();
  /// Remembers the argument of that number, without quotes, where it is meant for a shell.
  void note_shell_sign(std::string_view written, std::size_t argument);
  /// Warns of what in the arguments of a command, as they are written, its writer takes for something else.
  void note_shell_slips(const std::vector<std::string_view>& written);
  /// Where a piece of the text is.
  [[nodiscard]] SourceRange place_of(std::string_view written) const;
  void warn_of_quotes(std::size_t token, std::string_view argument, std::string_view quotes);
};

/// A word in lower case.
[[nodiscard]] Word lower_word(const Build& build, std::size_t token);

/// The tokens that an action is told about.
template <typename ActionInput>
[[nodiscard]] TokenRange matched(const ActionInput& in, const Build& build) {
  const char* first = build.tokens.kinds.data();
  return {static_cast<std::size_t>(in.begin() - first), static_cast<std::size_t>(in.end() - first)};
}

template <typename Rule>
concept Extended = requires {
  Rule::kName;
};
template <typename Rule>
concept Dated = requires {
  Rule::kSince;
};
template <typename Rule>
concept Phrased = requires {
  Rule::kExpected;
};
template <typename Rule>
concept OfKinds = requires {
  Rule::kKinds;
};
template <typename Rule>
concept OfTexts = requires {
  Rule::kTexts;
};

/// Remembers, of the terminals, what was tried at the furthest token.
template <typename Rule>
struct control : pegtl::normal<Rule> {
  template <typename Input>
  static void failure(const Input& in, Build& build, auto&&...) {
    if constexpr (Phrased<Rule> || OfKinds<Rule> || OfTexts<Rule>) build.expectation.miss(in.index(), kTerminal);
  }

 private:
  static constexpr grammar::Terminal kTerminal = [] {
    grammar::Terminal terminal{.is_near = Phrased<Rule>};
    if constexpr (Phrased<Rule>) terminal.phrase = Rule::kExpected;
    if constexpr (OfKinds<Rule>) terminal.kinds = Rule::kKinds;
    if constexpr (OfTexts<Rule>) terminal.texts = Rule::kTexts;
    return terminal;
  }();
};

/// Notes that an extension was used; what an action of such a rule does, or does besides.
template <Extended Rule, typename ActionInput>
void note_extension(const ActionInput& in, Build& build) {
  if constexpr (Dated<Rule>)
    build.extend(Rule::kName, matched(in, build), Rule::kSince);
  else
    build.extend(Rule::kName, matched(in, build));
}

template <typename Rule>
struct action : pegtl::nothing<Rule> {};

template <Extended Rule>
struct action<Rule> {
  template <typename ActionInput>
  static void apply(const ActionInput& in, Build& build, auto&&...) {
    note_extension<Rule>(in, build);
  }
};

// ---- grammar/common.hpp --------------------------------------------------------------------------------------------

template <>
struct action<grammar::program_word> {
  template <typename ActionInput>
  static void apply(const ActionInput& in, Build& build, auto&&...) {
    build.begin_command(matched(in, build).begin);
  }
};

template <>
struct action<grammar::argument> {
  template <typename ActionInput>
  static void apply(const ActionInput& in, Build& build, auto&&...) {
    build.add_argument(matched(in, build).begin);
  }
};

/// `uid USER`: two tokens. Monit wants them before a timeout.
template <>
struct action<grammar::uid_owner> {
  template <typename ActionInput>
  static void apply(const ActionInput& in, Build& build, auto&&...) {
    const auto at = matched(in, build);
    build.command.uid = build.word(at.begin + 1);
    if (build.command_has_timeout) build.extend("options in another order", at);
  }
};

template <>
struct action<grammar::gid_owner> {
  template <typename ActionInput>
  static void apply(const ActionInput& in, Build& build, auto&&...) {
    const auto at = matched(in, build);
    build.command.gid = build.word(at.begin + 1);
    if (build.command_has_timeout) build.extend("options in another order", at);
  }
};

/// Matches one rule with the actions above and those of its group, which build into `scratch`. Where it does not match
/// the input is where it was.
template <typename Rule, typename Scratch>
[[nodiscard]] bool match(grammar::TokenInput& in, Build& build, Scratch& scratch) {
  return pegtl::match<Rule, pegtl::apply_mode::action, pegtl::rewind_mode::required, action, control>(in, build,
                                                                                                      scratch);
}

// ---- The statement groups, one plain function each: false, and the input where it was, where the rule does not match.

[[nodiscard]] bool parse_set(grammar::TokenInput& in, Build& build, SetSyntax& out);
/// The kind of service that a token begins; null: it begins none, or one that healer does not have.
[[nodiscard]] const engine::CheckKind* kind_of_check(grammar::Kind check);
[[nodiscard]] bool parse_check(grammar::TokenInput& in, Build& build, CheckSyntax& out);
/// every, not every, group, mode, onreboot, start, stop and restart programs, depends on.
[[nodiscard]] bool parse_service_statement(grammar::TokenInput& in, Build& build, ServiceStatement& out);
[[nodiscard]] bool parse_if(grammar::TokenInput& in, Build& build, IfSyntax& out);
[[nodiscard]] bool parse_workflow(grammar::TokenInput& in, Build& build, WorkflowSyntax& out);
/// An item of a workflow, of which only the errors are wanted.
[[nodiscard]] bool parse_workflow_item(grammar::TokenInput& in, Build& build);
/// `define` and the header of `for each`.
[[nodiscard]] bool parse_define(grammar::TokenInput& in, Build& build, DefineSyntax& out);
[[nodiscard]] bool parse_for_each(grammar::TokenInput& in, Build& build, ForEachSyntax& out);
/// alert, noalert, of a service.
[[nodiscard]] bool parse_alert(grammar::TokenInput& in, Build& build, ServiceStatement& out);

}  // namespace healer::config::parsing
