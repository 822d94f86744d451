// SPDX-License-Identifier: MIT
// Units of systemd: their looks (unit_reader) and their jobs (unit_jobs) over one connection (system_bus), which exists
// as long as there is a unit to look at or a job under way. Owned and called by the loop thread.
#pragma once

#include <functional>
#include <string>

#include "engine/events/event.hpp"
#include "runtime/units/system_bus.hpp"
#include "runtime/units/unit_jobs.hpp"
#include "runtime/units/unit_reader.hpp"

namespace healer::runtime {

class Units : private SystemBus::Listener {
 public:
  using Sink = std::function<void(engine::Event)>;
  /// Told when the connection is lost, once, and when it is there again.
  using Report = std::function<void(bool is_well, const std::string& text)>;

  /// Requires: `loop` outlives it. `sink` gets event::Measured, event::ProcessDied, event::ActionStarted,
  /// event::ActionWaits and event::ActionEnded, on the loop, never from within a call.
  Units(Loop& loop, SystemBus::Options options, const Sink& sink, Report report);

  void read(const engine::effect::Measure& run, const engine::measure::ReadUnit& wanted, const std::string& unit) {
    reader_.read(run, wanted, unit);
  }
  void cancel(engine::RunId run) { reader_.cancel(run); }
  /// A service is gone, or is another one now.
  void forget(engine::ServiceId service);

  void start(engine::ActionId action, engine::UnitOrder order) { jobs_.start(action, std::move(order)); }
  void adopt(engine::ActionId action, engine::UnitOrder order) { jobs_.adopt(action, std::move(order)); }
  /// False: it is none of these.
  bool end(engine::ActionId action);

 private:
  void connected() override;
  void lost(const std::string& why) override;
  void changed(std::string_view path, std::string_view active, std::string_view sub) override {
    reader_.changed(path, active, sub);
  }
  void listed(std::string_view path) override { reader_.listed(path); }
  void reloaded() override { reader_.reloaded(); }
  void job_ended(std::string_view path, std::string_view result) override { jobs_.job_ended(path, result); }

  Report report_;
  bool was_lost_ = false;
  SystemBus bus_;
  UnitReader reader_;
  UnitJobs jobs_;
};

}  // namespace healer::runtime
