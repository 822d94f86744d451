// SPDX-License-Identifier: MIT
// Start, stop, restart: what a step does to a service.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "engine/steps/kind.hpp"

namespace healer::engine {

enum class Bringing : std::uint8_t { Start, Stop, Restart };
/// "start", "stop", "restart".
[[nodiscard]] constexpr std::string_view verb(Bringing what) {
  return what == Bringing::Stop ? "stop" : what == Bringing::Start ? "start" : "restart";
}

namespace step {

/// `start`, `stop`, `restart SERVICE`.
struct Bring {
  static constexpr std::string_view kWord = "bring";
  static constexpr char kSign = 'b';

  Bringing what = Bringing::Restart;
  std::string service;
  bool operator==(const Bring&) const = default;
};

void fields(auto& all, Is<Bring> auto& bring) {
  auto& [what, service] = bring;
  all("what", what, "service", service);
}

inline std::string in_plan(const Bring& bring) { return fmt::format("{} {}", verb(bring.what), bring.service); }
/// It looks first.
inline bool is_safe(const Bring& /*bring*/) { return true; }
inline std::string in_script(const Bring& /*bring*/) {
  return "write how the programs of a service end as: exec /path/of/program exits 1";
}

}  // namespace step

}  // namespace healer::engine
