// SPDX-License-Identifier: MIT
#include "config/parse_build.hpp"

#include <algorithm>
#include <utility>

#include "util/text.hpp"

namespace healer::config::parsing {
namespace {

using grammar::Kind;

constexpr Duration kLongestDuration = days(36525);

Duration unit_of(std::string_view word) {
  switch (grammar::kind_of_word(word)) {
    case Kind::Millisecond: return milliseconds(1);
    case Kind::Minute: return minutes(1);
    case Kind::Hour: return hours(1);
    case Kind::Day: return days(1);
    default: return to_lower(word).starts_with("week") ? Duration(days(7)) : Duration(seconds(1));
  }
}

Duration times(std::uint64_t count, Duration unit) {
  const auto most = static_cast<std::uint64_t>(kLongestDuration / unit);
  return count > most ? kLongestDuration : unit * static_cast<std::int64_t>(count);
}

bool has_space(std::string_view text) { return text.find_first_of(" \t\n") != std::string_view::npos; }

bool is_quoted(std::string_view written) { return written.front() == '"' || written.front() == '\''; }

/// Text in quotes that Monit does not split, split as its writer meant it: "..." and '...' are one argument each.
struct Argument {
  std::string_view text;
  bool is_quoted = false;
};
std::vector<Argument> split_quoted(std::string_view inside) {
  std::vector<Argument> arguments;
  for (std::size_t at = 0; (at = inside.find_first_not_of(" \t\r\n", at)) != std::string_view::npos;) {
    if (inside[at] == '"' || inside[at] == '\'') {
      const std::size_t close = inside.find(inside[at], at + 1);
      if (close != std::string_view::npos) {
        arguments.push_back({inside.substr(at + 1, close - at - 1), true});
        at = close + 1;
        continue;
      }
    }
    const std::size_t end = std::min(inside.find_first_of(" \t\r\n", at), inside.size());
    arguments.push_back({inside.substr(at, end - at)});
    at = end;
  }
  return arguments;
}

/// `>`, `2>`, `2>&1`, `>/dev/null`; but not `>5` or `<a@b>`.
bool is_redirection(std::string_view written) {
  if (const std::size_t first = written.find_first_not_of("0123456789&"); first <= 1) written.remove_prefix(first);
  const std::size_t end = std::min(written.find_first_not_of("<>"), written.size());
  return end > 0 && (end == written.size() || written[end] == '/' || written[end] == '&');
}

/// Whether an argument is meant for a shell to read.
bool is_shell_sign(std::string_view written) {
  static constexpr std::string_view kSigns[] = {"&&", "||", "|", "|&", "&", ";", ";;"};
  return std::ranges::find(kSigns, written) != std::end(kSigns) || is_redirection(written) ||
         written.find('`') != std::string_view::npos || written.find("$(") != std::string_view::npos ||
         (written.ends_with(';') && !written.ends_with("\\;"));
}

/// Programs that read such signs, or hand them to a shell.
bool reads_shell_signs(std::string_view argument) {
  static constexpr std::string_view kPrograms[] = {"sh",   "bash", "dash", "ash",  "zsh",     "ksh",     "mksh",
                                                   "csh",  "tcsh", "fish", "ssh",  "busybox", "watch",   "su",
                                                   "expr", "test", "[",    "find", "runuser", "parallel"};
  const auto name = argument.substr(argument.rfind('/') + 1);
  return std::ranges::find(kPrograms, name) != std::end(kPrograms);
}

/// `ready on notify`, `ready after`.
bool is_readiness(const grammar::TokenStream& tokens, std::size_t token) {
  const auto says = [&](std::size_t one, std::string_view word) {
    return tokens.tokens[one].kind == Kind::String && iequals(tokens.text_of(one), word);
  };
  return says(token, "ready") && (says(token + 1, "notify") || says(token + 1, "after"));
}

}  // namespace

void Build::begin_statement() {
  extensions.clear();
  complaints.clear();
  items.clear();
  command = {};
  command_has_timeout = false;
}

SourceRange Build::range(TokenRange tokens_of) const {
  const auto& first = tokens.tokens[tokens_of.begin];
  if (tokens_of.end <= tokens_of.begin) return place(first.offset, first.offset + first.length);
  const auto& last = tokens.tokens[tokens_of.end - 1];
  return place(first.offset, last.offset + last.length);
}

Word Build::word(std::size_t token) const { return {grammar::unquote(text(token)), range({token, token + 1})}; }

Word Build::raw(std::size_t token) const { return {std::string(text(token)), range({token, token + 1})}; }

Word lower_word(const Build& build, std::size_t token) {
  Word word = build.word(token);
  word.value = to_lower(word.value);
  return word;
}

Number Build::number(std::size_t token) const {
  const auto value = grammar::tight_number(text(token));
  return {value ? value->number : 0, range({token, token + 1})};
}

Located<Duration> Build::duration(TokenRange tokens_of) const {
  const auto value = grammar::tight_number(text(tokens_of.begin));
  const auto unit = tokens_of.end - tokens_of.begin > 1 ? text(tokens_of.begin + 1) : value->rest;
  return {times(value ? value->number : 0, unit_of(unit)), range(tokens_of)};
}

ToleranceSyntax Build::tolerance(TokenRange tokens_of) const {
  ToleranceSyntax out;
  out.range = range(tokens_of);
  const std::size_t size = tokens_of.end - tokens_of.begin;
  const std::size_t last = tokens_of.end - 1;
  const auto tail = grammar::tight_number(text(last));  // 3cycles, 90seconds
  const bool cycles = kind(last) == Kind::Cycle || (tail && grammar::is_tight_cycles(text(last)));
  if (!cycles) {
    out.held = duration(tokens_of);
    return out;
  }
  out.count = number(tokens_of.begin);
  if (size == 3 || (size == 2 && kind(last) != Kind::Cycle)) out.window = number(tokens_of.begin + 1);
  return out;
}

void Build::extend(std::string_view name, TokenRange where) {
  const auto at = range(where);
  if (!extensions.empty() && extensions.back().range == at && extensions.back().name == name) return;
  extensions.push_back({std::string(name), at});
}

void Build::complain(TokenRange where, std::string message, std::string remedy) {
  complaints.push_back({.range = range(where), .message = std::move(message), .remedy = std::move(remedy)});
}

void Build::warn(TokenRange where, std::string_view message, std::string_view remedy) {
  complaints.push_back({.severity = DiagnosticSeverity::Warning,
                        .range = range(where),
                        .message = std::string(message),
                        .remedy = std::string(remedy)});
}

void Build::begin_command(std::size_t token) {
  command = {};
  command_has_timeout = false;
  command.range = range({token, token + 1});
  const auto written = text(token);
  if (kind(token) == Kind::Command) {
    command.arguments = grammar::split_command(written);
    for (const auto argument : grammar::command_arguments(written))
      if (!argument.starts_with('\'')) note_shell_sign(argument);
    for (const auto& argument : command.arguments) warn_of_quotes(token, argument, "\"");
    if (const auto told = grammar::escaped_quote(tokens, token))
      complaints.push_back({.severity = DiagnosticSeverity::Warning,
                            .range = SourceRange{command.range.file, command.range.end - 2, command.range.end},
                            .message = told->message,
                            .remedy = told->remedy});
    return;
  }
  auto whole = grammar::unquote(written);
  if (is_quoted(written) && has_space(trim(whole))) {
    command.single_quoted_with_arguments = true;
    for (const Argument& argument : split_quoted(written.substr(1, written.size() - 2))) {
      command.arguments.emplace_back(argument.text);
      if (!argument.is_quoted) note_shell_sign(argument.text);
    }
  } else {
    command.arguments.push_back(std::move(whole));
  }
}

void Build::add_argument(std::size_t token) {
  command.arguments.push_back(grammar::unquote(text(token)));
  if (is_quoted(text(token)))
    warn_of_quotes(token, command.arguments.back(), "\"'");
  else
    note_shell_sign(text(token));
  if (!command.next_line && !is_quoted(text(token)) && (tokens.tokens[token].flags & grammar::kFirstOfLine) != 0)
    command.next_line = Word{std::string(text(token)), range({token, token + 1})};
  if (const SourceRange last = range({token, token + 1}); last.file == command.range.file)
    command.range.end = last.end;  // what an include has added stands elsewhere
  if (command.arguments.size() > 2 && is_readiness(tokens, token - 1))
    command.readiness = range({token - 1, token + 1});
}

void Build::note_shell_sign(std::string_view written) {
  if (command.shell_sign || !is_shell_sign(written)) return;
  const auto begin = static_cast<std::uint32_t>(written.data() - tokens.text.data());
  command.shell_sign = Word{std::string(written), place(begin, begin + static_cast<std::uint32_t>(written.size()))};
}

void Build::warn_of_quotes(std::size_t token, std::string_view argument, std::string_view quotes) {
  if (argument.empty() || (quotes.find(argument.front()) == std::string_view::npos &&
                           quotes.find(argument.back()) == std::string_view::npos))
    return;
  complaints.push_back({.severity = DiagnosticSeverity::Warning,
                        .range = range({token, token + 1}),
                        .message = "Monit takes the quotes at the ends of an argument away; healer keeps them",
                        .remedy = {}});
}

CommandSyntax Build::take_command() {
  const bool names_program = !command.arguments.empty() && !command.arguments.front().empty();
  if (!names_program)
    complaints.push_back(
        {.range = command.range, .message = "a program is missing here", .remedy = "write its absolute path"});
  command_has_timeout = false;
  if (std::ranges::any_of(command.arguments, reads_shell_signs)) command.shell_sign.reset();
  return std::exchange(command, {});
}

}  // namespace healer::config::parsing
