// SPDX-License-Identifier: MIT
// Private to the lexer: the text that is read, and the tokens and faults that are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "grammar/lexer.hpp"
#include "grammar/word_index.hpp"

namespace healer::grammar::lexing {

inline constexpr std::size_t kLongestToken = std::numeric_limits<std::uint16_t>::max();
inline constexpr int kMostUnclosed = 16;

/// Where the lexer is, and what it has made.
class TokenWriter {
 protected:
  explicit TokenWriter(std::string_view text) {
    out_.text = text;
    out_.tokens.reserve(text.size() / 8 + 1);
    out_.kinds.reserve(text.size() / 8 + 1);
  }

  [[nodiscard]] std::string_view text() const { return out_.text; }
  [[nodiscard]] char peek(std::size_t at) const { return at < text().size() ? text()[at] : '\0'; }

  template <typename Predicate>
  [[nodiscard]] std::size_t skip(std::size_t at, Predicate predicate) const {
    while (at < text().size() && predicate(text()[at])) ++at;
    return at;
  }

  void add(Kind kind, std::size_t begin, std::size_t end) {
    if (end - begin > kLongestToken) {
      broken(begin, begin + kLongestToken, fmt::format("a text of {} bytes is too long", end - begin),
             fmt::format("at most {} bytes are possible", kLongestToken));
      at_ = end;
      return;
    }
    push(kind, begin, end);
    at_ = end;
  }

  void push(Kind kind, std::size_t begin, std::size_t end) {
    std::uint8_t flags = 0;
    if (!line_begun_) flags |= kFirstOfLine;
    if (after_program_) flags |= kAfterProgram;
    if (or_before_) flags |= kOrBefore;
    line_begun_ = true;
    after_program_ = false;
    or_before_ = false;
    out_.tokens.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint16_t>(end - begin), kind, flags});
    out_.kinds.push_back(static_cast<char>(kind));
  }

  void broken(std::size_t begin, std::size_t end, std::string message, std::string remedy) {
    out_.faults.push_back({static_cast<std::uint32_t>(out_.tokens.size()), std::move(message), std::move(remedy)});
    push(Kind::Broken, begin, end);
  }

  void add_quoted(Kind kind, std::size_t begin, std::size_t end) {
    const std::size_t before = out_.tokens.size();
    add(kind, begin, end);
    if (text().substr(begin, end - begin).find('\n') != std::string_view::npos) out_.tokens[before].flags |= kManyLines;
  }

  void unclosed(std::size_t begin) {
    broken(begin, begin + 1, "unbalanced quotes: the text that begins here is not closed",
           fmt::format("close it with {}", text()[begin]));
    // To find that a quote has no end the whole rest is read: what follows so many of them is no rules file.
    out_.is_whole = ++unclosed_ < kMostUnclosed;
    at_ = out_.is_whole ? begin + 1 : text().size();
  }

  TokenStream out_;
  std::size_t at_ = 0;
  bool line_begun_ = false;
  bool after_program_ = false;
  bool or_before_ = false;

 private:
  int unclosed_ = 0;
};

}  // namespace healer::grammar::lexing
