// SPDX-License-Identifier: MIT
// Steps that call over HTTP: the request, what is made of its answer, and asking until what it began is done.
//
// Owns    for each run that asks whether it is done the question under way, or when the next is due.
// Hears   that such a step begins, goes on, or is ended; answers; that the daemon ends.
// Tells   nothing: it makes requests, and takes the run of the step to its end.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/events/event.hpp"
#include "engine/healing/healing.hpp"
#include "engine/ids.hpp"
#include "engine/rules/workflow.hpp"
#include "util/time.hpp"

namespace healer::engine {

class HealingSecrets;
class HealingWorld;

class StepRequests {
 public:
  // ---- view
  /// Whether that is a question whether something is done.
  [[nodiscard]] bool is_question(ActionId request) const;
  /// Whether it is one of that run.
  [[nodiscard]] bool is_question(ActionId request, HealingId healing, std::size_t run) const;
  /// Mono: when the first is to be asked next; none: there is none that does not wait for an answer.
  [[nodiscard]] std::optional<Duration> next_question() const;

  // ---- what it hears
  /// Makes the request of a step.
  void begin(HealingWorld& world, Healing& healing, const Step& step, StepRun& run, const HealingSecrets& secrets);
  /// Asks whether what a step began is done, when it is time to.
  void poll(HealingWorld& world, Healing& healing, const Step& step, std::size_t run, const HealingSecrets& secrets);
  /// The answer to the request of the step.
  void answered(HealingWorld& world, Healing& healing, const Step& step, StepRun& run, const event::Answered& answer,
                HealingSecrets& secrets);
  /// The answer to a question of it.
  void polled(HealingWorld& world, Healing& healing, const Step& step, std::size_t run, const event::Answered& answer);
  /// A step wants a value that nobody has. If a step that may be repeated had saved it, and it was lost with the
  /// daemon, that one is run again: true.
  bool save_again(HealingWorld& world, Healing& healing, const std::string& name);
  /// The run asks no more.
  void stop(HealingWorld& world, const Healing& healing, std::size_t run);
  /// The daemon is about to end: nobody asks any more.
  void stop_all(HealingWorld& world);

 private:
  /// How often, and when next, it is asked whether what a step began is done.
  struct Poll {
    ActionId flight{};   ///< 0: none
    Duration next{0};    ///< mono
    std::string last{};  ///< what was said
  };

  std::map<std::pair<HealingId, std::size_t>, Poll> polls_;  // by run
};

/// Nobody knows what came of the request of a step: the daemon that had sent it has ended.
void request_lost(HealingWorld& world, Healing& healing, const Step& step, StepRun& run);
/// The secret is there again for whose sake an earlier step was run once more. Requires: the healing has a detour.
void come_back(stage::Progress& progress);

}  // namespace healer::engine
