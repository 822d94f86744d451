// SPDX-License-Identifier: MIT
// How a service is to those that judge others by it: composites, and the brakes on healing.
#pragma once

#include <cstdint>
#include <string_view>

namespace healer::engine {

enum class Health : std::uint8_t {
  Ok,           ///< judged, and no rule of it stands failed
  Failed,       ///< a rule of it stands failed
  Unknown,      ///< no rule of it stands failed, but the last look had no answer
  Unjudged,     ///< it has not been judged yet; of a composite: there is nothing to judge it by
  Unmonitored,  ///< by a person, or from the start
  GivenUp       ///< a rule has taken it out of monitoring: nobody looks at what has failed
};
/// "ok", "failed", "unknown", "not judged", "unmonitored", "given up".
[[nodiscard]] std::string_view to_string(Health health);

}  // namespace healer::engine
