// SPDX-License-Identifier: MIT
// What people say of services, beside their commands that do something: pauses, acknowledgements, maintenance windows.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/job.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/timing/cron.hpp"
#include "engine/turn.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

bool in_force(const Pause& pause, Instant now) { return !pause.until || *pause.until > now.wall; }

bool is_in(const ServiceBlock& block, std::string_view group) {
  return std::ranges::any_of(block.groups, [&](const std::string& own) { return iequals(own, group); });
}

std::string paused_text(const event::Command& command, Instant now) {
  std::string text = fmt::format("paused by {}", words_of(command.by));
  if (command.until) text += fmt::format(" for {}", format_duration(std::max(*command.until - now.wall, Duration{0})));
  if (!command.reason.empty()) text += fmt::format(": {}", command.reason);
  return text;
}

}  // namespace

std::string scope_of(const WidePause& wide) { return wide.group.empty() ? "everything" : "group " + wide.group; }

std::string PauseInForce::resumed_by(std::string_view service) const {
  if (wide == nullptr) return std::string(service);
  return wide->group.empty() ? "all" : "--group " + wide->group;
}

std::string PauseInForce::with() const { return wide == nullptr ? "" : " with " + scope_of(*wide); }

// ---- pauses -------------------------------------------------------------------------------------------------------

const WidePause* Engine::pause_of_everything(Instant now) const {
  const auto found = std::ranges::find_if(
      wide_pauses_, [&](const WidePause& wide) { return wide.group.empty() && in_force(wide.pause, now); });
  return found == wide_pauses_.end() ? nullptr : &*found;
}

std::optional<PauseInForce> Engine::pause_of(ServiceId id, Instant now) const {
  if (const Rare<Pause>& own = services_[id.index()].trouble->pause; own && in_force(*own, now))
    return PauseInForce{&*own, nullptr};
  for (const WidePause& wide : wide_pauses_)
    if (in_force(wide.pause, now) && !wide.group.empty() && is_in(graph_->at(id), wide.group))
      return PauseInForce{&wide.pause, &wide};
  const WidePause* const everything = pause_of_everything(now);
  if (everything == nullptr) return std::nullopt;
  return PauseInForce{&everything->pause, everything};
}

std::vector<WidePause> Engine::wide_pauses(Instant now) const {
  std::vector<WidePause> found;
  std::ranges::copy_if(wide_pauses_, std::back_inserter(found),
                       [&](const WidePause& wide) { return in_force(wide.pause, now); });
  return found;
}

void Engine::command_pause(const event::Command& command, Turn& turn) {
  const Pause pause{.until = command.until, .reason = command.reason, .by = command.by};
  const std::string text = paused_text(command, turn.now);
  std::vector<std::string> done;
  const auto pause_wide = [&](const std::string& group) {
    std::erase_if(wide_pauses_,
                  [&](const WidePause& wide) { return iequals(wide.group, group) || !in_force(wide.pause, turn.now); });
    wide_pauses_.push_back({group, pause});
    turn.commit.wide_pauses = wide_pauses_;
    done.push_back(scope_of(wide_pauses_.back()));
    turn.record(RecordKind::Paused, Severity::Info, {}, fmt::format("{} {}", done.back(), text));
  };
  if (command.everything) pause_wide({});
  for (const std::string& group : command.groups) pause_wide(group);
  for (const ServiceId id : command.services) {
    if (id.index() >= services_.size() || !graph_->slots[id.index()]) continue;
    const ServiceBlock& block = graph_->at(id);
    if (command.everything ||
        std::ranges::any_of(command.groups, [&](const std::string& group) { return is_in(block, group); }))
      continue;
    services_[id.index()].trouble.set(&Trouble::pause, pause);
    turn.save(id);
    turn.record(RecordKind::Paused, Severity::Info, block.name, text);
    done.push_back(block.name);
  }
  turn.replies.push_back({command.id, true, done.empty() ? "no service paused" : listed(done) + " paused"});
}

