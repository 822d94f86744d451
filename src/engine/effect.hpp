// SPDX-License-Identifier: MIT
// Effects: everything the engine can ask of the world. A closed sum.
//
// Order is the whole protocol. One call of Engine::handle emits at most one Commit; the acts that follow from it (Exec,
// Alert, Reply) are kept by the engine and emitted when Event::Committed says that it is on disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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

/// Start a run: of a check program, or a look at a process or the system, by the kind of the service; answer with
/// event::Observed. After a look at a process its death is told by event::ProcessDied, but for a foreground process,
/// whose end is told by event::ActionEnded.
struct StartRun {
  ServiceId service;
  RunId run;
  /// Of a foreground process that runs: which one, and no other is looked at. Of one with a pid file: which one that
  /// was found to name last; it is the service's as long as it lives and the file names no other that does. 0: none.
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  /// Where no process is found: also look for what this program has left (Facts::left), by control group and mark; else
  /// for what that one has left, by control group alone.
  ActionId left_by{};
  ActionId came_by{};
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
  std::optional<std::int64_t> program_status{};  ///< of a check program: of its last run, 0 before its first
  /// Of a process service: what MONIT_PROCESS_* say.
  struct Process {
    std::int64_t pid = -1;
    std::int64_t memory_kb = 0;
    std::int64_t children = -1;
    double cpu_percent = -1;

    bool operator==(const Process&) const = default;
  };
  std::optional<Process> process{};
};

/// Start the program of an action; answer with ActionStarted and ActionEnded. It is started at most once, ever: where
/// the files of this action exist already, an earlier daemon started it, and it is adopted instead.
struct Exec {
  ActionId action;
  ServiceId service;  ///< kNoService, only in Commit::pending: it waits for its turn, and has not been set free
  Hash128 rule;
  bool recovery = false;  ///< of the `else` branch
  Command command;
  std::shared_ptr<const Cause> cause;
  JobId job{};  ///< whose step it is; 0: a rule's own action
  /// It is a foreground process: the service itself, which runs until it dies or is ended. It gets NOTIFY_SOCKET;
  /// event::ActionReady says when it has told that it is ready. When its main process has gone, what is left of its
  /// session gets SIGKILL, and what has left that is ended too; only then ActionEnded tells of it.
  bool foreground = false;
};

/// End the program of an action: SIGTERM to its session, SIGKILL 2 s later; of a foreground process these signals to
/// its main process, one after the other, then SIGKILL to its session. ActionEnded still comes.
struct EndAction {
  ActionId action;
  std::vector<StopSignal> signals{};  ///< of a foreground process
};

/// Signal a process of a service, if it is still the same one. event::NotSignalled tells where it lives and that could
/// not be done.
struct Signal {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  int number = 15;
};

/// An action that an earlier daemon started: watch it if it still runs, which ActionStarted tells; answer with
/// ActionEnded, `unseen` where its status is not known.
struct Adopt {
  ActionId action;
  ServiceId service;
  bool foreground = false;               ///< as Exec::foreground
  std::optional<std::uint32_t> owner{};  ///< as whom it was started; none: as healer
};

/// Mail these people. The mailer answers with AlertTaken once it has the mail on its own disk (the same AlertId again
/// is the same mail), and later with MailOutcome.
struct Alert {
  AlertId alert;
  std::vector<Recipient> recipients;
  std::shared_ptr<const Cause> cause;
};

/// One step of a job.
struct SavedStep {
  std::string service;
  enum class Kind : std::uint8_t { Stop, Start, Restart } kind = Kind::Start;  ///< Restart: by its restart program
  bool named = false;  ///< the rule or person named this service; others take part for their sake

  bool operator==(const SavedStep&) const = default;
};

/// A start, stop or restart under way, with what depends on it; survives the daemon.
struct SavedJob {
  JobId job;
  ActionKind kind = ActionKind::Restart;
  std::string service;                 ///< whom it is for
  std::vector<SavedStep> steps;        ///< all of them, in order
  std::uint32_t position = 0;          ///< of the step under way
  ActionId action;                     ///< its program; 0: none (yet)
  bool unmonitor = false;              ///< the stopped services are not monitored afterwards
  std::string by;                      ///< "rule", or the person
  std::shared_ptr<const Cause> cause;  ///< what its programs are told
  WallTime begun{};
};

/// How far a job has come: all of it that changes from step to step, so that a job of many steps is written whole once,
/// not at each of them.
struct MovedJob {
  JobId job;
  std::uint32_t position = 0;
  ActionId action;
  WallTime begun{};  ///< by the clock of now
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
  std::vector<SavedJob> jobs;                      ///< new ones, and those whose steps have changed, whole
  std::vector<MovedJob> moved_jobs;                ///< others that were saved before
  std::vector<JobId> ended_jobs;
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

using Effect = std::variant<effect::StartRun, effect::CancelRun, effect::Exec, effect::EndAction, effect::Signal,
                            effect::Adopt, effect::Alert, effect::Commit, effect::Note, effect::Reply>;

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
  std::uint64_t last_id = 0;   ///< the highest ActionId, AlertId or JobId ever issued
  std::unordered_map<std::string, SavedService> services;
  std::vector<PendingExec> execs;
  std::vector<effect::Alert> alerts;
  std::vector<effect::SavedJob> jobs;  ///< by id
  /// When the daemon before recorded something for the last time, where it did not record that it stopped: it was
  /// killed, or the machine went down.
  std::optional<WallTime> died;
  std::uint64_t boot = 0;  ///< Instant::boot of the daemon before, when it started; 0: not known
};

/// What a store that holds `state` holds after `commit`, the records apart.
void keep(SavedState& state, const effect::Commit& commit);
/// The saved job, as far as it has come.
void move(effect::SavedJob& job, const effect::MovedJob& moved);

}  // namespace healer::engine
