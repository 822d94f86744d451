// SPDX-License-Identifier: MIT
// Healings, with their plans, and what is remembered of them, as JSON text, as the journal holds them.
//
// Nothing is lost on the way there and back. A field that a later healer has added is passed over; one that is missing
// has its default. What else is not as it was written is an error: a plan that is half understood is not gone by.
#pragma once

#include <string>
#include <string_view>

#include "engine/healing/healing.hpp"
#include "engine/occurrence.hpp"
#include "util/result.hpp"

namespace healer::store {

[[nodiscard]] std::string to_json(const engine::Healing& healing);
[[nodiscard]] std::string to_json(const engine::TargetMemory& target);
[[nodiscard]] std::string to_json(const engine::WorkflowMemory& workflow);
[[nodiscard]] std::string to_json(const engine::ClosedBrake& brake);
/// Without its document.
[[nodiscard]] std::string to_json(const engine::Occurrence& event);
[[nodiscard]] std::string to_json(const engine::EventFields& fields);

/// It has a plan and a cause, a guard where that is asked, and the steps that are under way.
[[nodiscard]] Result<engine::Healing> healing_from_json(std::string_view text);
[[nodiscard]] Result<engine::TargetMemory> target_from_json(std::string_view text);
[[nodiscard]] Result<engine::WorkflowMemory> workflow_from_json(std::string_view text);
[[nodiscard]] Result<engine::ClosedBrake> brake_from_json(std::string_view text);
[[nodiscard]] Result<engine::Occurrence> occurrence_from_json(std::string_view text);
[[nodiscard]] Result<engine::EventFields> event_fields_from_json(std::string_view text);

}  // namespace healer::store
