// SPDX-License-Identifier: MIT
// Statements of healer's own in which all words are words: none is noise, none is reserved, so that names and texts may
// be any. The lexer asks here where such a statement begins and how far it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "grammar/kinds.hpp"

namespace healer::grammar {

/// Of `check composite`, `check event` and the like, whose names stand behind such a word. Kind::End: of no other.
[[nodiscard]] Kind own_check_of(std::string_view word);
/// Whether it is one of those.
[[nodiscard]] bool is_own_check(Kind kind);

class OwnStatement {
 public:
  /// What a word is to the lexer.
  enum class Reading : std::uint8_t {
    Monit,     ///< a word of Monit's language
    Own,       ///< a bare word of an own statement
    Workflow,  ///< `workflow`, which begins one
  };

  /// Reads the word [begin, end) of `text`. `before`: the kind of the token before it, `said` its text, `gap` what
  /// stands between; `is_first`: of its line.
  [[nodiscard]] Reading read(std::string_view text, std::size_t begin, std::size_t end, Kind before,
                             std::string_view ending_word, std::string_view gap, bool is_first);
  /// Text in quotes comes, which may be a name.
  void quoted();
  /// `{` or `}` comes.
  void brace(bool opens);

 private:
  [[nodiscard]] bool ends(std::string_view text, std::size_t begin, std::size_t end, std::string_view ending_word,
                          std::string_view gap, bool is_first) const;

  enum class Form : std::uint8_t {
    None,
    Block,  ///< workflow NAME { ... }: up to its last brace
    Set,    ///< set healing, set maintenance, set contact, set operators: up to the next statement of a file
    Heal,   ///< heal [NAME] with NAME: so many pieces
    List,   ///< for each NAME from http ...: up to the brace
  } form_ = Form::None;
  std::size_t left_ = 0;  ///< Block: open braces; Heal: pieces to come
};

}  // namespace healer::grammar
