// SPDX-License-Identifier: MIT
// What is recorded of a daemon's day, so that it can be played again: everything that was told to the engine and can
// change what it decides, in order, with the instants, and what it did then. Plain values; readings/ keeps them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/events/event.hpp"
#include "replay/action_record.hpp"
#include "util/hash.hpp"

namespace healer::engine {

struct Graph;
struct SavedState;
struct ServiceBlock;

namespace recorded {

/// A service as others of the recording name it, by its number: while it is recorded its slot in the graph, when it is
/// read its number in Source::service().
using Number = std::uint32_t;

/// What its looks were asked for: Evidence::matches and Facts::connections are numbered by it.
struct Service {
  std::string name;
  std::vector<std::string> patterns;  ///< of its content tests, a negated one with "!" before it
  std::vector<Hash128> probes;        ///< of its connection tests

  bool operator==(const Service&) const = default;
};
[[nodiscard]] Service service_of(const ServiceBlock& block);
/// Whether `now` asks for a content or a connection that `then` did not.
[[nodiscard]] bool asks_more(const Service& then, const Service& now);
/// What was seen for `then`, numbered as `now` asks for it; what was not asked for then is not known.
[[nodiscard]] std::shared_ptr<const Evidence> as_asked(std::shared_ptr<const Evidence> seen, const Service& then,
                                                       const Service& now);

/// A run has ended, and the engine awaited it.
struct Ran {
  Number service = 0;
  Duration begun{0};                     ///< mono
  std::shared_ptr<const Evidence> seen;  ///< null: it was cancelled
};

/// A beat of a heartbeat.
struct Heard {
  Number service = 0;
  std::string state;  ///< event::Arrived::state
  std::int64_t status = 0;
  std::string text;
};

/// An event for a `check event`.
struct Told {
  Number service = 0;
  std::string key;
  std::string state;
  std::string document;  ///< "{}" where it was too long to be recorded
  EventFields fields;
  std::uint64_t again = 0;
};
[[nodiscard]] event::Arrived as_event(const Told& told, ServiceId service);

/// The engine was woken. `deadline` is the one that it had asked for.
struct Woke {
  std::optional<Duration> deadline;
};

struct Died {
  Number service = 0;
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::optional<ProcessEnd> end;
};

/// The program of an action, or a request, was released.
struct Launched {
  ActionId action;
  Hash128 what;  ///< for whom, and its command or what is asked
};
[[nodiscard]] Hash128 what_of(const effect::Exec& exec);
[[nodiscard]] Hash128 what_of(const effect::Request& request);

/// A person's command; its services are `services`.
struct Ordered {
  event::Command command;
  std::vector<Number> services;
};

/// From here on the state cannot be written; or, with an empty reason, it can be again.
struct Sick {
  std::string why;
};

/// What rules were loaded from: their files, and what their lists said.
struct RulesText {
  struct File {
    std::string path;
    std::string text;
    bool operator==(const File&) const = default;
  };
  struct Row {
    std::string name;
    std::vector<std::pair<std::string, std::string>> fields;
    bool operator==(const Row&) const = default;
  };
  struct List {
    std::string name;
    std::vector<std::string> command;
    std::string file;
    std::vector<Row> rows;
    bool operator==(const List&) const = default;
  };
  std::string path;  ///< of the file or directory that was loaded
  std::vector<File> files;
  std::vector<List> lists;
  bool operator==(const RulesText&) const = default;
};
/// Which of the texts of a recording, counted from 0, in order.
using TextNumber = std::uint32_t;

/// A life of the daemon begins; or one that goes on can be taken up here.
struct Begun {
  std::string version;
  std::string host;
  bool goes_on = false;
  Instant made{};     ///< when its engine was made
  Duration first{0};  ///< mono: when its first cycle was due
  /// What the command line of the daemon has said over its rules.
  std::optional<Duration> cycle;
  bool shadow = false;
  std::shared_ptr<const SavedState> state;  ///< that it began with, or has reached; never null
  std::shared_ptr<const Graph> rules;       ///< null where it is read
  /// Of what is read: the names of all services that there were; none: it was not recorded.
  std::optional<std::vector<std::string>> services{};
  std::shared_ptr<const RulesText> text{};  ///< of the rules; null where it is read, or is not recorded
  std::optional<TextNumber> number{};       ///< of what is read: the rules' text; none: it was not recorded
};

/// Other rules were taken over.
struct Reloaded {
  std::shared_ptr<const Graph> rules;  ///< null where it is read
  bool edited = true;                  ///< they say something else
  /// Of what is read: the names of the services that are new, and of those that are gone; none: it was not recorded.
  struct Difference {
    std::vector<std::string> come;
    std::vector<std::string> gone;
  };
  std::optional<Difference> services{};
  std::shared_ptr<const RulesText> text{};  ///< as Begun's
  std::optional<TextNumber> number{};
};

/// What was to be recorded here is not.
struct Gap {
  std::string why;
};

using What = std::variant<Ran, Woke, Died, Launched, event::ActionStarted, event::ActionReady, event::ActionEnded,
                          event::NotSignalled, event::Answered, Ordered, event::ListsDoubted, Sick, Begun, Reloaded,
                          event::Stopping, Gap, ActionRecord, Heard, Told>;

struct Item {
  Duration mono{0};
  WallTime wall{};
  What what;
};

/// A recording that is read.
class Source {
 public:
  virtual ~Source() = default;
  /// The next item, in the order in which it was recorded; none: there are no more. The first is a Begun.
  [[nodiscard]] virtual std::optional<Item> next() = 0;
  /// From the beginning again; numbers of services stay as they are.
  virtual void rewind() = 0;
  /// Requires: an item that next() has given names it.
  [[nodiscard]] virtual const Service& service(Number number) const = 0;
};

}  // namespace recorded
}  // namespace healer::engine
