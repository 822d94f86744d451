// SPDX-License-Identifier: MIT
// Records: what happened and why, in the order in which it was decided. They are the history, the log and the material
// of `healerctl explain`; a transition is on disk before anything acts on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/ids.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

enum class RecordKind : std::uint8_t {
  DaemonStarted,
  DaemonStopped,
  Reloaded,
  ReloadFailed,   ///< the rules files have errors: the old rules stay
  RuleFailed,     ///< a rule's tolerance was met: transition ok -> failed
  RuleRecovered,  ///< transition failed -> ok
  RuleMatched,    ///< a content test met its tolerance
  RuleChanged,    ///< a `changed` test saw a change
  RuleRepeated,   ///< `repeat every N cycles`, or a reminder, is due
  ActionStarted,
  ActionEnded,   ///< exit status 0
  ActionFailed,  ///< could not be started, exited otherwise, was killed, or ended unseen
  ActionHeld,    ///< decided but not done: dormant, shadow, dry run, already running; or cancelled
  ActionLong,    ///< an exec runs for over an hour
  MailSent,
  MailFailed,   ///< will be tried again
  MailDropped,  ///< the queue is full, or the server refused it for good
  RunTimedOut,
  RunOverrun,  ///< the run before had not finished: this one was left out
  Monitored,
  Unmonitored,
  Accepted,    ///< a dormant rule was accepted
  JobStarted,  ///< a start, stop or restart begins
  JobStep,     ///< one of its services was started or stopped
  JobEnded,
  JobFailed,
  JobHeld,      ///< not done now: it waits for another service, or for its backoff
  ProcessDied,  ///< by the word of the kernel
  Paused,
  Resumed,
  Acknowledged,
  StoreSick,  ///< the state cannot be written: supervision goes on, unjournalled
  StoreWell,
  HealingAsked,  ///< a rule has fired, or a person asked
  HealingHeld,   ///< it waits, or is not done: why
  HealingBegun,  ///< a try begins
  HealingStep,   ///< a step, a guard, a person's word
  HealingEnded,  ///< verified, done, cancelled, would have run
  HealingFailed,
  List,          ///< what there is to say of a list: not read, rows that leave, believed
  LinesLost,     ///< of a file whose lines are read: some may not have been
  StateDamaged,  ///< the state file was damaged: what has become of it
  AlertSent,     ///< to a contact
  AlertFailed,   ///< will be tried again
  AlertDropped,  ///< a contact's queue is full, its server refused it for good, or its time is over
  Beat,          ///< of a heartbeat: its word is another than that of the beat before
  EventRefused,  ///< of a `check event`: one was refused, or dropped
  Count_
};

/// Monit's priorities, for the log.
enum class Severity : std::uint8_t { Debug, Info, Warning, Error };

/// One line of history. `service` is empty for what concerns the daemon. `text` is a whole sentence without a full
/// stop.
struct Record {
  RecordNumber id = 0;    ///< 0: none was given yet
  Sequence sequence = 0;  ///< of its commit
  WallTime when{};
  RecordKind kind{};
  Severity severity = Severity::Info;
  std::string service;
  Hash128 rule;               ///< zero where no rule is concerned
  std::uint64_t subject = 0;  ///< ActionId, AlertId or RunId, by kind; the boot of DaemonStarted; 0 where none
  std::string text;
  std::string output;  ///< of the program, where it explains the record (bounded)

  bool operator==(const Record&) const = default;
};

/// Stable name of a kind for JSON, filters and the history ("rule-failed").
[[nodiscard]] std::string_view to_string(RecordKind kind);
[[nodiscard]] std::string_view to_string(Severity severity);
/// Kind by its name; Count_ where there is none.
[[nodiscard]] RecordKind record_kind(std::string_view name);

}  // namespace healer::engine
