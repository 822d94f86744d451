// SPDX-License-Identifier: MIT
// Which `set` statements an edit of the rules has changed, for people who reload them.
#pragma once

#include <string_view>
#include <vector>

namespace healer::engine {

struct Settings;

/// The statements of which `after` says something else than `before`, as they are written: "set daemon", "set alert".
/// In the order of the manual; empty: both say the same.
[[nodiscard]] std::vector<std::string_view> changed_settings(const Settings& before, const Settings& after);

}  // namespace healer::engine
