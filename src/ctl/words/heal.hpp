// SPDX-License-Identifier: MIT
// The commands of healerctl about healing.
#pragma once

#include <string>

#include "control/wire.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace healer {

/// Adds heal, approve, reject, cancel and healing. `overrides` becomes the words after --override.
void add_healing(CLI::App& app, control::Request& request, std::string& overrides);

/// approve, reject, cancel: what is named may be a number.
void take_number(control::Request& request);

/// Puts the words of --override, "limit,cooldown", into the request. What is wrong with them; empty where all is well.
[[nodiscard]] std::string take_overrides(const std::string& text, control::Request& request);

}  // namespace healer
