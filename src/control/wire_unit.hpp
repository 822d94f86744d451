// SPDX-License-Identifier: MIT
// The part of control/wire that is about units of systemd.
#pragma once

#include <string>

namespace healer::control {

/// What systemd said of a unit at the last look; how often it was restarted, its memory, tasks and processor time are
/// among the figures of its service.
struct UnitView {
  std::string name;      ///< "nginx.service"
  std::string state;     ///< "active", "failed", ...; empty, as are the others: not known
  std::string substate;  ///< "running", "auto-restart", ...
  std::string standing;  ///< both for people, with the reason of a failure: "failed (exit-code)"

  bool operator==(const UnitView&) const = default;
};

}  // namespace healer::control
