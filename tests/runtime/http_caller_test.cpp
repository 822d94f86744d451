// SPDX-License-Identifier: MIT
// Requests over HTTP, against servers of the test's own: what is certain to have failed, and what is in doubt.
#include <atomic>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/clock.hpp"
#include "runtime/net/http_caller.hpp"
#include "support/paths.hpp"
#include "support/processes.hpp"
#include "support/servers.hpp"

using namespace healer;
using namespace healer::runtime;
using namespace healer::test;
using engine::Saving;
using engine::event::Answered;
using Ending = Answered::Kind;

namespace {

/// Makes requests, one after the other or side by side.
class TestCaller {
 public:
  explicit TestCaller(HttpCaller::Options options = {}) : caller_(loop_, with_helper(std::move(options))) {}

  Answered run(const HttpCall& call) { return run_all({call}).front(); }
  std::vector<Answered> run_all(const std::vector<HttpCall>& calls) {
    std::vector<Answered> answers;
    for (const HttpCall& call : calls)
      caller_.call(engine::ActionId{++last_}, call, [&](Answered answer) {
        answers.push_back(std::move(answer));
        if (answers.size() == calls.size()) loop_.stop();
      });
    CHECK(answers.empty());  // never from within call()
    loop_.run();
    CHECK(caller_.in_flight() == 0);
    return answers;
  }
  Loop& loop() { return loop_; }
  HttpCaller& caller() { return caller_; }

 private:
  static HttpCaller::Options with_helper(HttpCaller::Options options) {
    options.jq_helper = build_folder() + "/healerd";
    return options;
  }

  Loop loop_;
  HttpCaller caller_;
  std::uint64_t last_ = 0;
};

/// One request of a client, with its body; empty at the end.
std::string receive_request(Peer& peer) {
  std::string text;
  for (;;) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::size_t length = text.find("Content-Length: ");
      const std::size_t size = length < end ? std::stoul(text.substr(length + 16)) : 0;
      if (text.size() >= end + 4 + size) return text;
    }
    const std::string more = peer.receive();
    if (more.empty()) return {};
    text += more;
  }
}

std::string answer(const std::string& status, const std::string& body, const std::string& headers = {}) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
}

/// Answers each request by a function, and keeps what it has heard.
class Server {
 public:
  using Answer = std::function<std::string(const std::string& request)>;
  explicit Server(Answer to, const std::string& address = "127.0.0.1")
      : listener_(
            [this, to = std::move(to)](Peer& peer) {
              for (std::string request; !(request = receive_request(peer)).empty();) {
                {
                  const std::lock_guard lock(mutex_);
                  received_.push_back(request);
                }
                const std::string text = to(request);
                if (text.empty() || !peer.say(text)) return;  // hangs up
              }
            },
            address) {}

  [[nodiscard]] std::string url(const std::string& path = "/", const std::string& host = "127.0.0.1") const {
    return "http://" + host + ":" + std::to_string(listener_.port()) + path;
  }
  [[nodiscard]] std::vector<std::string> received() {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  [[nodiscard]] int connections() const { return listener_.count(); }
  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }

 private:
  std::mutex mutex_;
  std::vector<std::string> received_;
  Listener listener_;
};

std::uint16_t closed_port() {
  return Listener([](Peer&) {}).port();
}

}  // namespace

TEST_CASE("A request is sent as written, and its answer is tested", "[http]") {
  Server server([](const std::string&) {
    return answer("201 Created", R"({"status": "UP", "n": 3, "none": null})", "X-Subject-Token: t0k3n\r\n");
  });
  TestCaller requester;
  const Answered outcome =
      requester.run({.method = "PATCH",
                     .url = server.url("/v1/x?a=b"),
                     .headers = {"X-Auth-Token: abc"},
                     .body = R"({"mark": true})",
                     .filters = {".status", ".n", ".nothing.x | error", ".none"},
                     .saves = {{.from = Saving::From::Header, .what = "x-subject-token", .name = "A"},
                               {.from = Saving::From::Json, .what = ".status", .name = "B"},
                               {.from = Saving::From::Regex, .what = "\"n\": ([0-9]+)", .name = "C"},
                               {.from = Saving::From::Json, .what = ".none", .name = "D"},
                               {.from = Saving::From::Json, .what = ".n", .name = "E"}}});
  CHECK(outcome.kind == Ending::Whole);
  CHECK(outcome.status == 201);
  CHECK(outcome.values == std::vector<std::optional<std::string>>{"\"UP\"", "3", std::nullopt, "null"});
  CHECK(outcome.saved == std::vector<std::optional<std::string>>{"t0k3n", "UP", "3", std::nullopt, "3"});
  const std::string received = server.received().at(0);
  CHECK(received.starts_with("PATCH /v1/x?a=b HTTP/1.1\r\n"));
  CHECK(received.find("\r\nX-Auth-Token: abc\r\n") != std::string::npos);
  CHECK(received.find("\r\nContent-Type: application/json\r\n") != std::string::npos);
  CHECK(received.ends_with("\r\n\r\n{\"mark\": true}"));
}

