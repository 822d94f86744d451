// SPDX-License-Identifier: MIT
// What a run means for the rules of its service: windows, transitions, decisions. Pure: nothing is done here.
//
//   run --holds?--> bad or clear --counted, or looked at--> Verdict --> state of the rule, decisions
//
//   latched    Ok      Fire: Failed                    decides Fire
//              Failed  Recover: Ok, window emptied     decides Recover
//              Failed  Failing, and the run is bad     decides Again, Tell, Repeat, Remind, as they are due
//              Failed  Nothing, not counted and bad    decides Again, where what is down is to come up at once
//   EachMatch, EachChange                              decide Fire at each run that acts
//
// All rules of a run are judged before anything is done, in the order of writing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/parts/timetable.hpp"
#include "engine/state.hpp"

namespace healer::engine {

struct ServiceBlock;

/// One action that a run has decided: of which rule, of which branch, and why.
struct RuleDecision {
  std::uint32_t rule = 0;
  enum class What : std::uint8_t {
    Fire,
    Recover,
    Repeat,
    Remind,
    Again,
    Tell  ///< its alert was kept back while there was maintenance
  } what = What::Fire;
  std::uint32_t count = 1;                ///< runs since the firing
  Notified notified = Notified::Alerted;  ///< until now
  WallTime fired{};                       ///< when the rule began to stand failed; of one that never does, now
  std::shared_ptr<const effect::Cause> cause{};
};

/// A run of a service, as its rules are judged by it.
struct JudgedRun {
  const ServiceBlock& block;
  Seen seen;
  bool counted = true;  ///< else it moves no counter, and turns only rules that need just one run
  Reason reason = Reason::Schedule;
  bool in_maintenance = false;
  Instant now;
};

/// What a run has come to.
struct Judgement {
  std::vector<RuleDecision> decisions{};  ///< in the order of the rules
  bool failed = false;                    ///< a rule's condition holds
  bool changed = false;                   ///< what is to be saved of a rule is another now
  std::vector<std::string> tolerated{};   ///< conditions that hold, and meet no tolerance yet; for people
};

/// Judges all rules of a service. `states`: of its rules, in their order.
[[nodiscard]] Judgement judge(const JudgedRun& run, std::span<RuleState> states);

}  // namespace healer::engine
