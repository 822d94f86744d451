// SPDX-License-Identifier: MIT
#include "engine/attribute.hpp"

#include <algorithm>
#include <array>

namespace healer::engine {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Attribute::Count_)> kNames{
    "status",     "pid",         "parent",            "uid",         "euid",     "gid", "security",
    "permission", "access-time", "modification-time", "change-time", "timestamp"};

}  // namespace

std::string_view to_string(Attribute attribute) { return kNames[static_cast<std::size_t>(attribute)]; }

std::optional<Attribute> attribute_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Attribute>(found - kNames.begin());
}

std::string format_value(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return std::get<std::string>(value);
}

}  // namespace healer::engine
