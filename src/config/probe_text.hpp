// SPDX-License-Identifier: MIT
// A connection test as a person types it, in the words of the rules language: "port 443 protocol https request '/x' and
// certificate valid > 30 days", "ping count 5", "unixsocket /run/x.sock", "url https://shop/". Options of a protocol
// are read by the descriptors of src/protocols.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "protocols/probe.hpp"

namespace healer::config {

/// What is wrong with a text, and where.
struct ProbeTextFault {
  std::size_t begin = 0;
  std::size_t length = 0;
  std::string message;
  std::string remedy;  ///< empty: there is none
};

/// The plan of `text` for `host`, which the text may replace (`host`, `url`). `if failed` before it and `then ...`
/// behind it are read over. An empty text means a ping, of a URL its request, of a path its unix socket.
[[nodiscard]] std::variant<protocols::ProbePlan, ProbeTextFault> read_probe(std::string_view host,
                                                                            std::string_view text);

/// The text with a caret under the fault, and the remedy: two or three lines, each with its end.
[[nodiscard]] std::string show_fault(std::string_view text, const ProbeTextFault& fault);

}  // namespace healer::config
