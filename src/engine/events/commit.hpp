// SPDX-License-Identifier: MIT
// What is made durable in one transaction, and what a store gives back at start.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/events/act.hpp"
#include "engine/events/record.hpp"
#include "engine/healing/healing.hpp"
#include "engine/heartbeat.hpp"
#include "engine/ids.hpp"
#include "engine/occurrence.hpp"
#include "engine/rules/rule_identity.hpp"
#include "engine/state.hpp"
#include "engine/steps/bring.hpp"
#include "util/few.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

namespace effect {

/// One step of a job.
struct SavedStep {
  std::string service;
  Bringing kind = Bringing::Start;  ///< Restart: by its restart program
  bool named = false;               ///< the rule or person named this service; others take part for their sake

  bool operator==(const SavedStep&) const = default;
};

/// A start, stop or restart under way, with what depends on it; survives the daemon.
struct SavedJob {
  JobId job;
  ActionKind kind = ActionKind::Restart;
  std::string service;                 ///< whom it is for
  std::vector<SavedStep> steps;        ///< all of them, in order
  std::uint32_t position = 0;          ///< of the step under way
  ActionId action;                     ///< its program; 0: none (yet)
  bool unmonitor = false;              ///< the stopped services are not monitored afterwards
  Origin by;                           ///< who wants it
  std::shared_ptr<const Cause> cause;  ///< what its programs are told
  WallTime begun{};
};

/// How far a job has come: all of it that changes from step to step, so that a job of many steps is written whole once,
/// not at each of them.
struct MovedJob {
  JobId job;
  std::uint32_t position = 0;
  ActionId action;
  WallTime begun{};  ///< by the clock of now
};

/// What a run has changed in the memory of a service that was saved before, where it has changed nothing else: what is
/// only watched is not written whole each time that it moves.
struct Remembered {
  std::string service;
  Few<Baseline> changed;
};

/// What a commit must outlive before it is answered.
enum class Durability : std::uint8_t {
  Gathered,  ///< nothing waits for it: it is written with what comes meanwhile
  Written,   ///< the daemon: it is written at once
  Synced     ///< the machine: it is on the disk itself
};

/// Make this durable as one transaction, in order of `sequence`; answer with event::Committed.
struct Commit {
  Sequence sequence = 0;
  std::vector<Record> records;
  std::vector<std::pair<std::string, SavedService>> services;  ///< changed ones, whole, by name
  std::vector<Remembered> remembered;                          ///< of others that were saved before
  std::vector<std::pair<std::string, Heartbeat>> heartbeats;   ///< the same, by the names of the services
  std::vector<Occurrence> occurrences;  ///< new ones, and those that have gone on, whole but for documents
  std::vector<std::uint64_t> forgotten_occurrences;
  std::vector<std::string> forgotten;              ///< services that are gone: drop what is saved
  std::vector<std::variant<Exec, Alert>> pending;  ///< acts to be done: now, or when an earlier one of the rule ended
  std::vector<ActionId> started;                   ///< pending execs whose program runs
  std::vector<ActionId> ended;                     ///< execs that need no memory any more
  std::vector<AlertId> handed_over;                ///< alerts that the mailer has on its own disk
  std::vector<SavedJob> jobs;                      ///< new ones, and those whose steps have changed, whole
  std::vector<MovedJob> moved_jobs;                ///< others that were saved before
  std::vector<JobId> ended_jobs;
  std::vector<Healing> healings;  ///< new ones, and those that have gone on, whole
  std::vector<HealingId> ended_healings;
  std::vector<TargetMemory> targets;  ///< by `target` in lower case and `rehearsed`
  std::vector<std::pair<std::string, bool>> forgotten_targets;
  std::vector<WorkflowMemory> workflows;                  ///< by `workflow` in lower case
  std::optional<std::vector<ClosedBrake>> closed_brakes;  ///< all of them, where that has changed
  std::optional<std::vector<WidePause>> wide_pauses;      ///< the same
  bool by_person = false;                                 ///< a person's command has led to it, or a beat
  bool awaited = false;                                   ///< an act or an answer waits for it, or would be done twice
  /// Whether it is about healings.
  [[nodiscard]] bool of_healings() const {
    return !healings.empty() || !ended_healings.empty() || !targets.empty() || !workflows.empty() || closed_brakes;
  }
  /// Whether it holds anything but services as they were seen: what is recorded, was done, or is to be done.
  [[nodiscard]] bool reports_actions() const {
    return !records.empty() || !forgotten.empty() || !pending.empty() || !started.empty() || !ended.empty() ||
           !handed_over.empty() || !jobs.empty() || !moved_jobs.empty() || !ended_jobs.empty() || of_healings() ||
           wide_pauses || !occurrences.empty() || !forgotten_occurrences.empty();
  }
  /// Synced: a step of a healing is never done without the journal knowing of it, and a person who was told "paused"
  /// relies on it, as does who was told that its beat was heard.
  [[nodiscard]] Durability durability() const {
    if (by_person || of_healings()) return Durability::Synced;
    return reports_actions() || awaited ? Durability::Written : Durability::Gathered;
  }
};

}  // namespace effect

/// An act found in the store by a new daemon: committed, but not known to be over.
struct PendingExec {
  effect::Exec exec;
  bool started = false;
};

/// A healing that was under way and cannot be gone on with: what is still known of it. Nothing at all: there may have
/// been some.
struct DamagedHealing {
  HealingId id{};
  std::string target{};
  std::string workflow{};     ///< of its plan
  std::string service{};      ///< whose rule it was
  std::string last_record{};  ///< the last record of it

  bool operator==(const DamagedHealing&) const = default;
};

/// Everything that a store gives back at start.
struct SavedState {
  Sequence last_sequence = 0;    ///< 0: there is no saved state
  std::uint64_t last_id = 0;     ///< the highest ActionId, AlertId, JobId or HealingId ever issued
  RecordNumber last_record = 0;  ///< of the newest record
  std::unordered_map<std::string, SavedService> services;
  std::vector<PendingExec> execs;
  std::vector<effect::Alert> alerts;
  std::vector<effect::SavedJob> jobs;                           ///< by id
  std::vector<Healing> healings;                                ///< by id
  std::vector<DamagedHealing> damaged_healings{};               ///< what is journalled of them cannot be read
  std::vector<std::pair<std::string, bool>> damaged_targets{};  ///< the same of TargetMemory: target and `rehearsed`
  HealingMemory healing;
  std::vector<WidePause> wide_pauses;
  std::vector<Occurrence> occurrences{};  ///< by number
  /// When the daemon before recorded something for the last time.
  std::optional<WallTime> seen{};
  /// The same, where it did not record that it stopped: it was
  /// killed, or the machine went down.
  std::optional<WallTime> died;
  std::uint64_t boot = 0;  ///< Instant::boot of the daemon before, when it started; 0: not known
  Hash128 word{};          ///< a random one, made with the state file, which event::Started tells; zero: there is none
};

/// What a store that holds `state` holds after `commit`, the records apart.
void keep(SavedState& state, const effect::Commit& commit);
/// The saved job, as far as it has come.
void move(effect::SavedJob& job, const effect::MovedJob& moved);

}  // namespace healer::engine
