// SPDX-License-Identifier: MIT
// A connection test as a person types it, in the words of the rules language and by its grammar: "port 443 protocol
// https request '/x' and certificate valid > 30 days", "ping count 5", "unixsocket /run/x.sock", "url https://shop/".
#pragma once

#include <optional>
#include <string_view>

#include "config/diagnostic.hpp"
#include "config/source.hpp"
#include "protocols/probe.hpp"

namespace healer::config {

struct ProbeReading {
  std::optional<protocols::ProbePlan> plan;  ///< absent: `said` has an error
  Diagnostics diagnostics;
  Sources sources;  ///< what `said` is about
};

/// The plan of `text` for `host`, which the text may replace (`host`, `url`). `failed` may stand before it, `if` before
/// that, and `then ...` behind it is read over. As nowhere in rules the port may be left out where the protocol has
/// one. An empty text means a ping. What follows a URL or the path of a unix socket belongs to its test: it is read as
/// if `url URL` or `unixsocket PATH` stood before it, unless it names another path or URL.
[[nodiscard]] ProbeReading read_probe(std::string_view host, std::string_view text);

}  // namespace healer::config
