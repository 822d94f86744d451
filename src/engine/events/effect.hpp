// SPDX-License-Identifier: MIT
// Effects: everything the engine can ask of the world. A closed sum.
//
// Order is the whole protocol. One call of Engine::handle emits at most one Commit; the acts that follow from it (Exec,
// Alert, Request, Reply) are kept by the engine and emitted when Event::Committed says that it is on disk.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "engine/events/act.hpp"
#include "engine/events/commit.hpp"
#include "engine/events/measure.hpp"
#include "engine/events/record.hpp"
#include "engine/ids.hpp"
#include "util/hash.hpp"

namespace healer::engine {

namespace effect {

/// A healing asks for the lock of its target and for a place in the limits. Waits for no commit; the answer is
/// event::Claimed or event::Denied. What is not wanted any more is not given back by an effect: who grants sees it in
/// the commits, by healings that wait again or have ended. An engine that has its targets to itself is driven by
/// handle() of granting.hpp.
struct Claim {
  HealingId healing;
  std::uint64_t claim = 0;  ///< which one it is; of a healing only the last counts
  std::string target;
  std::string workflow;  ///< of the plan that it goes by
  Hash128 identity;      ///< Healing::identity: who asks, over restarts and lost states
};

/// A line for the log alone (debug and progress); nothing durable.
struct Note {
  Severity severity = Severity::Debug;
  std::string service;
  std::string text;
};

/// A command is done.
struct Reply {
  CommandId command;
  bool ok = true;
  std::string text;
  std::uint16_t status = 0;   ///< of an event: its answer, in HTTP's numbers
  std::uint64_t subject = 0;  ///< of an event: its number; 0: it is not kept
};

}  // namespace effect

using Effect = std::variant<effect::Measure, effect::CancelRun, effect::Exec, effect::EndAction, effect::Watch,
                            effect::Signal, effect::Adopt, effect::Alert, effect::Request, effect::EndRequest,
                            effect::Claim, effect::Commit, effect::Note, effect::Reply>;

/// Where effects go. Called from within Engine::handle; must not call back into the engine.
class EffectSink {
 public:
  virtual ~EffectSink() = default;
  virtual void emit(Effect effect) = 0;
};

}  // namespace healer::engine
