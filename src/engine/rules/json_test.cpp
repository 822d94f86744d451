// SPDX-License-Identifier: MIT
#include "engine/rules/json_test.hpp"

#include "util/jq.hpp"
#include "util/result.hpp"

namespace healer::engine {

std::string wanted_value(const JsonTest& test) { return test.quoted ? json_string(test.value) : test.value; }

std::optional<bool> compare(const JsonTest& test, const std::string& value) {
  const JsonOrder order = json_order(value, wanted_value(test));
  if (test.comparison == Comparison::Equal) return order == JsonOrder::Equal;
  if (test.comparison == Comparison::NotEqual) return order != JsonOrder::Equal;
  if (order == JsonOrder::Unordered) return std::nullopt;
  const bool less = order == JsonOrder::Less, equal = order == JsonOrder::Equal;
  switch (test.comparison) {
    case Comparison::Less: return less;
    case Comparison::LessEqual: return less || equal;
    case Comparison::Greater: return !less && !equal;
    case Comparison::GreaterEqual: return !less;
    case Comparison::Equal:
    case Comparison::NotEqual: break;
  }
  return std::nullopt;
}

std::optional<std::string> value_in(const std::string& text, const std::string& filter) {
  Result<JqFilter> compiled = JqFilter::compile(filter);
  if (!compiled) return std::nullopt;
  const Result<std::string> value = compiled->first(text);
  return value ? std::optional(*value) : std::nullopt;
}

}  // namespace healer::engine
