// SPDX-License-Identifier: MIT
#include "conversations.hpp"

namespace redis_test {

using healer::test::talk;

TEST_CASE("Redis answers PING", "[protocols][redis]") {
  const auto done = talk("redis", {}, {"+PONG\r\n"});
  CHECK(done.verdict == "pass: it answers PING");
  CHECK(done.sent == "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n");
  CHECK(talk("redis", {}, {"+PONG"}).verdict == "pass: it answers PING");  // and closes
  CHECK(talk("redis", {}, {"-NOAUTH Authentication required.\r\n"}).verdict ==
        "pass: it answers PING, but requires a password for more");
}

TEST_CASE("a Redis that cannot serve has failed", "[protocols][redis]") {
  const auto fails = [](const std::string& line) {
    CHECK(talk("redis", {}, {line + "\r\n"}).verdict == "fail: its answer to PING is \"" + line + '"');
  };
  fails("-LOADING Redis is loading the dataset in memory");
  fails("-DENIED Redis is running in protected mode");
  fails("-ERR x");
  fails("+PONGX");
  fails("$4");
  CHECK(talk("redis", {}, {}).verdict == "fail: the server closed the connection before its answer to PING");
  CHECK(talk("redis", {}, {std::string(100'000, '+')}).verdict == "fail: it sends an endless line");
}

}  // namespace redis_test
