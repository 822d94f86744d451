// SPDX-License-Identifier: MIT
// All by which a daemon looks at services: the runner of check programs, the inspector, connection tests, units of
// systemd, documents, and what these need of the machine. Owns them, in the order in which one needs the other; what
// they find is told to the engine by Calls. On the loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/events/measure.hpp"
#include "engine/ids.hpp"
#include "runtime/document_reader.hpp"
#include "runtime/inspection/inspector.hpp"
#include "runtime/log/log.hpp"
#include "runtime/loop.hpp"
#include "runtime/measurer.hpp"
#include "runtime/net/connector.hpp"
#include "runtime/net/reacher.hpp"
#include "runtime/process/exit_status.hpp"
#include "runtime/process/process_runner.hpp"
#include "runtime/process/reaper.hpp"
#include "runtime/process/spawner.hpp"
#include "runtime/units/units.hpp"

namespace healer {

class Measuring {
 public:
  /// What it works with.
  struct Machine {
    std::string check_mark;  ///< in the environment of check programs
    runtime::LaunchDefaults defaults;
    std::shared_ptr<const runtime::ControlGroups> groups;
  };
  struct Calls {
    /// Tells the engine.
    std::function<void(const engine::Event&)> handle;
    /// The environment of the program of a service.
    runtime::Measurer::Environment environment;
  };

  /// Requires: `loop` and `log` outlive it.
  Measuring(runtime::Loop& loop, runtime::Log& log, Machine machine, Calls calls);

  /// Measures what the plan of `block`, or the document of `effect`, says.
  void measure(const engine::effect::Measure& effect, const std::shared_ptr<const engine::ServiceBlock>& block);
  /// The run is not answered.
  void cancel(engine::RunId run);
  void signal(const engine::effect::Signal& effect) { inspector_->signal(effect); }
  /// As control::Supervisor::query().
  void query(std::string whose, std::string filter, std::string text, std::function<void(Result<std::string>)> done) {
    documents_->query(std::move(filter), std::move(text), std::move(whose), std::move(done));
  }
  /// The length of a cycle, as the rules have it.
  void set_cycle(Duration cycle) { runs_->set_cycle(cycle); }
  /// Ends the programs that run, and calls `done` when they have ended.
  void stop_runs(std::function<void()> done) { runs_->stop(std::move(done)); }

  // What others need of it, too.
  [[nodiscard]] runtime::Measurer& measurer() { return *measurer_; }
  [[nodiscard]] runtime::Units& units() { return *units_; }
  [[nodiscard]] runtime::Spawner& spawner() { return *spawner_; }
  [[nodiscard]] runtime::ExitStatusReader& exits() { return *exits_; }
  [[nodiscard]] const std::shared_ptr<const runtime::ControlGroups>& groups() const { return groups_; }

 private:
  runtime::Loop& loop_;
  runtime::Log& log_;
  Calls calls_;
  std::unique_ptr<runtime::Spawner> spawner_;
  std::unique_ptr<runtime::Reaper> reaper_;  ///< where orphans are left to this process
  std::shared_ptr<const runtime::ControlGroups> groups_;
  std::unique_ptr<runtime::ProcessRunner> runs_;
  std::unique_ptr<runtime::ExitStatusReader> exits_;
  std::unique_ptr<runtime::Connector> connector_;
  std::unique_ptr<runtime::Reacher> connections_;
  std::unique_ptr<runtime::Inspector> inspector_;
  std::unique_ptr<runtime::Units> units_;
  std::unique_ptr<runtime::Measurer> measurer_;
  std::unique_ptr<runtime::DocumentReader> documents_;
};

}  // namespace healer
