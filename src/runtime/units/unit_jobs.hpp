// SPDX-License-Identifier: MIT
// Starts, stops and restarts units by systemd's own jobs, and reports their end in systemd's words. An action here is
// what a program is in runtime/programs/action_runner, and is reported by the same events.
//
//   Waiting  --the connection is there--> Asked --systemd begins a job--> Running --JobRemoved--> ended
//      ^ (not for long)                     '------- the connection is lost ------'
//                                                          v
//                                                      Checking: what has become of it is read from the unit, once
//                                                      systemd answers again; a job that still runs is waited for
//
// An action of an earlier daemon is checked in the same way: jobs outlive their daemon.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/events/event.hpp"
#include "engine/ids.hpp"
#include "engine/rules/unit.hpp"
#include "runtime/loop.hpp"
#include "runtime/units/system_bus.hpp"

namespace healer::runtime {

class UnitJobs {
 public:
  static constexpr Duration kPatience{30'000};   ///< without a connection
  static constexpr Duration kCheckPause{1'000};  ///< between two checks of one
  static constexpr Duration kCancelTime{5'000};  ///< for a job that was cancelled to end

  using Sink = std::function<void(engine::Event)>;

  /// Requires: `loop` and `bus` outlive it. `sink` gets event::ActionStarted, event::ActionWaits and
  /// event::ActionEnded, on the loop, never from within a call.
  UnitJobs(Loop& loop, SystemBus& bus, Sink sink) : loop_(loop), bus_(bus), sink_(std::move(sink)) {}

  void start(engine::ActionId action, engine::UnitOrder order);
  /// Looks for what an earlier daemon has begun.
  void adopt(engine::ActionId action, engine::UnitOrder order);
  /// Has systemd cancel the job; the end is still told. What the unit has begun systemd brings to an end.
  void end(engine::ActionId action);
  [[nodiscard]] bool has(engine::ActionId action) const { return jobs_.contains(action.number()); }
  [[nodiscard]] bool is_idle() const { return jobs_.empty(); }

  // What systemd says (SystemBus::Listener).
  void connected();
  void lost(const std::string& why);
  void job_ended(std::string_view path, std::string_view result);

 private:
  enum class Stage : std::uint8_t { Waiting, Asked, Running, Checking };
  struct Job {
    engine::UnitOrder order;
    Stage stage = Stage::Waiting;
    std::string path;  ///< Running
    Duration begun{0};
    bool adopted = false;
    bool again = false;  ///< it was asked for a second time
    bool cancelled = false;
    std::string result;  ///< how its job has ended, while the unit is asked why
    std::string told;    ///< why it waits, as was told last
    Loop::Timer timer;
  };

  void ask(engine::ActionId action);
  void check(engine::ActionId action);
  void checked(engine::ActionId action, const UnitReading& unit);
  void failed(engine::ActionId action, std::string result);
  void wait(engine::ActionId action, Duration until, void (UnitJobs::*then)(engine::ActionId));
  void await_connection(engine::ActionId action, void (UnitJobs::*then)(engine::ActionId));
  void give_up(engine::ActionId action);
  void finish(engine::ActionId action, std::string failure, bool unseen = false);
  void tell(engine::Event event);
  [[nodiscard]] Job* find(engine::ActionId action);

  Loop& loop_;
  SystemBus& bus_;
  Sink sink_;
  std::map<std::uint64_t, Job> jobs_;                 // by the number of the action
  std::string why_ = "systemd has not answered yet";  // there is no connection
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace healer::runtime
