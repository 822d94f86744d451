// SPDX-License-Identifier: MIT
// `open`: who gets an address, and for whom it is made.
#include <catch2/catch.hpp>
#include <string>
#include <variant>

#include "control/daemon_world.hpp"

namespace open_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;

TEST_CASE("open is answered by an address for whoever asks, or by why there is none", "[control][open]") {
  DaemonWorld daemon(two_services());
  const auto told = [&](const Asker& who) {
    std::string text;
    daemon.act([&](World&) {
      Peer peer;
      peer.who = who;
      (void)daemon.commands().handle({.verb = Verb::Open}, peer, [] {})->pull(text, 100'000);
    });
    return text;
  };
  const Asker john{.name = "john", .role = engine::Role::Operator};
  daemon.on_open = [](const Asker& who) -> std::variant<std::string, Failure> {
    return "http://127.0.0.1:2812/login?once=of-" + who.name + "-" + std::string(to_string(*who.role));
  };
  CHECK_THAT(told(john), Catch::Contains("http://127.0.0.1:2812/login?once=of-john-operator"));
  CHECK_THAT(told({.name = "uid 7", .role = std::nullopt}), Catch::Contains("\"denied\""));
  daemon.on_open = [](const Asker&) -> std::variant<std::string, Failure> {
    return Failure{"no-http", "nothing is answered over HTTP", "say so"};
  };
  CHECK_THAT(told(john), Catch::Contains("\"code\":\"no-http\""));
}

}  // namespace open_test
