// SPDX-License-Identifier: MIT
// What the parts of the HTTP side answer from.
#pragma once

#include <functional>

#include "control/commands.hpp"
#include "control/queries.hpp"
#include "control/supervisor.hpp"

namespace healer::web {

/// What is behind the HTTP side. Requires: all of it outlives whoever has this.
struct Backend {
  control::Supervisor& daemon;
  /// Answers requests of the control protocol, whose roles it checks again.
  control::Handler& commands;

  [[nodiscard]] control::Queries queries() const { return control::Queries(daemon); }
};

}  // namespace healer::web
