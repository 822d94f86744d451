// SPDX-License-Identifier: MIT
// Jobs: whatever takes steps and waits. A start, stop or restart of a service, with the services that depend on it or
// that it depends on, is one job; a service has at most one. The steps go one after the other; each looks first, does
// what is to be done, and waits until the service is as it should be (job_step_run.hpp has all its states):
//
//   Looking ---it is so already--------------------------------------------> next step
//      | starts or stops it (committed before it acts)                          ^
//      v                                                                        |
//   acting  ---the process is there / gone, or the program of a service without process has exited with 0
//      |
//      '------ the program failed, or its time is over ----> the job has failed; the steps that follow are not done
//
// A job is saved when it begins, and how far it has come before each of its acts, so it outlives the daemon: the next
// one adopts the program of the step under way, or looks again. A step is safe to repeat, for it only starts what is
// not there and stops what is there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/commit.hpp"
#include "engine/events/origin.hpp"
#include "engine/ids.hpp"
#include "engine/job_step_run.hpp"
#include "engine/order.hpp"
#include "util/rare.hpp"

namespace healer::engine {

struct Graph;
struct Limits;
struct ServiceBlock;

struct JobStep {
  ServiceId service;
  Bringing kind = Bringing::Start;
  bool named = false;  ///< the rule or person named this service; others take part for their sake
  bool acted = false;  ///< a program was started for it, or a signal sent: it was not as wanted already

  bool operator==(const JobStep&) const = default;
};

/// A job under way, for the engine, status and explain.
struct Job {
  JobId id;
  ActionKind kind = ActionKind::Restart;  ///< Start, Stop or Restart
  ServiceId service;                      ///< whom it is for (the first, where a person named several)
  std::vector<JobStep> steps;
  std::uint32_t position = 0;  ///< of the step under way
  JobStepRun run{};            ///< the step under way
  bool cancelled = false;
  bool end_requested = false;  ///< by people or new rules: it has not failed by itself
  Duration begun{0};           ///< mono
  std::string failure;         ///< why it has failed
  bool unmonitor = false;      ///< SavedJob::unmonitor
  Origin by;                   ///< who wants it
  std::shared_ptr<const effect::Cause> cause;
  std::vector<Requester> asked_by;  ///< who waits for its end

  [[nodiscard]] const JobStep& step() const { return steps[position]; }
  [[nodiscard]] WallTime begun_at(Instant now) const { return now.wall - (now.mono - begun); }
};

/// What a job is begun for.
struct JobOrder {
  ActionKind kind = ActionKind::Restart;
  std::vector<ServiceId> services;
  Origin by;
  std::shared_ptr<const effect::Cause> cause;
  std::optional<Requester> asked_by{};
};

/// Everything that must be up before `service`, directly or not: first what the others need. Not itself.
[[nodiscard]] std::vector<ServiceId> requirements_of(const Graph& graph, ServiceId service);
/// `services`, and everything that they depend on, or that depends on them, directly or not: each once.
[[nodiscard]] std::vector<ServiceId> with_requirements(const Graph& graph, const std::vector<ServiceId>& services);
[[nodiscard]] std::vector<ServiceId> with_dependents(const Graph& graph, const std::vector<ServiceId>& services);
/// Everything that depends on `service`, directly or not: first what nothing else of them needs. Not itself.
[[nodiscard]] std::vector<ServiceId> dependents_of(const Graph& graph, ServiceId service);

/// The steps of a job, in Monit's order (measured): a restart stops the dependents, then the service, and starts them
/// in the reverse order; a stop stops them; a start starts the requirements first. Several `services` are taken
/// together. One of them with a restart program is restarted by that at once; where it needs what is stopped or
/// restarted too, it is stopped and started in its turn, or, as far as it has no programs for that, restarted when what
/// it needs is up. `takes_part` says of a dependent whether it is stopped or restarted too; it is asked of no other.
[[nodiscard]] std::vector<JobStep> plan_steps(const Graph& graph, ActionKind kind,
                                              const std::vector<ServiceId>& services,
                                              const std::function<bool(ServiceId)>& takes_part);
/// Whether a start or restart of a service does nothing: it is no process, has no program for it, and nothing depends
/// on it.
[[nodiscard]] bool starts_nothing(const Graph& graph, ServiceId service);
/// The program of a step; none: it is not written. A process without a start program is started by its
/// restart program, as by Monit.
[[nodiscard]] const Rare<Command>& program_of(const ServiceBlock& block, Bringing kind);
/// How long a step may take: as its program says, else as `set limits`.
[[nodiscard]] Duration timeout_of(const ServiceBlock& block, Bringing kind, const Limits& limits);
/// A number for each slot: services with the same one depend on each other, directly or through others.
[[nodiscard]] std::vector<std::uint32_t> clusters_of(const Graph& graph);

/// "a, b": of more than ten, these, and how many more.
[[nodiscard]] std::string listed(const std::vector<std::string>& names);

/// "stop web", "start db".
[[nodiscard]] std::string describe_step(const Graph& graph, const JobStep& step);

}  // namespace healer::engine
