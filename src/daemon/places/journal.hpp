// SPDX-License-Identifier: MIT
// The journal of a daemon: its store, how far commits have come in it, and what is said where the disk is sick or the
// state was damaged. Owns the store and these counts; holds the file by OwnPlaces, and tells the daemon by Calls what
// has been written. On the loop thread: what the store's threads call is posted to it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/places/own_places.hpp"
#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/ids.hpp"
#include "runtime/loop.hpp"
#include "store/sqlite_store.hpp"
#include "util/result.hpp"

namespace healer {

class Journal {
 public:
  struct Calls {
    /// Tells the engine.
    std::function<void(const engine::Event&)> handle;
    std::function<void(engine::Severity, std::string_view)> log;
    /// Whether there is something of an action on disk that stays until its end is in the journal.
    std::function<bool(engine::ActionId)> is_kept;
    /// The ends of these actions are in the journal.
    std::function<void(const std::vector<engine::ActionId>&)> settle;
    /// Commits up to this one are settled: written, or given up as the disk is sick.
    std::function<void(engine::Sequence)> settled;
  };

  /// Requires: `loop` and `places` outlive it.
  Journal(runtime::Loop& loop, OwnPlaces& places, Calls calls)
      : loop_(loop), places_(places), calls_(std::move(calls)) {}

  /// Opens the state file, which becomes this daemon's.
  [[nodiscard]] Result<void> open(const std::string& state_file);
  [[nodiscard]] bool is_open() const { return store_ != nullptr; }
  /// Requires: it is open.
  [[nodiscard]] store::SqliteStore& store() { return *store_; }

  /// Writes what the engine commits.
  void submit(engine::effect::Commit commit);
  /// Whether the engine was told of all that it has committed.
  [[nodiscard]] bool is_settled() const { return acknowledged_ >= submitted_; }
  /// Why the store cannot write now.
  [[nodiscard]] const std::optional<std::string>& sick() const { return sick_; }
  /// Whatever the store has noted since goes into the log.
  void log_notes();
  /// The engine has started: it is told of damages from now on. Before, nobody would be sent what it tells.
  void begin_reports();

 private:
  void committed(engine::Sequence up_to);
  void become_sick(const std::string& reason);
  void report_damages();
  void hold_state();

  runtime::Loop& loop_;
  OwnPlaces& places_;
  Calls calls_;
  /// Its threads post to the loop: they end before the loop and the calls do.
  std::unique_ptr<store::SqliteStore> store_;
  std::optional<std::string> sick_;
  std::size_t logged_notes_ = 0;      ///< of the store
  std::size_t reported_damages_ = 0;  ///< likewise
  bool reports_ = false;              ///< the engine was told that it starts
  engine::Sequence submitted_ = 0;
  engine::Sequence acknowledged_ = 0;  ///< the engine was told of: written, or given up as the disk is sick
  engine::Sequence durable_ = 0;       ///< written
  /// Actions whose ends the journal has not on the disk yet, and in what commit they go there: their records stay.
  std::deque<std::pair<engine::Sequence, engine::ActionId>> unsettled_;
};

}  // namespace healer
