// SPDX-License-Identifier: MIT
// What is done over the API, and that it is done once where it has a key.
#include <catch2/catch.hpp>
#include <vector>

#include "web/api_world.hpp"

using namespace healer;
using namespace healer::test;
using control::Json;

namespace {

/// Takes all commands, and answers none.
struct Caught {
  explicit Caught(ApiWorld& world) {
    world.daemon().on_submit = [this](const event::Command& command) {
      commands.push_back(command);
      return true;
    };
  }
  std::vector<event::Command> commands;
};

}  // namespace

TEST_CASE("A service is paused with a reason and a time", "[api]") {
  ApiWorld world;
  const web::Response response = world.post("/services/web/pause", R"({"reason":"new disks","for_ms":60000})");
  CHECK(response.status == 200);
  const Json done = Json::parse(response.body);
  CHECK(done.at("command") == "pause");
  CHECK(done.at("ok") == true);
  const Json pause = world.read("/services/web").at("services")[0].at("pause");
  CHECK(pause.at("by") == "admin");
  CHECK(pause.at("reason") == "new disks");
  CHECK_FALSE(pause.at("until").is_null());
  CHECK(world.post("/services/web/resume").status == 200);
  CHECK(world.read("/services/web").at("services")[0].at("pause").is_null());
}

TEST_CASE("Services are chosen by names, groups, or all", "[api]") {
  ApiWorld world;
  Caught caught(world);
  const auto chosen = [&](const std::string& body) {
    caught.commands.clear();
    world.daemon().act([&](World&) { (void)world.web().ask(ApiWorld::request("/services/restart", body), [] {}); });
    return caught.commands.empty() ? 0 : caught.commands.front().services.size();
  };
  CHECK(chosen(R"({"names":["web"]})") == 1);
  CHECK(chosen(R"({"names":["web","DB"]})") == 2);
  CHECK(chosen(R"({"groups":["databases"]})") == 1);
  CHECK(chosen(R"({"all":true})") == 2);
  CHECK(problem_of(world.post("/services/restart")).starts_with("400 nothing-selected: "));
  CHECK(problem_of(world.post("/services/restart", R"({"names":["nobody"]})")).starts_with("404 unknown-service: "));
}

TEST_CASE("A body that is none is refused with what is wrong", "[api]") {
  ApiWorld world;
  Caught caught(world);
  const auto refused = [&](const std::string& body) { return problem_of(world.post("/services/restart", body)); };
  CHECK(refused("{") ==
        "400 bad-request: the body is not understood: it is not JSON | send one JSON object, such as "
        "{\"names\":[\"web\"]}, or no body");
  CHECK(refused("[]").starts_with("400 bad-request: the body is not understood: it is not a JSON object | "));
  CHECK(refused(R"({"a":{"b":{"c":{"d":{}}}}})")
            .starts_with("400 bad-request: the body is not understood: it is nested too deeply | "));
  CHECK(refused(R"({"all":true,"all":false})")
            .starts_with("400 bad-request: the body is not understood: \"all\" is there twice | "));
  CHECK(refused(R"({"name":"web"})") ==
        "400 bad-request: the body may not have a field \"name\" here | did you mean \"names\"?");
  CHECK(refused(R"({"for_ms":5})") ==
        "400 bad-request: the body may not have a field \"for_ms\" here | it may have names, groups, all and reason");
  CHECK(refused(R"({"overrides":["limit"]})").starts_with("400 "));
  CHECK(refused(R"({"names":"web"})") == "400 bad-request: names is not a list of texts | names: Services, by name");
  CHECK(refused(R"({"names":[1]})").starts_with("400 bad-request: names is not a list of texts | "));
  CHECK(refused(R"({"all":null})").starts_with("400 bad-request: all is not true or false | "));
  CHECK(refused(R"({"all":true,"reason":7})").starts_with("400 bad-request: reason is not a text | "));
  CHECK(refused(R"({"all":true,"reason":")" + std::string(501, 'x') + "\"}")
            .starts_with("400 bad-request: reason is too long | "));
  for (const char* span : {"-1", "0", "1.5", "99999999999999999999", "18446744073709551615", "\"1 h\""})
    CHECK(problem_of(world.post("/services/web/pause", R"({"for_ms":)" + std::string(span) + "}"))
              .starts_with("400 bad-request: for_ms is "));
  CHECK(world.post("/services/restart", std::string((1U << 20) + 1, ' ') + "{}").status == 413);
  web::Request plain = ApiWorld::request("/services/restart", R"({"all":true})");
  plain.headers.clear();
  CHECK(world.web().send(plain).status == 415);
  CHECK(caught.commands.empty());
}

TEST_CASE("What a role may not do is refused, though its route let it in", "[api]") {
  ApiWorld world;
  Caught caught(world);
  CHECK(problem_of(world.post("/services/web/restart", "", "", WebWorld::reader())).starts_with("403 forbidden: "));
  CHECK(problem_of(world.post("/quit", "", "", WebWorld::reader())).starts_with("403 forbidden: "));
  CHECK(caught.commands.empty());
}

