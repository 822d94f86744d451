// SPDX-License-Identifier: MIT
// Tests of connections: from what is written to what is to be probed, and to canonical text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/syntax/syntax.hpp"
#include "engine/rules/settings.hpp"
#include "protocols/probe.hpp"

namespace healer::config {

/// Where a test in a service that names no host goes.
inline constexpr std::string_view kLocalHost = "localhost";

struct ConnectionFault {
  SourceRange place;
  std::string message;
  std::string remedy;  ///< empty: there is none
};

struct ConnectionReading {
  protocols::ProbePlan plan;
  std::vector<ConnectionFault> errors;    ///< with any, the plan is of no use
  std::vector<ConnectionFault> warnings;  ///< what Monit takes though it can never pass
};

/// `range`: of the whole test. `host`: of the service, which the test may replace.
[[nodiscard]] ConnectionReading read_connection(const ConnectionSyntax& test, const SourceRange& range,
                                                const std::string& host, const engine::Limits& limits);

/// `failed port 443 protocol https certificate valid > 30 days`: options in one order, secrets as "*****".
[[nodiscard]] std::string connection_text(const ConnectionSyntax& test);

}  // namespace healer::config
