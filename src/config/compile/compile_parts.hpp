// SPDX-License-Identifier: MIT
// Private to the compiler: what it makes of the statements of services and of `set` alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "config/syntax/syntax.hpp"
#include "config/syntax/vocabulary.hpp"
#include "engine/rules/recipient.hpp"
#include "engine/rules/settings.hpp"
#include "util/time.hpp"

namespace healer::config {

struct Document;

/// As much of it as can be reckoned with.
[[nodiscard]] inline Duration bounded(Duration duration) { return std::clamp(duration, Duration{0}, kMaxDuration); }

/// The number, or the greatest that there is room for.
template <typename Small>
[[nodiscard]] Small bounded(std::uint64_t value) {
  return static_cast<Small>(std::min<std::uint64_t>(value, std::numeric_limits<Small>::max()));
}

[[nodiscard]] engine::Recipient recipient(const AlertSyntax& alert);

/// All `set` statements, in the order of writing.
[[nodiscard]] engine::Settings compile_settings(const Document& document);

}  // namespace healer::config
