// SPDX-License-Identifier: MIT
#include "engine/parts/pauses.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/deadline.hpp"
#include "engine/job.hpp"
#include "engine/parts/maintenance.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

bool holds(const Pause& pause, Instant now) { return !pause.until || *pause.until > now.wall; }

std::string paused_text(const event::Command& command, Instant now) {
  std::string text = fmt::format("paused by {}", words_of(command.by));
  if (command.until) text += fmt::format(" for {}", format_duration(std::max(*command.until - now.wall, Duration{0})));
  if (!command.reason.empty()) text += fmt::format(": {}", command.reason);
  return text;
}

}  // namespace

bool is_in(const ServiceBlock& block, std::string_view group) {
  return std::ranges::any_of(block.groups, [&](const std::string& own) { return iequals(own, group); });
}

std::string scope_of(const WidePause& wide) { return wide.group.empty() ? "everything" : "group " + wide.group; }

std::string PauseInForce::resumed_by(std::string_view service) const {
  if (wide == nullptr) return std::string(service);
  return wide->group.empty() ? "all" : "--group " + wide->group;
}

std::string PauseInForce::with() const { return wide == nullptr ? "" : " with " + scope_of(*wide); }

// ---- view ---------------------------------------------------------------------------------------------------------

const WidePause* Pauses::of_everything(Instant now) const {
  const auto found =
      std::ranges::find_if(wide_, [&](const WidePause& wide) { return wide.group.empty() && holds(wide.pause, now); });
  return found == wide_.end() ? nullptr : &*found;
}

std::optional<PauseInForce> Pauses::of(ServiceId id, Instant now) const {
  if (const auto own = own_.find(id); own != own_.end() && holds(own->second, now))
    return PauseInForce{&own->second, nullptr};
  for (const WidePause& wide : wide_)
    if (holds(wide.pause, now) && !wide.group.empty() && is_in(graph_->at(id), wide.group))
      return PauseInForce{&wide.pause, &wide};
  const WidePause* const everything = of_everything(now);
  if (everything == nullptr) return std::nullopt;
  return PauseInForce{&everything->pause, everything};
}

std::vector<WidePause> Pauses::wide(Instant now) const {
  std::vector<WidePause> found;
  std::ranges::copy_if(wide_, std::back_inserter(found), [&](const WidePause& wide) { return holds(wide.pause, now); });
  return found;
}

std::vector<WallTime> Pauses::ends(Instant now) const {
  std::vector<WallTime> found;
  const auto add = [&](const Pause& pause) {
    if (pause.until && *pause.until > now.wall) found.push_back(*pause.until);
  };
  for (const WidePause& wide : wide_) add(wide.pause);
  for (const auto& [id, pause] : own_) add(pause);
  return found;
}

// ---- what it hears ------------------------------------------------------------------------------------------------

void Pauses::pause(const event::Command& command, Turn& turn) {
  const Pause pause{.until = command.until, .reason = command.reason, .by = command.by};
  const std::string text = paused_text(command, turn.now);
  std::vector<std::string> done;
  const auto pause_wide = [&](const std::string& group) {
    std::erase_if(wide_,
                  [&](const WidePause& wide) { return iequals(wide.group, group) || !holds(wide.pause, turn.now); });
    wide_.push_back({group, pause});
    turn.commit().wide_pauses = wide_;
    done.push_back(scope_of(wide_.back()));
    turn.record(RecordKind::Paused, Severity::Info, {}, fmt::format("{} {}", done.back(), text));
  };
  if (command.everything) pause_wide({});
  for (const std::string& group : command.groups) pause_wide(group);
  for (const ServiceId id : command.services) {
    const ServiceBlock* const block = graph_->block(id);
    if (block == nullptr || command.everything ||
        std::ranges::any_of(command.groups, [&](const std::string& group) { return is_in(*block, group); }))
      continue;
    own_.insert_or_assign(id, pause);
    turn.save(id);
    turn.record(RecordKind::Paused, Severity::Info, block->name, text);
    done.push_back(block->name);
  }
  turn.replies.push_back({command.id, true, done.empty() ? "no service paused" : listed(done) + " paused"});
}

void Pauses::resume(const event::Command& command, Turn& turn) {
  std::vector<std::string> done;
  const auto ends = [&](const WidePause& wide) {
    return command.everything ||
           std::ranges::any_of(command.groups, [&](const std::string& group) { return iequals(group, wide.group); });
  };
  for (const WidePause& wide : wide_) {
    if (!ends(wide) || !holds(wide.pause, turn.now)) continue;
    done.push_back(scope_of(wide));
    turn.record(RecordKind::Resumed, Severity::Info, {},
                fmt::format("{} resumed by {}", done.back(), words_of(command.by)));
  }
  if (std::erase_if(wide_, ends) > 0) turn.commit().wide_pauses = wide_;
  std::vector<std::string> left;  // that had nothing to be resumed
  std::string with;               // what goes on to pause those that were named
  std::string kept_by;            // what holds such a one all the same
  for (const ServiceId id : command.services) {
    const ServiceBlock* const block = graph_->block(id);
    if (block == nullptr) continue;
    const auto own = own_.find(id);
    const bool was_paused = own != own_.end() && holds(own->second, turn.now);
    if (own != own_.end()) {
      own_.erase(own);
      turn.save(id);
    }
    if (was_paused) turn.record(RecordKind::Resumed, Severity::Info, block->name, "resumed by " + words_of(command.by));
    (was_paused ? done : left).push_back(block->name);
    if (!was_paused && maintenance_.in_force(id, turn.now))
      kept_by = ": its maintenance is one of the rules ('set maintenance') and ends by itself";
    if (const auto still = of(id, turn.now); still && with.empty())
      with = fmt::format("{} is still paused{}, by {}: `healerctl resume {}` ends that", block->name, still->with(),
                         words_of(still->pause->by), still->resumed_by(block->name));
  }
  std::string text;
  if (!done.empty())
    text = listed(done) + " resumed";
  else if (with.empty())
    text = left.empty()                          ? "no service resumed"
           : left.size() == 1                    ? left.front() + " is not paused" + kept_by
           : left.size() == graph_->order.size() ? "no service is paused"
                                                 : fmt::format("none of {} is paused", listed(left));
  if (!with.empty()) text += (text.empty() ? "" : "; ") + with;
  turn.replies.push_back({command.id, true, std::move(text)});
}

bool carry(Pause& pause, WallTime seen, Instant now) {
  if (!pause.until) return false;
  const WallTime until = carried(*pause.until, seen, now);
  return std::exchange(pause.until, until) != until;
}

void Pauses::carry(WallTime seen, Turn& turn) {
  for (const ServiceId id : graph_->order)
    if (const auto own = own_.find(id); own != own_.end() && engine::carry(own->second, seen, turn.now)) turn.save(id);
  for (WidePause& wide : wide_)
    if (engine::carry(wide.pause, seen, turn.now)) turn.commit().wide_pauses = wide_;
}

void Pauses::restore(ServiceId id, const SavedService& saved) {
  own_.erase(id);
  if (saved.pause) own_.emplace(id, *saved.pause);
}

void Pauses::save(ServiceId id, SavedService& out) const {
  if (const auto own = own_.find(id); own != own_.end()) out.pause = own->second;
}

}  // namespace healer::engine
