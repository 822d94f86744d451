// SPDX-License-Identifier: MIT
#include "conversations.hpp"
#include "protocols/pattern.hpp"

namespace generic_test {

using namespace healer::test;

namespace {

Setting send(std::string text) { return {.word = "send", .text = std::move(text)}; }
Setting expect(std::string text) { return {.word = "expect", .text = std::move(text)}; }

}  // namespace

TEST_CASE("what is expected comes, in its order", "[protocols][generic]") {
  const std::string all = "pass: all that is expected came";
  CHECK(talk("generic", {expect("^220 ")}, {"220 hello\r\n"}).verdict == all);
  CHECK(talk("generic", {expect("220 hello.*")}, {"220 he", "llo\r\n"}).verdict == all);
  CHECK(talk("generic", {expect("a"), expect("b")}, {"a\nb\n"}).verdict == all);
  CHECK(talk("generic", {expect("a.*b")}, {std::string("a\0b\n", 4)}).verdict == all);  // shown as \0
  CHECK(talk("generic", {expect("a\\\\0b")}, {std::string("a\0b\n", 4)}).verdict == all);
  CHECK(talk("generic", {expect("^[\\]0")}, {std::string("\0b\n", 3)}).verdict == all);  // from Monit's manual
  const Conversed both = talk("generic", {expect("hi"), send("x\r\n"), expect("bye"), send("q")}, {"hi\n", "bye\n"});
  CHECK(both.verdict == all);
  CHECK(both.sent == "x\r\nq");
  CHECK(talk("generic", {send("only")}, {}).verdict == "pass: all was sent");
}

TEST_CASE("what is not expected is told", "[protocols][generic]") {
  CHECK(talk("generic", {expect("^b$")}, {"a\nb\n"}).verdict ==
        "fail: it sent \"a\\nb\\n\", which does not match \"^b$\"");
  CHECK(talk("generic", {expect("a"), expect("a")}, {"a\n"}).verdict ==
        "fail: it sent \"\\n\", which does not match \"a\"");
  CHECK(talk("generic", {expect("ABC")}, {"abc\n"}).verdict ==
        "fail: it sent \"abc\\n\", which does not match \"ABC\"");
  CHECK(talk("generic", {expect("abc")}, {}).verdict ==
        "fail: the server closed the connection before it sent what matches \"abc\"");
  CHECK(talk("generic", {expect("abc")}, {"xyz"}, false).verdict == "waits for its data that match");
}

TEST_CASE("no more is looked at than the limit says", "[protocols][generic]") {
  const auto end_at = [](std::size_t size, std::string pattern) {
    return talk("generic", {expect(std::move(pattern))}, {std::string(size - 4, 'a') + "zend"}, false).verdict;
  };
  for (const std::string pattern : {"zend", "zen[d]"}) {
    CHECK(end_at(256, pattern).starts_with("pass"));
    CHECK(end_at(257, pattern).starts_with("fail: it sent \"aaa"));
    CHECK(end_at(1'000'000, pattern).starts_with("fail: it sent \"aaa"));
  }
  // What follows a match starts over.
  CHECK(talk("generic", {expect("a+b"), expect("c+d")}, {std::string(200, 'a') + "b" + std::string(200, 'c') + "d"})
            .verdict.starts_with("pass"));
}

TEST_CASE("a pattern without operators is a plain text", "[protocols][generic]") {
  CHECK(literal_of("+PONG") == std::nullopt);
  CHECK(literal_of("\\+PONG") == "+PONG");
  CHECK(literal_of("hello world") == "hello world");
  CHECK(literal_of("\\d") == std::nullopt);
  CHECK(literal_of("a\\") == std::nullopt);
  CHECK(literal_of("") == std::nullopt);
}

TEST_CASE("the default protocol asks for a connection only", "[protocols][generic]") {
  CHECK(talk("default", {}, {}).verdict == "pass: ");

  const auto datagram = find_protocol("default")->make({.datagrams = true, .settings = {}, .limits = {}});
  CHECK(datagram->begin().send == std::string(1, '\0'));
  CHECK(datagram->silence_passes());
  CHECK(datagram->receive("x").kind == Want::Kind::Pass);
}

}  // namespace generic_test
