// SPDX-License-Identifier: MIT
// Who is told, and what is kept from people for now.
//
// Owns    the services whose alerts a maintenance window keeps; of which services people were told that a start or stop
//         failed; what people have acknowledged.
// Hears   what is to be told; that an alert is kept; a restart, a reload.
// Tells   LookWanted, of a service whose alert was kept, when its window is over: what still fails is told then.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/ids.hpp"
#include "engine/rules/event_kind.hpp"
#include "engine/rules/recipient.hpp"
#include "engine/state.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Graph;
struct Job;
struct Turn;
class MaintenanceWindows;
class RuleStates;
class Starts;

class Alerts {
 public:
  /// What an alert is about.
  struct About {
    std::string incident{};  ///< effect::Alert::incident
    bool reminder = false;   ///< that it stands failed was told before
  };

  /// Requires: all of them outlive it. `graph` is that of the rules in force.
  Alerts(const std::shared_ptr<const Graph>& graph, const MaintenanceWindows& maintenance, const RuleStates& rules,
         IdSource& ids)
      : graph_(graph), maintenance_(maintenance), rules_(rules), ids_(ids) {}

  // ---- view
  /// A person's word that what has failed of a service is known; null: there is none.
  [[nodiscard]] const Acknowledgement* acknowledged(ServiceId id) const;
  /// Mono: when release() is due; none: nothing is kept.
  [[nodiscard]] std::optional<Duration> next() const { return release_at_; }

  // ---- telling
  /// What has happened to healer itself is recorded, and told.
  void report(RecordKind kind, Severity severity, const std::string& text, std::string_view what, Turn& turn) const;
  void hear_delivery(const event::MailOutcome& event, Turn& turn) const;
  /// To these, if there is any of them.
  void send(std::vector<Recipient> recipients, std::shared_ptr<const effect::Cause> cause, Turn& turn,
            About about) const;
  void send(std::vector<Recipient> recipients, std::shared_ptr<const effect::Cause> cause, Turn& turn) const {
    send(std::move(recipients), std::move(cause), turn, About{});
  }
  /// To those who are told of events of this kind of a service, of what is no rule's doing. `what` has happened, where
  /// Monit has no word for it; `listed_only`: not to those who want all but some kinds.
  void send(ServiceId id, effect::Cause cause, EventKind event, effect::Cause::State state, const std::string& text,
            Turn& turn, bool listed_only = false, std::string_view what = {}) const;
  /// An event was refused, or was dropped before it was judged: people are told.
  void event_refused(ServiceId id, const std::string& text, Turn& turn) const;
  /// Of healer itself. `action` is what Monit calls it: "start", "stop"; `what` has happened, where Monit has no word
  /// for it; `but`: a contact that is not told.
  void send_of_daemon(const std::string& text, std::string_view action, Turn& turn, std::string_view what = {},
                      std::string_view but = {}) const;

  // ---- what was told of starts and stops
  /// Mails how a job ended. The failure is that of the service of its step, told once until that was started (or
  /// stopped, where that was wanted), as by Monit.
  void report_end(const Job& job, bool good, const Starts& starts, Turn& turn);

  // ---- acknowledgements
  void acknowledge(ServiceId id, Acknowledgement word) { acknowledged_.insert_or_assign(id, std::move(word)); }
  /// It ends by itself when nothing is left of what was acknowledged.
  void forget_acknowledged(ServiceId id, Turn& turn);

  // ---- what a window keeps
  /// Whether a rule of it stands failed, and maintenance keeps that from people.
  [[nodiscard]] bool keeps(ServiceId id) const;
  void keep(ServiceId id, Instant now);
  /// Whose alert was kept is checked when its window is over, however rarely that is done else. The wall clock ends
  /// windows, and may be set. `soonest` (mono): no check is wanted before.
  void release(Duration soonest, Turn& turn);

  // ---- life
  void restore(ServiceId id, const SavedService& saved);
  void save(ServiceId id, SavedService& out) const;
  /// A service is watched anew: nothing is known of what people were told.
  void forget(ServiceId id);
  void remove(ServiceId id) { forget(id); }
  /// It is another process by the rules now.
  void retarget(ServiceId id) { start_failed_.erase(id); }
  /// The rules have other windows, perhaps.
  void reload(Instant now);

 private:
  const std::shared_ptr<const Graph>& graph_;
  const MaintenanceWindows& maintenance_;
  const RuleStates& rules_;
  IdSource& ids_;
  std::set<ServiceId> start_failed_;  // people know, and none has succeeded since
  std::map<ServiceId, Acknowledgement> acknowledged_;
  std::set<ServiceId> kept_;              // alerts of theirs, by a window
  std::optional<WallTime> first_window_;  // when the first of the windows ends that were open then
  std::optional<Duration> release_at_;    // mono: the same, as far as is known; none: no alert is kept
};

}  // namespace healer::engine
