// SPDX-License-Identifier: MIT
// Healings as tests look at them.
#pragma once

#include <algorithm>
#include <string_view>

#include <catch2/catch.hpp>

#include "support/fleet_world.hpp"

namespace healer::test {

/// The healing of a world that has one.
inline const Healing& only(const FleetWorld& world) {
  REQUIRE(world.engine->healings().all().size() == 1);
  return world.engine->healings().all().begin()->second;
}

/// The healing of a target.
inline const Healing& healing_of(const FleetWorld& world, std::string_view target) {
  const auto& all = world.engine->healings().all();
  const auto found = std::ranges::find_if(all, [&](const auto& one) { return one.second.target == target; });
  REQUIRE(found != all.end());
  return found->second;
}

}  // namespace healer::test
