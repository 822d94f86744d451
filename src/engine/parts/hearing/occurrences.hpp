// SPDX-License-Identifier: MIT
// Events that others tell of, as `check event` takes them: what is accepted, what is the same event again, which are to
// be judged, and which conditions stand by them.
//
//   take() --the same id and state within the window--> counted, and nothing else
//     |----a field is missing, nobody knows its target--> Refused
//     '--> Waiting, in the queue of its service --a run: depart(), judged()--> Judged
//             '--unmonitored, gone, or `valid` is over--> Dropped
//
// Each event of a queue is judged by a run of its own, one after the other. While people want no action on the service
// they wait, and so they do while too many programs wait that those before them asked for. A condition that an event
// meets stands for its target until another event of that target does not meet it, or `valid` is over.
//
// Owns    all that is known of events: those that were taken, the queues, the conditions that stand.
// Hears   that an event has arrived, that time goes by, that people act; which services begin, are not monitored any
//         more, or are gone; what runs have come to.
// Tells   RunDue, for the first of each queue; ExecsDue; EventRefused; StandingEnded. Replies are the turn's: they wait
// for the
//         commit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/events/event.hpp"
#include "engine/events/evidence.hpp"
#include "engine/ids.hpp"
#include "engine/occurrence.hpp"
#include "engine/service_state.hpp"
#include "util/hash.hpp"
#include "util/slim.hpp"
#include "util/time.hpp"

namespace healer::engine {

class Healings;
class MaintenanceWindows;
class Pauses;
class RunningPrograms;
struct Graph;
struct HealOrder;
struct Rule;
struct RuleDecision;
struct Seen;
struct ServiceBlock;
struct Turn;

/// The answer to an event, in HTTP's numbers and for people.
struct EventVerdict {
  std::uint16_t status = 202;
  std::string text;
  std::uint64_t known = 0;  ///< the number of the event that it is again; 0: of none
};

class Occurrences {
 public:
  /// Requires: all of them outlive it.
  Occurrences(const std::shared_ptr<const Graph>& graph, const std::vector<ServiceState>& services,
              const Pauses& pauses, const MaintenanceWindows& maintenance, const Healings& healings,
              const RunningPrograms& programs, IdSource& ids)
      : graph_(graph),
        services_(services),
        pauses_(pauses),
        maintenance_(maintenance),
        healings_(healings),
        programs_(programs),
        ids_(ids) {}

  // ---- view
  /// By their numbers: those that came last, those that wait, and those by which something is known or stands.
  [[nodiscard]] const std::map<std::uint64_t, Occurrence>& all() const { return all_; }
  /// Null: it is not known.
  [[nodiscard]] const Occurrence* find(std::uint64_t number) const;
  /// How many events of a service wait.
  [[nodiscard]] std::size_t waiting(ServiceId id) const;
  /// How many wait, of all services.
  [[nodiscard]] std::size_t waiting() const { return waiting_; }
  /// The event that the run under way judges; null: it judges none.
  [[nodiscard]] const Occurrence* under_way(ServiceId id) const;
  /// The newest of a service that was not refused; null: there is none.
  [[nodiscard]] const Occurrence* newest(ServiceId id) const;
  /// Why the events of a service wait: "paused"; empty: nothing holds them.
  [[nodiscard]] std::string held(ServiceId id, Instant now) const;
  /// Whether the condition of a rule stands for a target, in any case.
  [[nodiscard]] bool stands(ServiceId id, Hash128 rule, std::string_view target) const;
  /// The targets for which a condition of a service stands, and until when, the first to end first.
  [[nodiscard]] std::vector<std::pair<std::string, WallTime>> standing(ServiceId id) const;
  /// What a `check event` is judged by now, beside what its filters find.
  [[nodiscard]] EventSeen see(ServiceId id, Instant now) const;
  /// What was seen of a `check event`, with what is known of the event that is judged.
  [[nodiscard]] Evidence complete(ServiceId id, const Evidence& seen, Instant now) const;
  /// Programs, alerts and healings that rules ask for know the event that they come of.
  void tell_cause(ServiceId id, std::vector<RuleDecision>& decisions) const;
  /// Mono: when something is due next; none: nothing is.
  [[nodiscard]] std::optional<Duration> next() const;
  /// How an event would be answered, if it came now. Changes nothing.
  [[nodiscard]] EventVerdict preview(const event::Arrived& arrived, Instant now) const;
  /// The target that an order of a rule names for an event with those fields.
  [[nodiscard]] std::string target_of(const ServiceBlock& block, const HealOrder& order,
                                      const EventFields& fields) const;

