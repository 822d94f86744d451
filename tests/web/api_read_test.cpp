// SPDX-License-Identifier: MIT
// What is read over the API.
#include <catch2/catch.hpp>

#include "web/api/problem.hpp"
#include "web/api_world.hpp"

using namespace healer;
using namespace healer::test;
using control::Json;

namespace {

/// The names of services, in their order.
std::string names_in(const Json& document) {
  std::string text;
  for (const Json& one : document.at("services")) text += (text.empty() ? "" : " ") + one.at("name").get<std::string>();
  return text;
}

std::string keys_of(const Json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) text += (text.empty() ? "" : " ") + name;
  return text;
}

/// What the pages of a list say, one after the other, each field `name` of what it lists.
std::string pages_of(ApiWorld& world, const std::string& target, const std::string& list, const std::string& name) {
  std::string text;
  std::string cursor;
  for (int i = 0; i < 20; ++i) {
    const Json page = world.read(target + (cursor.empty() ? "" : "&cursor=" + cursor));
    for (const Json& one : page.at(list)) text += one.at(name).dump() + " ";
    if (page.at("next").is_null()) return text;
    cursor = page.at("next").get<std::string>();
    text += "| ";
  }
  return text;
}

/// So many records come: "db" fails and recovers.
void let_happen(ApiWorld& world, int records) {
  for (int i = 0; i < records; ++i) world.daemon().cycle(i % 2 == 0 ? 1 : 0);
}

}  // namespace

TEST_CASE("A page of services is the document of summary, with a cursor", "[api]") {
  ApiWorld world;
  world.daemon().cycle(1);
  const web::Response response = world.get("/services");
  CHECK(response.type == "application/json");
  const Json document = Json::parse(response.body);
  CHECK(keys_of(document) == "version command daemon services totals next");
  CHECK(document.at("command") == "summary");
  CHECK(document.at("daemon").at("version") == "1.2.3");
  CHECK(names_in(document) == "web db");
  CHECK(keys_of(document.at("services")[0]) == "name kind state text since next_run_ms dying rule rule_place");
  CHECK(document.at("totals").at("failed") == 1);
  CHECK(document.at("next").is_null());
  CHECK(pages_of(world, "/services?limit=1", "services", "name") == R"("web" | "db" )");
}

TEST_CASE("Services are filtered, sorted, and told in the fields that are asked for", "[api]") {
  ApiWorld world;
  world.daemon().cycle(1);
  CHECK(names_in(world.read("/services?state=failed")) == "db");
  CHECK(names_in(world.read("/services?state=failed,failing")) == "web db");
  CHECK(names_in(world.read("/services?state=failed&state=failing")) == "web db");
  CHECK(names_in(world.read("/services?group=databases")) == "db");
  CHECK(names_in(world.read("/services?kind=process")).empty());
  CHECK(names_in(world.read("/services?q=W")) == "web");
  CHECK(names_in(world.read("/services?sort=name")) == "db web");
  CHECK(names_in(world.read("/services?sort=state")) == "db web");
  CHECK(keys_of(world.read("/services?fields=state,name").at("services")[0]) == "name state");
  const Json whole = world.read("/services?fields=name,rules");
  CHECK(whole.at("command") == "status");
  CHECK(whole.at("services")[0].at("rules")[0].at("window") == 3);
}

TEST_CASE("Services that are named come with those of groups, on one page with their own totals", "[api]") {
  ApiWorld world;
  world.daemon().cycle(1);
  CHECK(names_in(world.read("/services?name=DB&name=web")) == "db web");
  CHECK(names_in(world.read("/services?name=web&group=databases")) == "web db");
  const Json one = world.read("/services?name=web&fields=name,rules");
  CHECK(one.at("command") == "status");
  CHECK(one.at("totals").at("services") == 1);
  CHECK(one.at("next").is_null());
  CHECK(world.get("/services?name=nobody").status == 404);
  CHECK(world.get("/services?name=web&state=failed").status == 400);
}

