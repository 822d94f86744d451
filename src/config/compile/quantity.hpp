// SPDX-License-Identifier: MIT
// The quantities that services are tested for, in the units of the rules: from and to the rows of a kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/syntax/syntax.hpp"
#include "engine/rules/kind.hpp"

namespace healer::config {

/// What a test of a quantity asks: or what is wrong with it, and where.
struct QuantityReading {
  const engine::Quantity* row = nullptr;  ///< null where there is an error
  double value = 0;                       ///< in the metric's own unit
  std::string error;
  std::string remedy;
  SourceRange place;  ///< of the error
};
[[nodiscard]] QuantityReading read_quantity(const engine::CheckKind& kind, const CompareSyntax& test);

/// A permission in octal digits, as in 0640; nothing where it is none.
[[nodiscard]] std::optional<std::int64_t> permission_of(std::string_view digits);

/// The number with its unit as canonical text writes them: "80%", "10 MB/s", "3 hours".
[[nodiscard]] std::string quantity_text(const CompareSyntax& test);

}  // namespace healer::config
