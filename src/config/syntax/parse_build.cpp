// SPDX-License-Identifier: MIT
#include "config/syntax/parse_build.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include <spdlog/fmt/fmt.h>

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

/// Whether an argument says what only a shell does: to join commands, or to put the output of one in its place.
bool is_command_sign(std::string_view written) {
  return written == "&&" || written == "||" || written.find('`') != std::string_view::npos ||
         written.find("$(") != std::string_view::npos;
}

/// Whether an argument is meant for a shell to read.
bool is_shell_sign(std::string_view written) {
  static constexpr std::string_view kSigns[] = {"|", "|&", "&", ";", ";;"};
  return is_command_sign(written) || std::ranges::find(kSigns, written) != std::end(kSigns) ||
         is_redirection(written) || (written.ends_with(';') && !written.ends_with("\\;"));
}

bool is_one_of(std::string_view program, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, program.substr(program.rfind('/') + 1)) != names.end();
}

bool is_shell(std::string_view program) {
  return is_one_of(program, {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "csh", "tcsh", "fish"});
}

/// The argument that is the program which is run in the end: `sudo -u x env A=b PROGRAM`.
std::size_t innermost_program(const std::vector<std::string>& arguments) {
  std::size_t at = 0;
  while (at < arguments.size() &&
         is_one_of(arguments[at], {"sudo", "env", "nice", "ionice", "nohup", "setsid", "timeout", "chroot", "exec",
                                   "busybox", "doas", "systemd-run", "flock", "stdbuf", "chpst", "taskset"})) {
    // Options and their values, assignments and numbers: up to what is a path or the name of a program that is known.
    std::size_t next = at + 1;
    const auto is_program = [&](const std::string& one) {
      return one.starts_with('/') || is_shell(one) || is_one_of(one, {"ssh", "su", "runuser", "watch", "find", "env"});
    };
    while (next < arguments.size() && !is_program(arguments[next])) ++next;
    if (next == arguments.size()) break;
    at = next;
  }
  return at;
}

/// The script of `sh -c SCRIPT`, behind the program at `shell`; the number of arguments where there is none.
std::size_t script_of(const std::vector<std::string>& arguments, std::size_t shell) {
  for (std::size_t at = shell + 1; at + 1 < arguments.size(); ++at) {
    if (!arguments[at].starts_with('-') && !arguments[at].starts_with('+')) break;
    if (!arguments[at].starts_with("--") && arguments[at].find('c') != std::string::npos) return at + 1;
  }
  return arguments.size();
}

