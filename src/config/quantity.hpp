// SPDX-License-Identifier: MIT
// The quantities that services are tested for: which a kind of service has, in which units, and what is measured for
// it.
#pragma once

#include <optional>
#include <string>

#include "config/syntax.hpp"
#include "engine/metric.hpp"

namespace healer::config {

/// What a test of a quantity asks: or what is wrong with it, and where.
struct QuantityReading {
  engine::Metric metric = engine::Metric::Cpu;
  double value = 0;  ///< in the metric's own unit
  std::string error;
  std::string remedy;
  SourceRange place;  ///< of the error
};
[[nodiscard]] QuantityReading read_quantity(CheckSyntax::Kind kind, const ResourceSyntax& test);

/// The number with its unit as canonical text writes them: "80%", "10 MB/s", "3 hours".
[[nodiscard]] std::string quantity_text(const ResourceSyntax& test);

/// "process", "system", "program".
[[nodiscard]] std::string_view to_string(CheckSyntax::Kind kind);

}  // namespace healer::config
