// SPDX-License-Identifier: MIT
#include "engine/graph.hpp"

#include "util/text.hpp"

namespace healer::engine {

std::optional<ServiceId> Graph::find(std::string_view name) const {
  const auto found = by_name.find(to_lower(name));
  if (found == by_name.end()) return std::nullopt;
  return found->second;
}

std::string_view to_string(ActionKind kind) {
  switch (kind) {
    case ActionKind::Alert: return "alert";
    case ActionKind::Exec: return "exec";
    case ActionKind::Unmonitor: return "unmonitor";
  }
  return "";
}

}  // namespace healer::engine