void Engine::command_resume(const event::Command& command, Turn& turn) {
  std::vector<std::string> done;
  const auto ends = [&](const WidePause& wide) {
    return command.everything ||
           std::ranges::any_of(command.groups, [&](const std::string& group) { return iequals(group, wide.group); });
  };
  for (const WidePause& wide : wide_pauses_) {
    if (!ends(wide) || !in_force(wide.pause, turn.now)) continue;
    done.push_back(scope_of(wide));
    turn.record(RecordKind::Resumed, Severity::Info, {},
                fmt::format("{} resumed by {}", done.back(), words_of(command.by)));
  }
  if (std::erase_if(wide_pauses_, ends) > 0) turn.commit.wide_pauses = wide_pauses_;
  std::vector<std::string> left;  // that had nothing to be resumed
  std::string with;               // what goes on to pause those that were named
  std::string kept_by;            // what holds such a one all the same
  for (const ServiceId id : command.services) {
    if (id.index() >= services_.size() || !graph_->slots[id.index()]) continue;
    const ServiceBlock& block = graph_->at(id);
    Sparse<Trouble>& trouble = services_[id.index()].trouble;
    const bool was_paused = trouble->pause && in_force(*trouble->pause, turn.now);
    if (trouble->pause) {
      trouble.set(&Trouble::pause, {});
      turn.save(id);
    }
    if (was_paused) turn.record(RecordKind::Resumed, Severity::Info, block.name, "resumed by " + words_of(command.by));
    (was_paused ? done : left).push_back(block.name);
    if (!was_paused && in_maintenance(id, turn.now))
      kept_by = ": its maintenance is one of the rules ('set maintenance') and ends by itself";
    if (const auto still = pause_of(id, turn.now); still && with.empty())
      with = fmt::format("{} is still paused{}, by {}: `healerctl resume {}` ends that", block.name, still->with(),
                         words_of(still->pause->by), still->resumed_by(block.name));
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

/// After a boot of the machine, whose clock may be ahead now, a pause is not over earlier than people have said.
void Engine::carry_pauses(Turn& turn) {
  if (found_.boot == 0 || found_.boot == turn.now.boot || !found_.seen) return;
  const auto carry = [&](Pause& pause) {
    if (!pause.until) return false;
    const WallTime until = carried(*pause.until, *found_.seen, turn.now);
    return std::exchange(pause.until, until) != until;
  };
  for (const ServiceId id : graph_->order)
    if (Sparse<Trouble>& trouble = services_[id.index()].trouble; trouble->pause && carry(*trouble.edit().pause))
      turn.save(id);
  for (auto& [name, absent] : absent_)
    if (absent.saved.pause && carry(*absent.saved.pause)) turn.commit.services.emplace_back(name, absent.saved);
  for (WidePause& wide : wide_pauses_)
    if (carry(wide.pause)) turn.commit.wide_pauses = wide_pauses_;
}

// ---- acknowledgements ---------------------------------------------------------------------------------------------

/// Those rules that stand failed now: one that fails later is told about as ever.
void Engine::command_acknowledge(const event::Command& command, Turn& turn) {
  std::vector<std::string> done, left;
  for (const ServiceId id : command.services) {
    if (id.index() >= services_.size() || !graph_->slots[id.index()]) continue;
    ServiceState& state = services_[id.index()];
    bool any = false;
    for (RuleState& rule : rules_of(state)) {
      if (rule.status != RuleStatus::Failed) continue;
      rule.told = Told::Acknowledged;
      any = true;
    }
    const std::string& name = graph_->at(id).name;
    (any ? done : left).push_back(name);
    if (!any) continue;
    state.trouble.set(&Trouble::acknowledged,
                      Acknowledgement{.reason = command.reason, .by = command.by, .when = turn.now.wall});
    turn.save(id);
    turn.record(RecordKind::Acknowledged, Severity::Info, name,
                fmt::format("acknowledged by {}{}{}", words_of(command.by), command.reason.empty() ? "" : ": ",
                            command.reason));
  }
  std::string text;
  if (!done.empty())
    text = fmt::format("{} acknowledged: no reminders until {} recovered", listed(done),
                       done.size() == 1 ? "it has" : "they have");
  if (!left.empty())
    text += fmt::format("{}{} {} not failed", text.empty() ? "" : "; ", listed(left), left.size() == 1 ? "is" : "are");
  turn.replies.push_back({command.id, !done.empty(), text.empty() ? "no service acknowledged" : std::move(text)});
}

/// It ends by itself when nothing is left of what was acknowledged.
void Engine::forget_acknowledgement(ServiceId id, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (!state.trouble->acknowledged || std::ranges::any_of(rules_of(state), [](const RuleState& rule) {
        return rule.status == RuleStatus::Failed && rule.told == Told::Acknowledged;
      }))
    return;
  state.trouble.set(&Trouble::acknowledged, {});
  turn.save(id);
}

// ---- maintenance --------------------------------------------------------------------------------------------------

/// When each of the windows ends that has begun last, as of this minute: it is in force until then. The beginning of
/// time: it is not.
const std::vector<WallTime>& Engine::windows(Instant now) const {
  auto& [minute, ends] = maintenance_;
  if (const std::int64_t current = minute_of(now.wall); minute != current) {
    minute = current;
    ends.clear();
    const WallTime begun = std::chrono::floor<minutes>(now.wall);
    for (const Maintenance& window : graph_->settings->maintenance) {
      const std::optional<WallTime> last = last_match(window.begin, begun - window.length, begun, civil_);
      ends.push_back(last ? *last + window.length : WallTime::min());
    }
  }
  return ends;
}

/// When the first of the windows ends that are in force; none: none is.
std::optional<WallTime> Engine::window_ends(Instant now) const {
  std::optional<WallTime> first;
  if (graph_->settings->maintenance.empty()) return first;
  for (const WallTime end : windows(now))
    if (end > now.wall) first = std::min(first.value_or(end), end);
  return first;
}

bool Engine::in_maintenance(ServiceId id, Instant now) const {
  const std::vector<Maintenance>& all = graph_->settings->maintenance;
  if (all.empty()) return false;
  const std::vector<WallTime>& ends = windows(now);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (ends[i] > now.wall && (all[i].group.empty() || is_in(graph_->at(id), all[i].group))) return true;
  return false;
}

bool Engine::all_in_maintenance(Instant now) const {
  const std::vector<Maintenance>& all = graph_->settings->maintenance;
  if (all.empty()) return false;
  const std::vector<WallTime>& ends = windows(now);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (ends[i] > now.wall && all[i].group.empty()) return true;
  return false;
}

/// Whether a rule of it stands failed, and maintenance keeps that from people.
bool Engine::keeps_alert(ServiceId id) const {
  return std::ranges::any_of(
      rules(id), [](const RuleState& rule) { return rule.status == RuleStatus::Failed && rule.told == Told::Kept; });
}

void Engine::keep_alert(ServiceId id, Instant now) {
  if (keeps_alerts_.insert(id).second && !release_at_) release_at_ = now.mono;
}

/// Whose alert was held is looked at when its window is over, however rarely that is done else: what still fails is
/// told then. The wall clock ends windows, and may be set.
void Engine::release_alerts(Turn& turn) {
  if (keeps_alerts_.empty()) return;
  const std::optional<WallTime> end = window_ends(turn.now);
  if (!end || end != first_window_ || *release_at_ <= turn.now.mono) {
    first_window_ = end;
    const Duration soonest = std::max(turn.now.mono, started_at_.mono + graph_->settings->start_delay);
    std::erase_if(keeps_alerts_, [&](ServiceId id) {
      const bool known = graph_->slots[id.index()] != nullptr;
      if (known && in_maintenance(id, turn.now)) return false;
      if (known && keeps_alert(id)) look_later(id, Reason::Again, soonest);
      return true;
    });
  }
  release_at_.reset();
  if (!keeps_alerts_.empty()) release_at_ = turn.now.mono + (*end - turn.now.wall);
}

}  // namespace healer::engine
