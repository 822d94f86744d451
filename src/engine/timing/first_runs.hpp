// SPDX-License-Identifier: MIT
// In what order, and when, services are looked at for the first time.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Graph;
struct Schedule;

/// Offset within the cycle of the `index`th of `count` services that begin together: a hundred side by side, and a
/// larger herd in groups of so many, spread over at most 5 s; in larger ones where these would come too close to one
/// another. What begins together costs less.
[[nodiscard]] Duration herd_phase(std::size_t index, std::size_t count, Duration cycle);

/// Whether its periods are counted from its first run, and not from each cycle.
[[nodiscard]] bool has_phase(const Schedule& schedule);

/// Those that run most often come first, for they would miss most; else they keep their order.
void sort_by_haste(std::vector<ServiceId>& services, const Graph& graph);

/// All services: processes first, what others depend on before them; then by their haste; composites last, after their
/// members.
[[nodiscard]] std::vector<ServiceId> first_order(const Graph& graph);

}  // namespace healer::engine
