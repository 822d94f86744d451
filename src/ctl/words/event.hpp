// SPDX-License-Identifier: MIT
// healerctl event, healerctl events: sends an event by hand as its sender would, and lists those that came.
#pragma once

#include <string>

#include "control/wire.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace healer {

/// What the command line of `event` says.
struct EventOptions {
  std::string name;  ///< of the check, or "again"
  std::string file;  ///< with its body, or the number of an event
  bool dry_run = false;
};

void add_event(CLI::App& app, control::Request& request, EventOptions& options);

/// Puts the body of the file into the request. What is wrong; empty where all is well.
[[nodiscard]] std::string take_event(const EventOptions& options, control::Request& request);

}  // namespace healer
