// SPDX-License-Identifier: MIT
// What all of the syntax tree is made of: words, numbers and commands with their places.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "util/rare.hpp"
#include "util/time.hpp"

namespace healer::config {

/// Bytes of a source file: `file` is an index into Sources, `begin` and `end` are offsets (end is one past the last).
/// `row` is the row of `for each` that the text is read for: 1 is the first of Document::rows, 0 none.
struct SourceRange {
  std::uint32_t file = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t row = 0;

  bool operator==(const SourceRange&) const = default;
};

/// A word or value with its place.
template <typename T>
struct Located {
  T value{};
  SourceRange range;
};

using Word = Located<std::string>;      ///< unquoted text
using Number = Located<std::uint64_t>;  ///< saturates at 2^64-1

/// A command as written, already split into arguments as Monit splits it.
struct CommandSyntax {
  std::vector<std::string> arguments;
  SourceRange range;
  Rare<Word> uid;  ///< name or number
  Rare<Word> gid;
  Rare<Located<Duration>> timeout;
  bool single_quoted_with_arguments =
      false;                             ///< Monit takes the whole text as the program's name (facts 1.1, quote trap 1)
  Rare<Word> shell_sign;                 ///< the first argument that is meant for a shell, though none reads it: "&&"
  Rare<Word> next_line;                  ///< the first argument, without quotes, that begins a line
  std::optional<SourceRange> readiness;  ///< arguments that read like the statement `ready on notify`
};

enum class ComparisonWord : std::uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

}  // namespace healer::config
