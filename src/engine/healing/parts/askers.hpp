// SPDX-License-Identifier: MIT
// Whose the programs and requests of healings are, and what they may tell. A view of other parts: it owns nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/events/act.hpp"
#include "engine/events/event.hpp"
#include "engine/healing/saving.hpp"
#include "engine/ids.hpp"

namespace healer::engine {

struct Healing;
struct Step;
class HealingSecrets;
class HealingContext;
class RunningHealings;
class StepRequests;

/// What has asked for a program or a request.
struct ActionContext {
  const Healing* healing = nullptr;  ///< never null
  const Step* step = nullptr;        ///< null: its guard
  bool polls = false;                ///< the request asks whether what the step began is done
};

class Askers {
 public:
  /// Requires: all of them outlive it.
  Askers(const RunningHealings& healings, const StepRequests& requests, const HealingSecrets& secrets)
      : healings_(healings), requests_(requests), secrets_(secrets) {}

  /// None: nothing that is under way. It holds until healings are told something.
  [[nodiscard]] std::optional<ActionContext> context_of(ActionId action) const;
  /// Whether the answer to a request is waited for.
  [[nodiscard]] bool awaits(ActionId request) const;
  /// What is to be answered, for people: "the answer to POST https://a/b (healing of web with rebuild, step "mark")".
  [[nodiscard]] std::vector<std::string> awaited() const;
  /// Whether what the program writes, or the request is answered, is saved as a secret.
  [[nodiscard]] bool saves_secret(ActionId action) const;
  /// Takes out what its step saves as a secret, and what others could learn that from; that there was something stays,
  /// and what the tests of an answer say of it. False: nothing of it is secret.
  bool leave_out_secrets(event::ActionEnded& end) const;
  bool leave_out_secrets(event::Answered& answer) const;
  /// Whether the program is one that was told to end.
  [[nodiscard]] bool ends(ActionId action) const;
  /// Completes the program of a step that is released again: its environment and place are not saved with it. False: a
  /// secret that it needs is lost.
  [[nodiscard]] bool complete(const HealingContext& world, effect::Exec& exec) const;
  /// What is to be saved of the output of a program, with values bound in its filters.
  [[nodiscard]] std::vector<Saving> savings_of(const HealingContext& world, ActionId action) const;

 private:
  [[nodiscard]] const Step* asker(ActionId action) const;

  const RunningHealings& healings_;
  const StepRequests& requests_;
  const HealingSecrets& secrets_;
};

}  // namespace healer::engine
