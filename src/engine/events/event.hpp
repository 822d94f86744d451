// SPDX-License-Identifier: MIT
// Events: everything the engine can be told. A closed sum; ids, not text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/events/event_names.hpp"
#include "engine/events/evidence.hpp"
#include "engine/events/origin.hpp"
#include "engine/events/outcome.hpp"
#include "engine/healing/brake.hpp"
#include "engine/healing/overrides.hpp"
#include "engine/ids.hpp"
#include "engine/occurrence.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct SwapPlan;

namespace event {

/// Supervision begins: first runs are planned, the start is recorded.
struct Started {
  std::string version;
  std::string host{};    ///< the name of this machine
  Hash128 state_word{};  ///< of SavedState: what tells this daemon's healings from all others'; zero: nothing does
};

/// The deadline that the engine asked for has come (or the wall clock was stepped). Early or needless ones do no harm.
struct Wake {};

/// A run has ended. Results of runs that the engine no longer waits for are ignored.
struct Measured {
  ServiceId service;
  RunId run;
  std::shared_ptr<const Evidence> evidence;  ///< never null
};
[[nodiscard]] inline Measured measured(ServiceId service, RunId run, Evidence seen) {
  return {service, run, std::make_shared<const Evidence>(std::move(seen))};
}

/// Evidence that nobody has asked for: a beat of a heartbeat, or an event for a `check event`. It is answered with
/// effect::Reply when it is on disk; one without a CommandId is not.
struct Arrived {
  ServiceId service;
  std::string state;                         ///< to_string(BeatWord); of an event: of what it is about
  std::shared_ptr<const Evidence> evidence;  ///< of a beat: its status and its text; never null
  CommandId command{};
  // Of an event alone.
  std::string key{};                              ///< of what it is about
  std::shared_ptr<const std::string> document{};  ///< one JSON object; null: it is a beat
  EventFields fields{};                           ///< the plain values of that
  std::string sender{};                           ///< for people
  std::string remark{};                           ///< the same
  std::uint64_t again = 0;    ///< the number of an event that comes once more, whatever is known of it
  std::uint16_t refused = 0;  ///< the answer with which it was refused already; why is the text of `evidence`
};
[[nodiscard]] inline Arrived arrived(ServiceId service, std::string state, std::int64_t status, std::string text,
                                     CommandId command = {}) {
  Evidence seen;
  seen.status = status;
  seen.output = std::make_shared<const std::string>(std::move(text));
  return {.service = service,
          .state = std::move(state),
          .evidence = std::make_shared<const Evidence>(std::move(seen)),
          .command = command};
}
/// An event. `fields` are those of `document`.
[[nodiscard]] inline Arrived occurred(ServiceId service, std::string key, std::string state, std::string document,
                                      EventFields fields, CommandId command = {}) {
  Arrived occurred = arrived(service, std::move(state), 0, {}, command);
  occurred.key = std::move(key);
  occurred.document = std::make_shared<const std::string>(std::move(document));
  occurred.fields = std::move(fields);
  return occurred;
}

/// A list was read, or a part of its rows, that are many: what each is like now. It is a run of each of their services;
/// what is asked of one (effect::Measure) is answered, too, where that was before the reading began.
struct RowsRead {
  struct Row {
    ServiceId service;
    std::shared_ptr<const Evidence> evidence;  ///< never null
  };
  Duration began{0};  ///< mono: when the reading did
  std::vector<Row> rows;
};

/// A process that was seen has died, by the word of the kernel. May come late, or not at all where there are no
/// descriptors left; the next look finds it then. Of a unit, by the word of systemd: it has changed, and is looked at
/// once more; no process is named (`pid` is 0).
struct ProcessDied {
  ServiceId service;
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::optional<ProcessEnd> end{};  ///< where the kernel has told it
};

/// A signal was not sent to a process that lives.
struct NotSignalled {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  int number = 0;
  std::string why;
};

/// All commits up to and including this one are on disk, or, where `unjournalled`, cannot be written now and go ahead
/// anyway.
struct Committed {
  Sequence up_to = 0;
  bool unjournalled = false;
  std::string reason;  ///< where unjournalled: why
};

/// The program of an action was started.
struct ActionStarted {
  ActionId action;
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< with the pid, which process it is
};

/// The program of an action cannot be started now, or one that runs not be found again, most often since the machine
/// lacks what that takes: it is tried again. Told once of each reason; ActionStarted or ActionEnded ends it.
struct ActionWaits {
  ActionId action;
  std::string why;
  bool lingers = false;  ///< it was to end, and has not for long: `why` is what is still there, "process 12 (qemu)"
};

/// The same of the program of a run, or of one whose turn comes after it. An empty `why`: it waits no more.
struct RunWaits {
  ServiceId service;
  RunId run;
  std::string why;
};

/// The program of a run that timed out has written more before it ended. Told after the Measured of the run.
struct RunWrote {
  ServiceId service;
  RunId run;
  std::shared_ptr<const std::string> output;  ///< all of it, bounded as that of an Evidence; never null
};

/// A foreground process has told that it is ready.
struct ActionReady {
  ActionId action;
};

/// A foreground process has told that its start or stop may yet take so long, from now on.
struct ActionExtended {
  ActionId action;
  Duration by{0};
};

/// A foreground process has not told for so long that it is well (effect::Watch).
struct ActionSilent {
  ActionId action;
  Duration span{0};
};

/// An action has ended. `status` as in Evidence.
struct ActionEnded {
  ActionId action;
  Outcome outcome = Outcome::Exited;
  std::int64_t status = 0;
  bool unseen = false;  ///< it ended while no healer was there to see how, nobody could tell, or a reboot cut it
  Duration elapsed{0};
  std::string output;  ///< bounded; or why it could not be started
  /// Of a step that has ended well: what is found in its output, in the order of Engine::savings_of().
  std::vector<std::optional<std::string>> saved{};
  /// Of a foreground process: one that it has left outside of its session, and that was ended. Of a step of a healing
  /// that has failed by itself: one that it has left running.
  std::int64_t left = 0;
  std::string left_command{};  ///< of a step: its command line, as far as it could be seen; for people
};

/// A request has ended.
struct Answered {
  ActionId request;
  enum class Kind : std::uint8_t {
    Failed,   ///< nothing of it was sent
    InDoubt,  ///< it was sent, or a part of it, and the answer was incomplete that is taken
    Whole
  } kind = Kind::Whole;
  std::uint16_t status = 0;  ///< Whole
  std::string why{};         ///< else: "could not connect to heat.example:443: connection refused"
  Duration elapsed{0};
  std::vector<std::optional<std::string>> values{};  ///< of `wanted` and `failing`, as JSON; nothing: there is none
  /// The same as people may see it: without the secrets that the request was made with. Empty: as it is.
  std::vector<std::optional<std::string>> shown{};
  std::vector<std::optional<std::string>> saved{};  ///< the same of what is to be saved, as text
};

/// A healing has what it has asked for (effect::Claim). Any other than its last claim is ignored.
struct Claimed {
  HealingId healing;
  std::uint64_t claim = 0;
};

/// It has not: others hold it. It waits again, held back so, and asks anew after a cycle.
struct Denied {
  HealingId healing;
  std::uint64_t claim = 0;
  Brake by = Brake::OneAtATime;
  std::string why{};  ///< "it is being healed by web2"
};

/// The mailer has this alert on its own disk: the engine need not remember it any more.
struct AlertTaken {
  AlertId alert;
};

/// What became of an alert to one recipient: told by whoever delivers it, for the history.
struct MailOutcome {
  AlertId alert;
  enum class Kind : std::uint8_t { Sent, Failed, Dropped } kind = Kind::Sent;
  std::string text;
  std::string contact{};      ///< to which it was to go; empty: it is a mail
  bool tells_others = false;  ///< the others are to hear of it
};

/// A new generation, computed off the loop.
struct Swap {
  std::shared_ptr<const SwapPlan> plan;
};

/// A reload that failed; nothing changes but the history. `summary` is the first diagnostic.
struct ReloadFailed {
  std::string summary;
};

/// What there is to say of a list; people are told, too, where it `alerts`.
struct ListReported {
  std::string text;
  bool alerts = false;
};

/// The file of the state was damaged: `text` says what has become of it. Told once of each, after Started.
struct StateDamaged {
  std::string text;
};

/// A person's command for services. `by` names the person ("root", "uid 1000").
struct Command {
  enum class Kind : std::uint8_t {
    Monitor,
    Unmonitor,
    Validate,  ///< run every monitored service now; answered when the last has been judged. Never counts as a cycle.
    Accept,    ///< accept the dormant rules of the services, or the doubted processes that their pid files name
    Start,     ///< with what they depend on; monitors them. Answered when the jobs have ended
    Stop,      ///< with what depends on them; they are no longer monitored
    Restart,
    Pause,  ///< no action but alerts, until `until`
    Resume,
    Cancel,  ///< end the job or the healing `job`, or the program of the rule's action that has this number
    Heal,    ///< the services' targets with `workflow`, or what their rules heal with where it is empty
    Approve,
    Reject,
    ResetHealing,  ///< the workflow `workflow`
    Acknowledge    ///< that the services stand failed: no reminders until they recover
  };
  CommandId id;
  Kind kind = Kind::Validate;
  std::vector<ServiceId> services;
  Origin by;
  std::optional<WallTime> until{};  ///< Pause
  std::string reason{};             ///< Pause, Acknowledge
  /// Cancel; of Approve and Reject the number of a healing; of Accept that of the process (kAnyProcess: whichever the
  /// pid file names; 0: the rules).
  JobId job{};
  static constexpr JobId kAnyProcess{1};  ///< that of init, which is never signalled
  std::string workflow{};                 ///< Heal, ResetHealing
  std::string plan{};                     ///< Approve: the beginning of the hash of the plan; empty: whatever it is
  Overrides overrides{};                  ///< Heal
  bool everything = false;            ///< Pause, Resume: `services` are all there are, and those to come are meant too
  std::vector<std::string> groups{};  ///< Pause, Resume: the same of groups; their services are among `services`
};

/// What is not healed, as the lists say. All names are in lower case.
struct ListsDoubted {
  /// A row that is missing from its list, and was well when it was so for the first time, or since.
  struct Row {
    std::string list;
    std::string name;
    auto operator<=>(const Row&) const = default;
  };
  std::vector<std::string> names;  ///< lists of which nobody knows yet whether they are right: none of their rows
  std::vector<Row> missing{};      ///< if they fail now
};
/// The daemon is about to end: nothing begins any more.
struct Stopping {
  bool waits = false;  ///< still for answers to requests. Told again without, when it ends: recorded and mailed
};

}  // namespace event

}  // namespace healer::engine
