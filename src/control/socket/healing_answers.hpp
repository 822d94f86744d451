// SPDX-License-Identifier: MIT
// The answers about healing, and what people may say of it. On the loop thread.
#pragma once

#include <memory>
#include <optional>

#include "control/commands.hpp"

namespace healer::control {

/// `healing status` and `healing report`. Requires: `daemon` outlives the answer.
[[nodiscard]] std::unique_ptr<Answer> answer_healing(const Supervisor& daemon, Verb verb);

/// Why heal, approve, reject or the reset of a workflow cannot be done; none: it is told to the engine.
[[nodiscard]] std::optional<Failure> cannot_heal(const engine::Engine& engine, const Request& request);

/// approve, reject, cancel: of a request that names a target or a service, or a number that may be the name of one,
/// finds the number of the healing that is meant. Why there is none; nothing: `request.id` has it.
[[nodiscard]] std::optional<Failure> find_healing(const engine::Engine& engine, Request& request);

/// What a request overrides. Requires: cannot_heal() has found nothing wrong.
[[nodiscard]] engine::Overrides overrides_of(const Request& request);

}  // namespace healer::control
