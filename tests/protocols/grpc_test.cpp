// SPDX-License-Identifier: MIT
// grpc: what a server says to Check of grpc.health.v1.Health.
#include "http2_frames.hpp"
#include "protocols/packet_talk.hpp"

namespace grpc_test {

using namespace healer::test;
using namespace healer::test::http2;

namespace {

const std::string kType = field("content-type", "application/grpc+proto");

std::string message(const std::string& text, char compressed = 0) { return compressed + big(text.size(), 4) + text; }
std::string begun(const std::string& headers = status("200") + kType) {
  return kHello + frame(kHeaders, kEndHeaders, 1, headers);
}
std::string ended(const std::string& code = "0", const std::string& more = {}) {
  return frame(kHeaders, kEndHeaders | kEndStream, 1, field("grpc-status", code) + more);
}
std::string answer(const std::string& content) { return begun() + frame(kData, 0, 1, content) + ended(); }
std::string at_once(const std::string& headers) {
  return kHello + frame(kHeaders, kEndHeaders | kEndStream, 1, headers);
}

std::string verdict(const std::string& says, const std::string& service = {}) {
  std::vector<Setting> settings;
  if (!service.empty()) settings.push_back({.word = "service", .text = service});
  return talk("grpc", settings, {says}).verdict;
}

}  // namespace

TEST_CASE("a gRPC server that serves passes", "[protocols][grpc]") {
  CHECK(verdict(answer(message("\x08\x01"))) == "pass: its status is SERVING");
  CHECK(verdict(answer(message("\x08\x01")), "shop.Cart") == "pass: the status of \"shop.Cart\" is SERVING");
  CHECK(verdict(answer(message("\x1a\x02hi\x11" + "12345678"s + "\x25" + "1234" + "\x08\x01"))) ==
        "pass: its status is SERVING");
  const Conversed asked = talk("grpc", {{.word = "service", .text = "shop.Cart"}}, {});
  CHECK(asked.sent.starts_with("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  CHECK(asked.sent.find(frame(kData, kEndStream, 1, message("\x0a\x09shop.Cart"))) != std::string::npos);
  CHECK(talk("grpc", {}, {}).sent.find(frame(kData, kEndStream, 1, message(""))) != std::string::npos);
}

TEST_CASE("a gRPC server that does not serve fails", "[protocols][grpc]") {
  CHECK(verdict(answer(message("\x08\x02"))) == "fail: its status is NOT_SERVING");
  CHECK(verdict(answer(message("\x08\x03")), "x") == "fail: the status of \"x\" is SERVICE_UNKNOWN");
  CHECK(verdict(answer(message(""))) == "fail: its status is UNKNOWN");
  CHECK(verdict(answer(message("\x08\x63"))) == "fail: its status is 99");
}

TEST_CASE("what a gRPC server refuses is told with its code and text", "[protocols][grpc]") {
  CHECK(verdict(at_once(status("200") + kType + field("grpc-status", "5") +
                        field("grpc-message", "50%25 of%20it%0A%zz%4"))) ==
        "fail: its answer to Check is 5 (NOT_FOUND): \"50% of it\\n%zz%4\"");
  CHECK(verdict(begun() + ended("12")) == "fail: its answer to Check is 12 (UNIMPLEMENTED)");
  CHECK(verdict(begun() + ended("77")) == "fail: its answer to Check is 77 (77)");
  CHECK(verdict(at_once(status("503"))) == "fail: its HTTP status is 503");
  CHECK(verdict(begun(status("404") + field("content-type", "text/html"))) == "fail: its HTTP status is 404");
  CHECK(verdict(begun(status("200") + field("content-type", "text/html"))) ==
        "fail: this is not a gRPC server: it answers with HTTP alone");
  CHECK(verdict(kHello + frame(kReset, 0, 1, "\0\0\0\x07"s)) == "fail: the server refused: REFUSED_STREAM");
  CHECK(verdict(kHello + frame(kGoAway, 0, 0, "\0\0\0\0\0\0\0\x0b"s)) == "fail: the server refused: ENHANCE_YOUR_CALM");
  CHECK(verdict("HTTP/1.1 400 Bad Request\r\n\r\n") == "fail: it speaks HTTP/1, not HTTP/2");
}

TEST_CASE("hostile gRPC servers come to an end, and fill no memory", "[protocols][grpc][hostile]") {
  const std::string unexpected = "fail: this is not a gRPC server's answer to Check: it said ";
  CHECK(verdict(answer("")).starts_with(unexpected));
  CHECK(verdict(answer("\0\xff\xff\xff\xff\x08\x01"s)).starts_with(unexpected));
  CHECK(verdict(answer(message("\x08\x01") + message("\x08\x01"))).starts_with(unexpected));
  CHECK(verdict(answer(message("\x08"))).starts_with(unexpected));
  CHECK(verdict(answer(message("\x0b\x01"))).starts_with(unexpected));
  CHECK(verdict(answer(message("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\x7fx"))).starts_with(unexpected));
  CHECK(verdict(answer(message(std::string(40, '\xff')))).starts_with(unexpected));
  CHECK(verdict(answer(message("\x08\x01", 1))) == "fail: its answer is compressed, which it was not asked for");
  CHECK(verdict(begun() + ended("x")) == "fail: this is not a gRPC server: its result of the call is \"x\"");
  CHECK(verdict(begun() + frame(kData, kEndStream, 1, message("\x08\x01"))) ==
        "fail: its answer tells no result of the call");
  std::string endless = begun();
  for (int i = 0; i < 100; ++i) endless += frame(kData, 0, 1, std::string(1000, 'x'));
  CHECK(verdict(endless) == "fail: its answer is longer than a status");
  CHECK(verdict(begun() + ended("12", field("grpc-message", "no\x01"))) == "fail: it violates the HTTP/2 protocol");
  CHECK(verdict(begun() + frame(kData, kEndStream, 1, std::string(20'000, 'x'))).starts_with("fail: "));
  std::string flood = kHello + frame(kHeaders, 0, 1, status("200"));
  for (int i = 0; i < 1000; ++i) flood += frame(kContinuation, 0, 1, field("a", "b"));
  CHECK(verdict(flood).starts_with("fail: "));
  CHECK(verdict(begun()) == "fail: the server closed the connection in the middle of its answer");
  CHECK(verdict(kHello) == "fail: the server closed the connection without an answer");
}

}  // namespace grpc_test
