// SPDX-License-Identifier: MIT
// HTTP/2.
#include "http2_frames.hpp"

namespace http2_test {

using namespace healer::test;
using namespace healer::test::http2;

namespace {

std::string answer(const std::string& code, const std::string& body) {
  return kHello + frame(kHeaders, kEndHeaders, 1, status(code)) + frame(kData, kEndStream, 1, body);
}

std::string verdict(const std::string& says, std::vector<Setting> settings = {},
                    healer::protocols::Limits limits = {}) {
  settings.push_back({.word = "http2"});
  return talk("http", settings, {says}, true, limits).verdict;
}

/// Of what comes at once.
std::string whole(const std::string& says) {
  const std::vector<Setting> settings{{.word = "http2"}};
  const auto conversation = find_protocol("http")->make(Order{.host = "h", .settings = settings, .limits = {}});
  return Talk().play(*conversation, {says});
}

Setting content(std::string pattern) { return {.word = "content", .text = std::move(pattern)}; }

}  // namespace

TEST_CASE("an answer of HTTP/2 is judged as any", "[protocols][http2]") {
  CHECK(talk("http", {{.word = "http2"}}, {}).sent.starts_with("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  CHECK(verdict(answer("200", "hello")) == "pass: HTTP status 200");
  CHECK(verdict(answer("404", "")) == "fail: its status is 404");
  CHECK(verdict(answer("200", "hello"), {content("hel+o")}) == "pass: HTTP status 200");
  CHECK(verdict(answer("200", "hello"), {content("bye")}) == "fail: its content does not match \"bye\"");
  CHECK(verdict(answer("200", "hello"), {{.word = "checksum", .text = "5d41402abc4b2a76b9719d911017c592"}}) ==
        "pass: HTTP status 200");
  CHECK(verdict(answer("200", "{\"a\":1}"), {{.word = "json", .text = ".a", .value = "1"}}) == "pass: HTTP status 200");
  CHECK(verdict(kHello + frame(kHeaders, kEndHeaders | kEndStream, 1, status("302") + field("location", "/x")),
                {{.word = "redirects", .number = 1}}) == "elsewhere: /x");
  CHECK(verdict(kHello + frame(kHeaders, kEndHeaders, 1, status("103")) +
                frame(kHeaders, kEndHeaders | kEndStream, 1, status("200"))) == "pass: HTTP status 200");
}

TEST_CASE("what is no HTTP/2 is told", "[protocols][http2]") {
  CHECK(verdict("HTTP/1.1 400 Bad Request\r\n\r\n") == "fail: it speaks HTTP/1, not HTTP/2");
  CHECK(whole("220 x ESMTP\r\n") == "fail: this is not HTTP/2: it said \"220 x ESMTP\\r\\n\"");
  CHECK(verdict("") == "fail: the server closed the connection without an answer");
  CHECK(verdict("HTT") == "fail: the server closed the connection without an answer");
  CHECK(verdict(kHello) == "fail: the server closed the connection without an answer");
  CHECK(verdict(kHello + frame(kHeaders, kEndHeaders, 1, status("200")) + frame(kData, 0, 1, "hel"), {content("x")}) ==
        "fail: the server closed the connection in the middle of its content");
  CHECK(verdict(kHello + frame(kReset, 0, 1, "\0\0\0\x0b"s)) == "fail: the server refused: ENHANCE_YOUR_CALM");
  CHECK(verdict(kHello + frame(kGoAway, 0, 0, "\0\0\0\0\0\0\0\x0d"s)) == "fail: the server refused: HTTP_1_1_REQUIRED");
}

TEST_CASE("hostile servers of HTTP/2 come to an end, and fill no memory", "[protocols][http2][hostile]") {
  // One small field that is told again and again out of the table of headers.
  const std::string large(4000, 'x');
  std::string bomb = status("200") + "\x40\x01"s + "a" + "\x7f\xa1\x1e"s + large;
  for (int i = 0; i < 10'000; ++i) bomb += '\xbe';
  CHECK(verdict(kHello + frame(kHeaders, kEndHeaders, 1, bomb)).starts_with("fail: "));
  std::string flood = kHello + frame(kHeaders, 0, 1, status("200"));
  for (int i = 0; i < 1000; ++i) flood += frame(kContinuation, 0, 1, field("a", "b"));
  CHECK(verdict(flood).starts_with("fail: "));
  std::string pings = kHello;
  for (int i = 0; i < 20'000; ++i) pings += frame(kPing, 0, 0, "12345678");
  CHECK(whole(pings).starts_with("fail: "));
  CHECK(verdict(kHello + frame(kPush, kEndHeaders, 1, "\0\0\0\x02"s + status("200"))).starts_with("fail: "));
  CHECK(verdict(kHello + frame(kData, kEndStream, 1, "x")).starts_with("fail: "));
  CHECK(verdict(kHello + "\xff\xff\xff\0\0\0\0\0\x01"s + "x").starts_with("fail: "));
  const std::string lies = status("200") + field("content-length", "9");
  CHECK(verdict(kHello + frame(kHeaders, kEndHeaders, 1, lies) + frame(kData, kEndStream, 1, "x"), {content("x")})
            .starts_with("fail: "));
}

}  // namespace http2_test
