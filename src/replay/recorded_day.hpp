// SPDX-License-Identifier: MIT
// Private to the replay: the recording with a look ahead, so that a run that begins can be given the end that it had.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/rules/graph.hpp"
#include "replay/recorded.hpp"

namespace healer::engine {

class RecordedDay {
 public:
  using Index = std::uint64_t;
  struct Entry {
    recorded::Item item;
    std::optional<RunId> claimed{};  ///< of a Ran: whose answer it is
    bool is_past = false;            ///< of what a program or request does: it was told already, of another time
  };
  /// A start that was claimed. `end`: how what was started has ended, and how long after its start, where that was at
  /// another time: the recording will not tell it in time.
  struct Claimed {
    ActionId action;
    struct End {
      Duration after{0};
      recorded::What what;
    };
    std::optional<End> end{};
  };

  /// Requires: both outlive it.
  RecordedDay(recorded::Source& source, const Graph& graph)
      : source_(source), graph_(graph), runs_(graph.slots.size()) {}

  /// The item that comes next; null: there are no more. Valid until pop().
  [[nodiscard]] const Entry* front();
  /// Requires: there is one.
  Entry pop();
  /// The service of a number; none: the rules have none of that name.
  [[nodiscard]] std::optional<ServiceId> service(recorded::Number number);
  /// By slot: which services the recording has named.
  [[nodiscard]] const std::vector<bool>& named() const { return named_; }
  /// What it has named that the rules do not have.
  [[nodiscard]] std::vector<std::string> unknown() const { return {unknown_.begin(), unknown_.end()}; }

  /// The deadline of the next waking that was recorded.
  [[nodiscard]] std::optional<Duration> next_woke();
  /// The run of the service that was begun at `begun`, or else the nearest not further from it than `apart`, to come
  /// and not claimed; it is claimed by `run`.
  bool claim_run(ServiceId service, Duration begun, Duration apart, RunId run);
  /// Whether a run of the service that begins later is to come in this life.
  [[nodiscard]] bool more_runs(ServiceId service, Duration begun);
  /// The start of such a program or request, not further from `when` than `apart`: the action of that name, if it is
  /// among them; it is claimed. No further than `near` it is the same moment, unless it has ended before `when`.
  std::optional<Claimed> claim_launch(Hash128 what, ActionId action, Duration when, Duration near, Duration apart);
  /// Forgets what was claimed or passed by in a life that is over.
  void begin_life();

 private:
  struct Launch {
    Index index = 0;
    Duration when{0};
    recorded::Launched what;
    bool claimed = false;
    bool elsewhen = false;                ///< claimed with its end
    std::optional<recorded::Item> end{};  ///< that has passed by
  };
  [[nodiscard]] std::optional<recorded::Item> end_ahead(ActionId action);
  void read_ahead();
  void index(Index at, const recorded::Item& item);
  [[nodiscard]] Entry& at(Index index) { return ahead_[static_cast<std::size_t>(index - first_)]; }

  recorded::Source& source_;
  const Graph& graph_;
  std::deque<Entry> ahead_;
  Index first_ = 0;                      // of ahead_
  bool ended_ = false;                   // the source
  std::optional<Index> barrier_;         // begins another life: its times are not those of this one
  std::vector<std::deque<Index>> runs_;  // by slot: that are ahead
  std::deque<std::pair<Index, std::optional<Duration>>> wokes_;  // that are ahead
  std::deque<Launch> launches_;
  std::vector<std::optional<std::optional<ServiceId>>> services_;  // by number, as far as they were asked for
  std::vector<bool> named_;                                        // by slot
  std::set<std::string> unknown_;
};

}  // namespace healer::engine
