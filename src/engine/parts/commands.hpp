// SPDX-License-Identifier: MIT
// Commands of people and healings that are not answered yet: what each waits for, and what it has come to.
//
// Owns    the commands that wait for runs or jobs, and which runs are awaited.
// Hears   that one begins; that a run or a job has ended.
// Tells   nothing: the reply is one of the turn's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/ids.hpp"
#include "engine/order.hpp"
#include "engine/service_state.hpp"

namespace healer::engine {

struct Graph;
struct Job;
struct Turn;
class StartLeftovers;

/// One that is not answered yet.
struct PendingCommand {
  BringOrder order;               ///< of a validate: who has asked for it, and of which services
  std::uint32_t asked = 0;        // services of a validate
  std::uint32_t outstanding = 0;  // of their runs, or jobs
  std::map<ServiceId, std::string> failed{};
  std::vector<std::string> unmonitored{};  // that a validate leaves out
  /// What the jobs of a start, stop or restart have done to whom; to one that was as wanted already, nothing.
  struct Touched {
    bool stopped = false;
    bool started = false;
  };
  std::map<ServiceId, Touched> touched{};
  std::vector<std::string> ended{};  // healings, since people have taken their targets away by it
};

class PendingCommands {
 public:
  /// Requires: all of them outlive it.
  PendingCommands(const std::shared_ptr<const Graph>& graph, const std::vector<ServiceState>& services,
                  const StartLeftovers& leftovers)
      : graph_(graph), services_(services), leftovers_(leftovers) {}

  // ---- view
  /// Null: it is answered, or never waited.
  [[nodiscard]] const PendingCommand* find(const Requester& requester) const;
  [[nodiscard]] bool awaits_run(ServiceId id) const { return validating_.contains(id.number()); }
  /// Of those that are still in the rules.
  [[nodiscard]] std::vector<std::string> names_of(const std::vector<ServiceId>& services) const;

  // ---- what it hears
  void begin(PendingCommand command);
  /// A validate that waits for no run any more is answered at once.
  void begin_validate(PendingCommand command, Turn& turn);
  /// A validate waits for the run of a service.
  void await_run(ServiceId id, CommandId command) { validating_[id.number()].push_back(command); }
  /// It waits for as many more jobs, or fewer.
  void await_jobs(const Requester& requester, std::int64_t more);
  /// Healings have ended by it.
  void note_ended(const Requester& requester, const std::vector<std::string>& healings);
  /// What a job has done, for the people who wait for it: of one that has failed by the steps before its last.
  void note_touched(const Job& job, bool good);
  /// The run of a service has ended, or will not come.
  void run_ended(ServiceId id, bool failed, Turn& turn);
  /// One of a command's jobs has ended, or could not begin: `failure` says why, or is empty.
  void job_ended(const Requester& requester, ServiceId service, const std::string& failure, Turn& turn);
  /// There was nothing to begin.
  void answer_idle(const PendingCommand& command, Turn& turn) const;

 private:
  [[nodiscard]] std::string validated_text(const PendingCommand& command) const;
  [[nodiscard]] std::string done_text(const PendingCommand& command) const;

  const std::shared_ptr<const Graph>& graph_;
  const std::vector<ServiceState>& services_;
  const StartLeftovers& leftovers_;
  std::map<Requester, PendingCommand> commands_;
  std::unordered_map<std::uint32_t, std::vector<CommandId>> validating_;  // by service
};

}  // namespace healer::engine