TEST_CASE("A parameter that is none is refused with what helps", "[api]") {
  ApiWorld world;
  const auto refused = [&](const std::string& target) { return problem_of(world.get(target)); };
  CHECK(refused("/services?sate=failed") ==
        "400 bad-request: there is no parameter \"sate\" here | did you mean \"state\"?");
  CHECK(refused("/services?state=faild") == "400 bad-request: there is no state \"faild\" | did you mean \"failed\"?");
  CHECK(refused("/services?sort=x") == "400 bad-request: there is no order \"x\" | sort takes rules, name or state");
  CHECK(refused("/services?limit=0") ==
        "400 bad-request: limit \"0\" is not a number | limit takes a number from 1 to 1000");
  CHECK(refused("/services?limit=1&limit=2") == "400 bad-request: limit is given twice | give it once");
  CHECK(refused("/services?fields=nam") == "400 bad-request: there is no field \"nam\" | did you mean \"name\"?");
  CHECK(refused("/services?q=") == "400 bad-request: q is empty | give it a value, or leave it out");
  CHECK(refused("/services?cursor=x").starts_with("400 bad-request: the cursor is none of this list | "));
  CHECK(refused("/services?group=database").starts_with("404 unknown-group: "));
  CHECK(refused("/daemon?q=x") == "400 bad-request: there is no parameter \"q\" here | leave it out");
  CHECK(refused("/history?cursor=9").starts_with("400 "));
  CHECK(refused("/jobs?cursor=9").starts_with("400 "));
  CHECK(refused("/healings?cursor=x").starts_with("400 "));
}

TEST_CASE("A problem says what it is as RFC 9457 has it", "[api]") {
  ApiWorld world;
  const web::Response response = world.get("/services/wep");
  CHECK(response.status == 404);
  CHECK(response.type == "application/problem+json");
  CHECK(Json::parse(response.body) == Json{{"type", "about:blank"},
                                           {"title", "Not Found"},
                                           {"status", 404},
                                           {"detail", "there is no service \"wep\""},
                                           {"code", "unknown-service"},
                                           {"remedy", "did you mean \"web\"?"}});
}

TEST_CASE("A remedy names the requests of the API, and not commands of healerctl", "[api]") {
  CHECK(web::for_http("`healerctl jobs` lists them") == "GET /api/v1/jobs lists them");
  CHECK(web::for_http("`healerctl jobs cancel 7` ends both") == "POST /api/v1/healings/7/cancel ends both");
  CHECK(web::for_http("`healerctl accept web --pid` is needed") == "POST /api/v1/services/web/accept is needed");
  CHECK(web::for_http("`healerctl lists` or `healerctl healing status`") ==
        "GET /api/v1/lists or GET /api/v1/healings");
  CHECK(web::for_http("`healerctl doctor` tells") == "`healerctl doctor` tells");
  CHECK(web::for_http("an `healerctl open end") == "an `healerctl open end");
  web::Response response = web::with_http_remedy(
      web::problem({.code = "unknown-job", .message = "none", .remedy = "`healerctl jobs` lists them"}));
  CHECK(Json::parse(response.body).at("remedy") == "GET /api/v1/jobs lists them");
  response = web::problem({.code = "forbidden", .message = "no", .remedy = "run healerctl as root, or join"});
  CHECK(Json::parse(response.body).at("remedy") == "'allow' in 'set httpd' gives roles");
}

TEST_CASE("The output of a program is told as it is written, and then its end", "[api]") {
  ApiWorld world;
  CHECK(problem_of(world.get("/jobs/71/events")).starts_with("404 unknown-job: "));
  CHECK(problem_of(world.get("/jobs/x/events")).starts_with("404 unknown-job: "));
  CHECK(problem_of(world.get("/services/nobody/output/events")).starts_with("404 unknown-"));
  CHECK(problem_of(world.get("/services/web/output/events?fields=text")).starts_with("400 "));
}

