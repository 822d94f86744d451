// SPDX-License-Identifier: MIT
// `recovered within D`: a step that waits until its target is well again.
#pragma once

#include <string>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "engine/steps/kind.hpp"
#include "engine/steps/step_work.hpp"
#include "util/time.hpp"

namespace healer::engine::step {

/// `recovered within D`, `recovered or gone within D`.
struct Recovered {
  static constexpr std::string_view kWord = "recovered";
  static constexpr char kSign = 'r';

  Duration within{300'000};
  bool or_gone = false;
  bool operator==(const Recovered&) const = default;
};

void fields(auto& all, Is<Recovered> auto& recovered) {
  auto& [within, or_gone] = recovered;
  all("within", within, "or_gone", or_gone);
}

inline std::string in_plan(const Recovered& recovered) {
  return fmt::format("recovered{} within {}", recovered.or_gone ? " or gone" : "", format_duration(recovered.within));
}
inline void begin(const Recovered& recovered, StepWork& work) {
  work.wait_for(StepRun::State::Verifying, recovered.within);
  const bool checks = work.await_recovery();
  if (!checks && recovered.or_gone && work.is_target_gone()) return work.end(StepEnd::Done, "gone");
  if (!checks && work.is_told_by_events())
    work.end(StepEnd::Failed,
             fmt::format("not recovered: no rule watches {}, so nobody can say that it is well ('until' can)",
                         work.target()));
}
inline bool looked_at(const Recovered& recovered, StepWork& work) {
  const RecoveryOutcome outcome = work.recovery(recovered.or_gone);
  if (outcome == RecoveryOutcome::Awaited) return false;
  const bool is_well = outcome == RecoveryOutcome::Recovered;
  work.end(StepEnd::Done, is_well ? "recovered" : "gone");
  if (is_well) work.leave_recovery();
  return true;
}
inline std::string when_over(const Recovered& /*recovered*/, Duration length) {
  return fmt::format("not recovered within {}", format_duration(length));
}
inline bool says_time(const Recovered& /*recovered*/, bool /*good*/, std::string_view text) {
  return text.starts_with("not recovered within ");
}
inline bool verifies(const Recovered& /*recovered*/) { return true; }
inline bool lets_leave(const Recovered& recovered) { return recovered.or_gone; }
inline std::string in_script(const Recovered& /*recovered*/) {
  return "whether its target recovers is determined by the lines of its services, or by a step that heals";
}

}  // namespace healer::engine::step
