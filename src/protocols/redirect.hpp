// SPDX-License-Identifier: MIT
// Where a probe continues after an HTTP redirect.
#pragma once

#include "protocols/probe.hpp"
#include "util/result.hpp"

namespace healer::protocols {

/// The plan for the other place, with one redirect less to follow. What names or proves somebody (credentials, headers)
/// goes to no other host or port. Errors: the place is none of HTTP, would take what TLS protects out of it, or would
/// give a body to somebody else.
[[nodiscard]] Result<ProbePlan> redirected(const ProbePlan& plan, const Want::Elsewhere& place);

}  // namespace healer::protocols
