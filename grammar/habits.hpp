// SPDX-License-Identifier: MIT
// What people write from the habit of other languages, and what to write here in its place.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/errors.hpp"

namespace healer::grammar {

/// The remedy for a token that does not fit and is such a habit: `&&`, `contains`, `2G`, `Restart=always`. Empty where
/// it is none.
[[nodiscard]] std::string remedy_of_habit(const TokenStream& tokens, std::size_t token, const Expectation& expectation);

/// The same of what counts only where nothing nearer is meant: units of other programs, a condition after `else`.
[[nodiscard]] std::string remedy_of_far_habit(const TokenStream& tokens, std::size_t token);

/// A habit before the token that does not fit, which is only where it came to light: `depends upon x`, curly quotes, a
/// regular expression without quotes. `begin` is where the statement begins that has the error.
[[nodiscard]] std::optional<EarlierCause> earlier_habit(const TokenStream& tokens, std::size_t begin,
                                                        std::size_t token);

/// A slip in the first word of a statement, the one before the token that does not fit: it has made the word one more
/// argument of the program before it.
[[nodiscard]] std::optional<Complaint> swallowed_word(const TokenStream& tokens, std::size_t token);

/// The remedy where a rule ends before its `then`, and an action follows; empty where it is something else.
[[nodiscard]] std::string missing_then(const TokenStream& tokens, std::size_t token, const Expectation& expectation);

/// Whether a statement of the kind names a program of the service.
[[nodiscard]] bool is_program_word(Kind kind);

/// Whether a rule may have it for its action.
[[nodiscard]] bool is_action(Kind kind);

/// What in a token without quotes, which is right as it is, was hardly meant: typographic quotes and no-break spaces,
/// which are letters like others here, and a keyword that ends within a word.
[[nodiscard]] std::vector<EarlierCause> misread_letters(const TokenStream& tokens, std::size_t token);

}  // namespace healer::grammar
