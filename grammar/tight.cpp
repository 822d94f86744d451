// SPDX-License-Identifier: MIT
#include "grammar/tight.hpp"

#include <algorithm>
#include <limits>

#include "util/text.hpp"

namespace healer::grammar {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool all_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

bool is_unit(std::string_view word) {
  switch (kind_of_word(word)) {
    case Kind::Millisecond:
    case Kind::Second:
    case Kind::Minute:
    case Kind::Hour:
    case Kind::Day: return true;
    default: return iequals(word, "week") || iequals(word, "weeks");
  }
}

bool is_comparison(std::string_view sign) {
  const Kind kind = kind_of_word(sign);
  return kind == Kind::Operator || kind == Kind::Equal;
}

}  // namespace

std::optional<TightNumber> tight_number(std::string_view text) {
  std::size_t end = 0;
  std::uint64_t value = 0;
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  for (; end < text.size() && is_digit(text[end]); ++end) {
    const auto digit = static_cast<std::uint64_t>(text[end] - '0');
    value = value > (kMost - digit) / 10 ? kMost : value * 10 + digit;
  }
  if (end == 0) return std::nullopt;
  return TightNumber{value, text.substr(0, end), text.substr(end)};
}

std::optional<TightComparison> tight_comparison(std::string_view text) {
  const std::size_t begin = text.find_first_of("<>=");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = std::min(text.find_first_not_of("<>=", begin), text.size());
  return TightComparison{text.substr(0, begin), text.substr(begin, end - begin), text.substr(end)};
}

Kind kind_of_word(std::string_view word) {
  const auto* found =
      std::ranges::find_if(kWords, [&](const WordEntry& entry) { return iequals(entry.spelling, word); });
  return found == std::end(kWords) ? Kind::String : found->kind;
}

bool is_tight_duration(std::string_view text) {
  const auto parts = tight_number(text);
  return parts && is_unit(parts->rest);
}

bool is_tight_cycles(std::string_view text) {
  const auto parts = tight_number(text);
  return parts && kind_of_word(parts->rest) == Kind::Cycle;
}

bool is_tight_size(std::string_view text) {
  const auto parts = tight_number(text);
  return parts && kind_of_word(parts->rest) == Kind::SizeUnit;
}

bool is_tight_status(std::string_view text) {
  const auto parts = tight_comparison(text);
  return parts && iequals(parts->left, "status") && is_comparison(parts->operator_text) && all_digits(parts->right);
}

bool is_tight_status_operator(std::string_view text) {
  const auto parts = tight_comparison(text);
  return parts && iequals(parts->left, "status") && is_comparison(parts->operator_text) && parts->right.empty();
}

bool is_tight_operand(std::string_view text) {
  const auto parts = tight_comparison(text);
  return parts && parts->left.empty() && is_comparison(parts->operator_text) && all_digits(parts->right);
}

}  // namespace healer::grammar
