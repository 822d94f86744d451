// SPDX-License-Identifier: MIT
// The control protocol over HTTP: what is asked of the API, and what its documents become.
#include "ctl/server/over_http.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "control/wire.hpp"

namespace over_http_test {

using namespace healer;
using control::Failure;
using control::Json;
using control::Request;
using control::Verb;

namespace {

/// A server that answers what it was told to, in that order.
class Fake final : public HttpWay {
 public:
  std::variant<Json, Failure> fetch(const HttpAsked& request, const std::function<void()>& sent) override {
    asked.push_back((request.body ? "POST " : "GET ") + request.path + (request.body ? " " + *request.body : ""));
    if (asked.size() > answers.size()) return Failure{"closed", "nobody answers", ""};
    if (sent) sent();
    return answers[asked.size() - 1];
  }
  std::optional<Failure> listen(const std::string& path, const Event& event) override {
    asked.push_back("EVENTS " + path);
    for (const auto& [kind, data] : events) event(kind, data);
    return broken;
  }
  void wait_for_end() override { asked.emplace_back("END"); }

  std::vector<std::variant<Json, Failure>> answers;
  std::vector<std::pair<std::string, std::string>> events;
  std::optional<Failure> broken;
  std::vector<std::string> asked;
};

Json document(const std::string& rest) {
  return Json::parse(R"({"version":1,"command":"it","daemon":{"pid":7},)" + rest + "}");
}

std::string lines_of(const Request& request, Fake& way) {
  std::string text;
  ask_over_http(request, way, [&](const std::string& line) { text += line; });
  return text;
}

std::string asked_by(const Request& request) {
  Fake way;
  (void)lines_of(request, way);
  return way.asked.empty() ? "" : way.asked.front();
}

}  // namespace

TEST_CASE("what acts is the API's route of that word, with a body of what the request says", "[control][server]") {
  CHECK(asked_by({.verb = Verb::Restart, .names = {"web", "db"}, .groups = {"g"}}) ==
        R"(POST /services/restart {"names":["web","db"],"groups":["g"]})");
  CHECK(asked_by({.verb = Verb::Validate, .all = true}) == R"(POST /services/check {"all":true})");
  CHECK(asked_by({.verb = Verb::Pause, .names = {"web"}, .span = hours{2}, .reason = "new disks"}) ==
        R"(POST /services/pause {"names":["web"],"for_ms":7200000,"reason":"new disks"})");
  CHECK(asked_by({.verb = Verb::Heal, .names = {"web"}, .workflow = "rebuild"}) ==
        R"(POST /services/heal {"names":["web"],"workflow":"rebuild"})");
  CHECK(asked_by({.verb = Verb::Accept, .names = {"list", "nodes"}}) ==
        R"(POST /services/accept {"names":["list","nodes"]})");
  CHECK(asked_by({.verb = Verb::Approve, .names = {"7"}, .id = 7, .plan = "abc"}) ==
        R"(POST /healings/7/approve {"plan":"abc"})");
  CHECK(asked_by({.verb = Verb::Reject, .names = {"a/b c"}}) == "POST /healings/a%2Fb%20c/reject {}");
  CHECK(asked_by({.verb = Verb::Cancel, .id = 9}) == "POST /healings/9/cancel {}");
  CHECK(asked_by({.verb = Verb::HealingReset, .workflow = "w"}) == R"(POST /healings/reset {"workflow":"w"})");
  CHECK(asked_by({.verb = Verb::Reload, .confirmed = true}) == R"(POST /reload {"confirmed":true})");
}

TEST_CASE("what is read is the API's route, with its filters", "[control][server]") {
  CHECK(asked_by({.verb = Verb::Ping}) == "GET /daemon");
  CHECK(asked_by({.verb = Verb::Lists}) == "GET /lists");
  CHECK(asked_by({.verb = Verb::Diff}) == "GET /changes");
  CHECK(asked_by({.verb = Verb::Jobs}) == "GET /jobs?limit=1000");
  CHECK(asked_by({.verb = Verb::HealingReport}) == "GET /healings/report");
  CHECK(asked_by({.verb = Verb::Report}) == "GET /services?fields=state&limit=1");
  CHECK(asked_by({.verb = Verb::Names}) == "GET /services?fields=name%2Cgroups%2Cstate&limit=1000");
  CHECK_THAT(asked_by({.verb = Verb::Summary, .names = {"web", "d b"}, .groups = {"g"}}),
             Catch::StartsWith("GET /services?name=web&name=d%20b&group=g&fields=name%2Ckind%2Cstate"));
  CHECK_THAT(asked_by({.verb = Verb::Summary, .failed = true}),
             Catch::Contains("&state=failed%2Cgiven%20up&limit=1000"));
  CHECK(asked_by({.verb = Verb::Explain, .names = {"web"}}) == "GET /services/web/explain");
  CHECK(asked_by({.verb = Verb::Output, .names = {"12"}, .id = 0}) == "GET /services/12/output");
  CHECK(asked_by({.verb = Verb::History}) == "GET /history?limit=100");
  CHECK(asked_by({.verb = Verb::History, .names = {"web"}, .since = seconds{5}}) ==
        "GET /history?service=web&since_ms=5000&limit=1000");
  CHECK(asked_by({.verb = Verb::History, .after = 3, .limit = 2}) == "GET /history?after=3&limit=2");
}

TEST_CASE("what HTTP does not do is refused, and nobody is asked", "[control][server]") {
  Fake way;
  for (const Request& one : {Request{.verb = Verb::Heal, .names = {"web"}, .overrides = {"limit"}},
                             Request{.verb = Verb::Beat, .names = {"b"}}, Request{.verb = Verb::Event, .names = {"e"}},
                             Request{.verb = Verb::Events}, Request{.verb = Verb::Open}})
    CHECK_THAT(lines_of(one, way), Catch::StartsWith(R"({"version":1,"error":{"code":"not-over-http")"));
  CHECK(way.asked.empty());
}

TEST_CASE("a document becomes the reply of the protocol", "[control][server]") {
  Fake way;
  way.answers = {document(R"("ok":true,"text":"web is started")")};
  CHECK(lines_of({.verb = Verb::Start, .names = {"web"}}, way) ==
        "{\"version\":1,\"command\":\"start\"}\n"  // the server has understood it
        "{\"version\":1,\"command\":\"start\",\"daemon\":{\"pid\":7}}\n"
        "{\"end\":{\"ok\":true,\"text\":\"web is started\"}}\n");

  Fake refusing;
  refusing.answers = {Failure{"unknown-service", "there is no service", "look"}};
  CHECK_THAT(
      lines_of({.verb = Verb::Start, .names = {"x"}}, refusing),
      Catch::EndsWith("{\"version\":1,\"error\":" + Json(std::get<Failure>(refusing.answers[0])).dump() + "}\n"));

  Fake odd;
  odd.answers = {document(R"("nothing":1)")};
  CHECK_THAT(lines_of({.verb = Verb::Jobs}, odd), Catch::Contains("\"protocol\""));
}

TEST_CASE("services come page by page, and those that are chosen are counted", "[control][server]") {
  const std::string totals = R"("totals":{"services":9})";
  Fake way;
  way.answers = {document(R"("services":[{"name":"a","state":"running"}],)" + totals + R"(,"next":"C")"),
                 document(R"("services":[{"name":"b","state":"failed"}],)" + totals + R"(,"next":null)")};
  const std::string all = lines_of({.verb = Verb::Summary}, way);
  CHECK_THAT(way.asked.at(1), Catch::EndsWith("&limit=1000&cursor=C"));
  CHECK(all ==
        "{\"version\":1,\"command\":\"summary\",\"daemon\":{\"pid\":7}}\n"
        "{\"item\":{\"name\":\"a\",\"state\":\"running\"}}\n{\"item\":{\"name\":\"b\",\"state\":\"failed\"}}\n"
        "{\"end\":{\"services\":9}}\n");

  Fake some;
  some.answers = {document(R"("services":[{"name":"a","state":"running"},{"name":"b","state":"failed"}],)" + totals)};
  const std::string failed = lines_of({.verb = Verb::Summary, .names = {"a", "b"}, .failed = true}, some);
  CHECK_THAT(failed, !Catch::Contains("\"a\"") && Catch::Contains("\"b\"") && Catch::Contains("\"services\":2"));
}

TEST_CASE("the newest records are read backwards, and told forwards", "[control][server]") {
  Fake way;
  way.answers = {document(R"("records":[{"id":3},{"id":4}],"next":"before.3")"),
                 document(R"("records":[{"id":2}],"next":null)")};
  const std::string told = lines_of({.verb = Verb::History, .limit = 3}, way);
  CHECK(way.asked == std::vector<std::string>{"GET /history?limit=3", "GET /history?limit=1&cursor=before.3"});
  CHECK(told.find("\"id\":2") < told.find("\"id\":3"));
  CHECK(told.find("\"id\":3") < told.find("\"id\":4"));
}

TEST_CASE("who follows the history gets what was and then the events", "[control][server]") {
  Fake way;
  way.answers = {document(R"("records":[{"id":4}],"next":"before.4")"),
                 document(R"("records":[{"id":3},{"id":5}],"next":null)")};
  way.events = {{"", R"({"rev":1})"}, {"record", R"({"id":6})"}, {"gap", R"({"gap":{"after":6}})"}};
  const std::string told = lines_of({.verb = Verb::History, .names = {"web"}, .follow = true}, way);
  CHECK(way.asked.back() == "EVENTS /events?after=5&service=web");
  CHECK_THAT(told, Catch::EndsWith("{\"item\":{\"id\":6}}\n{\"item\":{\"gap\":{\"after\":6}}}\n"
                                   "{\"end\":{\"ok\":true,\"text\":\"healerd has ended\"}}\n"));
  way.asked.clear();
  way.broken = Failure{"closed", "it broke", ""};
  CHECK_THAT(lines_of({.verb = Verb::History, .follow = true}, way), Catch::Contains("\"closed\""));
}

TEST_CASE("who follows the output of a program gets it piece by piece, until that ends", "[control][server]") {
  Fake way;
  way.events = {{"output", R"({"text":"one"})"}, {"output", R"({"text":"two"})"}, {"end", R"({"ok":true,"text":""})"}};
  const std::string told = lines_of({.verb = Verb::Output, .names = {"a/b"}, .follow = true}, way);
  CHECK(way.asked.back() == "EVENTS /services/a%2Fb/output/events");
  CHECK_THAT(told, Catch::StartsWith("{\"version\":1,\"command\":\"output\"}\n"));
  CHECK_THAT(told, Catch::EndsWith("{\"item\":{\"text\":\"one\"}}\n{\"item\":{\"text\":\"two\"}}\n"
                                   "{\"end\":{\"ok\":true,\"text\":\"\"}}\n"));
  way.events = {{"error", R"({"code":"no-output","message":"it is no longer kept","remedy":""})"}};
  CHECK_THAT(lines_of({.verb = Verb::Follow, .id = 7}, way), Catch::Contains("\"no-output\""));
  CHECK(way.asked.back() == "EVENTS /jobs/7/events");
  way.events = {};
  CHECK_THAT(lines_of({.verb = Verb::Follow, .id = 7}, way), Catch::Contains("healerd has ended"));
}

TEST_CASE("quit has no end but that of the server", "[control][server]") {
  Fake way;
  way.answers = {document(R"("ok":true,"text":"healerd ends")")};
  const std::string told = lines_of({.verb = Verb::Quit}, way);
  CHECK(way.asked == std::vector<std::string>{"POST /quit {}", "END"});
  CHECK_THAT(told, !Catch::Contains("\"end\"") && Catch::Contains("\"daemon\""));
}

}  // namespace over_http_test
