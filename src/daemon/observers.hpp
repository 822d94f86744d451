// SPDX-License-Identifier: MIT
// Those who listen to what the daemon does: see daemon/publisher.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "control/commands.hpp"
#include "control/statistics.hpp"
#include "daemon/publisher.hpp"
#include "engine/engine.hpp"
#include "replay/day_recorder.hpp"
#include "runtime/log/log.hpp"
#include "runtime/loop.hpp"
#include "runtime/notify.hpp"

namespace healer {

/// Counts what goes in and out of the engine, by kind: the figures that `report` and /metrics show.
class CountingObserver final : public Observer {
 public:
  /// `engine`: who is asked of what happens; not null when something does.
  explicit CountingObserver(const std::unique_ptr<engine::Engine>& engine) : engine_(engine) {}
  void see(const Happening& what) override;
  [[nodiscard]] const control::Statistics& statistics() const { return statistics_; }

 private:
  const std::unique_ptr<engine::Engine>& engine_;
  control::Statistics statistics_;
};

/// Records the day, for replays. The recorder has a thread and a bounded queue of its own.
class RecordingObserver final : public Observer {
 public:
  explicit RecordingObserver(engine::DayRecorder::Take take) : observer_(std::move(take)) {}
  void see(const Happening& what) override;
  [[nodiscard]] engine::DayRecorder& observer() { return observer_; }

 private:
  engine::DayRecorder observer_;
};

/// Writes records and notes into the log, which has a thread and a bounded queue of its own.
class LoggingObserver final : public Observer {
 public:
  explicit LoggingObserver(runtime::Log& log) : log_(log) {}
  void see(const Happening& what) override;

 private:
  runtime::Log& log_;
};

/// Tells those who follow the history: the tail of records is bounded, and each of them has but a place in it.
class FollowersObserver final : public Observer {
 public:
  explicit FollowersObserver(control::Commands& commands) : commands_(commands) {}
  void see(const Happening& what) override;

 private:
  control::Commands& commands_;
};

/// Tells systemd what is to be seen of the services: at most once a second, of very many services less often, since all
/// of them are counted.
class StatusObserver final : public Observer {
 public:
  struct Source {
    std::function<std::string()> text;      ///< what is to be seen now
    std::function<std::size_t()> services;  ///< how many are counted for it
  };
  StatusObserver(runtime::Loop& loop, runtime::Notifier& notify, Source source);
  void see(const Happening& what) override;
  /// Something has changed that no record tells.
  void soon();
  /// Tells that the rules are in force, and what is to be seen, at once.
  void ready();
  /// Nothing is told any more.
  void stop() { stopped_ = true; }

 private:
  void tell();

  runtime::Notifier& notify_;
  Source source_;
  runtime::Loop::Timer timer_;
  std::string notified_;  ///< last
  bool wanted_ = false;   ///< somebody listens
  bool due_ = false;      ///< the timer runs
  bool stopped_ = false;
};

}  // namespace healer
