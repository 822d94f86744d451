// SPDX-License-Identifier: MIT
// Heartbeats that are told over HTTP.
#include <catch2/catch.hpp>

#include "web/hooks_world.hpp"

namespace web_beats_test {

using namespace healer;
using namespace healer::test;
using web::Method;

constexpr const char* kToken = "a-token-of-a-heartbeat";

/// "WORD STATUS TEXT" of a heartbeat's last beat.
std::string last(HooksWorld& world, const std::string& name) {
  std::string text;
  world.daemon().act([&](World& of) {
    const Heartbeat& beat = *of.engine->arrivals().find(*of.engine->graph()->find(name));
    text = std::string(to_string(beat.word)) + " " + std::to_string(beat.status) + " " + beat.text;
    if (beat.started) text += " started";
  });
  return text;
}

web::Request get(const std::string& path, const std::string& token, Method method = Method::Get) {
  return {.method = method, .path = path, .query = {{"token", token}}, .peer = "192.0.2.7"};
}

TEST_CASE("a beat comes by GET or POST, with its word and its text", "[hooks]") {
  HooksWorld world({heartbeat("backup", kToken)});
  CHECK(world.tell(get("/beat/backup", kToken)) == "200 ok\n");
  CHECK(last(world, "backup") == "good 0 ");
  CHECK(world.tell(get("/beat/backup/start", kToken, Method::Post)) == "200 ok\n");
  CHECK(last(world, "backup") == "good 0  started");
  CHECK(world.tell(get("/beat/backup/fail", kToken)) == "200 ok\n");
  CHECK(last(world, "backup") == "fail 0 ");
  web::Request request = get("/beat/backup/3", kToken, Method::Post);
  request.body = "no space left";
  CHECK(world.tell(request) == "200 ok\n");
  CHECK(last(world, "backup") == "exit 3 no space left");
  request.path = "/beat/BACKUP/0";
  request.body = "gone: \xff\n";
  CHECK(world.tell(request) == "200 ok\n");
  CHECK(last(world, "backup") == "exit 0 gone: \\xff\\n");
}

TEST_CASE("what is no beat is refused", "[hooks]") {
  HooksWorld world({heartbeat("backup", kToken)});
  const std::string words = "404 behind the name of a heartbeat may stand start, fail, or an exit status up to 255";
  for (const char* const odd : {"256", "-1", "3x", "good", "exit", "+1"})
    CHECK(world.tell(get(std::string("/beat/backup/") + odd, kToken)) == words);
  web::Request request = get("/beat/backup", kToken, Method::Post);
  request.body = std::string(4097, 'x');
  CHECK(world.tell(request) == "413 the text of a beat has at most 4096 bytes");
  request.body.pop_back();
  CHECK(world.tell(request) == "200 ok\n");
  for (const Method method : {Method::Head, Method::Put, Method::Options})
    CHECK(world.tell(get("/beat/backup", kToken, method)) == "405 this address is not asked by that method");
  CHECK(world.tell(get("/beat/backup", kToken), true).starts_with("403 "));
}

TEST_CASE("a stranger is not told which heartbeats there are", "[hooks]") {
  HooksWorld world({heartbeat("backup", kToken), heartbeat("open")});
  for (const char* const name : {"backup", "open", "other"}) {
    CHECK(world.tell(get(std::string("/beat/") + name, "")) ==
          "401 this takes the token of a heartbeat " + std::string(name));
    CHECK(world.tell(get(std::string("/beat/") + name, "wrong")) ==
          "401 this is not the token of a heartbeat named " + std::string(name));
  }
  CHECK(last(world, "backup") == "none 0 ");
  CHECK(last(world, "open") == "none 0 ");
}

TEST_CASE("where rules ask for nothing a program on this machine may beat", "[hooks]") {
  HooksWorld world(
      {heartbeat("open"), heartbeat("backup", kToken), service("web", {status_rule(Comparison::NotEqual, 0)})});
  web::Request request{.path = "/beat/open", .peer = "127.0.0.1"};
  CHECK(world.tell(request) == "200 ok\n");
  request.headers = {{"Sec-Fetch-Site", "cross-site"}};
  CHECK(world.tell(request).starts_with("401 "));
  request.headers.clear();
  request.path = "/beat/other";
  CHECK(world.tell(request).starts_with("404 there is no service \"other\""));
  request.path = "/beat/web";
  CHECK(world.tell(request).starts_with("404 "));
  request.path = "/beat/backup";
  CHECK(world.tell(request).starts_with("401 "));
}

TEST_CASE("a certificate lets whom the rules name beat", "[hooks]") {
  HooksWorld world({heartbeat("backup", "", "sha256:ab")});
  web::Request request{.path = "/beat/backup", .peer = "127.0.0.1"};
  CHECK(world.tell(request).starts_with("401 "));
  request.certificate = std::make_shared<web::ClientCertificate>(web::ClientCertificate{"", "ab"});
  CHECK(world.tell(request) == "200 ok\n");
}

}  // namespace web_beats_test
