// SPDX-License-Identifier: MIT
#include "grammar/arguments.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "grammar/escapes.hpp"
#include "grammar/lexer.hpp"

namespace healer::grammar {
namespace {

bool is_quoted_text(std::string_view text) {
  const auto is_quote = [](char c) { return c == '"' || c == '\''; };
  return text.size() >= 2 && is_quote(text.front()) && is_quote(text.back());
}

bool is_single_quoted(std::string_view argument) {
  return argument.size() >= 2 && argument.front() == '\'' && argument.back() == '\'' &&
         argument.find('\'', 1) == argument.size() - 1;
}

}  // namespace

std::size_t argument_end(std::string_view text, std::size_t at) {
  std::size_t word = at;
  while (word < text.size() && !is_argument_space(text[word]) && text[word] != '"') ++word;
  if (text[at] == '\'') {
    const std::size_t quote = text.find('\'', at + 1);
    if (quote != std::string_view::npos && quote + 1 >= word) return quote + 1;
  }
  return word;
}

std::string unquote(std::string_view written) {
  if (!is_quoted_text(written)) return std::string(written);
  return replace_escapes(written.substr(1, written.size() - 2));
}

std::vector<std::string_view> command_arguments(std::string_view written) {
  if (written.size() >= 2 && written.front() == '"' && written.back() == '"')
    written = written.substr(1, written.size() - 2);
  std::vector<std::string_view> arguments;
  std::size_t at = 0;
  while (at < written.size()) {
    if (is_argument_space(written[at]) || written[at] == '"') {
      ++at;
      continue;
    }
    const std::size_t end = argument_end(written, at);
    arguments.push_back(written.substr(at, end - at));
    at = end;
  }
  return arguments;
}

bool ends_early(std::string_view argument, std::string_view text) {
  const auto end = static_cast<std::size_t>(argument.data() + argument.size() - text.data());
  return is_single_quoted(argument) && end < text.size() && !is_argument_space(text[end]) && text[end] != '"' &&
         text[end] != '\r';
}

std::vector<std::string> split_command(std::string_view written) {
  std::vector<std::string> arguments;
  for (const std::string_view argument : command_arguments(written)) {
    if (!is_single_quoted(argument)) {
      arguments.emplace_back(argument);
      continue;
    }
    std::string unquoted = replace_escapes(argument.substr(1, argument.size() - 2));
    // Here quotes at the ends are none of the writer's: they are taken away, as in Monit.
    if (ends_early(argument, written)) {
      constexpr std::string_view kEnds = " \t\r\n\"'";
      unquoted.erase(std::min(unquoted.find_last_not_of(kEnds) + 1, unquoted.size()));
      unquoted.erase(0, std::min(unquoted.find_first_not_of(kEnds), unquoted.size()));
    }
    arguments.push_back(std::move(unquoted));
  }
  return arguments;
}

}  // namespace healer::grammar
