// SPDX-License-Identifier: MIT
// Where a browser finds the HTTP side, as the rules say it. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "control/wire.hpp"
#include "engine/rules/settings.hpp"

namespace healer::web {

/// `set url` where it is said; else the first address of `set httpd`, as this machine reaches it. Without a slash at
/// its end. The failure, of the code "no-http": why there is none.
[[nodiscard]] std::variant<std::string, control::Failure> browser_address(
    const std::optional<engine::HttpdSettings>& httpd, const std::string& url);

}  // namespace healer::web
