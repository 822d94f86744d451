// SPDX-License-Identifier: MIT
// The machine that a simulation plays, as its script has it: what check programs answer, which processes run, and what
// is measured of them and of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/events/evidence.hpp"
#include "engine/rules/graph.hpp"
#include "simulation/script.hpp"
#include "util/time.hpp"

namespace healer::engine {

class SimulatedWorld {
 public:
  /// Every process runs that the script does not call down, but for healer's own children. `now` is the mono time.
  /// Requires: `graph` and `script` outlive it.
  SimulatedWorld(const Graph& graph, const Script& script, Duration now);
  ~SimulatedWorld();
  /// Other rules are in force: what they have anew begins as it did at the beginning. Requires: `graph` outlives it.
  void take_over(const Graph& before, const Graph& graph, Duration now);
  SimulatedWorld(const SimulatedWorld&) = delete;
  SimulatedWorld& operator=(const SimulatedWorld&) = delete;

  // Runs.
  /// What the run of a service that begins now will have seen after Evidence::elapsed. It takes the next place of
  /// the script.
  [[nodiscard]] Evidence run(ServiceId id, Duration now);
  /// The same for a look of a job, which leaves the place to the next run.
  [[nodiscard]] Evidence check(ServiceId id, Duration now) const { return seen(id, played_[id.index()].begun, now); }
  void end_run(ServiceId id) { ++played_[id.index()].ended; }
  /// Runs that were begun are not waited for any more.
  void drop_runs(ServiceId id) { played_[id.index()].ended = played_[id.index()].begun; }
  void drop_all_runs();
  /// Runs of the service that have ended.
  [[nodiscard]] std::uint64_t ended(ServiceId id) const { return played_[id.index()].ended; }
  /// Whether the script tells runs of any service.
  [[nodiscard]] bool scripted() const { return scripted_; }
  /// Whether no run is left of those that the script tells of a service.
  [[nodiscard]] bool used_up(ServiceId id) const;

  // What is said of a service beside the lines of its runs.
  enum class ScriptedState : std::uint8_t {
    Scripted,  ///< as its lines say
    Failing,   ///< its program exits with 1, its connections are down; all else as its lines say
    Well       ///< its program exits with 0, its connections are up, what is measured is as in its first run
  };
  [[nodiscard]] ScriptedState scripted_state(ServiceId id) const { return played_[id.index()].scripted_state; }
  /// The number of the change.
  std::uint64_t set_scripted_state(ServiceId id, ScriptedState scripted_state) {
    played_[id.index()].scripted_state = scripted_state;
    return ++played_[id.index()].changes;
  }
  /// Takes a change back, unless another has come since.
  void take_back(ServiceId id, std::uint64_t change, ScriptedState before) {
    if (played_[id.index()].changes == change) set_scripted_state(id, before);
  }

  // Processes. Their numbers are counted up from 100, in the order in which they come up.
  /// The process of a service; none: it does not run.
  [[nodiscard]] std::optional<std::int64_t> pid(ServiceId id) const { return played_[id.index()].pid; }
  /// The service of a process.
  [[nodiscard]] std::optional<ServiceId> owner(std::int64_t pid) const;
  /// Its process comes up. Requires: a process service that does not run.
  std::int64_t bring_up(ServiceId id, Duration now);
  /// Its process is gone. Requires: it runs.
  void take_down(ServiceId id) { played_[id.index()].pid.reset(); }
  /// All of them are gone.
  void reboot(Duration now);

 private:
  class Patterns;
  struct Played;

  [[nodiscard]] Evidence answer(const Played& played, const ServiceBlock& block, std::uint64_t place) const;
  [[nodiscard]] Facts facts(const Played& played, const ServiceBlock& block, std::uint64_t place, Duration now) const;
  [[nodiscard]] ConnectionSeen connection(const Played& played, std::size_t index, std::uint64_t place) const;
  [[nodiscard]] Evidence seen(ServiceId id, std::uint64_t place, Duration now) const;

  /// What is played for one service.
  struct Played {
    const ScriptedService* script = nullptr;  // null: not in the script
    std::shared_ptr<const Patterns> patterns;
    std::uint64_t begun = 0;  // runs
    std::uint64_t ended = 0;
    std::optional<std::int64_t> pid;
    Duration up_since{0};  // mono
    ScriptedState scripted_state = ScriptedState::Scripted;
    std::uint64_t changes = 0;  // of its mood
  };

  void begin(ServiceId id, Duration now);

  const Graph* graph_;
  const Script& script_;
  std::vector<Played> played_;  // by slot
  std::int64_t next_pid_ = 100;
  Duration booted_{0};  // mono
  bool scripted_ = false;
};

}  // namespace healer::engine
