// SPDX-License-Identifier: MIT
// `alert "text"`: a step that tells people something.
#pragma once

#include <string>
#include <string_view>

#include "engine/steps/kind.hpp"
#include "engine/steps/step_work.hpp"

namespace healer::engine::step {

struct Tell {
  static constexpr std::string_view kWord = "tell";
  static constexpr char kSign = 't';

  std::string text;
  bool operator==(const Tell&) const = default;
};

void fields(auto& all, Is<Tell> auto& tell) {
  auto& [text] = tell;
  all("text", text);
}

inline std::string in_plan(const Tell& tell) { return "alert " + tell.text; }
inline void begin(const Tell& tell, StepWork& work) {
  const std::string text = work.filled(tell.text);
  work.tell(text);
  work.end(StepEnd::Done, "told: " + text);
}
/// To tell takes no time.
inline bool says_time(const Tell& /*tell*/, bool /*good*/, std::string_view /*text*/) { return true; }
inline bool tells_people(const Tell& /*tell*/) { return true; }

}  // namespace healer::engine::step
