// SPDX-License-Identifier: MIT
// Composites: services made of others. A composite measures nothing: the engine sees its members itself. What changes
// in a turn is gathered, and at its end the composites that it concerns are judged, each once, members before what is
// made of them. A counted run that falls due while members are being checked is judged when these are, at the latest
// when the next one falls due.
//
// Owns    which composites are due, and what they know of the health of their members.
// Hears   that the health of a service may have changed, or a check of it has ended; a reload.
// Tells   nothing: who drains what is due judges it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "engine/events/evidence.hpp"
#include "engine/ids.hpp"
#include "engine/judging/health.hpp"
#include "engine/service_state.hpp"

namespace healer::engine {

struct Graph;
struct Rule;
class RuleStates;
class Timetable;

class Composites {
 public:
  /// Requires: all of them outlive it.
  Composites(const std::shared_ptr<const Graph>& graph, const std::vector<ServiceState>& services,
             const RuleStates& rules, const Timetable& timetable)
      : graph_(graph), services_(services), rules_(rules), timetable_(timetable) {}

  // ---- view
  /// Whether it is failed, as composites and brakes ask. A pause changes nothing of that, nor does a tolerance that is
  /// not met yet. What was failed before a reboot is not judged before it was checked; what was judged in this boot
  /// stays so.
  [[nodiscard]] Health health(ServiceId id) const;
  /// What a composite sees of its members. `counts_nameless`: those too that only fail as no name server has answered.
  [[nodiscard]] Evidence check(ServiceId id, bool counts_nameless = true) const;
  /// Whether the condition of a rule would not have held in the last run without what failed as no name server has
  /// answered: that says nothing of the other side.
  [[nodiscard]] bool holds_nameless(ServiceId id, const Rule& rule) const;
  [[nodiscard]] bool any_due() const { return !due_.empty(); }

  // ---- what it hears
  /// To be called wherever the health of a service may have changed, or a check of it has ended.
  void note(ServiceId id);
  /// A composite is to be judged at the end of the turn.
  void want(ServiceId id);
  /// After a reload all may have other members.
  void reload();
  /// Hands on each that is due, once, members first. What an action of a composite changes in those that were judged
  /// before it is for the next turn.
  void drain(const std::function<void(ServiceId)>& judge);

  /// Whether a member of a composite whose run is under way is being checked, or will be for the first time before its
  /// next run. They are waited for in their order: one that begins after it was passed over is not. `awaited` is the
  /// first of them that may be waited for, by its index, and goes on.
  [[nodiscard]] bool waits(ServiceId id, std::uint32_t& awaited) const;

  void resize(std::size_t services) { known_.resize(services, Health::Unjudged); }
  void forget(ServiceId id) { known_[id.index()] = Health::Unjudged; }

 private:
  [[nodiscard]] bool fails_nameless(ServiceId id) const;

  const std::shared_ptr<const Graph>& graph_;
  const std::vector<ServiceState>& services_;
  const RuleStates& rules_;
  const Timetable& timetable_;
  std::vector<Health> known_;                          // by service, of those that are members
  std::set<std::pair<std::uint32_t, ServiceId>> due_;  // by rank: members first
};

}  // namespace healer::engine
