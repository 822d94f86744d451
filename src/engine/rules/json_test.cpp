// SPDX-License-Identifier: MIT
#include "engine/rules/json_test.hpp"

#include <cstddef>
#include <unordered_map>

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
  constexpr std::size_t kKept = 256;
  thread_local std::unordered_map<std::string, Result<JqFilter>> compiled;  // which takes longer than to run it
  if (compiled.size() >= kKept && !compiled.contains(filter)) compiled.clear();
  auto found = compiled.find(filter);
  if (found == compiled.end()) found = compiled.emplace(filter, JqFilter::compile(filter)).first;
  if (!found->second) return std::nullopt;
  const Result<std::string> value = found->second->first(text);
  return value ? std::optional(*value) : std::nullopt;
}

}  // namespace healer::engine
