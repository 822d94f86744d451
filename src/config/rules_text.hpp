// SPDX-License-Identifier: MIT
// What rules were loaded from, as it is recorded for replays, and rules out of that.
#pragma once

#include <memory>
#include <string>

#include "config/environments.hpp"
#include "config/load.hpp"
#include "replay/recorded.hpp"

namespace healer {

/// Of a load that went well: `path` was loaded, and `lists` were known.
[[nodiscard]] std::shared_ptr<const engine::recorded::RulesText> text_of(const std::string& path,
                                                                         const config::LoadResult& loaded,
                                                                         const config::ListsEnvironment::Lists& lists);

[[nodiscard]] config::ListsEnvironment::Lists lists_of(const engine::recorded::RulesText& text);

/// Loads them as they were; nothing of them is looked up on `machine`.
[[nodiscard]] config::LoadResult load_text(const engine::recorded::RulesText& text, const config::Environment& machine);

}  // namespace healer
