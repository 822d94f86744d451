// SPDX-License-Identifier: MIT
// What an inspector keeps of looks and services: for its own files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/events/evidence.hpp"
#include "engine/events/measure.hpp"
#include "runtime/files/file_sums.hpp"
#include "runtime/inspection/filesystem_inspection.hpp"
#include "runtime/inspection/inspector.hpp"
#include "runtime/inspection/network_inspection.hpp"
#include "runtime/inspection/path_inspection.hpp"
#include "runtime/net/traffic.hpp"
#include "runtime/worker_pool.hpp"

namespace healer::runtime {

/// That of init.
inline constexpr std::int64_t kFirstProcess = 1;

struct Inspector::Inspection {
  engine::ServiceId service;
  std::uint64_t run = 0;
  std::shared_ptr<const engine::ServiceBlock> block;  // of a process
  ProcessIdentity own;                                // of a foreground process
  Duration begun{0};
  ProcessQuery query;
  Duration walk_age{0};  // a walk that is older will not do; 0: none is needed
  engine::ActionId left_by;
  engine::ActionId came_by;
  std::shared_ptr<const engine::Facts> meanwhile;  // the answer without what is searched for
  std::string meanwhile_output;
  bool is_patient = false;                       // its answer may take as long as it likes
  std::shared_ptr<const ProcCommands> commands;  // where a pattern is looked for
  std::function<Loop::Callback()> read;          // at what is no process: on a worker

  [[nodiscard]] bool by_pattern() const { return block != nullptr && !block->process->pattern.empty(); }
};

/// What a thread needs to know for a look at a process.
struct Inspector::Request {
  std::uint64_t run = 0;
  std::shared_ptr<const engine::ServiceBlock> block;
  ProcessIdentity own;
  ProcessQuery query;
  std::shared_ptr<const ProcCommands> commands;
  ProcessIdentity watched;
  bool may_watch = false;
  Duration mount_patience{0};
  std::shared_ptr<OwnPrograms> programs;
  std::shared_ptr<const ControlGroups> groups;
  engine::ActionId came_by;
  std::optional<WallTime> stepped;             // the clock, then
  std::shared_ptr<const ProcSnapshot> walk{};  // null: nobody asks for the memory of descendants

  [[nodiscard]] bool is_of_start(const ProcessIdentity& process) const;
  [[nodiscard]] ProcessQuery query_of(const PidFile& file) const;
};

/// What a look at a process has found.
struct Inspector::Found {
  std::optional<ProcessInspection> inspection;
  bool unknown = false;  // it could not be looked for
  std::string output;
  Descriptor pidfd;
  std::optional<double> shares;  // of its descendants, in the memory
};

/// A look at a path.
struct Inspector::PathRun {
  engine::ServiceId service;
  engine::RunId run;
  std::shared_ptr<const engine::ServiceBlock> block;
  engine::measure::ReadPath wanted{};
  std::optional<engine::ReadPosition> position{};  // from which its lines are read on
  bool reads = false;                              // its lines, which nobody else does now
  std::string unread{};                            // else: why not
  bool answered = false;                           // or cancelled: what is seen is nobody's any more
  Duration begun{0};
  // The worker's, until it is told.
  Result<PathInspection> seen = PathInspection{};
};

/// Looks at paths that are begun in one turn of the loop: many, with little work each.
class Inspector::PathInspections final : public WorkerPool::Series {
 public:
  PathInspections(Inspector& inspector, Duration now)
      : begun(now), inspector_(inspector), patience_(inspector.options_.stuck), guard_(inspector.guard_) {}

  [[nodiscard]] std::size_t size() const override { return runs.size(); }
  void work(std::size_t one) override;
  void tell(std::size_t one) override;
  void refuse(std::size_t one, const Error& why) override;
  [[nodiscard]] bool is_answered() const { return answered_ == runs.size(); }

  const Duration begun;
  std::vector<PathRun> runs;

 private:
  void end(PathRun& run);

  Inspector& inspector_;  // for the loop alone
  const Duration patience_;
  const std::shared_ptr<MountGuard> guard_;
  std::size_t answered_ = 0;
};

/// What is kept of a service between looks.
struct Inspector::Memory {
  std::optional<Duration> last_inspection;
  bool died = false;         // since it was found last
  ProcessIdentity identity;  // whose samples and figures they are
  Means<ProcessSample> process;
  Means<ProcessSample> transfers;    // of the looks that have read them
  std::optional<Duration> whole_at;  // when all of it was looked at last; what follows was seen then
  engine::ProcessFacts owner;        // whose it was
  engine::Metrics rest;              // the figures that other looks may leave out
  std::optional<double> shares;      // of its descendants, in the memory (PSS), as far as anybody has asked
  Means<SystemSample> system;
  Means<DeviceSample> device;
  Means<InterfaceSample> interface;
  Traffic traffic;
  FileSums sums;
  bool reading = false;  // its lines, on a thread

  [[nodiscard]] bool add(const ProcessInspection& inspection, Duration when, engine::Facts& facts);
};

}  // namespace healer::runtime
