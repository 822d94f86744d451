// SPDX-License-Identifier: MIT
#include "engine/job_step_run.hpp"

namespace healer::engine {

void JobStepRun::await(ServiceId other) {
  if (auto* const awaiting = std::get_if<Awaiting>(&state)) {
    awaiting->service = other;
    return;
  }
  Awaiting awaiting{.service = other};
  if (auto* const held = std::get_if<Held>(&state)) awaiting.before = std::move(*held);
  state = std::move(awaiting);
}

void JobStepRun::await_no_more() {
  auto* const awaiting = std::get_if<Awaiting>(&state);
  if (awaiting == nullptr) return;
  std::optional<Held> before = std::move(awaiting->before);
  if (before)
    state = *std::move(before);
  else
    state = Looking{};
}

JobStepRun::Held& JobStepRun::hold(Duration until) {
  auto* const held = std::get_if<Held>(&state);
  return held != nullptr ? *held : state.emplace<Held>(Held{.until = until, .failure = {}});
}

void JobStepRun::ended(std::string failure) { state = Ran{.action = action(), .failure = std::move(failure)}; }

void JobStepRun::signal(std::int64_t pid, std::uint64_t start_ticks) {
  const Signalled* const before = signalled();
  state = Signalled{.pid = pid,
                    .start_ticks = start_ticks,
                    .killed = before != nullptr && before->killed,
                    .replaced = before != nullptr};
}

void JobStepRun::follow() {
  if (!acting()) state = Following{};
}

bool JobStepRun::acting() const {
  return !std::holds_alternative<Looking>(state) && !std::holds_alternative<Awaiting>(state) &&
         !std::holds_alternative<Held>(state);
}

ActionId JobStepRun::action() const {
  const auto* const ran = std::get_if<Ran>(&state);
  return ran != nullptr ? ran->action : running();
}

ActionId JobStepRun::running() const {
  const auto* const running = std::get_if<Running>(&state);
  return running != nullptr ? running->action : ActionId{};
}

std::string JobStepRun::failure() const {
  if (const auto* const ran = std::get_if<Ran>(&state)) return ran->failure;
  if (const auto* const held = std::get_if<Held>(&state)) return held->failure;
  const auto* const awaiting = std::get_if<Awaiting>(&state);
  return awaiting != nullptr && awaiting->before ? awaiting->before->failure : std::string();
}

bool JobStepRun::ran_well() const {
  const auto* const ran = std::get_if<Ran>(&state);
  return ran != nullptr && ran->failure.empty();
}

std::optional<ServiceId> JobStepRun::awaited() const {
  const auto* const awaiting = std::get_if<Awaiting>(&state);
  return awaiting == nullptr ? std::nullopt : std::optional(awaiting->service);
}

}  // namespace healer::engine
