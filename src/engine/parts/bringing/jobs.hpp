// SPDX-License-Identifier: MIT
// Starts, stops and restarts: how a job goes from step to step (the model is in engine/job.hpp).
//
// Owns    the jobs under way, when each wants to be woken, and ServiceState::job of each service.
// Hears   what is to be begun, and when it may go; what a look, a program or a child has told; time; who ends one.
// Tells   StepDue, between two steps; CheckWanted, of the service of a step; EndWanted, of a program; ServiceStarted,
// ChildBegun, ChildLasted,
//         ChildServes, LeftGone, LeftReported, of what a step has done; OrderFailed, of a command; JobEnded;
//         LookWanted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/events/event.hpp"
#include "engine/events/evidence.hpp"
#include "engine/ids.hpp"
#include "engine/job.hpp"
#include "engine/service_state.hpp"
#include "engine/steps/step_end.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Command;
struct Graph;
struct Turn;
class Children;
class Pauses;
class PendingCommands;
class ProcessProofs;
class RunningPrograms;
class StartLeftovers;
class Starts;

class Jobs {
 public:
  /// Requires: all of them outlive it.
  Jobs(const std::shared_ptr<const Graph>& graph, std::vector<ServiceState>& services, const Pauses& pauses,
       const RunningPrograms& programs, const Starts& starts, const Children& children, const StartLeftovers& leftovers,
       const ProcessProofs& proofs, const PendingCommands& commands, IdSource& ids)
      : graph_(graph),
        services_(services),
        pauses_(pauses),
        programs_(programs),
        starts_(starts),
        children_(children),
        leftovers_(leftovers),
        proofs_(proofs),
        commands_(commands),
        ids_(ids) {}

  // ---- view
  /// By JobId.
  [[nodiscard]] const std::map<std::uint64_t, Job>& all() const { return jobs_; }
  /// Null: it has ended.
  [[nodiscard]] const Job* find(JobId id) const;
  /// That a service takes part in; null: none.
  [[nodiscard]] const Job* of(ServiceId id) const;
  /// Whether the step under way of its job is its own.
  [[nodiscard]] bool is_at(ServiceId id) const;
  /// Mono: when wake_one() is due; none: never.
  [[nodiscard]] std::optional<Duration> next() const;
  /// Which other service keeps a rule's start, stop or restart of this one from beginning now; empty: none.
  [[nodiscard]] std::string in_the_way(ServiceId id, ActionKind kind) const;
  /// Why a person's job for these services cannot begin; empty: it can, when the jobs of rules in its way are ended.
  [[nodiscard]] std::string busy_with(ActionKind kind, const std::vector<ServiceId>& services) const;
  /// What a job would do.
  struct Plan {
    std::vector<JobStep> steps;
    std::vector<ServiceId> monitored{};  ///< besides: these are monitored again
  };
  [[nodiscard]] Plan plan(const JobOrder& order, Instant now) const;
  /// Whether a job of an earlier daemon goes on in this one.
  [[nodiscard]] bool is_taken_up(const effect::SavedJob& job) const;
  /// Adds those that have changed in this turn to its commit.
  void save(Turn& turn) const;

  // ---- begin
  /// A job is under way from now on; go() begins its first step. Requires: its services take part in no other.
  JobId begin(JobOrder order, std::vector<JobStep> steps, Turn& turn);
  /// Its next step begins.
  void go(JobId id, Turn& turn);
  /// The job that a step of a healing has begun and that has outlived a restart: the command waits for its end. False:
  /// there is none.
  bool join_healing(const BringOrder& order);
  /// Who waits for jobs that are under way already, and for how many.
  struct Joined {
    std::vector<ServiceId> services{};  ///< that are taken out of those that were given
    std::uint32_t jobs = 0;
  };
  /// Where rules start these services already, a person who asks for the same waits for that. So does one who wants
  /// restarts, where one job has them all, and they are not running any more, or are yet to be stopped.
  [[nodiscard]] Joined join(ActionKind kind, std::vector<ServiceId>& services, const Requester& requester, Turn& turn);

  // ---- what is told
  /// A look is under way for a step.
  void checks(JobId id, RunId run);
  /// Its service is to be looked at. Requires: is_at().
  void check(ServiceId id, Turn& turn);
  /// The look of a step has ended. Requires: is_at(), and it has waited for that.
  void checked(ServiceId id, const Evidence& seen, Turn& turn);
  /// The program of a step has ended. False: its job has ended before.
  bool program_ended(const effect::Exec& exec, const event::ActionEnded& end, Turn& turn);
  /// Something was told of the child of a service: the job that waits for it goes on.
  void child_reported(ServiceId id, Turn& turn);
  /// A child of it, run by `action`, has ended. Requires: is_at().
  void child_ended(ServiceId id, ActionId action, Turn& turn);
  /// What it asks for its start or stop holds for the step that is under way.
  void child_extended(ServiceId id, Duration by, Instant now);
  /// A signal that was recorded when it was decided did not reach a process that lives: whoever waits for its end hears
  /// of it.
  void not_signalled(const event::NotSignalled& event, Turn& turn);
  /// One that is due goes on; false: none is.
  bool wake_one(Turn& turn);

