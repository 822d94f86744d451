// SPDX-License-Identifier: MIT
// `wait D`: a step in which nothing is done.
#pragma once

#include <string>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "engine/steps/kind.hpp"
#include "engine/steps/step_work.hpp"
#include "util/time.hpp"

namespace healer::engine::step {

struct Wait {
  static constexpr std::string_view kWord = "wait";
  static constexpr char kSign = 'w';

  Duration length{0};
  bool operator==(const Wait&) const = default;
};

void fields(auto& all, Is<Wait> auto& wait) {
  auto& [length] = wait;
  all("length", length);
}

inline std::string in_plan(const Wait& wait) { return "wait " + format_duration(wait.length); }
inline void begin(const Wait& wait, StepWork& work) { work.wait_for(StepRun::State::Waiting, wait.length); }
inline std::string when_over(const Wait& /*wait*/, Duration length) {
  return fmt::format("waited {}", format_duration(length));
}
inline bool says_time(const Wait& /*wait*/, bool good, std::string_view /*text*/) { return good; }

}  // namespace healer::engine::step
