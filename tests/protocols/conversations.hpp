// SPDX-License-Identifier: MIT
// Verdicts of conversations, the same however the server's bytes are cut.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support/talk.hpp"

namespace healer::test {

using namespace healer::protocols;

struct Conversed {
  std::string verdict;
  std::string sent;
};

/// What `name` makes of a server that says these parts; whole and byte by byte alike.
inline Conversed talk(std::string_view name, const std::vector<Setting>& settings,
                      const std::vector<std::string>& script, bool closes = true, protocols::Limits limits = {}) {
  const Protocol* protocol = find_protocol(name);
  REQUIRE(protocol != nullptr);
  const Order order{.host = "shop.example", .port = protocol->port, .settings = settings, .limits = limits};
  Conversed first;
  for (const std::size_t piece : {std::string::npos, std::size_t{1}, std::size_t{7}}) {
    Talk server;
    server.piece = piece;
    server.closes = closes;
    const auto conversation = protocol->make(order);
    const std::string verdict = server.play(*conversation, script);
    if (piece == std::string::npos) {
      first = {verdict, server.sent};
    } else {
      CAPTURE(piece);
      CHECK(verdict == first.verdict);
      // Frames of HTTP/2 are answered as they come, so many or few at a time.
      if (order.find("http2") == nullptr && name != "grpc") CHECK(server.sent == first.sent);
    }
  }
  return first;
}

}  // namespace healer::test