  // ---- what it hears
  void take(const event::Arrived& arrived, Turn& turn);
  /// Time has gone by.
  void hear_time(Turn& turn);
  /// What held events back may have ended.
  void go_on(Turn& turn);
  /// A service is judged from now on, where it is monitored.
  void begin(ServiceId id, Turn& turn);
  /// It is not any more: what waits is dropped, and no condition stands.
  void stop(ServiceId id, const std::string& why, Turn& turn);
  /// A run begins: which event it judges; null: none waits, or something holds them.
  const Occurrence* depart(ServiceId id, Turn& turn);
  /// The event under way is judged alone, by that run: the conditions of rules that heal stand by it, or do not any
  /// more.
  void weigh(ServiceId id, const Seen& run, Turn& turn);
  /// The run is over; what its rules have done, the records of the turn from `begin` on tell.
  void judged(ServiceId id, const Evidence& seen, std::size_t begin, Turn& turn);
  void restore(std::vector<Occurrence> saved, Instant now);
  void remove(ServiceId id, const std::string& service, Turn& turn);

 private:
  struct Stand {
    WallTime until{};
    std::uint64_t number = 0;  // of the event by which it stands
  };
  using StandKey = std::pair<Hash128, std::string>;  // the rule, and the target in lower case
  struct Known {
    std::deque<std::uint64_t> waiting;
    bool departed = false;                               // a run judges the first of them
    int tries = 0;                                       // to judge it
    std::unordered_map<Hash128, std::uint64_t> current;  // by the hash of their keys: the newest of each
    std::deque<WallTime> distinct;                       // when they came, at most kMostCountedEvents + 1
    std::map<StandKey, Stand> standing;
    std::set<std::pair<WallTime, StandKey>> ends;
    std::uint64_t newest = 0;
    Slim<Duration> recount;  // mono: when a count of events that is too high now is not any more
    Slim<Duration> planned;  // as it lies in due_
  };
  [[nodiscard]] const Known* known(ServiceId id) const;
  [[nodiscard]] const Occurrence* same(ServiceId id, const event::Arrived& arrived, WallTime now) const;
  [[nodiscard]] EventVerdict judge(ServiceId id, const event::Arrived& arrived) const;
  [[nodiscard]] bool is_known(const std::string& target) const;
  [[nodiscard]] Slim<Duration> counts_until(ServiceId id, const Known& known, Instant now) const;
  void stand(ServiceId id, const Rule& rule, const std::string& target, Turn& turn);
  void clear(ServiceId id, const Rule& rule, const std::string& target, Turn& turn);
  void queue(Known& known, const Occurrence& occurrence);
  void poke(ServiceId id, Known& known, Turn& turn);
  void plan(ServiceId id, Known& known, Instant now);
  void drop_first(ServiceId id, Known& known, OccurrenceStage stage, std::string outcome, Turn& turn);
  void expire(ServiceId id, Known& known, Turn& turn);
  void erase(Known& known, const StandKey& key, Turn& turn);
  void leave(Known& known);
  void keep_document(const Occurrence& occurrence);
  void prune(Turn& turn);
  void bound_documents(Turn& turn);
  [[nodiscard]] bool may_go(const Occurrence& occurrence, WallTime now) const;

  const std::shared_ptr<const Graph>& graph_;
  const std::vector<ServiceState>& services_;
  const Pauses& pauses_;
  const MaintenanceWindows& maintenance_;
  const Healings& healings_;
  const RunningPrograms& programs_;
  IdSource& ids_;
  std::map<std::uint64_t, Occurrence> all_;
  std::map<ServiceId, Known> known_;
  std::set<std::pair<Duration, ServiceId>> due_;
  std::size_t waiting_ = 0;
  std::size_t waiting_bytes_ = 0;
  std::deque<std::uint64_t> with_document_;  // that do not wait any more, the oldest first
  std::size_t kept_bytes_ = 0;               // of their documents
  std::size_t prune_at_ = kShownOccurrences + kShownOccurrences / 4;
  Duration judged_at_{-1};  // mono: of the turn in which the last were judged
  int judged_then_ = 0;     // how many
  bool is_full_ = false;    // people were told so
};

}  // namespace healer::engine
