// SPDX-License-Identifier: MIT
// Whether services are monitored: taken out by a person or a rule, taken up again by a person or when a time is over.
//
// Owns    ServiceState::monitored and initialising of each service, and in its trouble why it is not monitored; when
//         who is monitored again.
// Hears   who is to be monitored or not, and by whose word; that a run was judged; a restart, a reload.
// Tells   nothing: what begins or ends with it is who asked's to do.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/ids.hpp"
#include "engine/service_state.hpp"
#include "engine/state.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Action;
struct Graph;
struct Turn;
class Alerts;
class RuleStates;

class Monitoring {
 public:
  /// Requires: all of them outlive it.
  Monitoring(const std::shared_ptr<const Graph>& graph, std::vector<ServiceState>& services, const RuleStates& rules,
             const Alerts& alerts)
      : graph_(graph), services_(services), rules_(rules), alerts_(alerts) {}

  // ---- view
  /// Why it is not monitored; null: it is, or nobody knows.
  [[nodiscard]] const TakenOut* taken_out(ServiceId id) const;
  /// By which rule it was taken out of monitoring, and is not monitored now; null: by none.
  [[nodiscard]] const TakenOut* given_up(ServiceId id) const;
  /// Mono: when take_back() is due; none: never.
  [[nodiscard]] std::optional<Duration> next() const { return return_at_; }
  /// What is mailed of it: that nobody looks from now on is what people must know.
  [[nodiscard]] std::shared_ptr<const effect::Cause> giving_up(ServiceId id, const effect::Cause& cause,
                                                               const Action& action) const;
  /// How a rule takes it out, for `lasting`; 0: until somebody says so.
  [[nodiscard]] static TakenOut by_rule(const effect::Cause& cause, Instant now, Duration lasting = Duration{0});

  // ---- what it hears
  /// It is monitored, as if it had never been looked at. `text` is what is recorded of it, where that is not who has
  /// asked for it. False: it was so already.
  bool begin(ServiceId id, const Origin& by, Turn& turn, std::string text = {});
  /// It is not monitored any more. What a person has unmonitored stays that; a person's word also stands over what a
  /// rule has done before. False: nothing has changed.
  bool end(ServiceId id, TakenOut how, Turn& turn);
  /// One whose time is over, with what is recorded of that; none: there is none. It is to be monitored again, as after
  /// a person's word.
  [[nodiscard]] std::optional<std::pair<ServiceId, std::string>> take_back(Instant now);
  /// The wall clock may be set at any time.
  void follow_clock(Instant now);
  /// A run of it was judged since it began, or since it was monitored again.
  void judged(ServiceId id) { services_[id.index()].initialising = false; }

  // ---- life
  /// What an earlier healer has left. After a boot of the machine a time is not over earlier than was said: `seen` is
  /// the wall clock as the daemon before saw it last, where the machine was booted since.
  void carry(std::optional<WallTime> seen, Turn& turn);
  void begin_afresh(ServiceId id);
  void restore(ServiceId id, const SavedService& saved, bool same_boot);
  /// Of a state that does not tell it: by a rule of its that stands failed, as far as can be known.
  void guess(ServiceId id, WallTime started);

 private:
  void report_taken_along(ServiceId id, const TakenOut& how, Turn& turn) const;

  const std::shared_ptr<const Graph>& graph_;
  std::vector<ServiceState>& services_;
  const RuleStates& rules_;
  const Alerts& alerts_;
  std::set<std::pair<WallTime, ServiceId>> returns_;  // when who is monitored again; some do not hold any more
  std::optional<Duration> return_at_;                 // mono: when the first of them is due, as far as is known
};

}  // namespace healer::engine
