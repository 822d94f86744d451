// SPDX-License-Identifier: MIT
// What disappears with rules files that no longer exist: a folder that is not mounted must not end what healer runs.
#pragma once

#include <string>
#include <vector>

#include "config/load.hpp"
#include "engine/engine.hpp"
#include "engine/reload/diff.hpp"

namespace healer {

/// What a reload takes away because an include, or a directory of rules, that matched files before matches none now.
struct Vanished {
  std::vector<std::string> patterns;  ///< of these includes; empty: nothing of this kind
  std::vector<std::string> services;  ///< that go away with the files, in the order of their slots
  std::vector<std::string> ended;     ///< of these the processes that run as healer's own, and would be ended

  bool operator==(const Vanished&) const = default;
  /// One sentence without a full stop.
  [[nodiscard]] std::string text() const;
};

/// Compares what was loaded with the rules in force. `plan` leads from these to what was loaded.
[[nodiscard]] Vanished vanished(const engine::Engine& engine, const config::LoadResult& loaded,
                                const engine::SwapPlan& plan);

}  // namespace healer
