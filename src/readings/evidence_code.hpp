// SPDX-License-Identifier: MIT
// What a run has seen, as the difference to what the run of the same service before it saw.
//
// Whatever a rule can ask is kept to the last bit, so that a replay judges exactly what was judged: no reading is
// rounded, since nobody knows which thresholds other rules will have. Words that only people read (the output of a
// program, the sentence of a connection) are kept when what they explain changes, and only the beginning of them.
#pragma once

#include <string>

#include "engine/events/evidence.hpp"
#include "readings/bytes.hpp"

namespace healer::readings {

/// Writes what `now` has that `before` had not. False, and nothing is written: there is no such thing.
bool write_difference(const engine::Evidence& before, const engine::Evidence& now, std::string& out);

/// Makes of what was before what is now.
[[nodiscard]] engine::Evidence read_difference(const engine::Evidence& before, ByteReader& in);

/// What a service has seen before its first run: nothing.
[[nodiscard]] const engine::Evidence& nothing_seen();

}  // namespace healer::readings
