// SPDX-License-Identifier: MIT
#include "util/text.hpp"

#include <algorithm>
#include <cstdint>

#include <spdlog/fmt/fmt.h>

#include "util/unicode.hpp"

namespace healer {
namespace {

bool blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool begin_alike(std::string_view a, std::string_view b) {
  return !a.empty() && !b.empty() && lower(a.front()) == lower(b.front());
}

}  // namespace

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_plain_name(std::string_view name) {
  const auto is_alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c); };
  return !name.empty() && name.size() <= kLongestPlainName && is_alphanumeric(name.front()) &&
         std::ranges::all_of(name, [&](char c) {
           return is_alphanumeric(c) || std::string_view("._:@-").find(c) != std::string_view::npos;
         });
}

std::string to_lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t gap = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (gap > limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    std::size_t best = row[0];
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
      best = std::min(best, row[j]);
    }
    if (best > limit) return limit + 1;
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], limit + 1);
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates) {
  const std::size_t limit = std::clamp<std::size_t>(word.size() / 3, 1, 3);
  std::size_t best = limit + 1;
  std::string_view nearest;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate, limit);
    if (distance > limit || distance >= candidate.size()) continue;
    // Of words that are equally near, the one that begins alike: slips are rare in a first letter.
    if (distance < best || (distance == best && begin_alike(word, candidate) && !begin_alike(word, nearest))) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (length == 3 && ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F))) return 0;
  if (length == 4 && ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F))) return 0;
  return length;
}

std::uint32_t code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<std::uint8_t>(character[i])); };
  switch (character.size()) {
    case 1: return byte(0);
    case 2: return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3: return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    case 4: return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
    default: return 0;
  }
}

bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::string printable(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length > 1 || (length == 1 && !is_control(static_cast<std::uint8_t>(c)))) {
      const std::uint32_t code = code_point(text.substr(0, length));
      if (!is_control(code)) {
        result += text.substr(0, length);
      } else if (code < 0x100) {
        result += fmt::format("\\x{:02x}", code);
      } else {
        result += fmt::format("\\u{:04x}", code);
      }
      text.remove_prefix(length);
      continue;
    }
    switch (c) {
      case '\n': result += "\\n"; break;
      case '\t': result += "\\t"; break;
      case '\r': result += "\\r"; break;
      default: result += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(c));
    }
    text.remove_prefix(1);
  }
  return result;
}

std::string from_octal(std::string_view written) {
  std::string text;
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  for (std::size_t i = 0; i < written.size(); ++i) {
    const std::string_view digits = written.substr(i + 1, 3);
    if (written[i] == '\\' && digits.size() == 3 && std::ranges::all_of(digits, octal)) {
      text += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
      i += digits.size();
    } else {
      text += written[i];
    }
  }
  return text;
}

std::string join_words(std::span<const std::string> words, std::string_view last_separator) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) result += i + 1 == words.size() ? fmt::format(" {} ", last_separator) : ", ";
    result += words[i];
  }
  return result;
}

}  // namespace healer
