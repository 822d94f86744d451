// SPDX-License-Identifier: MIT
// The plain values of the document of an event, as `${EVENT.a.b}` names them.
#pragma once

#include <string_view>

#include "engine/occurrence.hpp"

namespace healer::control {

/// Texts, numbers, true and false of an object and of the objects in it, by their paths; a document of another kind
/// has none. At most 500 of them, 60 kB each and 256 kB together: the others are as if they were not there.
[[nodiscard]] engine::EventFields event_fields(std::string_view document);

}  // namespace healer::control
