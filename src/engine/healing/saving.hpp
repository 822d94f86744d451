// SPDX-License-Identifier: MIT
// What a step keeps of what its program has written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace healer::engine {

/// `save json 'F' as X`, `save "regex" as X`, `save header "H" as X`, each perhaps `secret`.
struct Saving {
  enum class From : std::uint8_t { Regex, Json, Header } from = From::Regex;
  std::string what;  ///< the expression (its first group is taken), the filter, the header's name
  std::string name;  ///< of the variable
  bool secret = false;

  bool operator==(const Saving&) const = default;
};

/// The first group of the expression, or all of its match where it has none; nothing: it does not match, or is no
/// expression. Only Saving::From::Regex.
[[nodiscard]] std::optional<std::string> saved_from(const Saving& saving, std::string_view output);

}  // namespace healer::engine
