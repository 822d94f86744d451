// SPDX-License-Identifier: MIT
// Batch: the net effect of a run of commits, to be written as one transaction.
//
// It is what the writer takes from the queue, and what is kept in memory while the disk does not work: of every service
// the newest state, of acts only those that are still open, of records the newest. So it stays small however long the
// disk is away. Plain data: the owner sees to locking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/events/commit.hpp"
#include "store/store.hpp"

namespace healer::store {

class Batch {
 public:
  /// Adds what comes after everything added so far.
  void add(engine::effect::Commit commit);
  /// Adds a later batch.
  void merge(Batch later);
  void set_sources(std::vector<SavedSource> sources);
  /// Drops the oldest records, then the oldest open acts, until what is left is about `bytes`; states of services, jobs
  /// and healings are never dropped. Returns whether anything was.
  bool trim(std::size_t bytes);

  [[nodiscard]] bool empty() const { return up_to_ == 0 && !sources_; }
  /// An estimate of the memory held.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] engine::Sequence up_to() const { return up_to_; }
  /// The highest id of an act, a job or a healing that was named in a commit; 0: none.
  [[nodiscard]] std::uint64_t last_id() const { return last_id_; }
  [[nodiscard]] const std::deque<engine::Record>& records() const { return records_; }
  /// The records that trim() has dropped, all of them older than records().
  struct Lost {
    std::uint64_t count = 0;
    engine::RecordNumber last_id = 0;
    engine::Sequence last_sequence = 0;
    WallTime last_when{};
  };
  [[nodiscard]] const Lost& lost() const { return lost_; }
  [[nodiscard]] const std::unordered_map<std::string, engine::SavedService>& services() const { return services_; }
  /// What others that earlier batches have saved remember since.
  [[nodiscard]] const std::unordered_map<std::string, engine::Memory>& remembered() const { return remembered_; }
  /// What has been heard of such since.
  [[nodiscard]] const std::unordered_map<std::string, engine::Heartbeat>& heartbeats() const { return heartbeats_; }
  [[nodiscard]] const std::unordered_set<std::string>& forgotten() const { return forgotten_; }
  [[nodiscard]] const std::map<engine::ActionId, engine::PendingExec>& execs() const { return execs_; }
  /// Execs of earlier batches that were started, or have ended, since.
  [[nodiscard]] const std::set<engine::ActionId>& started() const { return started_; }
  [[nodiscard]] const std::set<engine::ActionId>& ended() const { return ended_; }
  [[nodiscard]] const std::map<engine::AlertId, engine::effect::Alert>& alerts() const { return alerts_; }
  [[nodiscard]] const std::set<engine::AlertId>& handed_over() const { return handed_over_; }
  [[nodiscard]] const std::map<engine::JobId, engine::effect::SavedJob>& jobs() const { return jobs_; }
  /// Jobs of earlier batches that have gone on since.
  [[nodiscard]] const std::map<engine::JobId, engine::effect::MovedJob>& moved_jobs() const { return moved_jobs_; }
  [[nodiscard]] const std::set<engine::JobId>& ended_jobs() const { return ended_jobs_; }
  [[nodiscard]] const std::map<engine::HealingId, engine::Healing>& healings() const { return healings_; }
  [[nodiscard]] const std::set<engine::HealingId>& ended_healings() const { return ended_healings_; }
  /// By target in lower case, and whether it is of dry runs.
  using TargetKey = std::pair<std::string, bool>;
  [[nodiscard]] const std::map<TargetKey, engine::TargetMemory>& targets() const { return targets_; }
  [[nodiscard]] const std::set<TargetKey>& forgotten_targets() const { return forgotten_targets_; }
  /// By name in lower case.
  [[nodiscard]] const std::map<std::string, engine::WorkflowMemory>& workflows() const { return workflows_; }
  [[nodiscard]] const std::optional<std::vector<engine::ClosedBrake>>& closed_brakes() const { return closed_brakes_; }
  [[nodiscard]] const std::optional<std::vector<engine::WidePause>>& wide_pauses() const { return wide_pauses_; }
  /// By number. A document that is null stays as it was written before.
  [[nodiscard]] const std::map<std::uint64_t, engine::Occurrence>& occurrences() const { return occurrences_; }
  [[nodiscard]] const std::set<std::uint64_t>& forgotten_occurrences() const { return forgotten_occurrences_; }
  /// The highest of its commits.
  [[nodiscard]] engine::effect::Durability durability() const { return durability_; }
  [[nodiscard]] const std::optional<std::vector<SavedSource>>& sources() const { return sources_; }

 private:
  void add_record(engine::Record record);
  void lose_oldest_record();
  void save(std::string name, engine::SavedService service);
  void remember(std::string name, const std::vector<engine::Baseline>& changed);
  void drop_remembered(const std::string& name);
  void hear(const std::string& name, engine::Heartbeat heartbeat);
  void drop_heartbeat(const std::string& name);
  void forget(const std::string& name);
  void open(engine::PendingExec exec);
  void open(engine::effect::Alert alert);
  void start(engine::ActionId action);
  void end(engine::ActionId action);
  void hand_over(engine::AlertId alert);
  void save(engine::effect::SavedJob job);
  void move(const engine::effect::MovedJob& moved);
  void end(engine::JobId job);
  void save(engine::Healing healing);
  void end(engine::HealingId healing);
  void save(engine::TargetMemory memory);
  void forget(const TargetKey& target);
  void save(engine::WorkflowMemory memory);
  void close(std::vector<engine::ClosedBrake> brakes);
  void pause(std::vector<engine::WidePause> pauses);
  void save(engine::Occurrence event);
  void forget(std::uint64_t occurrence);

  engine::Sequence up_to_ = 0;
  std::uint64_t last_id_ = 0;
  std::size_t bytes_ = 0;
  Lost lost_;
  std::deque<engine::Record> records_;
  std::unordered_map<std::string, engine::SavedService> services_;
  std::unordered_map<std::string, engine::Memory> remembered_;
  std::unordered_map<std::string, engine::Heartbeat> heartbeats_;
  std::unordered_set<std::string> forgotten_;
  std::map<engine::ActionId, engine::PendingExec> execs_;
  std::set<engine::ActionId> started_;
  std::set<engine::ActionId> ended_;
  std::map<engine::AlertId, engine::effect::Alert> alerts_;
  std::set<engine::AlertId> handed_over_;
  std::map<engine::JobId, engine::effect::SavedJob> jobs_;
  std::map<engine::JobId, engine::effect::MovedJob> moved_jobs_;
  std::set<engine::JobId> ended_jobs_;
  std::map<engine::HealingId, engine::Healing> healings_;
  std::set<engine::HealingId> ended_healings_;
  std::map<TargetKey, engine::TargetMemory> targets_;
  std::set<TargetKey> forgotten_targets_;
  std::map<std::string, engine::WorkflowMemory> workflows_;
  std::optional<std::vector<engine::ClosedBrake>> closed_brakes_;
  std::optional<std::vector<engine::WidePause>> wide_pauses_;
  std::map<std::uint64_t, engine::Occurrence> occurrences_;
  std::set<std::uint64_t> forgotten_occurrences_;
  engine::effect::Durability durability_ = engine::effect::Durability::Gathered;
  std::optional<std::vector<SavedSource>> sources_;
};

}  // namespace healer::store
