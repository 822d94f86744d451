// SPDX-License-Identifier: MIT
#include "engine/simulated_people.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using Kind = ScriptedCommand::Kind;

/// The command to healer that one of a script is; none: it is no such command.
std::optional<event::Command::Kind> command_kind(Kind kind) {
  using To = event::Command::Kind;
  switch (kind) {
    case Kind::Monitor: return To::Monitor;
    case Kind::Unmonitor: return To::Unmonitor;
    case Kind::Validate: return To::Validate;
    case Kind::Accept: return To::Accept;
    case Kind::Start: return To::Start;
    case Kind::Stop: return To::Stop;
    case Kind::Restart: return To::Restart;
    case Kind::Pause: return To::Pause;
    case Kind::Resume: return To::Resume;
    case Kind::Acknowledge: return To::Acknowledge;
    case Kind::Heal: return To::Heal;
    case Kind::Approve: return To::Approve;
    case Kind::Reject: return To::Reject;
    case Kind::Cancel: return To::Cancel;
    case Kind::ResetHealing: return To::ResetHealing;
    case Kind::Fails:
    case Kind::Recovers:
    case Kind::Dies:
    case Kind::ComesUp:
    case Kind::Crash:
    case Kind::Reboot:
    case Kind::StepClock:
    case Kind::SetClock: break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<event::Command> order_of(const ScriptedCommand& command, const Engine& engine, Instant now,
                                       std::string& why) {
  const auto kind = command_kind(command.kind);
  if (!kind) return std::nullopt;
  event::Command told{.id = {},
                      .kind = *kind,
                      .by = "the script",
                      .workflow = command.workflow,
                      .overrides = command.overrides,
                      .everything = command.everything,
                      .groups = command.groups};
  if (command.kind == Kind::Pause && command.span > Duration{0}) told.until = now.wall + command.span;
  for (const std::string& name : command.services)
    if (const auto id = engine.graph()->find(name)) told.services.push_back(*id);
  if (command.target.empty()) return told;
  // People know a healing by its number, a script by its target.
  const bool decides = command.kind == Kind::Approve || command.kind == Kind::Reject;
  const auto& healings = engine.healings().all();
  const auto found = std::ranges::find_if(healings, [&](const auto& entry) {
    return iequals(entry.second.target, command.target) && (!decides || entry.second.stage == Healing::Stage::Approval);
  });
  if (found == healings.end()) {
    why = decides ? fmt::format("no healing of {} waits for approval", command.target)
                  : fmt::format("there is no healing of {}", command.target);
    return std::nullopt;
  }
  told.job = JobId{found->first.number()};
  return told;
}

}  // namespace healer::engine
