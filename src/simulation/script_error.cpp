// SPDX-License-Identifier: MIT
#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "simulation/script.hpp"

namespace healer::engine {
namespace {

std::string_view line_of(std::string_view text, std::uint32_t line) {
  for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string format(const ScriptError& error, std::string_view path, std::string_view text) {
  const std::string_view line = line_of(text, error.line);
  std::string out = fmt::format("{}:{}:{}: error: {}\n", path, error.line, error.column, error.message);
  std::string caret;
  for (const char c : line) {
    if ((static_cast<unsigned char>(c) & 0xC0U) == 0x80U) continue;
    if (caret.size() + 1 >= error.column) break;
    caret += c == '\t' ? '\t' : ' ';
  }
  out += fmt::format("  {}\n  {}^\n", line, caret);
  if (!error.remedy.empty()) out += fmt::format("  note: {}\n", error.remedy);
  return out;
}

}  // namespace healer::engine
