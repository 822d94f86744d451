// SPDX-License-Identifier: MIT
#include "engine/healing/parts/askers.hpp"

#include <algorithm>
#include <cstddef>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healing.hpp"
#include "engine/healing/parts/requests.hpp"
#include "engine/healing/parts/running.hpp"
#include "engine/healing/parts/secrets.hpp"
#include "engine/healing/parts/steps.hpp"
#include "engine/healing/request.hpp"
#include "engine/healing/step_runs.hpp"
#include "engine/healing/variables.hpp"
#include "engine/healing/world.hpp"

namespace healer::engine {
namespace {

/// That there was something stays.
void empty_secrets(std::vector<std::optional<std::string>>& values, const std::vector<Saving>& saves) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] && (i >= saves.size() || saves[i].secret)) values[i]->clear();
}

}  // namespace

std::optional<ActionContext> Askers::context_of(ActionId action) const {
  for (const auto& [id, healing] : healings_.all())
    for (std::size_t i = 0; i < healing.under_way().size(); ++i) {
      const bool polls = requests_.is_question(action, id, i);
      if (!polls && healing.under_way()[i].action != action) continue;
      if (healing.stage() == Healing::Stage::Guarding) return ActionContext{.healing = &healing};
      return ActionContext{.healing = &healing, .step = &step_of(healing.step(), i), .polls = polls};
    }
  return std::nullopt;
}

bool Askers::awaits(ActionId request) const {
  return std::ranges::any_of(healings_.all(),
                             [&](const auto& entry) {
                               return std::ranges::any_of(entry.second.under_way(), [&](const StepRun& run) {
                                 return run.action == request && run.state == StepRun::State::Requesting;
                               });
                             }) ||
         requests_.is_question(request);
}

std::vector<std::string> Askers::awaited() const {
  std::vector<std::string> all;
  for (const auto& [id, healing] : healings_.all())
    for (std::size_t i = 0; i < healing.under_way().size(); ++i)
      if (const StepRun& run = healing.under_way()[i]; run.state == StepRun::State::Requesting)
        all.push_back(fmt::format("the answer to {} ({}, step \"{}\")", run.request, describe(healing),
                                  step_of(healing.step(), i).name));
  return all;
}

/// Whose program, request or question it is; null: no step's.
const Step* Askers::asker(ActionId action) const {
  for (const auto& [id, healing] : healings_.all()) {
    if (healing.progress() == nullptr || healing.progress()->position >= healing.steps().size()) continue;
    for (std::size_t i = 0; i < healing.under_way().size(); ++i) {
      if (healing.under_way()[i].action == action || requests_.is_question(action, id, i))
        return &step_of(healing.step(), i);
    }
  }
  return nullptr;
}

bool Askers::saves_secret(ActionId action) const {
  const Step* const step = asker(action);
  return step != nullptr && is_to_save_secret(*step);
}

bool Askers::leave_out_secrets(event::ActionEnded& end) const {
  const Step* const step = asker(end.action);
  if (step == nullptr || !is_to_save_secret(*step)) return false;
  if (end.outcome != Outcome::NotStarted) end.output.clear();
  empty_secrets(end.saved, std::get<step::Program>(step->what).saves);
  return true;
}

bool Askers::leave_out_secrets(event::Answered& answer) const {
  const Step* const step = asker(answer.request);
  if (step == nullptr) {  // it came too late for whoever asked, and may hold anything
    answer.values.clear();
    answer.shown.clear();
    answer.saved.clear();
    return true;
  }
  const bool saves_one = is_to_save_secret(*step);
  if (!saves_one && answer.shown.empty()) return false;
  const auto& http = std::get<step::Http>(step->what);
  std::vector<JsonTest> tests = http.expect_json;
  if (requests_.is_question(answer.request)) {
    tests = http.until->met;
    tests.insert(tests.end(), http.until->failed.begin(), http.until->failed.end());
  }
  answer.values.resize(tests.size());
  answer.shown.resize(tests.size());
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const bool says_the_same = is_met(tests[i], answer.shown[i]) == is_met(tests[i], answer.values[i]);
    answer.values[i] = !saves_one && says_the_same ? answer.shown[i] : stand_in(tests[i], answer.values[i]);
  }
  answer.shown.clear();
  empty_secrets(answer.saved, http.saves);
  return true;
}

bool Askers::ends(ActionId action) const {
  return std::ranges::any_of(healings_.all(), [&](const auto& entry) {
    return std::ranges::any_of(entry.second.under_way(), [&](const StepRun& run) {
      return run.action == action && run.state == StepRun::State::Ending;
    });
  });
}

bool Askers::complete(const HealingContext& world, effect::Exec& exec) const {
  for (const auto& [id, healing] : healings_.all()) {
    for (std::size_t i = 0; i < healing.under_way().size(); ++i) {
      if (healing.under_way()[i].action != exec.action) continue;
      exec.healing = id;
      const bool is_guard = healing.stage() == Healing::Stage::Guarding;
      const Step* const step = is_guard ? nullptr : &step_of(healing.step(), i);
      const auto* const program = is_guard ? &healing.plan->guard->program : std::get_if<step::Program>(&step->what);
      if (program == nullptr) return true;
      const Variables values = variables_of(world, healing, is_guard ? "guard" : step->name);
      const FilledProgram filled = fill(*program, values, secrets_.of(healing));
      exec.place = place_of(filled.program, values, secrets_.of(healing));
      return filled.missing.empty() && filled.refused.empty();
    }
  }
  return true;
}

std::vector<Saving> Askers::savings_of(const HealingContext& world, ActionId action) const {
  std::vector<Saving> saves;
  for (const auto& [id, healing] : healings_.all())
    for (std::size_t i = 0; i < healing.under_way().size(); ++i) {
      if (healing.under_way()[i].action != action || healing.stage() == Healing::Stage::Guarding) continue;
      const Step& step = step_of(healing.step(), i);
      const auto* const program = std::get_if<step::Program>(&step.what);
      if (program == nullptr) return saves;
      const Variables values = variables_of(world, healing, step.name);
      for (const Saving& saving : program->saves) saves.push_back(bind(saving, values, secrets_.of(healing)));
      return saves;
    }
  return saves;
}

}  // namespace healer::engine
