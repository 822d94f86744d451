// SPDX-License-Identifier: MIT
// How guards, steps and requests of healings end in a simulation, as its script has it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "engine/events/event.hpp"
#include "engine/healing/healings.hpp"
#include "simulation/script.hpp"

namespace healer::engine {

class SimulatedHealing {
 public:
  /// Requires: `script` outlives it.
  explicit SimulatedHealing(const Script& script) : script_(script) {}

  /// How something ends, after `end.takes`, which is set.
  struct Ending {
    ScriptedEnd end;
    std::optional<Duration> heals;  ///< its target, where it ends well, for so long; 0: for good
  };
  /// How the program or request ends that `origin` has asked for. It takes the next place of the script.
  [[nodiscard]] Ending next(const ActionContext& origin);
  /// For how long a step that starts a service heals its target; none: it does not.
  [[nodiscard]] std::optional<Duration> heals(const ActionContext& origin) const;

 private:
  [[nodiscard]] const ScriptedStep* find(const StepOf& of) const;

  const Script& script_;
  std::map<StepOf, std::uint64_t> taken_;  // places, by target
};

/// How a program of a step has ended: `saves` is what is saved of its output. After no time: it does not end by itself.
[[nodiscard]] std::optional<event::ActionEnded> ended(const effect::Exec& exec, const ScriptedEnd& end,
                                                      const std::vector<Saving>& saves);
/// What a request is answered, after Answered::elapsed. `step` has made it.
[[nodiscard]] event::Answered answered(const effect::Request& request, const ScriptedEnd& end, const Step& step,
                                       bool polls);
/// Whether the step is done by that.
[[nodiscard]] bool is_done(const event::Answered& answer, const effect::Request& request, const Step& step, bool polls);

}  // namespace healer::engine
