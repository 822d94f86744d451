// SPDX-License-Identifier: MIT
#include "simulation/simulated_operator_commands.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/healing/named.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using CommandKind = ScriptedCommand::Kind;

/// The command to healer that one of a script is; none: it is no such command.
std::optional<event::Command::Kind> command_kind(CommandKind kind) {
  using To = event::Command::Kind;
  switch (kind) {
    case CommandKind::Monitor: return To::Monitor;
    case CommandKind::Unmonitor: return To::Unmonitor;
    case CommandKind::Validate: return To::Validate;
    case CommandKind::Accept: return To::Accept;
    case CommandKind::Start: return To::Start;
    case CommandKind::Stop: return To::Stop;
    case CommandKind::Restart: return To::Restart;
    case CommandKind::Pause: return To::Pause;
    case CommandKind::Resume: return To::Resume;
    case CommandKind::Acknowledge: return To::Acknowledge;
    case CommandKind::Heal: return To::Heal;
    case CommandKind::Approve: return To::Approve;
    case CommandKind::Reject: return To::Reject;
    case CommandKind::Cancel: return To::Cancel;
    case CommandKind::ResetHealing: return To::ResetHealing;
    case CommandKind::Fails:
    case CommandKind::Recovers:
    case CommandKind::Dies:
    case CommandKind::Hangs:
    case CommandKind::ComesUp:
    case CommandKind::Crash:
    case CommandKind::Reboot:
    case CommandKind::StepClock:
    case CommandKind::SetClock:
    case CommandKind::ListSays:
    case CommandKind::AcceptList:
    case CommandKind::ForgetRow:
    case CommandKind::Beat:
    case CommandKind::Occurs: break;
  }
  return std::nullopt;
}

}  // namespace

std::string not_there(const std::vector<std::string>& services) {
  return fmt::format("{} {} not in the rules now", join_words(services, "and"), services.size() == 1 ? "is" : "are");
}

std::optional<event::Command> order_of(const ScriptedCommand& command, const Engine& engine, Instant now,
                                       std::string& why) {
  const auto kind = command_kind(command.kind);
  if (!kind) return std::nullopt;
  event::Command order{.id = {},
                       .kind = *kind,
                       .by = ByPerson{.name = "the script", .via = Via::Script},
                       .workflow = command.workflow,
                       .overrides = command.overrides,
                       .everything = command.everything,
                       .groups = command.groups};
  if ((command.kind == CommandKind::Pause || command.kind == CommandKind::Unmonitor) && command.span > Duration{0})
    order.until = now.wall + command.span;
  for (const std::string& name : command.services)
    if (const auto id = engine.graph()->find(name)) order.services.push_back(*id);
  if (order.services.empty() && !command.services.empty()) {
    why = not_there(command.services);
    return std::nullopt;
  }
  if (command.target.empty()) return order;
  // People know a healing by its number, a script by its target.
  const bool decides = command.kind == CommandKind::Approve || command.kind == CommandKind::Reject;
  const Healing* const meant = healing_meant(engine.healings(), command.target, decides);
  if (meant == nullptr) {
    why = decides ? fmt::format("no healing of {} waits for approval", command.target)
                  : fmt::format("there is no healing of {}", command.target);
    return std::nullopt;
  }
  order.job = JobId{meant->id.number()};
  return order;
}

}  // namespace healer::engine
