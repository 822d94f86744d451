// SPDX-License-Identifier: MIT
// The texts of a run, and where in them a byte is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/syntax/syntax.hpp"

namespace healer::config {

/// Line and column counted from 1; the column counts characters (UTF-8 code points), a tab as one.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

struct Source {
  std::string path;  ///< as a person should see it
  std::string text;
};

/// All files of a run. Indices stay valid. Places are found in constant time, so that many messages about one huge line
/// cost no more than the messages.
class Sources {
 public:
  /// Adds a file; returns its index.
  std::uint32_t add(std::string path, std::string text);
  [[nodiscard]] const Source& at(std::uint32_t file) const { return sources_[file]; }
  [[nodiscard]] std::size_t size() const { return sources_.size(); }
  [[nodiscard]] Position position(std::uint32_t file, std::uint32_t offset) const;
  /// The line that holds the byte, without its newline.
  [[nodiscard]] std::string_view line_at(std::uint32_t file, std::uint32_t offset) const;
  /// The written text of a range.
  [[nodiscard]] std::string_view text(const SourceRange& range) const;

 private:
  /// Where the reader stands at the beginning of each block of a text.
  struct Mark {
    std::uint32_t line = 1;
    std::uint32_t line_start = 0;
    std::uint32_t characters = 0;  ///< of the line so far
  };
  static constexpr std::uint32_t kBlock = 256;

  [[nodiscard]] Mark mark_at(std::uint32_t file, std::uint32_t offset) const;
  static void advance(Mark& mark, std::string_view text, std::uint32_t from, std::uint32_t to);

  std::vector<Source> sources_;
  std::vector<std::vector<Mark>> marks_;  ///< by file and block
};

}  // namespace healer::config
