// SPDX-License-Identifier: MIT
// What people mean who name a target or a service. healerctl and the scripts of simulations ask the same here.
#pragma once

#include <span>
#include <string_view>

#include "engine/healing/healing.hpp"

namespace healer::engine {

struct ServiceBlock;
class Healings;

/// The service in whose name a target is healed: of the target of that name the service that says with what it is
/// healed, the one of the same name before others; else the service of that name. Null: there is neither. With a
/// workflow `named` none needs to say.
[[nodiscard]] const ServiceBlock* block_to_heal(std::span<const ServiceBlock* const> all, std::string_view name,
                                                bool named);

/// The healing that is meant by the name of a target: `decides`, one that waits for approval; else the one that is
/// under way, or the first that waits. Null: there is none.
[[nodiscard]] const Healing* healing_meant(const Healings& healings, std::string_view target, bool decides);

}  // namespace healer::engine
