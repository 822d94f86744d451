// SPDX-License-Identifier: MIT
#include "engine/rules/kind.hpp"

#include <algorithm>

namespace healer::engine {
namespace {

template <typename Row, typename Is>
const Row* find_row(std::span<const Row> rows, Is is) {
  const auto found = std::ranges::find_if(rows, is);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

const Quantity* CheckKind::find(Metric metric) const {
  return find_row(quantities, [&](const Quantity& row) { return row.metric == metric; });
}

const AttributeRow* CheckKind::find(Attribute attribute) const {
  return find_row(attributes, [&](const AttributeRow& row) { return row.attribute == attribute; });
}

const Quantity* CheckKind::find_quantity(std::string_view words) const {
  return find_row(quantities, [&](const Quantity& row) { return row.words == words; });
}

const AttributeRow* CheckKind::find_attribute(std::string_view words) const {
  return find_row(attributes, [&](const AttributeRow& row) { return row.words == words; });
}

const CheckKind* kind_named(std::string_view word) {
  const auto found = std::ranges::find_if(all_kinds(), [&](const CheckKind* kind) { return kind->word == word; });
  return found == all_kinds().end() ? nullptr : *found;
}

}  // namespace healer::engine
