// SPDX-License-Identifier: MIT
#include "engine/parts/presence.hpp"

#include <utility>

namespace healer::engine {
namespace {

constexpr std::array<std::string_view, kPresenceStates> kPresenceNames{"unseen", "believed", "up",
                                                                       "absent", "gone",     "lost"};
constexpr std::array<std::string_view, kChildStates> kChildNames{"none",  "starting", "believed", "living",
                                                                 "ready", "ending",   "former"};

}  // namespace

std::string_view to_string(PresenceState state) { return kPresenceNames[static_cast<std::size_t>(state)]; }
std::string_view to_string(ChildState state) { return kChildNames[static_cast<std::size_t>(state)]; }

// ---- presence -----------------------------------------------------------------------------------------------------

Presence Presence::believed() {
  Presence presence;
  presence.state_ = PresenceState::Believed;
  return presence;
}

PresenceReaction Presence::on(PresenceEvent event) {
  const auto [state, doing] = next(state_, event);
  state_ = state;
  return doing;
}

PresenceReaction Presence::on(PresenceEvent event, std::string how) {
  gone_.set(&Gone::how, std::move(how));
  return on(event);
}

// ---- child --------------------------------------------------------------------------------------------------------

void Child::begin(ActionId action) {
  on(ChildEvent::Begun);
  about_ = {.action = action};
  last_status_.reset();
}

void Child::adopt(ActionId action) {
  on(ChildEvent::Adopted);
  about_ = {.action = action, .adopted = true};
}

ChildReaction Child::reported(std::int64_t pid, std::uint64_t ticks, Duration mono) {
  about_.pid = pid;
  about_.start_ticks = ticks;
  about_.since = mono;
  return on(ChildEvent::PidReported);
}

void Child::keep(std::int64_t pid, std::uint64_t ticks, Duration mono) {
  on(ChildEvent::Kept);
  about_ = {.pid = pid, .start_ticks = ticks, .since = mono};
}

ChildReaction Child::ended(std::string how, std::optional<std::int64_t> status) {
  const bool silent = about_.silent;
  about_ = {};
  last_end_ = std::move(how);
  ChildReaction doing = on(ChildEvent::Ended);
  if (silent && doing == ChildReaction::End) doing = ChildReaction::Death;  // nobody wanted it to be gone
  last_status_ = doing == ChildReaction::Death ? status : std::nullopt;
  return doing;
}

void Child::let_go() {
  about_ = {};
  on(ChildEvent::Ended);
}

ChildReaction Child::on(ChildEvent event) {
  const auto [state, doing] = next(state_, event);
  state_ = state;
  return doing;
}

}  // namespace healer::engine
