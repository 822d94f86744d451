// SPDX-License-Identifier: MIT
#include <algorithm>

#include "conversations.hpp"

namespace registry_test {

using namespace healer::test;

TEST_CASE("the registry knows each protocol once, in order, and makes it", "[protocols][registry]") {
  const auto all = registry();
  CHECK(std::ranges::is_sorted(all, {}, &Protocol::name));
  for (const Protocol* protocol : all) {
    CAPTURE(std::string(protocol->name));
    CHECK(find_protocol(protocol->name) == protocol);
    CHECK_FALSE(protocol->title.empty());
    const std::vector<Setting> none;
    CHECK(protocol->make({.host = "h", .port = 1, .settings = none, .limits = {}}) != nullptr);
    for (const Option& option : protocol->options)
      CHECK((option.type == OptionType::Choice) == !option.choices.empty());
  }
  CHECK(find_protocol("HTTP") == find_protocol("http"));
  CHECK(find_protocol("gopher") == nullptr);
}

TEST_CASE("no server makes a conversation speak before it is waited for or keep what it need not",
          "[protocols][registry]") {
  // Whatever a server sends byte by byte, each protocol comes to a verdict or waits; it never grows beyond its limits.
  for (const Protocol* protocol : registry()) {
    CAPTURE(std::string(protocol->name));
    for (const char byte : {'\0', '\n', '2', '+', '\xff'}) {
      const std::vector<Setting> none;
      const auto conversation = protocol->make(
          {.host = "h", .port = 1, .settings = none, .limits = {}, .now = [] { return healer::WallTime{}; }});
      Talk server;
      server.piece = 4096;
      server.closes = false;
      const std::string verdict = server.play(*conversation, {std::string(4'000'000, byte)});
      CHECK((verdict.starts_with("pass") || verdict.starts_with("fail")));
      CHECK(verdict.size() < 500);
    }
  }
}

}  // namespace registry_test
