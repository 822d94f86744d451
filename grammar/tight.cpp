// SPDX-License-Identifier: MIT
#include "grammar/tight.hpp"

#include <algorithm>
#include <limits>

#include "grammar/lexer.hpp"
#include "grammar/word_index.hpp"
#include "util/text.hpp"

namespace healer::grammar {
namespace {

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

/// Units of quantities that are measured.
bool is_quantity_unit(std::string_view word) {
  switch (kind_of_word(word)) {
    case Kind::Percent:
    case Kind::SizeUnit:
    case Kind::Rate:
    case Kind::Operation:
    case Kind::OperationRate:
    case Kind::Packet:
    case Kind::PacketRate:
    case Kind::Month: return true;
    default: return is_unit(word) || iequals(word, "TB") || iequals(word, "TB/s");
  }
}

/// A quantity in one word.
bool is_measured(std::string_view word) {
  switch (kind_of_word(word)) {
    case Kind::Cpu:
    case Kind::TotalCpu:
    case Kind::Memory:
    case Kind::TotalMemory:
    case Kind::Swap:
    case Kind::Children:
    case Kind::Threads:
    case Kind::LoadAverage:
    case Kind::Read:
    case Kind::Write:
    case Kind::FileDescriptors:
    case Kind::Size:
    case Kind::Space:
    case Kind::Inode:
    case Kind::Saturation:
    case Kind::Upload:
    case Kind::Uploaded:
    case Kind::Download:
    case Kind::Downloaded:
    case Kind::Uptime: return true;
    default: return false;
  }
}

bool is_quantity(std::string_view text) {
  const auto parts = decimal_number(text);
  return parts && (parts->rest.empty() || is_quantity_unit(parts->rest));
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

std::optional<TightNumber> decimal_number(std::string_view text) {
  auto parts = tight_number(text);
  if (!parts || !parts->rest.starts_with('.')) return parts;
  std::size_t end = parts->digits.size() + 1;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == parts->digits.size() + 1) return parts;
  parts->digits = text.substr(0, end);
  parts->rest = text.substr(end);
  return parts;
}

std::optional<TightComparison> tight_comparison(std::string_view text) {
  const std::size_t begin = text.find_first_of("<>=");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = std::min(text.find_first_not_of("<>=", begin), text.size());
  return TightComparison{text.substr(0, begin), text.substr(begin, end - begin), text.substr(end)};
}

std::optional<std::string_view> newer_quantity(std::string_view word) {
  static constexpr std::string_view kQuantities[] = {"hardlink", "pagein", "pageout"};
  for (const std::string_view known : kQuantities)
    if (iequals(word, known) ||
        (word.size() == known.size() + 1 && lower(word.back()) == 's' && iequals(word.substr(0, known.size()), known)))
      return known;
  return std::nullopt;
}

Kind kind_of_word(std::string_view word) {
  for (const WordEntry& entry : lexing::word_index().find(lexing::WordIndex::first(word)))
    if (iequals(entry.spelling, word)) return entry.kind;
  return Kind::String;
}

std::optional<MonitVersion> newer_word(const TokenStream& stream, std::size_t token) {
  constexpr std::string_view kFirst = "hespHESP=";
  const std::string_view text = stream.text_of(token);
  if (text.size() < 2 || kFirst.find(text.front()) == std::string_view::npos) return std::nullopt;
  const auto* found =
      std::ranges::find_if(kNewerWords, [&](const NewerWord& word) { return iequals(word.spelling, text); });
  if (found == std::end(kNewerWords)) return std::nullopt;
  const std::size_t end = stream.tokens[token].offset + text.size();
  const bool has_blank = end < stream.text.size() && (stream.text[end] == ' ' || stream.text[end] == '\t');
  return found->spelling == "hostgroups" && !has_blank ? std::nullopt : std::optional(found->since);
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

bool is_tilde(std::string_view text) { return text == "~"; }

bool is_tight_count(std::string_view text) {
  const auto parts = tight_comparison(text);
  return parts && newer_quantity(parts->left) && is_comparison(parts->operator_text) && all_digits(parts->right);
}

bool is_tight_count_operator(std::string_view text) {
  const auto parts = tight_comparison(text);
  return parts && newer_quantity(parts->left) && is_comparison(parts->operator_text) && parts->right.empty();
}

bool is_tight_quantity(std::string_view text) {
  const auto parts = decimal_number(text);
  return parts && is_quantity_unit(parts->rest);
}

bool is_children_part(Kind kind, std::string_view text) {
  if (kind == Kind::String)
    if (const auto parts = tight_comparison(text)) kind = kind_of_word(parts->left);
  return kind == Kind::Cpu || kind == Kind::Memory;
}

bool is_tight_measured(std::string_view text) {
  const auto parts = tight_comparison(text);
  return parts && is_measured(parts->left) && is_comparison(parts->operator_text) && is_quantity(parts->right);
}

bool is_tight_measured_operator(std::string_view text) {
  const auto parts = tight_comparison(text);
  return parts && is_measured(parts->left) && is_comparison(parts->operator_text) && parts->right.empty();
}

bool is_tight_measured_operand(std::string_view text) {
  const auto parts = tight_comparison(text);
  return parts && parts->left.empty() && is_comparison(parts->operator_text) && is_quantity(parts->right);
}

}  // namespace healer::grammar
