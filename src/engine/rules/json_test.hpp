// SPDX-License-Identifier: MIT
// `json 'F' OP VALUE`: a test of a text of JSON.
#pragma once

#include <optional>
#include <string>

#include "engine/rules/comparison.hpp"

namespace healer::engine {

/// The first value that a filter of jq makes of a text, and what it is compared with.
struct JsonTest {
  std::string filter;
  Comparison comparison = Comparison::Equal;
  std::string value;    ///< as written, without its quotes
  bool quoted = false;  ///< compared as a string; else as the number, `true`, `false` or `null` that it is

  bool operator==(const JsonTest&) const = default;
};

/// Whether it holds of a value, which is JSON. Nothing: the two have no order.
[[nodiscard]] std::optional<bool> compare(const JsonTest& test, const std::string& value);

/// What a test compares with, as JSON.
[[nodiscard]] std::string wanted_value(const JsonTest& test);

/// The first value that a filter makes of a text, run here and now; nothing: there is none. For texts and filters of
/// one's own: a filter may run for ever.
[[nodiscard]] std::optional<std::string> value_in(const std::string& text, const std::string& filter);

}  // namespace healer::engine
