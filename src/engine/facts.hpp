// SPDX-License-Identifier: MIT
// Facts: what a part of the engine tells the others. Within a turn they are handed on in the order in which they were
// told, when the part that told them has returned.
#pragma once

#include <variant>

#include "engine/ids.hpp"
#include "engine/parts/timetable.hpp"
#include "util/time.hpp"

namespace healer::engine {

namespace fact {

/// A service is to be checked at `when` (mono), beside its schedule.
struct LookWanted {
  ServiceId service;
  Reason reason = Reason::Again;
  Duration when{0};
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

using Fact = std::variant<fact::LookWanted, fact::JournalTurned, fact::NeverBegun>;

}  // namespace healer::engine
