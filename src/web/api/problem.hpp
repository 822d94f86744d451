// SPDX-License-Identifier: MIT
// What the API answers where a request was not done: application/problem+json (RFC 9457), with the code and the remedy
// of the control protocol.
#pragma once

#include <string>
#include <string_view>

#include "control/wire.hpp"
#include "web/message.hpp"

namespace healer::web {

inline constexpr std::string_view kProblemType = "application/problem+json";

/// The status that goes with the code of a failure.
[[nodiscard]] unsigned status_of(const control::Failure& failure);

[[nodiscard]] Response problem(const control::Failure& failure);
/// The same with another status than that of its code: of the server, which knows more of HTTP than the code says.
[[nodiscard]] Response problem(const control::Failure& failure, unsigned status);

/// A text with the API's requests in place of healerctl's commands: for whoever asks by HTTP.
[[nodiscard]] std::string for_http(std::string_view text);
/// A problem whose remedy is such a text.
[[nodiscard]] Response with_http_remedy(Response response);

/// A refusal in plain text, as the server and the site write them, as a problem; its headers stay.
[[nodiscard]] Response as_problem(Response refusal);

}  // namespace healer::web
