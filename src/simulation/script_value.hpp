// SPDX-License-Identifier: MIT
// Measured values in the script of a simulation: which quantities it may tell of a service, and what a value says.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rules/metric.hpp"

namespace healer::engine {

struct ServiceBlock;

/// The quantities that the rules of a service compare with a number and that the language calls `words` (in lower
/// case), each once: several where they differ in their unit.
[[nodiscard]] std::vector<Metric> compared_metrics(const ServiceBlock& block, std::string_view words);

/// What the language calls those that the rules of a service compare.
[[nodiscard]] std::vector<std::string> compared_words(const ServiceBlock& block);

struct MeasuredValue {
  Metric metric{};
  double value = 0;
};

/// "95", "95%", "500MB", "2MB/s", "3d": a value of one of `metrics`, which share their words and differ in their unit.
/// Without a unit it is in that of the only one, or of the one that has none (a count, operations a second). None where
/// it is no such value.
[[nodiscard]] std::optional<MeasuredValue> read_value(std::string_view text, std::span<const Metric> metrics);

/// How values of them are written, for people: "10%, or 500MB".
[[nodiscard]] std::string value_form(std::span<const Metric> metrics);

}  // namespace healer::engine
