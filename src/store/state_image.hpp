// SPDX-License-Identifier: MIT
// A state as bytes: an image of the state file that would hold it, so that there is one way to write a state.
#pragma once

#include <string>
#include <string_view>

#include "engine/events/commit.hpp"
#include "util/result.hpp"

namespace healer::store {

/// The open acts, jobs and healings are in it, the history is not.
[[nodiscard]] Result<std::string> image_of(const engine::SavedState& state);
/// Error: it is damaged, or was made by a newer healer.
[[nodiscard]] Result<engine::SavedState> state_of(std::string_view image);

}  // namespace healer::store
