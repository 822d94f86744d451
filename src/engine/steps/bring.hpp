// SPDX-License-Identifier: MIT
// Start, stop, restart: what a step does to a service.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace healer::engine {

enum class Bringing : std::uint8_t { Start, Stop, Restart };
/// "start", "stop", "restart".
[[nodiscard]] constexpr std::string_view verb(Bringing what) {
  return what == Bringing::Stop ? "stop" : what == Bringing::Start ? "start" : "restart";
}

namespace step {

/// `start`, `stop`, `restart SERVICE`.
struct Bring {
  Bringing what = Bringing::Restart;
  std::string service;
  bool operator==(const Bring&) const = default;
};

}  // namespace step

}  // namespace healer::engine