TEST_CASE("A secret of a request appears in no report about it", "[http]") {
  Server server([](const std::string& request) {
    const std::string path = request.substr(4, request.find(' ', 4) - 4);
    return answer("200 OK", R"({"path": ")" + path + R"(", "n": 3})", "X-Path: " + path + "\r\n");
  });
  TestCaller requester;
  HttpCall call{.url = server.url("/a?k=hunter2%2fx"),
                .filters = {".path", ".n"},
                .saves = {{.from = Saving::From::Header, .what = "x-path", .name = "A"}},
                .hidden = {"HUNTER2/x"}};
  const Answered outcome = requester.run(call);
  using Values = std::vector<std::optional<std::string>>;
  CHECK(outcome.values == Values{"\"/a?k=hunter2%2fx\"", "3"});
  CHECK(outcome.shown == Values{"\"/a?k=*****\"", "3"});
  CHECK(outcome.saved == Values{"/a?k=hunter2%2fx"});
  call.hidden = {"nowhere"};
  CHECK(requester.run(call).shown.empty());
  const Answered lost = requester.run({.url = "http://hunter2.invalid/", .hidden = {"HUNTER2"}});
  CHECK(lost.why.starts_with("cannot resolve *****.invalid"));
}

TEST_CASE("An answer that is not JSON has no values", "[http]") {
  Server server([](const std::string&) { return answer("200 OK", "<html>"); });
  TestCaller requester;
  const Answered outcome = requester.run({.url = server.url(), .filters = {"."}});
  CHECK(outcome.values == std::vector<std::optional<std::string>>{std::nullopt});
}

TEST_CASE("a body may come from a file, up to a size", "[http]") {
  TemporaryDirectory folder;
  const std::string path = (folder.path() / "body").string();
  std::ofstream(path) << R"({"auth": 1})";
  Server server([](const std::string&) { return answer("200 OK", ""); });
  TestCaller requester;
  CHECK(requester.run({.method = "POST", .url = server.url(), .body_file = path}).status == 200);
  CHECK(server.received().at(0).ends_with("\r\n\r\n{\"auth\": 1}"));
  const Answered none = requester.run({.method = "POST", .url = server.url(), .body_file = path + "x"});
  CHECK(none.kind == Ending::Failed);
  CHECK(none.why == "its body: cannot read " + path + "x: No such file or directory");
  std::ofstream(path) << std::string(HttpCaller::kMostOfBody + 1, 'x');
  CHECK(requester.run({.method = "POST", .url = server.url(), .body_file = path}).kind == Ending::Failed);
  CHECK(server.connections() == 1);
}

TEST_CASE("A request of which nothing was sent has failed", "[http]") {
  TestCaller requester;
  const std::string place = "127.0.0.1:" + std::to_string(closed_port());
  const Answered refused = requester.run({.method = "POST", .url = "http://" + place + "/"});
  CHECK(refused.kind == Ending::Failed);
  CHECK(refused.why == "could not connect to " + place + ": connection refused");
  CHECK(requester.run({.url = "ftp://127.0.0.1/"}).why == "this is not an HTTP URL");
  CHECK(requester.run({.url = "file:///etc/passwd"}).kind == Ending::Failed);
  CHECK(requester.run({.url = "http://127.0.0.1/", .headers = {"X: a\r\nY: b"}}).kind == Ending::Failed);
}