/// Whether an argument that is meant for a shell is right after all: its program reads it, or hands it to a shell.
bool is_read(const std::vector<std::string>& arguments, std::size_t sign, std::string_view written) {
  const std::size_t program = innermost_program(arguments);
  if (program >= arguments.size()) return false;
  const std::string& name = arguments[program];
  if (is_one_of(name, {"ssh", "watch", "su", "runuser", "parallel"})) return true;
  if (is_shell(name)) return sign == script_of(arguments, program);
  return is_one_of(name, {"expr", "test", "[", "find"}) && !is_command_sign(written);
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
  deprecations.clear();
  complaints.clear();
  items.clear();
  command = {};
  shell_signs.clear();
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

void Build::extend(std::string_view name, TokenRange where, std::optional<MonitVersion> since) {
  const auto at = range(where);
  if (!extensions.empty() && extensions.back().range == at && extensions.back().name == name) return;
  extensions.push_back({.name = std::string(name), .range = at, .since = since});
}

void Build::deprecate(std::string_view was, std::string_view instead, TokenRange where) {
  deprecations.push_back({.was = was, .instead = instead, .range = range(where)});
}

void Build::note_tokens(TokenRange tokens_of) {
  for (std::size_t token = tokens_of.begin; token < tokens_of.end; ++token) {
    const grammar::Token& one = tokens.tokens[token];
    if ((one.flags & grammar::kGenerous) != 0)
      extend("a name in quotes or on a line of its own as this one", {token, token + 1});
    if (one.kind != Kind::String) continue;
    const auto newer = grammar::newer_word(tokens, token);
    if (!newer) continue;
    const SourceRange at = range({token, token + 1});
    const auto is_meant = [&](const Extension& known) {
      return known.range.file == at.file && known.range.begin <= at.begin && at.end <= known.range.end;
    };
    if (std::ranges::none_of(extensions, is_meant))
      extensions.push_back({.name = fmt::format("the word '{}' without quotes", text(token)),
                            .range = at,
                            .since = newer,
                            .is_refused = true});
  }
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
  shell_signs.clear();
  command_has_timeout = false;
  command.range = range({token, token + 1});
  const auto written = text(token);
  if (kind(token) == Kind::Command) {
    command.arguments = grammar::split_command(written);
    const auto arguments = grammar::command_arguments(written);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (!arguments[i].starts_with('\'')) note_shell_sign(arguments[i], i);
    note_shell_slips(arguments);
    if (!written.ends_with('"') || written.size() == 1)
      complaints.push_back({.severity = DiagnosticSeverity::Warning,
                            .range = place(tokens.tokens[token].offset, tokens.tokens[token].offset + 1),
                            .message = "unbalanced quotes: as in Monit, all that follows to the end of the file is "
                                       "arguments of this command",
                            .remedy = "close it with \""});
    for (const auto& argument : command.arguments) warn_of_quotes(token, argument, "\"");
    if (const auto hint = grammar::escaped_quote(tokens, token))
      complaints.push_back({.severity = DiagnosticSeverity::Warning,
                            .range = SourceRange{command.range.file, command.range.end - 2, command.range.end},
                            .message = hint->message,
                            .remedy = hint->remedy});
    return;
  }
  auto whole = grammar::unquote(written);
  if (is_quoted(written) && has_space(trim(whole))) {
    command.single_quoted_with_arguments = true;
    for (const Argument& argument : split_quoted(written.substr(1, written.size() - 2))) {
      if (!argument.is_quoted) note_shell_sign(argument.text, command.arguments.size());
      command.arguments.emplace_back(argument.text);
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
    note_shell_sign(text(token), command.arguments.size() - 1);
  if (!command.next_line && !is_quoted(text(token)) && (tokens.tokens[token].flags & grammar::kFirstOfLine) != 0)
    command.next_line = Word{std::string(text(token)), range({token, token + 1})};
  if (const SourceRange last = range({token, token + 1}); last.file == command.range.file)
    command.range.end = last.end;  // what an include has added stands elsewhere
  if (command.arguments.size() > 2 && is_readiness(tokens, token - 1))
    command.readiness = range({token - 1, token + 1});
}

SourceRange Build::place_of(std::string_view written) const {
  const auto begin = static_cast<std::uint32_t>(written.data() - tokens.text.data());
  return place(begin, begin + static_cast<std::uint32_t>(written.size()));
}

void Build::note_shell_sign(std::string_view written, std::size_t argument) {
  if (is_shell_sign(written)) shell_signs.push_back({argument, written});
}

void Build::note_shell_slips(const std::vector<std::string_view>& written) {
  const auto& arguments = command.arguments;
  const auto warn_at = [&](const SourceRange& range, std::string message, std::string remedy) {
    complaints.push_back({.severity = DiagnosticSeverity::Warning,
                          .range = range,
                          .message = std::move(message),
                          .remedy = std::move(remedy)});
  };
  // '... awk '{print $2}' ...': a quote within ends the argument, and the next one begins right behind it.
  for (const std::string_view argument : written)
    if (grammar::ends_early(argument, tokens.text)) {
      const std::string_view end = argument.substr(argument.size() - 1);
      warn_at(place_of(end), "the argument ends at this quote: single quotes cannot be nested",
              "write double quotes within '...', or put the script into a file");
      break;
    }
  // "/bin/sh -c '...' as uid nobody": an argument to Monit, too.
  for (std::size_t i = 1; i + 1 < arguments.size(); ++i) {
    const bool is_owner = iequals(arguments[i], "uid") || iequals(arguments[i], "gid");
    if (!is_owner || !(iequals(arguments[i - 1], "as") || iequals(arguments[i - 1], "and"))) continue;
    warn_at(place_of(written[i]),
            fmt::format("'{} {}' within the quotes is passed to {} as arguments: it runs as the user of healer",
                        printable(arguments[i - 1]), printable(arguments[i]), in_quotes(arguments.front())),
            fmt::format("write it behind the closing quote: \"...\" as {} {}", to_lower(arguments[i]),
                        printable(arguments[i + 1])));
    break;
  }
  // "/bin/bash -c /usr/sbin/fpm -g x": only the first word is the script.
  const std::size_t shell = innermost_program(arguments);
  if (shell >= arguments.size() || !is_shell(arguments[shell])) return;
  const std::size_t script = script_of(arguments, shell);
  if (script + 1 >= arguments.size() || written[script].starts_with('\'') ||
      arguments[script].find('$') != std::string::npos || iequals(arguments[script + 1], "as"))
    return;
  warn_at(place_of(written[script + 1]),
          fmt::format("the script of '-c' is {} alone: {} and what follows are not part of it",
                      in_quotes(arguments[script]), in_quotes(arguments[script + 1])),
          fmt::format("put the whole script in single quotes: {} '{} {}...'", printable(arguments[script - 1]),
                      printable(arguments[script]), printable(arguments[script + 1])));
}

void Build::warn_of_quotes(std::size_t token, std::string_view argument, std::string_view quotes) {
  argument = trim(argument);
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
  for (const auto& [argument, written] : shell_signs)
    if (!command.shell_sign && !is_read(command.arguments, argument, written))
      command.shell_sign = Word{std::string(written), place_of(written)};
  shell_signs.clear();
  return std::exchange(command, {});
}

}  // namespace healer::config::parsing
