// SPDX-License-Identifier: MIT
// Effects: everything the engine can ask of the world. A closed sum.
//
// Order is the whole protocol. One call of Engine::handle emits at most one Commit; the acts that follow from it (Exec,
// Alert, Reply) are kept by the engine and emitted when Event::Committed says that it is on disk.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/graph.hpp"
#include "engine/ids.hpp"
#include "engine/record.hpp"
#include "engine/state.hpp"

namespace healer::engine {

namespace effect {

/// Start a run of a check program; answer with event::Observed.
struct StartRun {
  ServiceId service;
  RunId run;
};

/// End a run that is no longer wanted (its service is gone or unmonitored): SIGTERM, then SIGKILL to its group. No
/// answer needed.
struct CancelRun {
  ServiceId service;
  RunId run;
};

/// What programs and mails are told about a cause. Shared by all acts of one transition.
struct Cause {
  std::string service;
  EventKind event = EventKind::Status;
  enum class State : std::uint8_t { Succeeded, Failed, Changed } state = State::Failed;
  std::string event_text;   ///< Monit's: "Status failed", "Status succeeded", "Content match", ...
  std::string action_text;  ///< "alert", "exec", "unmonitor"
  std::string description;  ///< with the program's output in it
  std::string rule;         ///< its canonical text; empty where no rule is concerned
  WallTime when{};
  std::int64_t program_status = 0;
};

/// Start the program of an action; answer with ActionStarted and ActionEnded. It is started at most once, ever: where
/// the files of this action exist already, an earlier daemon started it, and it is adopted instead.
struct Exec {
  ActionId action;
  ServiceId service;
  Hash128 rule;
  bool recovery = false;  ///< of the `else` branch
  Command command;
  std::shared_ptr<const Cause> cause;
};

/// An action that an earlier daemon started: watch it if it still runs; answer with ActionEnded, `unseen` where its
/// status cannot be known.
struct Adopt {
  ActionId action;
  ServiceId service;
};

/// Mail these people. The mailer answers with AlertTaken once it has the mail on its own disk (the same AlertId again
/// is the same mail), and later with MailOutcome.
struct Alert {
  AlertId alert;
  std::vector<Recipient> recipients;
  std::shared_ptr<const Cause> cause;
};

/// Make this durable as one transaction, in order of `sequence`; answer with event::Committed.
struct Commit {
  Sequence sequence = 0;
  std::vector<Record> records;
  std::vector<std::pair<std::string, SavedService>> services;  ///< changed ones, whole, by name
  std::vector<std::string> forgotten;                          ///< services that are gone: drop what is saved
  std::vector<std::variant<Exec, Alert>> pending;  ///< acts to be done: now, or when an earlier one of the rule ended
  std::vector<ActionId> started;                   ///< pending execs whose program runs
  std::vector<ActionId> ended;                     ///< execs that need no memory any more
  std::vector<AlertId> handed_over;                ///< alerts that the mailer has on its own disk
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
};

}  // namespace effect

using Effect = std::variant<effect::StartRun, effect::CancelRun, effect::Exec, effect::Adopt, effect::Alert,
                            effect::Commit, effect::Note, effect::Reply>;

/// Where effects go. Called from within Engine::handle; must not call back into the engine.
class EffectSink {
 public:
  virtual ~EffectSink() = default;
  virtual void emit(Effect effect) = 0;
};

/// An act found in the store by a new daemon: committed, but not known to be over.
struct PendingExec {
  effect::Exec exec;
  bool started = false;
};

/// Everything that a store gives back at start.
struct SavedState {
  Sequence last_sequence = 0;  ///< 0: there is no saved state
  std::uint64_t last_id = 0;   ///< the highest ActionId or AlertId ever issued
  std::unordered_map<std::string, SavedService> services;
  std::vector<PendingExec> execs;
  std::vector<effect::Alert> alerts;
};

/// What a store that holds `state` holds after `commit`, the records apart.
void keep(SavedState& state, const effect::Commit& commit);

}  // namespace healer::engine
