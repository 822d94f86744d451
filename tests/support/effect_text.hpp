// SPDX-License-Identifier: MIT
// Effects as text, with every field: so that what two engines do can be compared line by line.
//
// Where HEALER_EFFECTS names a file, all test worlds append to it what each turn of their engines emits. The same tests
// in the same order (`--order decl`) write the same file, before and after a change that is to change nothing.
#pragma once

#include <string>
#include <vector>

#include "engine/events/effect.hpp"
#include "util/time.hpp"

namespace healer::test {

[[nodiscard]] std::string to_text(const engine::Effect& effect);

[[nodiscard]] std::string to_text(const engine::effect::Cause& cause);

/// Whether HEALER_EFFECTS is set.
[[nodiscard]] bool traces_effects();
/// One turn: a line for its time, one for each effect.
void trace_turn(const Instant& now, const std::vector<engine::Effect>& effects);

}  // namespace healer::test
