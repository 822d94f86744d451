// SPDX-License-Identifier: MIT
// What is spoken within HTTP: apache-status and websocket.
#include "conversations.hpp"

namespace web_protocols_test {

using namespace healer::test;
using namespace std::string_literals;

namespace {

std::string page(const std::string& scoreboard) {
  const std::string body = "Total Accesses: 1\nScoreboard: " + scoreboard + "\n";
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
Setting limit(std::string_view word, Operator op, int number) { return {.word = word, .op = op, .number = number}; }

/// The answer to the key of a conversation whose number is 0.
const std::string kSwitching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";

}  // namespace

TEST_CASE("what the processes of an Apache do is counted", "[protocols][apache]") {
  const auto told = [](const std::string& scoreboard, const std::vector<Setting>& limits) {
    return talk("apache-status", limits, {page(scoreboard)}).verdict;
  };
  const Setting logging = limit("loglimit", Operator::Greater, 50);
  CHECK(told("LLLL______", {logging}) == "pass: none of its 10 processes is beyond a limit");
  CHECK(told("LLLLLL____", {logging}) == "fail: 60 percent of its processes are logging");
  CHECK(told("LLLLLL..............", {logging}) == "pass: none of its 20 processes is beyond a limit");
  CHECK(told("LLLL______", {logging, limit("waitlimit", Operator::Greater, 10)}) ==
        "fail: 60 percent of its processes are waiting for a connection");
  CHECK(told("LLLL______", {limit("loglimit", Operator::Less, 50)}) == "fail: 40 percent of its processes are logging");
  const Said done = talk("apache-status", {logging, {.word = "path", .text = "/s?auto"}}, {page("_")});
  CHECK(done.sent.starts_with("GET /s?auto HTTP/1.1\r\nHost: shop.example\r\n"));
  CHECK(talk("apache-status", {logging}, {"HTTP/1.1 404 no\r\nContent-Length: 0\r\n\r\n"}).verdict ==
        "fail: its status is 404");
  CHECK(talk("apache-status", {logging}, {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"}).verdict ==
        "fail: its page has no scoreboard");
  CHECK(talk("apache-status", {logging}, {"hello\r\n"}).verdict.starts_with("fail: this is not an HTTP server"));
  CHECK(talk("apache-status", {logging}, {"HTTP/1.1 200 OK\r\n"}).verdict.starts_with("fail: "));
}

TEST_CASE("a WebSocket server answers a ping and a close", "[protocols][websocket]") {
  const Said done = talk("websocket", {{.word = "request", .text = "/r"}, {.word = "origin", .text = "o"}},
                         {kSwitching, "\x81\x02hi\x8a\x00"s, "\x88\x02\x03\xe8"s});
  CHECK(done.verdict == "pass: it answers a ping");
  CHECK(done.sent.starts_with("GET /r HTTP/1.1\r\nHost: shop.example\r\nUpgrade: websocket\r\n"));
  CHECK(done.sent.find("\r\nOrigin: o\r\n") != std::string::npos);
  CHECK(done.sent.ends_with("\x89\x80\0\0\0\0\x88\x80\0\0\0\0"s));
  const auto verdict = [](const std::vector<std::string>& script) { return talk("websocket", {}, script).verdict; };
  CHECK(verdict({"HTTP/1.1 403 Forbidden\r\n\r\n"}) == "fail: its answer to the handshake is \"403 Forbidden\"");
  CHECK(verdict({"HTTP/1.1 101 x\r\nSec-WebSocket-Accept: x\r\n\r\n"}) ==
        "fail: its answer to the handshake is to somebody else's key");
  CHECK(verdict({kSwitching}) == "fail: the server closed the connection before its answer to a ping");
  CHECK(verdict({kSwitching, "\x88\x00"s}) == "fail: it closes the connection in place of a pong");
  CHECK(verdict({kSwitching, "\x8a\x00"s}) == "fail: the server closed the connection before its answer to a close");
  CHECK(verdict({kSwitching, "\xff\x00"s}).starts_with("fail: it does not speak WebSocket"));
  CHECK(verdict({kSwitching, "\x82\x7f\x00\x00\x00\xff\xff\xff\xff\xff"s}) == "fail: it sends without end");
  CHECK(verdict({"hello\r\n"}) == "fail: this is not a web server: it said \"hello\"");
  CHECK(verdict({std::string(100'000, 'x')}) == "fail: it sends an endless line");
}

}  // namespace web_protocols_test
