// SPDX-License-Identifier: MIT
#include "util/secrets/strike_out.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "util/percent.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

constexpr std::size_t kShort = 4;     // bytes: what has less is struck out with its line
constexpr std::size_t kLongWord = 8;  // in a URL

char fold(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool stands_in_word(char c) {
  return is_digit(c) || (fold(c) >= 'a' && fold(c) <= 'z') || static_cast<unsigned char>(c) > 0x7F;
}

char escaped(char letter) {
  switch (letter) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return letter;  // \" and the like
  }
}

/// How many bytes at the beginning of `text` may stand for that one, in each of the ways in which it may be written.
void add_ways(std::string_view text, char byte, std::size_t at, std::vector<std::size_t>& reached) {
  const auto add = [&](std::optional<char> found, std::size_t size) {
    if (found && fold(*found) == fold(byte) && std::ranges::find(reached, at + size) == reached.end())
      reached.push_back(at + size);
  };
  if (text.empty()) return;
  add(text[0], 1);
  if (text[0] == '+') add(' ', 1);
  if (text[0] == '%') add(hex_byte(text.substr(1)), 3);
  if (text[0] != '\\' || text.size() < 2) return;
  add(escaped(text[1]), 2);
  if (text[1] == 'x') add(hex_byte(text.substr(2)), 4);
  if (text.substr(1, 3) == "u00") add(hex_byte(text.substr(4)), 6);
}

/// How many bytes at the beginning of `text` are the secret; 0: none are.
std::size_t length_at(std::string_view text, std::string_view secret) {
  std::vector<std::size_t> places{0}, reached;
  for (const char byte : secret) {
    reached.clear();
    for (const std::size_t place : places) add_ways(text.substr(place), byte, place, reached);
    if (reached.empty()) return 0;
    places.swap(reached);
  }
  return std::ranges::max(places);
}

/// The line of `text` around `at`, in bytes.
std::pair<std::size_t, std::size_t> line_around(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return {before == std::string_view::npos ? 0 : before + 1, std::min(text.find('\n', at), text.size())};
}

std::string without_one(std::string text, std::string_view secret) {
  const bool is_short = secret.size() < kShort;
  const auto may_begin = [first = fold(secret.front())](char c) {
    return fold(c) == first || c == '%' || c == '+' || c == '\\';
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!may_begin(text[at])) continue;
    std::size_t size = length_at(std::string_view(text).substr(at), secret);
    if (size == 0) continue;
    std::size_t begin = at;
    if (is_short) {
      const bool stands_alone =
          (at == 0 || !stands_in_word(text[at - 1])) && (at + size >= text.size() || !stands_in_word(text[at + size]));
      if (!stands_alone) continue;
      const auto [from, to] = line_around(text, at);
      begin = from;
      size = std::max(to, at + size) - from;
    }
    text.replace(begin, size, kStruckOut);
    at = begin + kStruckOut.size() - 1;
  }
  return text;
}

/// The secrets that are in that one, beside itself.
void add_parts(std::string_view secret, std::vector<std::string>& all) {
  const auto add = [&](std::string_view part, std::size_t least) {
    if (part.size() >= least && part.size() < secret.size()) all.emplace_back(part);
  };
  add(trim(secret), 1);
  if (secret.find('\n') != std::string_view::npos)
    for (std::size_t at = 0; at < secret.size();) {
      const std::size_t end = std::min(secret.find('\n', at), secret.size());
      add(trim(secret.substr(at, end - at)), kShort);
      at = end + 1;
    }
  const std::size_t scheme = secret.find("://");
  if (scheme == std::string_view::npos || scheme > 5 || !to_lower(secret).starts_with("http")) return;
  const std::string_view rest = trim(secret.substr(scheme + 3));
  add(rest, kShort);
  const std::size_t host = std::min(rest.find_first_of("/?#"), rest.size());
  add(rest.substr(host), kShort);
  constexpr std::string_view kBetween = "/?#&=@:";
  for (std::size_t at = 0; at < rest.size();) {
    const std::size_t end = std::min(rest.find_first_of(kBetween, at), rest.size());
    add(rest.substr(at, end - at), at < host ? kShort : kLongWord);
    at = end + 1;
  }
}

}  // namespace

std::string strike_out(std::string_view text, const std::vector<std::string>& secrets) {
  std::vector<std::string> all = secrets;
  for (const std::string& secret : secrets) add_parts(secret, all);
  std::erase_if(all, [](const std::string& secret) { return secret.empty(); });
  std::ranges::stable_sort(all, std::greater<>(), &std::string::size);  // one may be a part of another
  std::string rest(text);
  for (const std::string& secret : all) rest = without_one(std::move(rest), secret);
  return rest;
}

}  // namespace healer