  // ---- ends
  /// Ends a job where it is, with the program that it waits for. `cancelled`: it has not failed by itself.
  void fail(JobId id, const std::string& why, bool cancelled, Turn& turn);
  /// A person's word goes before a rule's: its jobs that are in the way are ended, or go on without what the person
  /// wants, where that takes part because of another and is not under way.
  void end_of_rules(ActionKind kind, const std::vector<ServiceId>& services, const Origin& by, Turn& turn);

  // ---- life
  /// A job of an earlier daemon; go_on_restored() lets it go. None: it is not resumed.
  std::optional<JobId> restore(const effect::SavedJob& saved, Turn& turn);
  /// At the program of its step where that is known, else by a look. `anew`: the program is gone, and the step starts
  /// over.
  void go_on_restored(JobId id, bool anew, Turn& turn);
  /// These services have changed: the next look says whether a job still waits for one of them.
  void forget_waits(const std::set<ServiceId>& changed);

 private:
  /// How the step of a job has ended; nothing: it waits for something.
  using Progress = std::optional<StepEnd>;
  static constexpr Progress kWaits = std::nullopt;

  [[nodiscard]] effect::SavedJob saved(const Job& job, Instant now) const;
  void go_on(Job& job, Progress progress, Turn& turn);
  void end(Job& living, StepEnd how, Turn& turn);
  Progress begin_step(Job& job, Turn& turn);
  Progress judge_step(Job& job, const ProcessFacts* process, Turn& turn);
  Progress act(Job& job, const ProcessFacts* process, Turn& turn);
  Progress stop_by_signal(Job& job, const ProcessFacts& process, Turn& turn);
  void check(Job& job, Turn& turn);
  void run_program(Job& job, const Command& command, Turn& turn);
  void set_cause(Job& job, const std::string& why) const;
  void set_due(Job& job, std::optional<Duration> due);
  void overdue(Job& job, Turn& turn);
  [[nodiscard]] std::string why_overdue(const Job& job) const;
  void tell_started(const Job& job, const ProcessFacts& process, Turn& turn) const;
  void record_failure(const Job& job, Turn& turn) const;
  void cut(Job& job, const std::vector<bool>& out, const std::string& why, Turn& turn);

  // what a step waits for
  [[nodiscard]] std::optional<ServiceId> waits_for_job(const Job& job) const;
  [[nodiscard]] bool waits_for_needed(Job& job, Turn& turn);
  [[nodiscard]] bool waits_for_left(Job& job, Turn& turn);
  [[nodiscard]] Progress left_out(Job& job, Turn& turn);
  [[nodiscard]] bool clear_way(Job& job, const Command& command, Turn& turn);
  void hold_step(Job& job, std::string failure, Duration pause, Turn& turn);
  [[nodiscard]] bool is_own_program(const Job& job, const ProcessFacts& process) const;
  [[nodiscard]] bool is_brought_up(ServiceId id) const;
  [[nodiscard]] bool restarts_yet(const Job& job, ServiceId id) const;
  [[nodiscard]] std::vector<JobStep> needed_first(const JobOrder& order, Plan& plan) const;

  // foreground processes (child_steps.cpp)
  Progress begin_child_step(Job& job, Turn& turn);
  /// `lasted`: it is as good as ready.
  Progress judge_child_step(Job& job, Turn& turn, bool lasted = false);
  Progress stop_child(Job& job, Turn& turn);
  Progress start_child(Job& job, Turn& turn);
  Progress stop_former(Job& job, Turn& turn);
  void child_overdue(Job& job, Turn& turn);

  const std::shared_ptr<const Graph>& graph_;
  std::vector<ServiceState>& services_;
  const Pauses& pauses_;
  const RunningPrograms& programs_;
  const Starts& starts_;
  const Children& children_;
  const StartLeftovers& leftovers_;
  const ProcessProofs& proofs_;
  const PendingCommands& commands_;
  IdSource& ids_;
  std::map<std::uint64_t, Job> jobs_;
  std::set<std::pair<Duration, std::uint64_t>> due_;
};

}  // namespace healer::engine
