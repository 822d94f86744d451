// SPDX-License-Identifier: MIT
// `delay D` of rows of lists.
#pragma once

#include <optional>
#include <string_view>

#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer::engine {

class Engine;
struct Evidence;

/// When a healing of the target has ended that had done something; none: that is not remembered any more.
[[nodiscard]] std::optional<WallTime> healed(const Engine& engine, std::string_view target);
/// From when on a row is judged: so long after its name became known, and after a healing of its target. Nothing: its
/// rule names no delay. `seen`: of the row.
[[nodiscard]] std::optional<WallTime> judged_from(const Engine& engine, ServiceId id, const Evidence& seen);
/// Whether it is not judged yet. What its healing itself looks at does not wait for that.
[[nodiscard]] bool is_delayed(const Engine& engine, ServiceId id, const Evidence& seen, Instant now);

}  // namespace healer::engine
