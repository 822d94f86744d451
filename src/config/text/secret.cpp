// SPDX-License-Identifier: MIT
#include "config/text/secret.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "config/compile/url.hpp"
#include "grammar/lexer.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kSearchedBack = 4096;

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

/// What is secret in a list of headers, in bytes from its beginning.
std::vector<Part> secret_headers(std::string_view list) {
  std::vector<Part> parts;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find_first_of(",\n]", at), list.size());
    const std::size_t colon = list.find(':', at);
    // What has no name belongs to the value before it.
    if (colon >= end)
      parts.push_back({at, end});
    else if (!is_open_header(trim(list.substr(at, colon - at))))
      parts.push_back({colon + 1, end});
    at = end + 1;
  }
  return parts;
}

/// What the grammar takes for a secret.
std::vector<Part> stated_secrets(std::string_view line, std::string_view before) {
  const std::string text = std::string(before) + std::string(line);
  const grammar::TokenStream stream = grammar::lex(text);
  std::vector<Part> parts;
  const auto add = [&](std::size_t begin, std::size_t end) {
    if (end > before.size()) parts.push_back({std::max(begin, before.size()) - before.size(), end - before.size()});
  };
  using grammar::Kind;
  for (std::size_t i = 0; i < stream.tokens.size(); ++i) {
    const grammar::Token& token = stream.tokens[i];
    const auto kind = [&](std::size_t back) { return i >= back ? stream.tokens[i - back].kind : Kind::End; };
    const std::string_view written = stream.text_of(i);
    const std::size_t begin = token.offset;
    const bool is_secret =
        kind(1) == Kind::Password || kind(1) == Kind::Secret || (kind(1) == Kind::Colon && kind(3) == Kind::Allow) ||
        (kind(2) == Kind::Allow && token.kind == Kind::Quoted && iequals(stream.text_of(i - 1), "token"));
    if (is_secret && token.kind != Kind::Broken) {
      const std::size_t quote = written.starts_with('"') || written.starts_with('\'') ? 1 : 0;
      const std::size_t end = begin + written.size();
      add(begin + quote, end - quote);
      add(end, std::min(text.find_first_of(" \t\r\n,;", end), text.size()));  // glued to it: perhaps the rest of it
    }
    if (token.kind == Kind::Url) {
      const auto [from, to] = password_in_url(written);
      add(begin + from, begin + to);
    }
    if (token.kind == Kind::Headers)
      for (const Part& part : secret_headers(written.substr(1))) add(begin + 1 + part.begin, begin + 1 + part.end);
  }
  return parts;
}

}  // namespace

bool is_open_header(std::string_view name) {
  static constexpr std::string_view kOpen[] = {
      "host",         "user-agent", "accept",        "accept-charset", "accept-encoding", "accept-language",
      "content-type", "connection", "cache-control", "pragma",         "referer"};
  return std::ranges::any_of(kOpen, [&](std::string_view one) { return iequals(one, name); });
}

std::string without_secrets(std::string_view line, std::string_view before) {
  std::string shown(line);
  const auto blank = [&shown](std::size_t begin, std::size_t end) {
    if (begin < end) std::fill(shown.begin() + static_cast<long>(begin), shown.begin() + static_cast<long>(end), '*');
  };
  if (before.size() > kSearchedBack) {
    before.remove_prefix(before.size() - kSearchedBack);
    before.remove_prefix(std::min(before.find('\n'), before.size() - 1) + 1);  // from a line's beginning
  }
  const std::vector<Part> earlier = parts_of(before);
  const auto stands_before = [&](std::size_t back, std::string_view word) {
    return earlier.size() >= back &&
           iequals(before.substr(earlier[earlier.size() - back].begin,
                                 earlier[earlier.size() - back].end - earlier[earlier.size() - back].begin),
                   word);
  };
  const std::vector<Part> parts = parts_of(line);
  const auto is = [&](std::size_t i, std::size_t back, std::string_view word) {
    if (i < back) return stands_before(back - i, word);
    const Part& part = parts[i - back];
    return !part.quoted && iequals(line.substr(part.begin, part.end - part.begin), word);
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [begin, end, quoted] = parts[i];
    // `save ... as X secret` says that X is one, and gives none.
    const bool is_given = is(i, 1, "secret") && !is(i, 3, "as");
    if (quoted && is(i, 1, "header") && !is(i, 2, "save")) {
      for (const Part& part : secret_headers(line.substr(begin, end - begin)))
        blank(begin + part.begin, begin + part.end);
      continue;
    }
    if (is(i, 1, "password") || is(i, 1, "community") || is_given || is(i, 2, "environment") ||
        (quoted && (is(i, 1, "body") || is(i, 1, "token")))) {
      blank(begin, end);
      continue;
    }
    const std::string_view word = line.substr(begin, end - begin);
    const std::size_t scheme = word.find("://");
    if (scheme == std::string_view::npos) continue;
    const std::size_t user = scheme + 3;
    const std::size_t at = word.substr(0, word.find('/', user)).rfind('@');
    const std::size_t password = word.find(':', user);
    if (at != std::string_view::npos && password < at) blank(begin + password + 1, begin + at);
  }
  for (const Part& part : stated_secrets(line, before)) blank(part.begin, part.end);
  return shown;
}

}  // namespace healer::config
