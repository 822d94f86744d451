// SPDX-License-Identifier: MIT
// Facts: what a part of the engine tells the others. Within a turn they are handed on in the order in which they were
// told, when the part that told them has returned.
#pragma once

#include <string>
#include <variant>

#include "engine/ids.hpp"
#include "engine/parts/timetable.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

namespace fact {

/// A service is to be checked at `when` (mono), beside its schedule.
struct LookWanted {
  ServiceId service;
  Reason reason = Reason::Again;
  Duration when{0};
};

/// A service runs now, beside the timetable.
struct RunDue {
  ServiceId service;
  bool counted = true;
};

/// A run asks for a service that is heard, not looked at: what is known of it is the answer.
struct RunAsked {
  ServiceId service;
  RunId run;
};

/// What held back the programs that events have asked for may have ended.
struct ExecsDue {
  ServiceId service;
};

/// An event was refused, or was dropped before it was judged: people are told.
struct EventRefused {
  ServiceId service;
  std::string text;
};

/// A condition by which an event has asked for a healing does not stand for its target any more.
struct StandingEnded {
  ServiceId service;
  Hash128 rule;
  std::string target;
  std::string lapsed;  ///< why, where no event has said that all is well; or empty
};

/// The journal cannot be written any more, or can be again.
struct JournalTurned {
  bool sick = false;
};

/// A program was told to end before it was released: it never begins.
struct NeverBegun {
  ActionId action;
};

}  // namespace fact

using Fact = std::variant<fact::LookWanted, fact::RunDue, fact::RunAsked, fact::ExecsDue, fact::EventRefused,
                          fact::StandingEnded, fact::JournalTurned, fact::NeverBegun>;

}  // namespace healer::engine
