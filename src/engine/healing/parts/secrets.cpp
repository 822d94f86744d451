// SPDX-License-Identifier: MIT
#include "engine/healing/parts/secrets.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/variables.hpp"
#include "engine/healing/world.hpp"

namespace healer::engine {
namespace {

/// For so long it is known that secrets can be read.
constexpr Duration kSecretsKnown = minutes{1};
constexpr std::size_t kMostSaved = std::size_t{1} << 16;

}  // namespace

const Variables& HealingSecrets::of(const Healing& healing) const {
  static const Variables none;
  const auto found = saved_.find(healing.id);
  return found == saved_.end() ? none : found->second;
}

std::optional<HealingId> HealingSecrets::asker(ActionId request) const {
  for (const auto& [id, check] : checks_)
    if (check.flight == request) return id;
  return std::nullopt;
}

std::string HealingSecrets::save(Healing& healing, const std::vector<Saving>& saves,
                                 const std::vector<std::optional<std::string>>& values) {
  for (std::size_t i = 0; i < saves.size(); ++i) {
    if (i >= values.size() || !values[i] || values[i]->size() > kMostSaved)
      return fmt::format("has nothing to save as {}", saves[i].name);
    if (has_controls(*values[i]))
      return fmt::format("contains control characters in what is to be saved as {}", saves[i].name);
    Variables& kept = saves[i].secret ? saved_[healing.id] : healing.saved;
    kept.insert_or_assign(saves[i].name, *values[i]);
  }
  return {};
}

bool HealingSecrets::are_there(HealingWorld& world, Healing& healing) {
  std::vector<std::string> names = secrets_of(*healing.plan);
  if (names.empty()) return true;
  Check& check = checks_[healing.id];
  const Duration now = world.now().mono;
  const bool is_old = now - check.asked > kSecretsKnown;
  if (check.there && !is_old) return true;
  if (check.flight != ActionId{} && !is_old) return false;
  check = {.flight = world.ids().action(), .asked = now};
  effect::Request request{.request = check.flight,
                          .healing = healing.id,
                          .method = "secrets",
                          .url = {},
                          .shown = fmt::format("{}", fmt::join(names, ", ")),
                          .headers = {},
                          .body = {},
                          .body_file = {},
                          .safe = true,
                          .wanted = {},
                          .failing = {},
                          .saves = {},
                          .secrets = std::move(names)};
  healing.wait_for("secrets: looks whether they can be read", Brake::Secrets);
  world.ask(std::move(request));
  return false;
}

bool HealingSecrets::answered(HealingId healing, const event::Answered& answer) {
  Check& check = checks_[healing];
  check.flight = ActionId{};
  check.there = answer.kind == event::Answered::Kind::Whole;
  return check.there;
}

void HealingSecrets::forget(HealingId healing) {
  saved_.erase(healing);
  checks_.erase(healing);
}

}  // namespace healer::engine
