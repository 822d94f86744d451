// SPDX-License-Identifier: MIT
// Hooks: who is let in, what is answered, and what becomes of it.
#include "web/hooks_world.hpp"

#include <functional>

#include <catch2/catch.hpp>

#include "web/hooks/gate.hpp"

namespace hooks_test {

using namespace healer;
using namespace healer::test;
using web::Method;

constexpr const char* kToken = "a-token-of-a-hook-of-some-length";

EventSpec with_token(EventFormat format = EventFormat::Json) {
  return {.hook = "/hooks/a/b", .token = kToken, .format = format};
}

web::Fields bearer(const std::string& token) { return {{"Authorization", "Bearer " + token}}; }

/// The headers of a message signed now.
web::Fields signature(HooksWorld& world, const std::string& secret, const std::string& id, const std::string& body,
                      Duration ago = {}) {
  std::string sent;
  world.daemon().act([&](World& of) {
    sent = std::to_string(std::chrono::floor<seconds>(of.now.wall - ago).time_since_epoch().count());
  });
  return {{"Webhook-Id", id},
          {"Webhook-Timestamp", sent},
          {"Webhook-Signature", hooks::sign(*hooks::signing_key(secret), id, sent, body)}};
}

TEST_CASE("who gives the token of a hook may tell of events", "[hooks]") {
  HooksWorld world({events("units", with_token())});
  CHECK(world.tell(
            post("/hooks/a/b", "{}", {{"webhook-id", "one"}, {"authorization", std::string("bearer ") + kToken}})) ==
        "202 [one  202]");
  CHECK(world.tell(post("/hooks/a/b", "{}", {{"webhook-id", "two"}}, {{"token", kToken}})) == "202 [two  202]");
  CHECK(world.tell(post("/hooks/a/b", "{}", bearer("another"))) == "401 its token is not that of the hook");
  CHECK(world.tell(post("/hooks/a/b", "{}", {}, {{"token", ""}})) == "401 it gives no token");
  // A wrong one is not mended by a right one elsewhere.
  CHECK(world.tell(post("/hooks/a/b", "{}", bearer("another"), {{"token", kToken}})).starts_with("401 "));
  CHECK(world.came() == "one||202|1|192.0.2.7|units has taken it\ntwo||202|1|192.0.2.7|units has taken it\n" +
                            to_string(hash128("its token is not that of the hook")) +
                            "||401|1|192.0.2.7|its token is not that of the hook\n");
}

TEST_CASE("refusals say who may, and when to come again", "[hooks]") {
  HooksWorld world({events("units", with_token())});
  const auto header = [&](const web::Request& request, const std::string& name) {
    const web::Response response = world.send(request);
    const auto value = web::find(response.headers, name);
    return std::to_string(response.status) + " " + std::string(value.value_or("none"));
  };
  CHECK(header(post("/hooks/a/b", "{}"), "WWW-Authenticate") == "401 Bearer realm=\"healer\"");
  CHECK(header({.method = Method::Get, .path = "/hooks/a/b"}, "Allow") == "405 POST");
  CHECK(header({.method = Method::Options, .path = "/hooks/a/b"}, "Allow") == "405 POST");
  CHECK(world.tell(post("/hooks/a", "{}", bearer(kToken))) == "404 no rule has a hook of this path");
  CHECK(world.tell(post("/hooks/a/b", "{", bearer(kToken))) == "400 its body is not JSON");
  CHECK(world.tell(post("/hooks/a/b", "{}", bearer(kToken)), true) ==
        "403 nobody may change anything by this port: it is read-only");
}

TEST_CASE("people find who was kept out among the events, once in a minute", "[hooks]") {
  HooksWorld world({events("units", with_token())});
  for (int i = 0; i < 5; ++i) CHECK(world.tell(post("/hooks/a/b", "{}")) == "401 it gives no token");
  CHECK(world.came() == to_string(hash128("it gives no token")) + "||401|1|192.0.2.7|it gives no token\n");
}

TEST_CASE("a signature is looked at as Standard Webhooks has it", "[hooks]") {
  HooksWorld world({events("units", {.hook = "/hooks/a", .secrets = {kHookSecret, kOtherSecret}})});
  const auto told = [&](const std::string& secret, const std::string& body, Duration ago = {}) {
    return world.tell(post("/hooks/a", body, signature(world, secret, "msg_1", "{}", ago)));
  };
  CHECK(told(kHookSecret, "{}") == "202 [msg_1  202]");
  CHECK(told(kOtherSecret, "{}") == "202 [msg_1  202]");
  CHECK(told("whsec_QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJC", "{}") ==
        "401 its webhook-signature is not by a secret of the hook");
  CHECK(told(kHookSecret, "{ }").starts_with("401 its webhook-signature"));
  CHECK(told(kHookSecret, "{}", minutes{6}).starts_with("401 its webhook-timestamp is 6 m behind"));
  CHECK(told(kHookSecret, "{}", -minutes{6}).starts_with("401 its webhook-timestamp is 6 m ahead"));
  CHECK(world.tell(post("/hooks/a", "{}")) == "401 it is not signed: the header webhook-signature is missing");
  CHECK(world.tell(post("/hooks/a", "{}", bearer("x"))).starts_with("401 "));
  // It came twice, and is one event.
  CHECK(world.came().starts_with("msg_1||202|2|"));
}

TEST_CASE("a signed message that was overheard is not taken again", "[hooks]") {
  EventSpec spec{.hook = "/hooks/a", .secrets = {kHookSecret}, .token = kToken, .format = EventFormat::Alertmanager};
  spec.fields = {"EVENT.labels.instance"};
  HooksWorld world({events("units", spec)});
  const auto body = [](const std::string& state, const std::string& labels) {
    return R"({"alerts":[{"fingerprint":"1","startsAt":"t","status":")" + state + R"(","labels":{)" + labels + "}}]}";
  };
  const std::string firing = body("firing", R"("instance":"a")"), resolved = body("resolved", R"("instance":"a")");
  const web::Request first = post("/hooks/a", firing, signature(world, kHookSecret, "m1", firing));
  CHECK(world.tell(first) == "202 [1 t firing 202]");
  CHECK(world.tell(post("/hooks/a", resolved, signature(world, kHookSecret, "m2", resolved))) ==
        "202 [1 t resolved 202]");
  CHECK(world.tell(first) == "202");  // it is no second firing
  // What its sender tries again is signed anew; what was not taken may come as it was.
  CHECK(world.tell(post("/hooks/a", firing, signature(world, kHookSecret, "m1", firing, seconds{1}))) ==
        "202 [1 t firing 202]");
  // Who gives the token has signed nothing, whatever it says: the message of that name is still taken.
  const std::string third =
      R"({"alerts":[{"fingerprint":"3","startsAt":"t","status":"firing","labels":{"instance":"c"}}]})";
  const web::Fields sealed = signature(world, kHookSecret, "m4", third);
  web::Fields pretended = sealed;
  pretended.emplace_back("Authorization", std::string("Bearer ") + kToken);
  CHECK(world.tell(post("/hooks/a", body("firing", R"("instance":"d")"), pretended)) == "202 [1 t firing 202]");
  CHECK(world.tell(post("/hooks/a", third, sealed)) == "202 [3 t firing 202]");
  const std::string odd = R"({"alerts":[{"fingerprint":"2","startsAt":"t","status":"firing","labels":{}}]})";
  const web::Request lacking = post("/hooks/a", odd, signature(world, kHookSecret, "m3", odd));
  CHECK(world.tell(lacking).starts_with("422 "));
  CHECK(world.tell(lacking).starts_with("422 "));
}

TEST_CASE("a secret that cannot be read lets nobody in", "[hooks]") {
  HooksWorld world(
      {events("units", {.hook = "/hooks/a", .secrets = {""}}), events("more", {.hook = "/hooks/b", .token = "x"})});
  CHECK(world.tell(post("/hooks/a", "{}", signature(world, kHookSecret, "1", "{}"))).starts_with("401 "));
  CHECK(world.tell(post("/hooks/b", "{}", bearer(""))).starts_with("401 "));
}

TEST_CASE("a certificate lets in whom the rules name", "[hooks]") {
  HooksWorld world({events("units", {.hook = "/hooks/a", .certificate = "aodh.example"})});
  web::Request request = post("/hooks/a", "{}", {{"webhook-id", "1"}});
  CHECK(world.tell(request) == "401 it has not shown the certificate that the hook asks for");
  request.certificate = std::make_shared<web::ClientCertificate>(web::ClientCertificate{"other", "ab"});
  CHECK(world.tell(request).starts_with("401 "));
  request.certificate = std::make_shared<web::ClientCertificate>(web::ClientCertificate{"aodh.example", "ab"});
  CHECK(world.tell(request) == "202 [1  202]");
  CHECK(world.came().find("|aodh.example|units has taken it") != std::string::npos);
  CHECK(web::shows_certificate(request, "sha256:AB"));
  CHECK(web::shows_certificate(request, "SHA256:a:b"));
  CHECK_FALSE(web::shows_certificate(request, "sha256:"));
  CHECK_FALSE(web::shows_certificate(request, "sha256:aodh.example"));
  CHECK_FALSE(web::shows_certificate(request, ""));
  request.certificate = std::make_shared<web::ClientCertificate>(web::ClientCertificate{"", "ab"});
  CHECK_FALSE(web::shows_certificate(request, ""));
}

TEST_CASE("a hook without a secret takes what programs on this machine send", "[hooks]") {
  HooksWorld world({events("units", {.hook = "/hooks/a"})});
  const std::string kept_out = "401 a hook without a secret takes events of programs on this machine alone";
  const auto told = [&](const std::string& peer, web::Fields headers = {}) {
    headers.emplace_back("webhook-id", "1");
    web::Request request = post("/hooks/a", "{}", std::move(headers));
    request.peer = peer;
    return world.tell(request);
  };
  CHECK(told("192.0.2.7") == kept_out);
  CHECK(told("10.0.0.1") == kept_out);
  for (const char* const here : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", ""})
    CHECK(told(here) == "202 [1  202]");
  // A proxy speaks for anybody, and a browser for a page of anybody's.
  for (const char* const name : {"X-Forwarded-For", "Forwarded", "Via", "Origin", "Sec-Fetch-Site", "Referer"})
    CHECK(told("127.0.0.1", {{name, "x"}}) == kept_out);
  // A name of somebody else's may lead here.
  for (const char* const host : {"localhost:2812", "127.0.0.1", "[::1]:2812"})
    CHECK(told("127.0.0.1", {{"Host", host}}) == "202 [1  202]");
  CHECK(told("127.0.0.1", {{"Host", "rebound.example:2812"}}) == kept_out);
  CHECK(told("", {{"Host", "healer"}}) == "202 [1  202]");  // by a unix socket no page comes
}

TEST_CASE("what filters find is the key and the state of an event", "[hooks]") {
  EventSpec spec = with_token();
  spec.key = ".id";
  spec.state = ".state";
  HooksWorld world({events("units", spec)});
  CHECK(world.tell(post("/hooks/a/b", R"({"id": "u1", "state": "gone"})", bearer(kToken))) == "202 [u1 gone 202]");
  CHECK(world.tell(post("/hooks/a/b", R"({"id": "u1", "state": "gone", "more": 1})", bearer(kToken))) ==
        "202 [u1 gone 202]");
  CHECK(world.tell(post("/hooks/a/b", R"({"id": "u1", "state": "back"})", bearer(kToken))) == "202 [u1 back 202]");
  CHECK(world.tell(post("/hooks/a/b", R"({"state": "gone"})", bearer(kToken))).starts_with("422 "));
  CHECK(world.tell(post("/hooks/a/b", R"({"id": "u1"})", bearer(kToken))).starts_with("422 "));
  CHECK(world.came().starts_with("u1|gone|202|2|"));
}

TEST_CASE("an event that lacks what its rules ask for is refused, the others of its body are not", "[hooks]") {
  EventSpec spec = with_token(EventFormat::Alertmanager);
  spec.fields = {"EVENT.labels.instance"};
  HooksWorld world({events("alerts", spec)});
  const std::string body =
      R"({"alerts":[{"fingerprint":"1","startsAt":"t","status":"firing","labels":{"instance":"a"}},)"
      R"({"fingerprint":"2","startsAt":"t","status":"firing","labels":{}}]})";
  CHECK(world.tell(post("/hooks/a/b", body, bearer(kToken))) ==
        "422 it has no plain value ${EVENT.labels.instance} [1 t firing 202] [2 t firing 422]");
  CHECK(world.tell(post("/hooks/a/b", R"({"alerts":[]})", bearer(kToken))) == "202");
}

TEST_CASE("a confirmation of Zaqar is answered, and shown to people", "[hooks]") {
  HooksWorld world({events("units", with_token(EventFormat::Zaqar))});
  const std::string body =
      R"({"Message_Type":"SubscriptionConfirmation","URL-Signature":"6a","URL-Methods":"PUT","URL-Paths":"/v2/q/confirm",)"
      R"("X-Project-ID":"p1","URL-Expires":"2030-01-01T00:00:00"})";
  CHECK(world.tell(post("/hooks/a/b", body, bearer(kToken))) == "202");
  CHECK(world.came().find("who wants it confirms it: curl -X PUT") != std::string::npos);
}

TEST_CASE("a sender of CloudEvents asks first whether it may send", "[hooks]") {
  HooksWorld world(
      {events("token", with_token(EventFormat::CloudEvents)),
       events("signed", {.hook = "/hooks/s", .secrets = {kHookSecret}, .format = EventFormat::CloudEvents})});
  web::Request request = post("/hooks/a/b", "", bearer(kToken));
  request.method = Method::Options;
  request.headers.emplace_back("WebHook-Request-Origin", "events.example");
  request.headers.emplace_back("WebHook-Request-Rate", "120");
  request.headers.emplace_back("WebHook-Request-Callback", "http://127.0.0.1:1/never-called");
  const web::Response response = world.send(request);
  CHECK(response.status == 200);
  CHECK(web::find(response.headers, "Allow") == "OPTIONS, POST");
  CHECK(web::find(response.headers, "WebHook-Allowed-Origin") == "events.example");
  CHECK(web::find(response.headers, "WebHook-Allowed-Rate") == "*");
  CHECK(world.came().empty());
  request.headers.front().second = "Bearer other";
  CHECK(world.send(request).status == 401);
  // What is signed is judged when it comes.
  CHECK(world.send({.method = Method::Options, .path = "/hooks/s", .peer = "192.0.2.7"}).status == 200);
  CHECK(web::find(world.send({.method = Method::Put, .path = "/hooks/s"}).headers, "Allow") == "OPTIONS, POST");
}

/// The answer when so much waits that no more is taken, and what it says of when to come again.
std::string answer_when_full(EventFormat format, const std::string& body) {
  HooksWorld world({events("units", with_token(format))});
  world.daemon().act([&](World& of) {
    const control::Request pause{.verb = control::Verb::Pause, .all = true};
    (void)world.daemon().commands().handle(pause, {.who = WebWorld::admin()}, [] {});
    const std::string much = "\"" + std::string(1'000'000, 'x') + "\"";
    for (std::size_t i = 0; i * much.size() < engine::kMostWaitingBytes; ++i)
      of.handle(engine::event::occurred(of.id("units"), std::to_string(i), {}, much, {}));
  });
  web::Fields headers = bearer(kToken);
  headers.emplace_back("webhook-id", "last");
  const web::Response response = world.send(post("/hooks/a/b", body, std::move(headers)));
  return std::to_string(response.status) + " " +
         std::string(web::find(response.headers, "Retry-After").value_or("never"));
}

TEST_CASE("when too many events wait their senders are told to come again, each in its own way", "[hooks]") {
  const std::string much = "\"" + std::string(200'000, 'x') + "\"";
  CHECK(answer_when_full(EventFormat::Json, "{\"much\":" + much + "}") == "429 5");
  CHECK(answer_when_full(EventFormat::Zaqar, "{\"body\":{\"much\":" + much + "}}") == "503 5");
}

}  // namespace hooks_test
