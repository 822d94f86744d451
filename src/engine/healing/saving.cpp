// SPDX-License-Identifier: MIT
#include "engine/healing/saving.hpp"

#include <regex.h>

#include <array>

namespace healer::engine {

std::optional<std::string> saved_from(const Saving& saving, std::string_view output) {
  if (saving.from != Saving::From::Regex) return std::nullopt;
  regex_t compiled;
  if (regcomp(&compiled, saving.what.c_str(), REG_EXTENDED | REG_NEWLINE) != 0) return std::nullopt;
  const std::string text(output);
  std::array<regmatch_t, 2> found{};
  std::optional<std::string> value;
  if (regexec(&compiled, text.c_str(), found.size(), found.data(), 0) == 0) {
    const regmatch_t& group = found[1].rm_so >= 0 ? found[1] : found[0];
    value = text.substr(static_cast<std::size_t>(group.rm_so), static_cast<std::size_t>(group.rm_eo - group.rm_so));
  }
  regfree(&compiled);
  return value;
}

}  // namespace healer::engine
