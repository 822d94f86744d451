// SPDX-License-Identifier: MIT
// The sum of all events, without what they hold: for those that only hand them on.
#pragma once

#include <variant>

namespace healer::engine {

namespace event {
struct Started;
struct Wake;
struct Measured;
struct Arrived;
struct RowsRead;
struct ProcessDied;
struct NotSignalled;
struct Committed;
struct ActionStarted;
struct ActionWaits;
struct RunWaits;
struct RunWrote;
struct ActionReady;
struct ActionExtended;
struct ActionSilent;
struct ActionEnded;
struct Answered;
struct Claimed;
struct Denied;
struct AlertTaken;
struct MailOutcome;
struct Swap;
struct ReloadFailed;
struct ListReported;
struct StateDamaged;
struct ListsDoubted;
struct Command;
struct Stopping;
}  // namespace event

using Event =
    std::variant<event::Started, event::Wake, event::Measured, event::Arrived, event::RowsRead, event::ProcessDied,
                 event::NotSignalled, event::Committed, event::ActionStarted, event::ActionWaits, event::RunWaits,
                 event::RunWrote, event::ActionReady, event::ActionExtended, event::ActionSilent, event::ActionEnded,
                 event::Answered, event::Claimed, event::Denied, event::AlertTaken, event::MailOutcome, event::Swap,
                 event::ReloadFailed, event::ListReported, event::StateDamaged, event::ListsDoubted, event::Command,
                 event::Stopping>;

}  // namespace healer::engine
