// SPDX-License-Identifier: MIT
// Monit's pages, in plain HTML: links, forms and values as there, no style and no script. All that comes from rules or
// programs is escaped.
#pragma once

#include <string>
#include <string_view>

#include "engine/ids.hpp"
#include "util/result.hpp"
#include "web/monit/standing.hpp"

namespace healer::web::monit {

/// Who sees a page.
struct Viewer {
  bool acts = false;  ///< he is shown forms
  std::string_view token;
};

/// What is wrong with a request, in the form in which Monit's client looks for it.
[[nodiscard]] std::string error_page(unsigned status, std::string_view message);

/// "<span class='red-text'>Connection failed</span>".
[[nodiscard]] std::string status_html(const Standing& standing);

/// The list of services: before it, one row (with a table's head, where `first` of its kind), after it.
[[nodiscard]] std::string list_head(const Scene& scene);
void write_row(std::string& out, const Scene& scene, engine::ServiceId id, bool first);
/// The end of a table.
[[nodiscard]] std::string_view list_end();
[[nodiscard]] std::string list_foot();

[[nodiscard]] std::string service_page(const Scene& scene, engine::ServiceId id, const Viewer& viewer);
[[nodiscard]] std::string runtime_page(const Scene& scene, const Viewer& viewer);
[[nodiscard]] std::string log_page(const Scene& scene, const Result<std::string>& log);
[[nodiscard]] std::string about_page(const Scene& scene);

/// A picture for the address bar: a disc, as an .ico of 16 times 16 points.
[[nodiscard]] std::string icon();

}  // namespace healer::web::monit
