// SPDX-License-Identifier: MIT
// A line of a script as words, and what many statements are made of: numbers, durations, times. The base of the reader
// in script.cpp, and private to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/script.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// Reads one line after the other. The first error of a line sticks: it ends the line's words, so that everything that
/// reads on finds nothing, and what has been read is dropped with the script.
class ScriptLine {
 public:
  explicit ScriptLine(std::vector<ScriptError>& errors) : errors_(errors) {}

 protected:
  /// Within "..." a backslash stands before \" \\ n t; within '...' everything is as it is written.
  [[nodiscard]] static bool is_quote(char c) { return c == '"' || c == '\''; }
  /// A word of a line as it is written, quotes and all.
  struct Word {
    std::string_view raw;
    std::size_t offset = 0;  ///< in the line

    [[nodiscard]] bool quoted() const { return is_quote(raw.empty() ? '\0' : raw.front()); }
  };

  /// Takes the next line; false where it has no words, or is no line of words.
  bool begin(std::string_view line, std::uint32_t number);
  void fail(std::size_t offset, std::string message, std::string remedy = {});

  // Words, from the next on.
  [[nodiscard]] bool more() const { return next_ < words_.size(); }
  [[nodiscard]] std::size_t here() const { return more() ? words_[next_].offset : end_; }
  [[nodiscard]] bool see(std::string_view word) const;
  bool take(std::string_view word) { return see(word) && (++next_, true); }
  /// The same of one of several, behind which a comma may stand.
  bool take_one(std::string_view word);
  void want(std::string_view word, std::string_view form);
  Word want_word(std::string_view what, std::string_view form);
  void want_end();
  /// A plain word, or a quoted one without its quotes.
  std::string text_of(const Word& word);
  /// The text of a quoted part that begins at `raw[at]`; `at` moves behind it.
  std::string unquote(std::string_view raw, std::size_t& at, std::size_t offset);

  // What stands in them. `form` is what to write instead.
  /// A number at `raw[at]`; `at` moves behind it.
  std::int64_t read_number(std::string_view raw, std::size_t& at, std::size_t offset, std::string_view what,
                           std::int64_t least, std::int64_t most);
  std::int64_t number(std::string_view what, std::int64_t least, std::int64_t most, std::string_view form);
  /// The longest run of words that is a duration.
  Duration duration(std::string_view form);
  /// 00:05:00 or a duration.
  Duration offset(std::string_view form);
  WallTime wall_time(std::string_view form);

  // The line that is read, and all of this is its state.
  std::vector<ScriptError>& errors_;
  std::string_view line_;
  std::uint32_t number_ = 0;
  bool failed_ = false;
  std::vector<Word> words_;
  std::size_t next_ = 0;
  std::size_t end_ = 0;

 private:
  void split();
};

}  // namespace healer::engine
