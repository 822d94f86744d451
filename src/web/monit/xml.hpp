// SPDX-License-Identifier: MIT
// Monit's XML: `_status`, and the other form of `_status2`.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/ids.hpp"
#include "web/monit/standing.hpp"

namespace healer::web::monit {

enum class Form : std::uint8_t {
  First,  ///< `_status`: <service type="3"><name>web</name>...
  Second  ///< `_status2`: <service name="web"><type>3</type>..., and groups
};

/// Up to the first service. `host_groups`: what M/Monit is to sort this machine into.
[[nodiscard]] std::string xml_head(const Scene& scene, Form form, std::span<const std::string> host_groups = {});
void write_xml(std::string& out, const Scene& scene, engine::ServiceId id, Form form);
/// After the last.
[[nodiscard]] std::string xml_foot(const Scene& scene, Form form);

}  // namespace healer::web::monit
