// SPDX-License-Identifier: MIT
// Whether the secrets of a healing's plan can be read, asked before anything of it begins.
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/events/event.hpp"
#include "engine/healing/healings.hpp"
#include "engine/healing/variables.hpp"

namespace healer::engine {
namespace {

/// For so long it is known that secrets can be read.
constexpr Duration kSecretsKnown = minutes{1};

}  // namespace

/// Whether the secrets of its plan can be read, as far as is known. Where nobody has looked lately, somebody does now.
bool Healings::has_secrets(HealingWorld& world, Healing& healing) {
  std::vector<std::string> names = secrets_of(*healing.plan);
  if (names.empty()) return true;
  SecretCheck& check = secret_checks_[healing.id];
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

void Healings::secrets_checked(HealingWorld& world, Healing& healing, const event::Answered& answer) {
  SecretCheck& check = secret_checks_[healing.id];
  check.flight = ActionId{};
  check.there = answer.kind == event::Answered::Kind::Whole;
  if (!healing.waits() || healing.is_to_undo()) return;
  if (!check.there) return refuse(world, healing, "refused", answer.why, {});
  consider(world);
}

}  // namespace healer::engine
