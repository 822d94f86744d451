// SPDX-License-Identifier: MIT
// What the engine does to the world, and what programs and mails are told of its cause.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/healing/saving.hpp"
#include "engine/ids.hpp"
#include "engine/occurrence.hpp"
#include "engine/rules/command.hpp"
#include "engine/rules/event_kind.hpp"
#include "engine/rules/json_test.hpp"
#include "engine/rules/recipient.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

namespace effect {

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
  std::uint64_t occurrence = 0;  ///< the number of the event that has led to it; 0: none has
  EventFields fields{};          ///< of that event
};

/// What the program of a healing's step gets beyond what others get.
struct Place {
  /// Of a value: a text as it is, or the name of a secret. Only rules name secrets, never a value that is filled in.
  struct Part {
    std::string text;
    bool secret = false;
    bool operator==(const Part&) const = default;
  };
  std::vector<std::pair<std::string, std::vector<Part>>> environment;
  std::string directory;            ///< where it runs; empty: /
  std::vector<std::string> hidden;  ///< what its healing has saved as secrets: struck out of what it is said to write

  /// Whether it is given a secret, or may be.
  [[nodiscard]] bool has_secrets() const;
  bool operator==(const Place&) const = default;
};

/// Make a request of a healing, once; answer with event::Answered. It is no more than a question where it is `safe`,
/// and goes over a fresh connection where it is not.
struct Request {
  using Text = std::vector<Place::Part>;
  /// How a value is written into a text: as it is, percent-encoded, or as what stands in a string of JSON.
  enum class Writing : std::uint8_t { Plain, Percent, Json };
  ActionId request;
  HealingId healing;
  std::string method;
  Text url;
  std::string shown;          ///< the URL for people, without secrets
  std::vector<Text> headers;  ///< "Name: value"
  Text body;
  Writing body_as = Writing::Json;
  std::string body_file;  ///< whose text is the body; empty: `body` is
  bool follow = false;
  bool insecure = false;
  bool safe = false;
  std::uint64_t limit = 0;  ///< bytes of an answer
  Duration timeout{0};
  std::uint16_t expected = 200;   ///< a status that would be well
  std::vector<JsonTest> wanted;   ///< tests of the answer; the values of their filters are asked for
  std::vector<JsonTest> failing;  ///< likewise; one that holds is no good
  std::vector<Saving> saves;      ///< what else is asked of it
  /// What its healing has saved as secrets: struck out of what is told of the answer.
  std::vector<std::string> hidden{};
  /// Nothing is sent: whether these secrets could be read is all that is asked. Failed says why one could not.
  std::vector<std::string> secrets{};
};

/// Nobody waits for the answer to a request any more.
struct EndRequest {
  ActionId request;
};

/// Start the program of an action; answer with ActionStarted and ActionEnded. It is started at most once, ever: where
/// the files of this action exist already, an earlier daemon started it, and it is adopted instead.
struct Exec {
  ActionId action;
  ServiceId service;  ///< kNoService, only in Commit::pending: it waits for its turn, and has not been released
  Hash128 rule;
  bool recovery = false;  ///< of the `else` branch
  Command command;
  std::shared_ptr<const Cause> cause;
  JobId job{};  ///< whose step it is; 0: a rule's own action
  /// It is a foreground process: the service itself, which runs until it dies or is ended. It gets NOTIFY_SOCKET;
  /// event::ActionReady says when it has told that it is ready. When its main process has gone, what is left of its
  /// session gets SIGKILL, and what has left that is ended too; only then ActionEnded tells of it.
  bool foreground = false;
  HealingId healing{};                   ///< whose step it is; 0: of none. Released only when it is in the journal
  std::shared_ptr<const Place> place{};  ///< of a healing's step; else null. Not saved
};

/// End the program of an action: SIGTERM to its session, SIGKILL 2 s later; of a foreground process these signals to
/// its main process, one after the other, then SIGKILL to its session. ActionEnded still comes.
struct EndAction {
  ActionId action;
  std::vector<StopSignal> signals{};  ///< of a foreground process
};

/// From now on a foreground process must tell so often that it is well, by WATCHDOG=1; event::ActionSilent tells that
/// it has not. 0: it need not.
struct Watch {
  ActionId action;
  Duration every{0};
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

/// Tell these people, by mail or by their contacts. Whoever delivers it answers with AlertTaken once all of it is on a
/// disk of its own (the same AlertId again is the same alert), and later with MailOutcome.
struct Alert {
  AlertId alert;
  std::vector<Recipient> recipients;
  std::shared_ptr<const Cause> cause;
  /// Names what it is about: of a rule that stands failed it is the same over failure, reminders and recovery, of a
  /// healing what its programs know as HEALING. Empty: it is about nothing that goes on.
  std::string incident{};
  bool reminder = false;  ///< that it stands failed was told before
};

}  // namespace effect

}  // namespace healer::engine
