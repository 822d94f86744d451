// SPDX-License-Identifier: MIT
// What is spoken within HTTP: apache-status, docker and websocket.
#include "conversations.hpp"
#include "protocols/digest.hpp"
#include "protocols/packet_talk.hpp"

namespace web_protocols_test {

using namespace healer::test;
using namespace std::string_literals;

namespace {

std::string page(const std::string& scoreboard) {
  const std::string body = "Total Accesses: 1\nScoreboard: " + scoreboard + "\n";
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
Setting limit(std::string_view word, Operator op, int number) { return {.word = word, .op = op, .number = number}; }

/// Without an answer to the key, which Monit does not look for.
const std::string kSwitching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";

}  // namespace

TEST_CASE("what the processes of an Apache do is counted", "[protocols][apache]") {
  const auto verdict_of = [](const std::string& scoreboard, const std::vector<Setting>& limits) {
    return talk("apache-status", limits, {page(scoreboard)}).verdict;
  };
  const Setting logging = limit("loglimit", Operator::Greater, 50);
  CHECK(verdict_of("LLLL______", {logging}) == "pass: none of its 10 processes is beyond a limit");
  CHECK(verdict_of("LLLLLL____", {logging}) == "fail: 60 percent of its processes are logging");
  CHECK(verdict_of("LLLLLL..............", {logging}) == "pass: none of its 20 processes is beyond a limit");
  CHECK(verdict_of("LLLL______", {logging, limit("waitlimit", Operator::Greater, 10)}) ==
        "fail: 60 percent of its processes are waiting for a connection");
  CHECK(verdict_of("LLLL______", {limit("loglimit", Operator::Less, 50)}) ==
        "fail: 40 percent of its processes are logging");
  const Conversed done = talk("apache-status", {logging, {.word = "path", .text = "/s?auto"}}, {page("_")});
  CHECK(done.sent.starts_with("GET /s?auto HTTP/1.1\r\nHost: shop.example\r\n"));
  CHECK(talk("apache-status", {logging}, {"HTTP/1.1 404 no\r\nContent-Length: 0\r\n\r\n"}).verdict ==
        "fail: its status is 404");
  CHECK(talk("apache-status", {logging}, {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"}).verdict ==
        "fail: its page has no scoreboard");
  CHECK(talk("apache-status", {logging}, {"hello\r\n"}).verdict.starts_with("fail: this is not an HTTP server"));
  CHECK(talk("apache-status", {logging}, {"HTTP/1.1 200 OK\r\n"}).verdict.starts_with("fail: "));
}

TEST_CASE("Docker tells whether a container is running and healthy", "[protocols][docker]") {
  const Setting web{.word = "container", .text = "web"};
  const auto answer = [](std::string_view status, const std::string& body) {
    return "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  const auto verdict_of = [&](std::string_view status, const std::string& body) {
    return talk("docker", {web}, {answer(status, body)}).verdict;
  };
  const auto state = [&](const std::string& members) {
    return verdict_of("200 OK", "{\"Id\": \"1\", \"State\": {" + members + "}, \"Config\": {\"Env\": [\"TOKEN=x\"]}}");
  };
  CHECK(state(R"("Running": true)") == "pass: the container is running");
  CHECK(state(R"("Running": true, "Health": {"Status": "healthy"})") == "pass: the container is running and healthy");
  CHECK(state(R"("Running": true, "Health": {"Status": "starting"})") ==
        "pass: the container is running, its first health check is not done");
  CHECK(state(R"("Running": true, "Health": {"Status": ""})") == "pass: the container is running");
  CHECK(state(R"("Running": true, "Health": null)") == "pass: the container is running");
  CHECK(state(R"("Running": true, "Restarting": true)") == "fail: the container is being restarted");
  CHECK(state(R"("Running": true, "Health": {"Status": "unhealthy"})") ==
        "fail: the container is running, but its health is \"unhealthy\"");
  CHECK(state(R"("Running": false, "Status": "exited", "ExitCode": 137, "OOMKilled": true)") ==
        "fail: the container is not running: it is \"exited\", its exit status was 137, it had no memory left");
  CHECK(state(R"("Running": false)") == "fail: the container is not running");
  const std::string silent = "fail: its answer does not tell whether the container is running";
  for (const std::string body :
       {R"({"State": {"Running": 1}})", R"({"State": []})", "{}", "[]", "", "{\"State\": {", "no"})
    CHECK(verdict_of("200 OK", body) == silent);
  CHECK(verdict_of("404 Not Found", R"({"message": "No such container: web"})") ==
        "fail: there is no container \"web\"");
  CHECK(verdict_of("404 Not Found", "<html>") == "fail: this is not the API of Docker: it answers with the status 404");
  CHECK(verdict_of("500 x", R"({"message": "no\tdisk"})") == "fail: its answer is 500: \"no\\tdisk\"");
  CHECK(verdict_of("200 OK", std::string(600'000, '[')) == "fail: its answer is longer than 512 KiB");
  CHECK(verdict_of("200 OK", "{\"State\":" + std::string(100'000, '[')) == silent);
  CHECK(talk("docker", {web}, {answer("200 OK", "{}").substr(0, 30)}).verdict.starts_with("fail: "));
  CHECK(talk("docker", {web}, {"220 mail\r\n"}).verdict == "fail: this is not an HTTP server: it said \"220 mail\"");
}

TEST_CASE("a container's name leads to no other path", "[protocols][docker]") {
  const auto asked = [](const std::string& name) {
    const std::vector<Setting> settings{{.word = "container", .text = name}};
    return talk("docker", settings, {"x\r\n"}).sent.substr(0, 60);
  };
  CHECK(asked("web-1_a.b").starts_with("GET /containers/web-1_a.b/json HTTP/1.1\r\nHost: localhost\r\n"));
  CHECK(asked("../a?b\r\n").starts_with("GET /containers/..%2Fa%3Fb%0D%0A/json HTTP/1.1\r\n"));
  const auto fault = [](const std::string& name) {
    const std::vector<Setting> settings{{.word = "container", .text = name}};
    return find_protocol("docker")->fault(settings);
  };
  CHECK(fault("web").empty());
  CHECK(fault("..") == "\"..\" is not the name of a container");
  CHECK(fault("") == "\"\" is not the name of a container");
  CHECK(find_protocol("docker")->fault({}) == "protocol docker needs a 'container', as in container \"web\"");
}

TEST_CASE("a WebSocket server that answers the key answers ours", "[protocols][websocket]") {
  const auto verdict = [](const std::string& answer) {
    return talk("websocket", {},
                {"HTTP/1.1 101 x\r\nSEC-websocket-Accept: " + answer + "\r\n\r\n", "\x8a\x00"s, "\x88\x00"s})
        .verdict;
  };
  const std::string key = base64(big(0, 8) + big(~std::uint64_t{0}, 8));  // of a conversation whose number is 0
  CHECK(verdict(base64(hash_bytes(Hash::Sha1, key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))) ==
        "pass: it answers a ping");
  CHECK(verdict("AAAA") == "fail: its answer to the handshake is to somebody else's key");
  CHECK(verdict("") == "fail: its answer to the handshake is to somebody else's key");
}

TEST_CASE("a WebSocket server answers a ping and a close", "[protocols][websocket]") {
  const Conversed done = talk("websocket", {{.word = "request", .text = "/r"}, {.word = "origin", .text = "o"}},
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
