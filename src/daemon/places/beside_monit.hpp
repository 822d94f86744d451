// SPDX-License-Identifier: MIT
// While a monit with the same pid file runs, healer only watches, and takes over when that has gone. Owns what is known
// of that monit and the timer by which it is looked for; calls the reload that begins to act. On the loop thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "control/supervisor.hpp"
#include "engine/events/record.hpp"
#include "runtime/loop.hpp"

namespace healer {

class BesideMonit {
 public:
  struct Calls {
    std::function<void(engine::Severity, std::string_view)> log;
    /// Loads the rules again, whatever ends by it.
    std::function<void(control::Supervisor::ReloadDone)> reload;
  };

  /// Requires: `loop` outlives it.
  BesideMonit(runtime::Loop& loop, Calls calls) : loop_(loop), calls_(std::move(calls)) {}

  /// A monit of that number runs by `pid_file`: healer's own becomes another one beside it.
  void begin(pid_t monit, std::string& pid_file);
  /// Whether healer only watches for its sake.
  [[nodiscard]] bool only_watches() const { return !monits_.empty(); }

 private:
  void reload_acting();

  runtime::Loop& loop_;
  Calls calls_;
  std::string monits_;  ///< the pid file of a monit that runs
  runtime::Loop::Timer watch_;
};

}  // namespace healer
