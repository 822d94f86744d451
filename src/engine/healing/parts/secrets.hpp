// SPDX-License-Identifier: MIT
// Secrets of healings: the values that steps have saved and nobody is to see, and whether those that a plan reads can
// be read, which is asked before anything of it begins. Nothing of it is written anywhere.
//
// Owns    what steps have saved as secrets; what is known of whether the others can be read.
// Hears   that a step has saved something; that a healing is about to begin, or has ended; answers to its questions.
// Tells   nothing: it asks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/events/event.hpp"
#include "engine/healing/healing.hpp"
#include "engine/healing/saving.hpp"
#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer::engine {

class HealingWorld;

class HealingSecrets {
 public:
  // ---- view
  /// What the healing's steps have saved that nobody is to see.
  [[nodiscard]] const Variables& of(const Healing& healing) const;
  /// Who has asked so whether its secrets can be read; none: nobody.
  [[nodiscard]] std::optional<HealingId> asker(ActionId request) const;

  // ---- what it hears
  /// Keeps what a step saves, be it secret or not. Why it cannot: "has nothing to save as TOKEN"; empty: it does.
  [[nodiscard]] std::string save(Healing& healing, const std::vector<Saving>& saves,
                                 const std::vector<std::optional<std::string>>& values);
  /// Whether the secrets of its plan can be read, as far as is known. Where nobody has looked lately, somebody does
  /// now.
  [[nodiscard]] bool are_there(HealingWorld& world, Healing& healing);
  /// Whether they can be read. Requires: the healing has asked.
  bool answered(HealingId healing, const event::Answered& answer);
  void forget(HealingId healing);

 private:
  /// Whether the secrets of a plan can be read.
  struct Check {
    ActionId flight{};   ///< 0: nobody is asked
    Duration asked{0};   ///< mono
    bool there = false;  ///< it was so then
  };

  std::map<HealingId, Variables> saved_;  // never written
  std::map<HealingId, Check> checks_;     // of those that are about to begin
};

}  // namespace healer::engine
