// SPDX-License-Identifier: MIT
#include "engine/parts/holds.hpp"

#include "engine/healing/healings.hpp"
#include "engine/parts/maintenance.hpp"
#include "engine/parts/pauses.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"

namespace healer::engine {
namespace {

constexpr std::string_view kHolds[] = {"",        "dormant",         "shadow",
                                       "dry run", "already running", "passive",
                                       "paused",  "maintenance",     "its target is being healed, or was just now"};

}  // namespace

std::string_view to_string(Hold hold) { return kHolds[static_cast<std::size_t>(hold)]; }

Hold Holds::of(ServiceId service, const Rule& rule, const RuleState& state, ActionKind kind, Instant now) const {
  const Settings& settings = *graph_->settings;
  if (rule->dormant && !state.accepted && !settings.accept_dormant) return Hold::Dormant;
  if (settings.shadow) return Hold::Shadow;
  if (kind == ActionKind::Alert || kind == ActionKind::Ignore) return Hold::None;
  if (settings.dry_run) return Hold::DryRun;
  if (kind != ActionKind::Heal && pauses_.in_force(service, now)) return Hold::Paused;
  const bool is_job = Action{.kind = kind, .command = {}}.is_job();
  if (is_job && graph_->at(service).activity == ServiceBlock::Activity::Passive) return Hold::Passive;
  if (kind != ActionKind::Heal && maintenance_.in_force(service, now)) return Hold::Maintenance;
  if ((is_job || kind == ActionKind::Unmonitor) && healings_.rests(graph_->at(service).target(), now))
    return Hold::Healing;
  return Hold::None;
}

}  // namespace healer::engine
