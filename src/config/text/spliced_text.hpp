// SPDX-License-Identifier: MIT
// A text with others in it, in the place of the includes that name them: where an `include` stands in the middle of a
// statement.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/syntax/syntax_words.hpp"

namespace healer::config {

class SplicedText {
 public:
  /// Adds what a file has from a byte on.
  void add(std::uint32_t file, std::uint32_t from, std::string_view text);
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Where the bytes [begin, end) of the text stand: of several files, what is in the first of them.
  [[nodiscard]] SourceRange place(std::uint32_t begin, std::uint32_t end) const;

 private:
  struct Piece {
    std::uint32_t at = 0;  ///< where it begins in the text
    std::uint32_t file = 0;
    std::uint32_t from = 0;
    std::uint32_t length = 0;
  };

  std::string text_;
  std::vector<Piece> pieces_;  ///< in the order of the text, with a newline behind each
};

}  // namespace healer::config
