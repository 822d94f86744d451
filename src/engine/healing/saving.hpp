// SPDX-License-Identifier: MIT
// What a step keeps of what its program has written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/workflow.hpp"

namespace healer::engine {

/// The first group of the expression, or all of its match where it has none; nothing: it does not match, or is no
/// expression. Only Saving::From::Regex.
[[nodiscard]] std::optional<std::string> saved_from(const Saving& saving, std::string_view output);

}  // namespace healer::engine
