// SPDX-License-Identifier: MIT
// Texts that healer understands although the blanks are missing in them: `5minutes`, `3cycles`, `10MB`, `status>0`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "grammar/words.hpp"

namespace healer::grammar {

/// A number with what follows it; `number` saturates.
struct TightNumber {
  std::uint64_t number = 0;
  std::string_view digits;  ///< of decimal_number(): with a fraction
  std::string_view rest;
};

/// A comparison with what stands before and after the operator; either may be empty.
struct TightComparison {
  std::string_view left;
  std::string_view operator_text;
  std::string_view right;
};

/// The number that a text begins with, where it does.
[[nodiscard]] std::optional<TightNumber> tight_number(std::string_view text);
/// The same with a fraction, where there is one; `number` is the whole part.
[[nodiscard]] std::optional<TightNumber> decimal_number(std::string_view text);
/// The first operator in a text and what is around it, where there is one.
[[nodiscard]] std::optional<TightComparison> tight_comparison(std::string_view text);
/// The kind of a word of the language, or String.
[[nodiscard]] Kind kind_of_word(std::string_view word);

/// Whether a token is what `children` may be followed by: `memory`, `cpu>5%`.
[[nodiscard]] bool is_children_part(Kind kind, std::string_view text);
/// What `hardlinks`, `pagein` and the like are called in canonical text. None: it is no such word.
[[nodiscard]] std::optional<std::string_view> newer_quantity(std::string_view word);

[[nodiscard]] bool is_tight_duration(std::string_view text);         ///< 5minutes
[[nodiscard]] bool is_tight_cycles(std::string_view text);           ///< 3cycles
[[nodiscard]] bool is_tight_size(std::string_view text);             ///< 10MB
[[nodiscard]] bool is_tight_status(std::string_view text);           ///< status>0
[[nodiscard]] bool is_tight_status_operator(std::string_view text);  ///< status>
[[nodiscard]] bool is_tight_operand(std::string_view text);          ///< >0

[[nodiscard]] bool is_tilde(std::string_view text);                    ///< ~, of !=~
[[nodiscard]] bool is_tight_count(std::string_view text);              ///< hardlink>1
[[nodiscard]] bool is_tight_count_operator(std::string_view text);     ///< hardlink>
[[nodiscard]] bool is_tight_quantity(std::string_view text);           ///< 10MB, 5operations/s, 1.5percent
[[nodiscard]] bool is_tight_measured(std::string_view text);           ///< cpu>5, memory>10MB
[[nodiscard]] bool is_tight_measured_operator(std::string_view text);  ///< cpu>
[[nodiscard]] bool is_tight_measured_operand(std::string_view text);   ///< >5, >10MB

}  // namespace healer::grammar