TEST_CASE("Healings are decided by number or target", "[api]") {
  ApiWorld world;
  CHECK(problem_of(world.post("/healings/7/approve", R"({"plan":"12345678"})")).starts_with("404 unknown-healing: "));
  CHECK(problem_of(world.post("/healings/nobody/reject")).starts_with("404 unknown-service: "));
  CHECK(problem_of(world.post("/healings/7/cancel")).starts_with("404 unknown-"));
}

TEST_CASE("A reload tells what has changed, or what is wrong with the files", "[api]") {
  ApiWorld world;
  CHECK(Json::parse(world.post("/reload").body).at("text") == "rules reloaded");
  CHECK_FALSE(world.daemon().reload_confirmed);
  CHECK(world.post("/reload", R"({"confirmed":true})").status == 200);
  CHECK(world.daemon().reload_confirmed);
  world.daemon().on_reload = [](const DaemonWorld::ReloadDone& done) {
    done({.ok = false, .text = "wrong", .diagnostics = {{.severity = "error", .place = "a:1:1", .message = "wrong"}}});
  };
  const web::Response response = world.post("/reload");
  CHECK(response.status == 409);
  CHECK(Json::parse(response.body).at("diagnostics")[0].at("place") == "a:1:1");
}

TEST_CASE("healerd is ended, which is answered before it has", "[api]") {
  ApiWorld world;
  bool ended = false;
  world.daemon().on_quit = [&] { ended = true; };
  const web::Response response = world.post("/quit");
  CHECK(response.status == 202);
  CHECK(Json::parse(response.body).at("text") == "healerd ends");
  CHECK(ended);
}

TEST_CASE("A request with a key is done once, and its answer given again", "[api][keys]") {
  ApiWorld world;
  int reloads = 0;
  world.daemon().on_reload = [&](const DaemonWorld::ReloadDone& done) {
    done({.text = "reload " + std::to_string(++reloads)});
  };
  const web::Response first = world.post("/reload", "", "key-1");
  const web::Response again = world.post("/reload", "", "key-1");
  CHECK(again.body == first.body);
  CHECK(again.status == 200);
  CHECK(web::find(again.headers, "Idempotency-Replayed") == "true");
  CHECK_FALSE(web::find(first.headers, "Idempotency-Replayed"));
  CHECK(reloads == 1);
  CHECK(world.post("/reload", "", "key-2").body != first.body);
  CHECK(problem_of(world.post("/reload", R"({"confirmed":true})", "key-1")).starts_with("422 key-used: "));
  CHECK(problem_of(world.post("/services/web/check", "", "key-1")).starts_with("422 key-used: "));
  CHECK(world.post("/reload", "", "key-1", {.name = "other", .role = Role::Admin}).body != first.body);
  CHECK(problem_of(world.post("/reload", "", "a key")).starts_with("400 bad-request: the Idempotency-Key is none"));
  CHECK(reloads == 3);
}

TEST_CASE("A request under way is refused a second time, and its answer kept though its client has gone",
          "[api][keys]") {
  ApiWorld world;
  Caught caught(world);
  std::optional<web::Reply> reply;
  world.daemon().act(
      [&](World&) { reply = world.web().ask(ApiWorld::request("/services/web/restart", "", "key"), [] {}); });
  REQUIRE(std::holds_alternative<std::unique_ptr<web::Deferred>>(*reply));
  CHECK(problem_of(world.post("/services/web/restart", "", "key")).starts_with("409 under-way: "));
  SECTION("its client waits") {
    world.daemon().act([&](World&) {
      world.daemon().reply({.command = caught.commands.at(0).id, .ok = true, .text = "web was restarted"});
      const auto response = std::get<std::unique_ptr<web::Deferred>>(*reply)->poll();
      REQUIRE(response);
      CHECK(Json::parse(response->body).at("text") == "web was restarted");
    });
  }
  SECTION("its client has gone") {
    world.daemon().act([&](World&) {
      reply.reset();
      world.daemon().reply({.command = caught.commands.at(0).id, .ok = true, .text = "web was restarted"});
    });
  }
  const web::Response again = world.post("/services/web/restart", "", "key");
  CHECK(Json::parse(again.body).at("text") == "web was restarted");
  CHECK(caught.commands.size() == 1);
}

TEST_CASE("What was refused is not kept", "[api][keys]") {
  ApiWorld world;
  CHECK(world.post("/services/restart", R"({"names":["wep"]})", "key").status == 404);
  CHECK(world.post("/services/pause", R"({"names":["web"]})", "key").status == 200);
}

TEST_CASE("A token and a user of the same name have their own keys", "[api][keys]") {
  ApiWorld world;
  int reloads = 0;
  world.daemon().on_reload = [&](const DaemonWorld::ReloadDone& done) {
    done({.text = "reload " + std::to_string(++reloads)});
  };
  const web::Request request = ApiWorld::request("/reload", "", "key");
  const control::Asker who{.name = "token 3fa9c0de", .role = Role::Admin};
  using web::KnownBy;
  for (int i = 0; i < 2; ++i)
    for (const KnownBy by : {KnownBy::Nothing, KnownBy::Password, KnownBy::Token, KnownBy::Cookie})
      world.daemon().act([&](World&) {
        const auto match = world.web().router().find(request.method, request.path);
        (void)std::get<web::Router::Found>(match).route->handle(
            {.request = request, .who = who, .wake = [] {}, .known_by = by});
      });
  CHECK(reloads == 4);
}
