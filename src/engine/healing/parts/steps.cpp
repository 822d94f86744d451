// SPDX-License-Identifier: MIT
#include "engine/healing/parts/steps.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/step_runs.hpp"
#include "engine/healing/variables.hpp"
#include "engine/healing/world.hpp"
#include "engine/job.hpp"
#include "engine/rules/graph.hpp"

namespace healer::engine {

std::string describe(const Healing& healing) {
  return fmt::format("healing of {} with {}", healing.target, healing.plan->name);
}

Variables variables_of(const HealingContext& world, const Healing& healing, std::string_view step) {
  Variables all = healing.saved;
  for (const auto& [name, value] : healing.row) all.insert_or_assign(name, value);
  for (const auto& [name, value] : healing.cause->fields) all.insert_or_assign(name, value);
  all.insert_or_assign("SERVICE", healing.service);
  all.insert_or_assign("TARGET", healing.target);
  all.insert_or_assign("EVENT", healing.cause->event_text);
  all.insert_or_assign("REASON",
                       healing.stage() == Healing::Stage::Failing ? healing.failure : healing.cause->description);
  all.insert_or_assign("DATE", format_iso(healing.cause->when));
  all.insert_or_assign("HOST", world.host());
  all.insert_or_assign("HEALING", uuid_of(healing.identity));
  all.insert_or_assign("STEP", uuid_of(hash128(fmt::format("{} {} {} {}", to_string(healing.identity),
                                                           healing.plan->name, healing.round, step))));
  return all;
}

bool is_to_save_secret(const Step& step, std::string_view name) {
  const std::vector<Saving>* const saves = std::visit([](const auto& kind) { return saves_of(kind); }, step.what);
  return saves != nullptr && std::ranges::any_of(*saves, [&](const Saving& saving) {
           return saving.secret && (name.empty() || saving.name == name);
         });
}

std::set<ServiceId> stopped_by(const HealingContext& world, const Healing& healing) {
  std::set<ServiceId> stopped;
  const auto add = [&](const Step& step) {
    const auto* const bring = std::get_if<step::Bring>(&step.what);
    if (bring == nullptr || bring->what != Bringing::Stop) return;
    if (std::ranges::none_of(healing.outcomes,
                             [&](const StepOutcome& one) { return one.good && one.name == step.name; }))
      return;
    const auto service = world.graph().find(fill(bring->service, variables_of(world, healing, step.name)).text);
    if (!service) return;
    for (const ServiceId one : with_dependents(world.graph(), {*service})) stopped.insert(one);
  };
  // After an escalation the steps before it are those of another plan.
  for (const auto& plan : {healing.plan, world.graph().workflow(healing.workflow)}) {
    if (plan == nullptr) continue;
    for (const auto* const steps : {&plan->steps, &plan->on_failure, &plan->on_cancel})
      for (const Step& step : *steps)
        for (std::size_t i = 0; i < runs_of(step); ++i) add(step_of(step, i));
  }
  return stopped;
}

void run_over(HealingWorld& world, Healing& healing, const Step& step, StepRun& run, StepEnd how,
              const std::string& text, StepTerms terms, std::optional<Duration> ran) {
  const Instant now = world.now();
  run.event(how, healing.cancelled_by.empty() && !healing.is_abandoned() ? terms : kNeverAgain);
  const bool good = run.state == StepRun::State::Done;
  const bool again = run.state == StepRun::State::Pausing;
  if (again) run.due = Deadline::in(step.pause, now);
  if (!good) run.failure = text;
  const Duration took = ran.value_or(std::max(now.wall - run.begun, Duration{0}));
  healing.outcomes.push_back({healing.round, step.name, good, took, text});
  const bool is_timed = text.starts_with("timed out after ") ||
                        std::visit([&](const auto& kind) { return says_time(kind, good, text); }, step.what);
  Record& record =
      world.record(RecordKind::HealingStep, good ? Severity::Info : Severity::Warning, healing.service,
                   fmt::format("{}, step \"{}\": {}{}{}", describe(healing), step.name, text,
                               is_timed ? "" : fmt::format(" after {}", format_duration(took)),
                               again ? fmt::format("; tried again in {}", format_duration(step.pause)) : ""));
  record.subject = healing.id.number();
  world.save(healing);
}

}  // namespace healer::engine