TEST_CASE("A request that was sent and answered incompletely is in doubt", "[http]") {
  const std::string half = GENERATE(std::string(), std::string("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"));
  Listener server([&](Peer& peer) {
    receive_request(peer);
    if (!half.empty()) peer.say(half);
  });
  TestCaller requester;
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  const Answered outcome = requester.run({.method = "POST", .url = "http://" + place + "/", .body = "{}"});
  CHECK(outcome.kind == Ending::InDoubt);
  CHECK(outcome.why ==
        (half.empty() ? place + " closed the connection without an answer" : "the answer of " + place + " broke off"));
  CHECK(server.count() == 1);  // libcurl has not sent it again
}

TEST_CASE("a slow answer is in doubt when its time is over, and nothing hangs", "[http]") {
  Listener server([](Peer& peer) { peer.be_silent(); });
  TestCaller requester;
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port()) + "/";
  const Duration began = mono_now();
  const Answered outcome = requester.run({.method = "POST", .url = url, .timeout = milliseconds{300}});
  CHECK(outcome.kind == Ending::InDoubt);
  CHECK(outcome.why == "127.0.0.1:" + std::to_string(server.port()) + " did not answer within 300 ms");
  CHECK(mono_now() - began < seconds{5});
}

TEST_CASE("a server that never shakes hands was sent nothing", "[http]") {
  Listener server([](Peer& peer) { peer.be_silent(); });
  TestCaller requester;
  const Answered outcome = requester.run({.method = "POST",
                                          .url = "https://127.0.0.1:" + std::to_string(server.port()) + "/",
                                          .timeout = milliseconds{300}});
  CHECK(outcome.kind == Ending::Failed);
}

