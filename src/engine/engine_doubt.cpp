// SPDX-License-Identifier: MIT
// Whether healer doubts what it sees, and when such a doubt ends.
#include <algorithm>
#include <chrono>
#include <string>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

/// The loop was late by so much: what is seen of others may be healer's own trouble.
constexpr Duration kLate = seconds{1};
/// A step of the wall clock by more than this casts doubt on what was seen.
constexpr Duration kClockStep = minutes{1};

}  // namespace

/// Wake has come late, or the wall clock was set: what was seen of others may be healer's own trouble.
void Engine::note_doubts(Turn& turn) {
  const Duration until = turn.now.mono + graph_->settings->cycle_length();
  if (const auto due = next_deadline(); due && turn.now.mono - *due > kLate)
    doubt_ = {until, fmt::format("healer's own event loop was late by {}", format_duration(turn.now.mono - *due))};
  const Duration offset = turn.now.wall.time_since_epoch() - turn.now.mono;
  if (std::chrono::abs(offset - timetable_.clock_offset()) > kClockStep) doubt_ = {until, "the system clock was set"};
}

std::string Engine::doubt(Instant now) const {
  if (journal_sick_) return "the state cannot be written";
  if (now.mono - started_at_.mono < graph_->settings->cycle_length()) return "healer has just started";
  if (doubt_ && now.mono < doubt_->first) return doubt_->second;
  for (const std::string& name : graph_->settings->healing.only_while) {
    const std::optional<ServiceId> id = graph_->find(name);
    if (!id) return fmt::format("{}, which must be healthy, is not in the rules", name);
    if (paused(*id, now)) return fmt::format("{}, which must be healthy, is paused", name);
    if (const Health its = health(*id); its != Health::Ok)
      return fmt::format("{}, which must be healthy, is {}", name, to_string(its));
  }
  return {};
}

/// When time alone ends, first, a doubt, a person's pause or a maintenance window.
std::optional<Duration> Engine::time_releases(Instant now) const {
  std::optional<Duration> first;
  const auto at = [&](Duration when) {
    if (when > now.mono) first = std::min(first.value_or(when), when);
  };
  const auto at_wall = [&](WallTime when) { at(now.mono + (when - now.wall)); };
  at(started_at_.mono + graph_->settings->cycle_length());
  if (doubt_) at(doubt_->first);
  for (const WidePause& wide : wide_pauses_)
    if (wide.pause.until) at_wall(*wide.pause.until);
  for (const ServiceId id : graph_->order)
    if (const Rare<Pause>& pause = services_[id.index()].trouble->pause; pause && pause->until) at_wall(*pause->until);
  if (const auto end = window_ends(now)) at_wall(*end);
  return first;
}

}  // namespace healer::engine
