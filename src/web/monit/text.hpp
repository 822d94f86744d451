// SPDX-License-Identifier: MIT
// What Monit's client prints: it shows what it is sent, colours and all.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/ids.hpp"
#include "web/monit/standing.hpp"

namespace healer::web::monit {

/// "Monit 5.33.0 uptime: 3h 46m".
[[nodiscard]] std::string banner(const Scene& scene);

/// All that `_status` says of one service.
void write_status(std::string& out, const Scene& scene, engine::ServiceId id);

/// The table of `_summary`: its head, a row and its foot.
[[nodiscard]] std::string summary_head();
void write_summary(std::string& out, const Scene& scene, engine::ServiceId id);
[[nodiscard]] std::string summary_foot();

/// `_report`, or the one number of it that is asked for: "up", "down", "initialising", "unmonitored", "total"; empty:
/// all of it. None where there is no such number.
[[nodiscard]] std::optional<std::string> report(const Scene& scene, std::string_view type);

}  // namespace healer::web::monit