TEST_CASE("an answer that is too large is none, and what it answers is in doubt", "[http]") {
  Server server([](const std::string&) { return answer("200 OK", std::string(5000, 'x')); });
  TestCaller requester;
  const Answered outcome = requester.run({.url = server.url(), .limit = 4096});
  CHECK(outcome.kind == Ending::InDoubt);
  CHECK(outcome.why == "answered 200, with over 4 kB");
  Server endless([](const std::string&) {
    std::string head = "HTTP/1.1 200 OK\r\n";
    for (int i = 0; i < 10'000; ++i) head += "X-Header: " + std::string(40, 'x') + "\r\n";
    return head + "Content-Length: 0\r\n\r\n";
  });
  const Answered long_head = requester.run({.url = endless.url()});
  CHECK(long_head.why == "answered 200, with too many header bytes");
  CHECK(long_head.kind == Ending::InDoubt);
}

TEST_CASE("redirects are followed only where that is said", "[http]") {
  Server there([](const std::string&) { return answer("200 OK", "there"); });
  Server here([&](const std::string& request) {
    if (request.find(" /own ") != std::string::npos) return answer("200 OK", "own");
    const bool own = request.find(" /to-own ") != std::string::npos;
    return answer("307 Temporary Redirect", "", "Location: " + (own ? "/own" : there.url("/elsewhere")) + "\r\n");
  });
  TestCaller requester;
  SECTION("not followed") {
    CHECK(requester.run({.url = here.url()}).status == 307);
    CHECK(there.received().empty());
  }
  SECTION("to another server: without what is for this one alone") {
    const Answered outcome =
        requester.run({.url = here.url(),
                       .headers = {"Authorization: Bearer x", "X-Auth-Token: y", "Accept: text/html"},
                       .follow = true});
    CHECK(outcome.status == 200);
    const std::string received = there.received().at(0);
    CHECK(received.starts_with("GET /elsewhere "));
    CHECK(received.find("Bearer") == std::string::npos);
    CHECK(received.find("X-Auth-Token") == std::string::npos);
    CHECK(received.find("Accept: text/html") != std::string::npos);
  }
  SECTION("a body is not for another server") {
    const Answered outcome = requester.run({.method = "POST", .url = here.url(), .body = "{}", .follow = true});
    CHECK(outcome.kind == Ending::InDoubt);
    CHECK(outcome.why == "answered 307: the body is not sent on to http://127.0.0.1:" + std::to_string(there.port()));
    CHECK(there.received().empty());
  }
  SECTION("to the same server: all of it") {
    const Answered outcome = requester.run(
        {.method = "POST", .url = here.url("/to-own"), .headers = {"X-Auth-Token: y"}, .body = "{}", .follow = true});
    CHECK(outcome.status == 200);
    CHECK(here.received().at(1).starts_with("POST /own "));
    CHECK(here.received().at(1).find("X-Auth-Token: y") != std::string::npos);
  }
  SECTION("in a circle") {
    Server circle([](const std::string&) { return answer("302 Found", "", "Location: /\r\n"); });
    CHECK(requester.run({.url = circle.url(), .follow = true}).why == "answered 302: more than 5 redirects");
  }
  SECTION("nowhere but over HTTP") {
    Server bad([](const std::string&) { return answer("302 Found", "", "Location: file:///etc/passwd\r\n"); });
    CHECK(requester.run({.url = bad.url(), .follow = true}).kind == Ending::InDoubt);
  }
  SECTION("where nobody is: the first has taken it") {
    const std::string nowhere = "http://127.0.0.1:" + std::to_string(closed_port()) + "/";
    Server moved([&](const std::string&) { return answer("303 See Other", "", "Location: " + nowhere + "\r\n"); });
    const Answered outcome = requester.run({.method = "POST", .url = moved.url(), .body = "{}", .follow = true});
    CHECK(outcome.kind == Ending::InDoubt);
    CHECK(outcome.why.starts_with("could not connect to "));
  }
}

TEST_CASE("an expression that finds no end finds nothing, and holds up nobody", "[http]") {
  TestCaller requester;
  const std::string text = std::string(60, 'a') + "!\nkey word\n";
  // Back-references make the C library go through all that there is.
  const std::string endless = "(a*)*(a*)*(a*)*(a*)*\\1\\2\\3\\4b";
  std::optional<Answered> hung, other;
  const auto ask = [&](std::uint64_t id, const std::string& what, std::optional<Answered>& into) {
    requester.caller().read(
        engine::ActionId{id}, [&] { return text; }, {{.from = Saving::From::Regex, .what = what, .name = "X"}},
        [&](Answered outcome) {
          into = std::move(outcome);
          if (hung && other) requester.loop().stop();
        });
  };
  const Duration began = mono_now();
  ask(1, endless, hung);
  ask(2, "key ([a-z]+)", other);
  requester.loop().run();
  REQUIRE(hung);
  REQUIRE(other);
  CHECK(other->saved == std::vector<std::optional<std::string>>{"word"});
  CHECK(hung->saved == std::vector<std::optional<std::string>>{std::nullopt});
  CHECK(mono_now() - began < seconds{20});
  CHECK(requester.caller().in_flight() == 0);
}

TEST_CASE("A request is completed on a thread that may wait for the disk", "[http]") {
  Server server([](const std::string&) { return answer("200 OK", "{}"); });
  TestCaller requester;
  HttpCall call{.method = "POST", .timeout = seconds{20}};
  SECTION("it is said") {
    call.complete = [&](HttpCall& whole) -> Result<void> {
      whole.url = server.url("/secret");
      whole.headers.emplace_back("X-Auth-Token: hunter2");
      whole.body = "{}";
      return {};
    };
    CHECK(requester.run(call).status == 200);
    CHECK(server.received().at(0).starts_with("POST /secret "));
    CHECK(server.received().at(0).find("X-Auth-Token: hunter2") != std::string::npos);
  }
  SECTION("it cannot be read") {
    call.complete = [](HttpCall&) -> Result<void> { return Error{0, "secret x: gone"}; };
    const Answered outcome = requester.run(call);
    CHECK(outcome.kind == Ending::Failed);
    CHECK(outcome.why == "secret x: gone");
  }
  SECTION("the disk hangs: its time runs out, and others go on") {
    std::promise<void> answers;
    call.timeout = milliseconds{300};
    call.complete = [answered = answers.get_future().share()](HttpCall&) -> Result<void> {
      answered.wait();
      return {};
    };
    const auto outcome = requester.run_all({call, {.url = server.url()}});
    const auto& late = outcome.at(0).kind == Ending::Failed ? outcome[0] : outcome[1];
    CHECK(late.kind == Ending::Failed);
    CHECK(late.why == "its secrets were not read within 300 ms");
    CHECK((&late == &outcome[0] ? outcome[1] : outcome[0]).status == 200);
    answers.set_value();
  }
  CHECK(server.received().size() <= 1);
}

TEST_CASE("names are resolved by healer's own resolver", "[http]") {
  DatagramServer names([](const std::string& question) {
    const std::string name = dns_name(question);
    if (name == "slow.example") return std::string();
    return dns_answer(question, {"127.0.0.1"}, 60, name == "heat.example");
  });
  Server server([](const std::string&) { return answer("200 OK", ""); });
  TestCaller requester({.resolver = {.servers = "127.0.0.1:" + std::to_string(names.port())}});
  CHECK(requester.run({.url = server.url("/", "heat.example")}).status == 200);
  CHECK(server.received().at(0).find("Host: heat.example:") != std::string::npos);
  CHECK(requester.run({.url = server.url("/", "HEAT.example.")}).status == 200);
  const Answered unknown = requester.run({.method = "POST", .url = "http://none.example/"});
  CHECK(unknown.kind == Ending::Failed);
  CHECK(unknown.why.starts_with("cannot resolve none.example"));
  const Answered slow = requester.run({.method = "POST", .url = "http://slow.example/", .timeout = milliseconds{200}});
  CHECK(slow.kind == Ending::Failed);
  CHECK(slow.why == "cannot resolve slow.example: no answer within 200 ms");
}

TEST_CASE("what may not be repeated goes over a connection of its own", "[http]") {
  Server server([](const std::string&) { return answer("200 OK", ""); });
  TestCaller requester;
  for (int i = 0; i < 3; ++i) requester.run({.url = server.url(), .safe = true});
  CHECK(server.connections() == 1);
  for (int i = 0; i < 2; ++i) requester.run({.method = "POST", .url = server.url()});
  CHECK(server.connections() == 3);
}

TEST_CASE("a certificate that is not trusted is no server to send to", "[http][tls]") {
  const TestCertificates certificates;
  SSL_CTX* const context = certificates.server("self.pem");
  {
    std::atomic<bool> received{false};
    Listener server([&](Peer& peer) {
      if (!peer.secure(context)) return;
      received = !receive_request(peer).empty();
      peer.say(answer("200 OK", ""));
    });
    TestCaller requester;
    const HttpCall call{
        .method = "POST", .url = "https://localhost:" + std::to_string(server.port()) + "/", .body = "secret"};
    const Answered outcome = requester.run(call);
    CHECK(outcome.kind == Ending::Failed);
    CHECK(outcome.why.find("certificate") != std::string::npos);
    CHECK_FALSE(received);
    HttpCall insecure = call;
    insecure.insecure = true;
    CHECK(requester.run(insecure).status == 200);
    HttpCall unverified = call;
    unverified.tls = {{"verify", "disable"}};
    CHECK(requester.run(unverified).status == 200);
    HttpCall self_signed = call;
    self_signed.tls = {{"selfsigned", "allow"}};
    CHECK(requester.run(self_signed).status == 200);
    HttpCall trusted = call;
    trusted.tls = {{"cacertificatefile", certificates.path("self.crt")}};
    CHECK(requester.run(trusted).status == 200);
  }
  SSL_CTX_free(context);
}

TEST_CASE("many requests go side by side, a bounded number at a time", "[http]") {
  std::atomic<int> now{0}, most{0};
  Server server([&](const std::string&) {
    const int count = ++now;
    for (int seen = most; seen < count && !most.compare_exchange_weak(seen, count);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --now;
    return answer("200 OK", "{}");
  });
  TestCaller requester({.most = 4});
  const std::vector<Answered> outcome =
      requester.run_all(std::vector<HttpCall>(20, {.url = server.url(), .filters = {"."}}));
  CHECK(std::ranges::all_of(outcome, [](const Answered& one) { return one.status == 200 && one.values[0] == "{}"; }));
  CHECK(most <= 4);
  CHECK(most > 1);
}

TEST_CASE("A request that nobody awaits ends and reports nothing", "[http]") {
  Listener server([](Peer& peer) { peer.be_silent(); });
  TestCaller requester;
  bool outcome = false;
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port()) + "/";
  requester.caller().call(engine::ActionId{7}, {.url = url}, [&](Answered) { outcome = true; });
  Loop::Timer timer = requester.loop().timer([&] {
    if (server.count() == 0) return timer.set_deadline(mono_now() + milliseconds{10});
    requester.caller().end(engine::ActionId{7});
    requester.loop().stop();
  });
  timer.set_deadline(mono_now() + milliseconds{10});
  requester.loop().run();
  CHECK(requester.caller().in_flight() == 0);
  CHECK_FALSE(outcome);
}
