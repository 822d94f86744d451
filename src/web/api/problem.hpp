// SPDX-License-Identifier: MIT
// What the API answers where a request was not done: application/problem+json (RFC 9457), with the code and the remedy
// of the control protocol.
#pragma once

#include "control/wire.hpp"
#include "web/message.hpp"

namespace healer::web {

/// The status that goes with the code of a failure.
[[nodiscard]] unsigned status_of(const control::Failure& failure);

[[nodiscard]] Response problem(const control::Failure& failure);
/// The same with another status than that of its code: of the server, which knows more of HTTP than the code says.
[[nodiscard]] Response problem(const control::Failure& failure, unsigned status);

/// A refusal in plain text, as the server and the site write them, as a problem; its headers stay.
[[nodiscard]] Response as_problem(Response refusal);

}  // namespace healer::web
