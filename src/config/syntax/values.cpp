// SPDX-License-Identifier: MIT
#include "config/syntax/values.hpp"

#include <algorithm>
#include <iterator>

#include <spdlog/fmt/fmt.h>

#include "util/percent.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

/// A value in a URL of which `before` stands already.
std::string in_url(std::string_view value, std::string_view before) {
  const std::size_t host = before.find("://");
  const bool in_host = host != std::string_view::npos && before.find('/', host + 3) == std::string_view::npos;
  std::string result;
  for (const char c : value) {
    if (in_host && c == ':')
      result += c;
    else
      result += percent_encoded({&c, 1});
  }
  return result;
}

std::string in_json(std::string_view value) {
  std::string result;
  for (const char c : value) {
    if (c == '"' || c == '\\')
      result += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result;
}

/// Programs that read the argument after `-c` as a script.
bool is_shell(std::string_view argument) {
  static constexpr std::string_view kShells[] = {"sh",  "bash", "dash", "ash",  "zsh", "ksh",
                                                 "csh", "tcsh", "mksh", "fish", "su",  "runuser"};
  return std::ranges::find(kShells, argument.substr(argument.rfind('/') + 1)) != std::end(kShells);
}

/// `-c`, `-ec`, `--command`.
bool announces_script(std::string_view argument) {
  if (argument == "--command") return true;
  return argument.size() > 1 && argument[0] == '-' && argument[1] != '-' && argument.back() == 'c' &&
         std::ranges::all_of(argument.substr(1), [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; });
}

}  // namespace

std::string joined(const Pieces& pieces, Into into) {
  std::string result;
  for (const Piece& piece : pieces) {
    if (!piece.of_row || into == Into::Text)
      result += piece.text;
    else
      result += into == Into::Url ? in_url(piece.text, result) : in_json(piece.text);
  }
  return result;
}

std::size_t script_of(const std::vector<std::string>& arguments) {
  bool has_shell = false;
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (has_shell && announces_script(arguments[i])) return i + 1;
    has_shell = has_shell || is_shell(arguments[i]);
  }
  return arguments.size();
}

std::string variable_of(std::string_view name) {
  std::string result = "$HEALER_";
  for (const char c : name)
    result += is_digit(c) ? c : (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? static_cast<char>(c & ~0x20) : '_';
  return result;
}

bool is_own_name(std::string_view name) {
  static constexpr std::string_view kNames[] = {"SERVICE", "TARGET", "EVENT", "HOST",   "DATE",        "REASON",
                                                "HEALING", "STEP",   "FENCE", "ACTION", "DESCRIPTION", "CHECK"};
  return name.starts_with("PROCESS_") || name.starts_with("PROGRAM_") ||
         std::ranges::find(kNames, name) != std::end(kNames);
}

}  // namespace healer::config
