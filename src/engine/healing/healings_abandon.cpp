// SPDX-License-Identifier: MIT
// Healings whose target is taken away: nothing says any more that it is ill. What is under way goes on to its end, what
// only waits ends at once, and nothing further begins.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/healing/parts/conditions.hpp"
#include "engine/healing/parts/lost_targets.hpp"
#include "engine/healing/parts/steps.hpp"
#include "engine/healing/step_runs.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"

namespace healer::engine {
namespace {

using Stage = Healing::Stage;
using State = StepRun::State;

}  // namespace

std::vector<std::string> Healings::taken_away(HealingWorld& world, const std::set<ServiceId>& services,
                                              const std::string& how) {
  const Graph& graph = world.graph();
  // It is the act that counts: what is stopped now is still monitored.
  const auto is_watched = [&](auto&& self, ServiceId service) -> bool {
    if (services.contains(service) || world.health(service) == Health::Unmonitored) return false;
    const auto members = graph.members[service.index()];
    return !graph.at(service).has_members() ||
           std::ranges::any_of(members, [&](ServiceId member) { return self(self, member); });
  };
  const auto names = [&](ServiceId service) { return services.contains(service); };
  std::vector<std::string> messages;
  for (const HealingId id : running_.ids()) {
    Healing& healing = running_.at(id);
    if (healing.is_abandoned()) continue;
    const std::vector<ServiceId> own = targets_.services_of(graph, healing.target);
    if (healing.is_yet_to_begin()) {
      const auto named = std::ranges::find_if(own, names);
      if (named == own.end()) continue;
      messages.push_back(fmt::format("healing {} of {} with {} is dropped: it had not begun", id.number(),
                                     healing.target, healing.plan->name));
      end(world, healing, HealingEnd::Dropped, fmt::format("{} was {}", graph.at(*named).name, how));
      continue;
    }
    if (std::ranges::none_of(checked_for(world, targets_, healing.target), names)) continue;
    if (std::ranges::any_of(own, [&](ServiceId service) { return is_watched(is_watched, service); })) continue;
    messages.push_back(abandon(world, healing, fmt::format("its target was {}", how)));
  }
  return messages;
}

/// What people are told who have done so.
std::string Healings::abandon(HealingWorld& world, Healing& healing, const std::string& why) {
  const std::string what =
      fmt::format("healing {} of {} with {} is abandoned", healing.id.number(), healing.target, healing.plan->name);
  healing.abandoned = why;
  if (healing.waits()) {
    end_abandoned(world, healing);
    return what;
  }
  for (StepRun& run : healing.under_way()) {
    if (run.over() || is_under_way(run)) continue;
    if (run.state == State::Polling) requests_.stop(world, healing, index_of(healing, run));
    run.event(StepEnd::Failed, kNeverAgain);
    run.failure = "was ended";
  }
  recoveries_.stop(healing);
  if (std::ranges::none_of(healing.under_way(), is_under_way)) {
    end_abandoned(world, healing);
    return what;
  }
  const std::string rest = what_goes_on(healing);
  world
      .record(RecordKind::HealingStep, Severity::Warning, healing.service,
              fmt::format("{} is abandoned: {}; {}", describe(healing), why, rest))
      .subject = healing.id.number();
  world.save(healing);
  waking_.plan(world);
  return fmt::format("{}: {}", what, rest);
}

/// Nothing of it is under way any more.
void Healings::end_abandoned(HealingWorld& world, Healing& healing) {
  std::string why = fmt::format("{}; {}", healing.abandoned, steps_done(healing));
  if (!healing.cancelled_by.empty()) why += "; cancelled by " + healing.cancelled_by;
  end(world, healing, HealingEnd::Abandoned, why);
}

}  // namespace healer::engine
