// SPDX-License-Identifier: MIT
#include "engine/graph.hpp"

#include <algorithm>

#include "engine/service.hpp"
#include "engine/settings.hpp"
#include "engine/workflow.hpp"
#include "util/text.hpp"

namespace healer::engine {

std::shared_ptr<const Settings> default_settings() {
  static const auto kDefault = std::make_shared<const Settings>();
  return kDefault;
}

std::optional<ServiceId> Graph::find(std::string_view name) const {
  const auto found = by_name.find(to_lower(name));
  if (found == by_name.end()) return std::nullopt;
  return found->second;
}

std::shared_ptr<const Workflow> Graph::workflow(std::string_view name) const {
  const auto found =
      std::ranges::find_if(workflows, [&](const auto& workflow) { return to_lower(workflow->name) == to_lower(name); });
  return found == workflows.end() ? nullptr : *found;
}

std::string_view to_string(ActionKind kind) {
  switch (kind) {
    case ActionKind::Alert: return "alert";
    case ActionKind::Exec: return "exec";
    case ActionKind::Unmonitor: return "unmonitor";
    case ActionKind::Start: return "start";
    case ActionKind::Stop: return "stop";
    case ActionKind::Restart: return "restart";
    case ActionKind::Heal: return "heal";
  }
  return "";
}

bool same_target(const ServiceBlock& one, const ServiceBlock& other) {
  if (one.kind != other.kind || one.foreground() != other.foreground()) return false;
  return one.foreground() || (one.process == other.process && one.path == other.path && one.host == other.host);
}

}  // namespace healer::engine