TEST_CASE("One service is the document of status, and of explain", "[api]") {
  ApiWorld world;
  CHECK(problem_of(world.get("/services/web/output")).starts_with("404 no-output: no program of web has run yet | "));
  world.daemon().cycle(1);
  const Json status = world.read("/services/WEB");
  CHECK(keys_of(status) == "version command daemon services totals");
  CHECK(status.at("command") == "status");
  CHECK(names_in(status) == "web");
  CHECK(status.at("services")[0].at("last").at("status") == 1);
  CHECK(keys_of(world.read("/services/web?fields=last").at("services")[0]) == "last");
  const Json why = world.read("/services/web/explain");
  CHECK(why.at("command") == "explain");
  CHECK(why.at("services")[0].at("rules")[0].at("state") == "failing");
  const Json output = world.read("/services/web/output");
  CHECK(output.at("output")[0].at("doing") == "the last check, which wrote nothing");
  CHECK(output.at("text") == "the last check of web wrote nothing");
}

TEST_CASE("The history is read in pages, in both directions", "[api]") {
  ApiWorld world;
  let_happen(world, 6);
  const Json all = world.read("/history");
  CHECK(all.at("command") == "history");
  CHECK(all.at("next").is_null());
  const auto& records = all.at("records");
  const auto last = records.back().at("id").get<std::uint64_t>();
  const auto first = records.front().at("id").get<std::uint64_t>();
  REQUIRE(last - first + 1 == records.size());
  std::string forwards;
  for (auto id = first; id <= last; ++id)
    forwards += std::to_string(id) + " " + ((id - first) % 2 == 1 && id != last ? "| " : "");
  CHECK(pages_of(world, "/history?limit=2&after=0", "records", "id") == forwards);
  std::string backwards;
  for (auto id = last; id > first; id -= 2)
    backwards += std::to_string(id - 1) + " " + std::to_string(id) + " " + (id - 1 > first ? "| " : "");
  if ((last - first) % 2 == 0) backwards += std::to_string(first) + " ";
  CHECK(pages_of(world, "/history?limit=2", "records", "id") == backwards);
  CHECK(world.read("/history?service=db&fields=id,service").at("records").back().at("service") == "db");
  CHECK(world.read("/services/db/history").at("records").back().at("service") == "db");
  CHECK(world.read("/history?group=databases").at("records").back().at("service") == "db");
  CHECK(world.read("/services/databases/history").at("records").back().at("service") == "db");
  CHECK(problem_of(world.get("/history?group=nobodies")).starts_with("404 unknown-group: "));
  CHECK(problem_of(world.get("/history?group=databases&service=db")).starts_with("400 bad-request: "));
  CHECK(problem_of(world.get("/services/nobody/history")).starts_with("404 unknown-service: "));
  CHECK(world.read("/history?since_ms=1").at("records").size() < records.size());
  CHECK(world.read("/history?since_ms=100000000").at("records") == records);
}

TEST_CASE("What is under way is listed in pages", "[api]") {
  ApiWorld world;
  world.daemon().act([](World& engine) { add_restart(engine); });
  const Json jobs = world.read("/jobs?limit=1");
  CHECK(jobs.at("jobs")[0].at("id") == 70);
  CHECK(jobs.at("next").is_null());
  CHECK(world.read("/jobs/70").at("jobs")[0].at("kind") == "restart");
  CHECK(problem_of(world.get("/jobs/71")) ==
        "404 unknown-job: nothing with the number 71 is under way | GET /api/v1/jobs lists what is");
  CHECK(world.read("/healings").at("healings").empty());
  CHECK(world.read("/healings").at("cooldowns").empty());
  CHECK(problem_of(world.get("/healings/x")).starts_with("404 unknown-healing: "));
  CHECK(world.read("/healings/report").at("workflows").empty());
}

TEST_CASE("The daemon, the graph, the changes and the session are read", "[api]") {
  ApiWorld world;
  CHECK(keys_of(world.read("/daemon")) == "version command daemon ok text");
  CHECK(keys_of(world.read("/graph").at("services")[0]) == "name kind state groups depends");
  CHECK(world.read("/changes").at("text") == "nothing would change");
  const Json session = Json::parse(world.get("/session", WebWorld::reader()).body);
  CHECK(session == Json{{"version", 1}, {"user", "reader"}, {"role", "read-only"}, {"token", "token"}});
}
