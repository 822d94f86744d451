// SPDX-License-Identifier: MIT
#include "config/secret.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kLookedBack = 4096;

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool separates(char c) { return is_blank(c) || c == ',' || c == ';' || c == '(' || c == ')' || c == '='; }

struct Part {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool quoted = false;
};

/// The words of a text; quoted ones without their quotes.
std::vector<Part> parts_of(std::string_view text) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < text.size();) {
    if (separates(text[i])) {
      ++i;
      continue;
    }
    if (text[i] == '"' || text[i] == '\'') {
      const std::size_t end = std::min(text.find(text[i], i + 1), text.size());
      parts.push_back({i + 1, end, true});
      i = end + 1;
      continue;
    }
    Part part{i, i};
    while (part.end < text.size() && !separates(text[part.end])) ++part.end;
    i = part.end;
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

std::string without_secrets(std::string_view line, std::string_view before) {
  std::string shown(line);
  const auto blank = [&shown](std::size_t begin, std::size_t end) {
    if (begin < end) std::fill(shown.begin() + static_cast<long>(begin), shown.begin() + static_cast<long>(end), '*');
  };
  before.remove_prefix(before.size() - std::min(before.size(), kLookedBack));
  const std::vector<Part> earlier = parts_of(before);
  const auto said_before = [&](std::size_t back, std::string_view word) {
    return earlier.size() >= back &&
           iequals(before.substr(earlier[earlier.size() - back].begin,
                                 earlier[earlier.size() - back].end - earlier[earlier.size() - back].begin),
                   word);
  };
  const std::vector<Part> parts = parts_of(line);
  const auto is = [&](std::size_t i, std::size_t back, std::string_view word) {
    if (i < back) return said_before(back - i, word);
    const Part& part = parts[i - back];
    return !part.quoted && iequals(line.substr(part.begin, part.end - part.begin), word);
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [begin, end, quoted] = parts[i];
    if (is(i, 1, "password") || is(i, 1, "secret") || is(i, 2, "environment")) {
      blank(begin, end);
      continue;
    }
    const std::string_view word = line.substr(begin, end - begin);
    const std::size_t colon = word.find(':');
    if (is(i, 1, "allow") && colon != std::string_view::npos) blank(begin + colon + 1, end);
    const std::size_t scheme = word.find("://");
    if (scheme == std::string_view::npos) continue;
    const std::size_t user = scheme + 3;
    const std::size_t at = word.substr(0, word.find('/', user)).rfind('@');
    const std::size_t password = word.find(':', user);
    if (at != std::string_view::npos && password < at) blank(begin + password + 1, begin + at);
  }
  // In `http headers [Cookie: ...]`; blanks are within it.
  const std::string low = to_lower(line);
  for (const std::string_view header : {"authorization:", "cookie:"})
    for (std::size_t at = low.find(header); at != std::string::npos; at = low.find(header, at + 1))
      blank(at + header.size(), std::min(line.find_first_of(",]\n", at), line.size()));
  return shown;
}

}  // namespace healer::config
