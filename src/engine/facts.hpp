// SPDX-License-Identifier: MIT
// Facts: what a part of the engine tells the others. Within a turn they are handed on in the order in which they were
// told, when the part that told them has returned; what one leads to comes before what was told after it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "engine/ids.hpp"
#include "engine/order.hpp"
#include "engine/parts/timetable.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Job;

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

/// The step of a job wants its service looked at now.
struct CheckWanted {
  JobId job;
  ServiceId service;
};

/// A step of a job is done, and the next one begins when what that has told was heard.
struct StepDue {
  JobId job;
};

/// A program is to end, whose job does not wait for it any more.
struct EndWanted {
  ActionId action;
};

/// A step has brought its service up. `program`: where it has a process that this one is to have started.
struct ServiceStarted {
  ServiceId service;
  ActionId program{};
};

/// It is another process than before by its start's doing.
struct FreshProcess {
  ServiceId service;
};

/// The child of a foreground service begins, by this program.
struct ChildBegun {
  ServiceId service;
  ActionId program;
};

/// It has lasted as long as it takes to be ready.
struct ChildLasted {
  ServiceId service;
};

/// It serves.
struct ChildServes {
  ServiceId service;
};

/// Nothing is left of a former start.
struct LeftGone {
  ServiceId service;
};

/// People were told of a process that a former start has left.
struct LeftReported {
  ServiceId service;
  std::int64_t pid = 0;
};

/// A job goes on without a service that a command has named.
struct OrderFailed {
  Requester requester;
  ServiceId service;
  std::string why;
};

/// A job has ended. It is not among the others any more.
struct JobEnded {
  std::shared_ptr<const Job> job;  ///< never null
  bool good = false;
};

/// The healing for which a job was begun leaves it.
struct JobLeft {
  JobId job;
};

/// A healing has seen that a service is well: its rules count as recovered.
struct ServiceWell {
  ServiceId service;
};

/// A program was told to end before it was released: it never begins.
struct NeverBegun {
  ActionId action;
};

}  // namespace fact

using Fact = std::variant<fact::LookWanted, fact::RunDue, fact::RunAsked, fact::ExecsDue, fact::EventRefused,
                          fact::StandingEnded, fact::JournalTurned, fact::NeverBegun, fact::CheckWanted, fact::StepDue,
                          fact::EndWanted, fact::ServiceStarted, fact::FreshProcess, fact::ChildBegun,
                          fact::ChildLasted, fact::ChildServes, fact::LeftGone, fact::LeftReported, fact::OrderFailed,
                          fact::JobEnded, fact::JobLeft, fact::ServiceWell>;

}  // namespace healer::engine
