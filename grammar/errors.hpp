// SPDX-License-Identifier: MIT
// What to say where a token does not fit: what was tried at the furthest token, in the user's words.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/lexer.hpp"

namespace healer::grammar {

/// Whether a token is the first of its line.
[[nodiscard]] bool is_first_of_line(const TokenStream& tokens, std::size_t token);

/// What a terminal of the grammar would have taken. It lives for ever, as do the texts.
struct Terminal {
  std::string_view phrase;  ///< what it is called in a message; empty: it is not told of by such a name
  bool is_near = false;     ///< its kinds and texts are only worth a "did you mean"
  std::span<const Kind> kinds;
  std::span<const std::string_view> texts;
};

/// What was tried, and failed, at the furthest token that was reached. Views are to texts that live for ever.
struct Expectation {
  std::size_t furthest = 0;                  ///< index of the token
  std::bitset<256> kinds;                    ///< named by their own words
  std::bitset<256> near;                     ///< as well worth a "did you mean"
  std::vector<std::string_view> phrases;     ///< "a program"
  std::vector<std::string_view> texts;       ///< healer's own words
  std::vector<std::string_view> near_texts;  ///< as `near`
  std::vector<const Terminal*> missed;       ///< what is not in them yet
  bool is_gathered = false;                  ///< something is in them

  /// A terminal did not fit at `token`. Right texts, too, are full of that: it is only noted, for gather().
  void miss(std::size_t token, const Terminal& terminal) {
    if (token < furthest) return;
    if (token > furthest) reach(token);
    missed.push_back(&terminal);
  }
  /// Makes the sets above of all that was missed, at `token` where that is further. Requires: it was called before they
  /// are read.
  void gather(std::size_t token = 0);
  /// Begins anew where `token` is further than all before.
  void reach(std::size_t token);
  void add_phrase(std::string_view phrase);
  void add_text(std::string_view text);
  void add_near_text(std::string_view text);
};

struct Complaint {
  std::string message;
  std::string remedy;
};

/// What a kind is called in a message: "'then'", "a number".
[[nodiscard]] std::string describe(Kind kind);

/// What a token is called in a message: its text in quotes, shortened, or "the end of the file".
[[nodiscard]] std::string describe(const TokenStream& tokens, std::size_t token);

/// How a message about a token begins that should not stand there: "unexpected 'x'", or "the file ends here".
[[nodiscard]] std::string unexpected(const TokenStream& tokens, std::size_t token);

/// The message for a token that none of the expected fits, in the statement that begins at `begin`. A Broken token's
/// fault goes before all else.
[[nodiscard]] Complaint unexpected(const TokenStream& tokens, std::size_t begin, std::size_t token,
                                   const Expectation& expectation);

/// A quote that was meant to be escaped and ends a text in the middle of its line: nothing escapes quotes.
[[nodiscard]] std::optional<Complaint> escaped_quote(const TokenStream& tokens, std::size_t token);

/// A piece of the text.
struct Piece {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

/// What went wrong before the token that does not fit, which is only where it came to light.
struct EarlierCause {
  std::size_t token;  ///< the one to blame
  Complaint complaint;
  std::optional<Piece> at = std::nullopt;  ///< the part to show; the whole token where it is empty
};

/// The cause of an error at `token` that lies before it, where there is one to be seen. `begin` is where the statement
/// begins that has the error.
[[nodiscard]] std::optional<EarlierCause> earlier_cause(const TokenStream& tokens, std::size_t begin,
                                                        std::size_t token);

/// The word of the text that a token is only the end of, because a keyword ends within it: `memroy` of `total memroy`,
/// where `total mem` is one. Empty where the token is a word of its own.
[[nodiscard]] std::optional<Piece> cut_word(const TokenStream& tokens, std::size_t token);

/// The complaint about a word after `check` that is not a kind of check, and the kind that was meant; empty: none is
/// near.
struct WrongKind {
  Complaint complaint;
  std::string_view meant;
};
[[nodiscard]] WrongKind wrong_kind_of_check(std::string_view word);

/// The message for a statement from `begin` on that ends, where the next one begins with `token`, before it says all
/// that it must.
[[nodiscard]] Complaint incomplete(const TokenStream& tokens, std::size_t begin, std::size_t token,
                                   const Expectation& expectation);

/// The fault of a Broken token.
[[nodiscard]] const Fault* fault_of(const TokenStream& tokens, std::size_t token);

}  // namespace healer::grammar
