// SPDX-License-Identifier: MIT
// What a reload does, or would do, for a person: which services come, go, change and stay, and of a changed one which
// rules keep what they have counted. Pure, and told by the plan alone; may take long for many services, so it is made
// where the plan is.
#pragma once

#include <string>

#include "control/wire.hpp"
#include "engine/reload/diff.hpp"

namespace healer::control {

/// Requires: `plan` was made for `before`.
[[nodiscard]] ChangesView view_changes(const engine::Graph& before, const engine::SwapPlan& plan);

/// Whether the rules say anything else than before.
[[nodiscard]] bool changes_rules(const ChangesView& changes);

/// A block of lines for each service, then "2 added, 1 removed, 1 changed, 12 kept", or that nothing changes. Without a
/// line end at the end.
[[nodiscard]] std::string changes_text(const ChangesView& changes);

}  // namespace healer::control
