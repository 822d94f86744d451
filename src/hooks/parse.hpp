// SPDX-License-Identifier: MIT
// Private to hooks: reading JSON that somebody has sent, and what the formats have in common.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "hooks/read.hpp"

namespace healer::hooks {

using Json = nlohmann::json;

/// Values nest no deeper: what writes them again calls itself for each level.
inline constexpr std::size_t kDeepest = 64;
/// The longest id and the longest state, in bytes: they are kept for each event, the document is not.
inline constexpr std::size_t kLongestId = 1024;

/// A document, or why it is none.
[[nodiscard]] std::variant<Json, Refusal> parse(std::string_view text);
[[nodiscard]] std::string write(const Json& value);
/// The text of a field that is a string and not empty; nothing: it is missing, or something else.
[[nodiscard]] std::optional<std::string> text_of(const Json& object, std::string_view field);
/// An id for what has none of its own: the same for the same text.
[[nodiscard]] std::string hash_of(std::string_view text);
/// That a field is not what it must be.
[[nodiscard]] Refusal lacks(std::string_view what, std::string_view field);

/// Whether that is what Aodh tells of an alarm.
[[nodiscard]] bool is_alarm(const Json& value);
/// The event of an alarm. Requires: is_alarm().
[[nodiscard]] Occurrence alarm(Json value);

[[nodiscard]] Reading read_aodh(const Message& message);
[[nodiscard]] Reading read_zaqar(const Message& message);
[[nodiscard]] Reading read_alertmanager(const Message& message);
[[nodiscard]] Reading read_cloud_event(const Message& message);

}  // namespace healer::hooks
