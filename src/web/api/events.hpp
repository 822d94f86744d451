// SPDX-License-Identifier: MIT
// /api/v1/events: server-sent events. Each record is an event `record` with its number as id; records that there are no
// more are told by an event `gap`; and whenever the pulse ticks an unnamed message says what time it is and how often
// anything shown has changed. A listener keeps the number of the last record that it was told, and no records.
#pragma once

#include <memory>

#include "web/api/operation.hpp"

namespace healer::web {

[[nodiscard]] Reply events(const std::shared_ptr<Api>& api, const Asked& asked);

}  // namespace healer::web
