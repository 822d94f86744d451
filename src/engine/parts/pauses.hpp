// SPDX-License-Identifier: MIT
// People's pauses: of a service, of a group, of everything. While one is in force checks and alerts go on, and nothing
// else is done.
//
// Owns    the pauses; one that is over stays until it is replaced or resumed, and holds nothing.
// Hears   `pause` and `resume` of people; a restart, a reload.
// Tells   nothing: who acts asks whether a pause is in force.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/event.hpp"
#include "engine/ids.hpp"
#include "engine/state.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Graph;
struct ServiceBlock;
struct Turn;
class MaintenanceWindows;

/// A pause as it holds for one service.
struct PauseInForce {
  const Pause* pause = nullptr;     ///< never null; until the engine changes
  const WidePause* wide = nullptr;  ///< whose it is; null: the service's own

  /// What is to be resumed to end it: "web", "--group webs", "all".
  [[nodiscard]] std::string resumed_by(std::string_view service) const;
  /// "", " with group webs", " with everything".
  [[nodiscard]] std::string with() const;
};

/// Whether the service is a member of that group (any case).
[[nodiscard]] bool is_in(const ServiceBlock& block, std::string_view group);

class Pauses {
 public:
  /// Requires: `graph`, the rules in force, and `maintenance` outlive it.
  Pauses(const std::shared_ptr<const Graph>& graph, const MaintenanceWindows& maintenance)
      : graph_(graph), maintenance_(maintenance) {}

  // ---- view
  /// The narrowest that is in force for a service.
  [[nodiscard]] std::optional<PauseInForce> of(ServiceId id, Instant now) const;
  [[nodiscard]] bool in_force(ServiceId id, Instant now) const { return of(id, now).has_value(); }
  /// A person's pause of everything, if it is in force; null: none is.
  [[nodiscard]] const WidePause* of_everything(Instant now) const;
  /// The pauses of everything and of groups that are in force.
  [[nodiscard]] std::vector<WidePause> wide(Instant now) const;
  /// When time alone ends one of those in force, each.
  [[nodiscard]] std::vector<WallTime> ends(Instant now) const;

  // ---- what it hears
  void pause(const event::Command& command, Turn& turn);
  void resume(const event::Command& command, Turn& turn);
  /// After a boot of the machine, whose clock may be ahead now, a pause is not over earlier than people have said.
  /// `seen`: the wall clock as the daemon before saw it last.
  void carry(WallTime seen, Turn& turn);
  /// The service has left the rules.
  void remove(ServiceId id) { own_.erase(id); }

  void restore(std::vector<WidePause> wide) { wide_ = std::move(wide); }
  void restore(ServiceId id, const SavedService& saved);
  void save(ServiceId id, SavedService& out) const;

 private:
  const std::shared_ptr<const Graph>& graph_;
  const MaintenanceWindows& maintenance_;
  std::map<ServiceId, Pause> own_;
  std::vector<WidePause> wide_;
};

/// As Pauses::carry() of one pause; whether it ends at another time now.
bool carry(Pause& pause, WallTime seen, Instant now);

}  // namespace healer::engine
