// SPDX-License-Identifier: MIT
// What the messages of systemd say. Private to runtime/units.
#pragma once

#include <string>

#include "runtime/units/system_bus.hpp"

namespace healer::runtime {

/// The answer to GetAll of a unit's object. An error where it is none.
[[nodiscard]] Result<UnitReading> read_properties(sd_bus_message* message);

/// How a unit is from now on, by a PropertiesChanged. Empty: it does not say.
struct StateChange {
  std::string active;
  std::string sub;
};
[[nodiscard]] StateChange read_change(sd_bus_message* message);

/// The path of the object of a unit.
[[nodiscard]] std::string path_of_unit(const std::string& unit);

}  // namespace healer::runtime
