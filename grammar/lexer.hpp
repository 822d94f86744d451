// SPDX-License-Identifier: MIT
// Text to tokens, as Monit's lexer with its states cuts them. Pure and linear in the text, whatever the text is.
//
// The longest spelling wins; a word of the language wins over a bare word of the same length. Noise words, `, ; ( )`,
// comments and white space become no tokens. What cannot be a token becomes one of kind Broken with a Fault, so that
// the parser stumbles over it at its place and nowhere else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/words.hpp"

namespace healer::grammar {

/// A token's text begins at `offset`; the quotes of quoted text are within it.
struct Token {
  std::uint32_t offset = 0;
  std::uint16_t length = 0;
  Kind kind = Kind::End;
  std::uint8_t flags = 0;
};

/// Flags of a token.
inline constexpr std::uint8_t kFirstOfLine = 1;   ///< nothing but white space stands before it on its line
inline constexpr std::uint8_t kManyLines = 2;     ///< quoted text with a newline in it
inline constexpr std::uint8_t kGenerous = 4;      ///< a name that Monit would cut otherwise, and so refuse
inline constexpr std::uint8_t kAfterProgram = 8;  ///< the noise word `program` stands between it and a process's name
inline constexpr std::uint8_t kMember = 16;       ///< it is in the list of a composite's members
inline constexpr std::uint8_t kOrBefore = 32;     ///< the noise word `or` stands between it and the token before it

/// A parenthesis, which is no token.
struct Parenthesis {
  std::uint32_t token = 0;  ///< index of the token that it stands before
  std::uint32_t offset = 0;
  bool opens = false;
};

/// Why a token is Broken: one per such token, in their order.
struct Fault {
  std::uint32_t token = 0;  ///< index of the token
  std::string message;
  std::string remedy;
};

/// A text cut into tokens. `kinds` holds the kinds of `tokens` as bytes. The last token is End, at the end of the
/// text; `kinds` does not have it, so that the end of input means the end of the text.
struct TokenStream {
  std::string_view text;  ///< not owned
  std::vector<Token> tokens;
  std::string kinds;
  std::vector<Fault> faults;
  std::vector<Parenthesis> parentheses;  ///< outside of names and words that have their own, in the order of writing
  bool is_whole = true;                  ///< false: after so many faults the rest was not cut

  [[nodiscard]] std::string_view text_of(std::size_t token) const {
    return text.substr(tokens[token].offset, tokens[token].length);
  }
};

/// The first parenthesis that stands before a token or behind it.
[[nodiscard]] inline std::vector<Parenthesis>::const_iterator parentheses_before(const TokenStream& stream,
                                                                                 std::size_t token) {
  return std::ranges::lower_bound(stream.parentheses, token, {}, &Parenthesis::token);
}

/// Since which version of Monit the text of a token is a word there (kNewerWords). None: it is none.
[[nodiscard]] std::optional<MonitVersion> newer_word(const TokenStream& stream, std::size_t token);

/// Cuts `text`, which must outlive the result and be smaller than 4 GiB.
[[nodiscard]] TokenStream lex(std::string_view text);

/// What quoted or bare text says: without its quotes, and with \n, \r, \t, \\ and \0xHH of quoted text replaced.
[[nodiscard]] std::string unquote(std::string_view written);

/// The arguments in the text of a Command token, with or without its quotes, as they are written. They are found as
/// Monit does at run time: blanks and newlines separate, '...' at the start of an argument is one argument, and nothing
/// else is special.
[[nodiscard]] std::vector<std::string_view> command_arguments(std::string_view written);

/// Whether such an argument, in its text, is one in single quotes that ends where the writer did not mean it to: the
/// next one begins right behind it.
[[nodiscard]] bool ends_early(std::string_view argument, std::string_view text);

/// What these arguments say: without the quotes of '...', and with its escapes replaced.
[[nodiscard]] std::vector<std::string> split_command(std::string_view written);

/// Whether a text is a name as `define` and `for each` give: letters, digits and `_`, no digit first.
[[nodiscard]] bool is_identifier(std::string_view text);

/// The end of the `${NAME}` that begins at `begin`; 0: there is none. A name may have `.FIELD` behind it.
[[nodiscard]] std::size_t reference_end(std::string_view text, std::size_t begin);

/// Whether a character may stand in a bare word.
[[nodiscard]] bool is_word_character(char c);

}  // namespace healer::grammar
