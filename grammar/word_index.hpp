// SPDX-License-Identifier: MIT
// Private to the grammar: what characters are, and which words begin how.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/words.hpp"
#include "util/text.hpp"

namespace healer::grammar::lexing {

enum class Class : std::uint8_t { Unknown, Blank, Newline, Skipped, Quote, Comment, Sign, Word };

inline constexpr std::array<Class, 256> kClasses = [] {
  std::array<Class, 256> classes{};
  for (int c = 0x21; c < 256; ++c) classes[static_cast<std::size_t>(c)] = Class::Word;
  classes[' '] = classes['\t'] = Class::Blank;
  classes['\n'] = classes['\r'] = Class::Newline;
  for (char c : {',', ';', '(', ')'}) classes[static_cast<unsigned char>(c)] = Class::Skipped;
  for (char c : {'"', '\''}) classes[static_cast<unsigned char>(c)] = Class::Quote;
  classes['#'] = Class::Comment;  // within a word it is a character of the word
  for (char c : {':', '{', '}', '%', '!'}) classes[static_cast<unsigned char>(c)] = Class::Sign;
  classes['@'] = Class::Unknown;
  return classes;
}();

inline Class class_of(char c) { return kClasses[static_cast<unsigned char>(c)]; }
inline bool in_word(char c) { return class_of(c) == Class::Word || c == '#'; }
inline bool in_path(char c) { return in_word(c) || c == '@'; }
inline bool is_plain_space(char c) { return c == ' '; }
inline bool is_blank(char c) { return class_of(c) == Class::Blank; }
inline bool is_space(char c) { return is_blank(c) || class_of(c) == Class::Newline; }

/// The table by first word: the entries of one first word stand side by side, the longest first.
class WordIndex {
 public:
  WordIndex() {
    entries_.assign(std::begin(kWords), std::end(kWords));
    std::ranges::sort(entries_, [](const WordEntry& a, const WordEntry& b) {
      const auto x = first(a.spelling), y = first(b.spelling);
      return x != y ? x < y : a.spelling.size() > b.spelling.size();
    });
    for (std::size_t i = 0; i < entries_.size();) {
      std::size_t end = i + 1;
      while (end < entries_.size() && first(entries_[end].spelling) == first(entries_[i].spelling)) ++end;
      const auto word = first(entries_[i].spelling);
      longest_ = std::max(longest_, word.size());
      index_.emplace(word, std::span(entries_).subspan(i, end - i));
      i = end;
    }
  }

  /// The entries whose first word is `word`, without regard to case.
  [[nodiscard]] std::span<const WordEntry> find(std::string_view word) const {
    std::array<char, 32> low;
    if (word.size() > longest_ || word.size() > low.size()) return {};
    std::ranges::transform(word, low.begin(), lower);
    const auto found = index_.find(std::string_view(low.data(), word.size()));
    return found == index_.end() ? std::span<const WordEntry>{} : found->second;
  }

  static std::string_view first(std::string_view spelling) {
    std::size_t end = 0;
    while (end < spelling.size() && in_word(spelling[end])) ++end;
    return spelling.substr(0, end == 0 ? spelling.size() : end);
  }

 private:
  std::vector<WordEntry> entries_;
  std::unordered_map<std::string_view, std::span<const WordEntry>> index_;
  std::size_t longest_ = 0;
};

inline const WordIndex& word_index() {
  static const WordIndex index;
  return index;
}

}  // namespace healer::grammar::lexing
