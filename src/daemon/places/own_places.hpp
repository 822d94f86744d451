// SPDX-License-Identifier: MIT
// The files that only one daemon may own: its locks, and what a sick disk has denied of them. Start-up and shut-down
// only, save for what is tried again; blocks on the disk.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/paths.hpp"
#include "engine/events/record.hpp"
#include "runtime/files/pid_file.hpp"
#include "runtime/loop.hpp"
#include "util/result.hpp"

namespace healer {

class OwnPlaces {
 public:
  using Log = std::function<void(engine::Severity, std::string_view)>;

  /// Requires: `paths` and `loop` outlive it.
  OwnPlaces(Paths& paths, runtime::Loop& loop, Log log) : paths_(paths), loop_(loop), log_(std::move(log)) {}

  /// Whoever has the state file is its only daemon: it is locked before it is looked into.
  [[nodiscard]] Result<void> lock_state();
  /// What healer keeps it later runs by: nobody else may be able to put something in its place.
  [[nodiscard]] Result<void> check() const;
  /// Of the pid file and the control socket only one daemon may be the owner. A control socket that nobody chose may be
  /// another daemon's: then this one goes without.
  [[nodiscard]] Result<void> lock();
  /// As InstanceLocks::hold_state().
  [[nodiscard]] Result<void> hold_state(const std::string& path) { return locks_.hold_state(path); }
  [[nodiscard]] std::string state_identity() const { return locks_.state_identity(); }
  /// What is lacking now, a sentence each.
  [[nodiscard]] std::vector<std::string> complaints() const { return locks_.complaints(); }

 private:
  void lock_usual_socket();
  void repair();

  Paths& paths_;
  runtime::Loop& loop_;
  Log log_;
  runtime::InstanceLocks locks_;
  std::optional<runtime::Loop::Timer> retry_;  // of locks that a sick disk has denied
};

}  // namespace healer
