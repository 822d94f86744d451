// SPDX-License-Identifier: MIT
// What an inspector keeps of looks and services: for its own files only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/evidence.hpp"
#include "engine/measure.hpp"
#include "runtime/file_sums.hpp"
#include "runtime/filesystem_look.hpp"
#include "runtime/inspector.hpp"
#include "runtime/network_look.hpp"
#include "runtime/path_look.hpp"
#include "runtime/traffic.hpp"

namespace healer::runtime {

struct Inspector::Look {
  engine::ServiceId service;
  std::uint64_t run = 0;
  std::shared_ptr<const engine::ServiceBlock> block;  // of a process or a path
  ProcessIdentity own;                                // of a foreground process
  Duration begun{0};
  ProcessWish wish;
  Duration walk_age{0};  // a walk that is older will not do; 0: none is needed
  engine::ActionId left_by;
  engine::ActionId came_by;
  std::shared_ptr<const engine::Facts> meanwhile;  // the answer without what is searched for
  std::string meanwhile_output;
  bool is_patient = false;                       // its answer may take as long as it likes
  std::shared_ptr<const ProcCommands> commands;  // where a pattern is looked for
  std::function<Loop::Callback()> read;          // at what is no process: on a worker
  engine::measure::ReadPath wanted;              // of a path, as far as it is not known yet
  std::optional<engine::ReadPosition> position;  // from which its lines are read on

  [[nodiscard]] bool by_pattern() const { return block != nullptr && !block->process->pattern.empty(); }
};

/// What is kept of a service between looks.
struct Inspector::Memory {
  std::optional<Duration> last_look;
  bool died = false;         // since it was found last
  ProcessIdentity identity;  // whose samples and figures they are
  Means<ProcessSample> process;
  Means<ProcessSample> transfers;    // of the looks that have read them
  std::optional<Duration> whole_at;  // when all of it was looked at last; what follows was seen then
  engine::ProcessFacts owner;        // whose it was
  engine::Metrics rest;              // the figures that other looks may leave out
  Means<SystemSample> system;
  Means<DeviceSample> device;
  Means<InterfaceSample> interface;
  Traffic traffic;
  FileSums sums;
  bool reading = false;  // its lines, on a thread

  [[nodiscard]] bool add(const ProcessLook& look, Duration when, engine::Facts& facts);
};

}  // namespace healer::runtime
