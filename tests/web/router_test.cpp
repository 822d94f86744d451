// SPDX-License-Identifier: MIT
#include "web/router.hpp"

#include <catch2/catch.hpp>

#include "web/verbs.hpp"
#include "web/web_world.hpp"

using namespace healer;
using namespace healer::test;
using web::Method;
using web::Router;

namespace {

web::Route route(Method method, std::string pattern, std::string answer) {
  return {method, std::move(pattern), control::Least::ReadOnly,
          [answer = std::move(answer)](const web::Call&) -> web::Reply { return web::Response{.body = answer}; }};
}

std::string pattern_for(const Router& router, Method method, std::string_view path) {
  const auto match = router.find(method, path);
  if (const auto* found = std::get_if<Router::Found>(&match)) return found->route->pattern;
  if (const auto* wrong = std::get_if<Router::WrongMethod>(&match))
    return "wrong method, not " + std::string(to_string(wrong->allowed.front()));
  return "unknown";
}

}  // namespace

TEST_CASE("A path is answered by the route with the longest text before its first name", "[router]") {
  Router router;
  router.add({route(Method::Get, "/{name}", "page"), route(Method::Post, "/{name}", "act")});
  router.add({route(Method::Get, "/_status", "status"), route(Method::Get, "/api/v1/services/{name}", "service"),
              route(Method::Get, "/api/v1/services/{name}/explain", "why"),
              route(Method::Get, "/badge/{name}.svg", "badge")});
  CHECK(pattern_for(router, Method::Get, "/_status") == "/_status");
  CHECK(pattern_for(router, Method::Head, "/_status") == "/_status");
  CHECK(pattern_for(router, Method::Get, "/web") == "/{name}");
  CHECK(pattern_for(router, Method::Post, "/_status") == "/{name}");
  CHECK(pattern_for(router, Method::Delete, "/web") == "wrong method, not GET");
  CHECK(pattern_for(router, Method::Get, "/api/v1/services/web") == "/api/v1/services/{name}");
  CHECK(pattern_for(router, Method::Get, "/api/v1/services/web/explain") == "/api/v1/services/{name}/explain");
  CHECK(pattern_for(router, Method::Get, "/api/v1/services/web/other") == "unknown");
  CHECK(pattern_for(router, Method::Get, "/badge/web.svg") == "/badge/{name}.svg");
  CHECK(pattern_for(router, Method::Get, "/") == "unknown");

  router.add({route(Method::Get, "/hooks/{path...}", "hook")});
  CHECK(pattern_for(router, Method::Get, "/hooks/a") == "/hooks/{path...}");
  CHECK(pattern_for(router, Method::Get, "/hooks/a/b/") == "/hooks/{path...}");
  CHECK(pattern_for(router, Method::Get, "/hooks/") == "unknown");
}

TEST_CASE("A slash that was sent encoded is part of a name", "[router]") {
  Router router;
  router.add({route(Method::Get, "/{name}", "page"), route(Method::Get, "/badge/{file}", "badge")});
  const auto found = router.find(Method::Get, web::decoded_path("/a%2Fb"));
  CHECK(std::get<Router::Found>(found).captured == std::vector<std::string>{"a/b"});
  CHECK(pattern_for(router, Method::Get, web::decoded_path("/badge/a%2Fb.svg")) == "/badge/{file}");
  CHECK(pattern_for(router, Method::Get, web::decoded_path("/%5Fstatus%2f")) == "/{name}");
  CHECK(web::decoded_path("/a%00b%2") == "/a%00b%2");
}

TEST_CASE("The lines of an answer become one response, and a failure too", "[router]") {
  WebWorld world(two_services(), [](const web::Backend& backend) -> std::vector<web::Route> {
    return {{Method::Get, "/{name}", control::Least::ReadOnly, [backend](const web::Call& call) {
               return web::ask(backend, call, {.verb = control::Verb::Summary, .names = {call.captured.front()}},
                               [](const web::Outcome& outcome) {
                                 if (const auto* failure = std::get_if<control::Failure>(&outcome))
                                   return web::Response{.status = 404, .body = failure->message};
                                 return web::Response{.body = std::get<web::Gathered>(outcome).items.at(0)["name"]};
                               });
             }}};
  });
  CHECK(world.get("/web").body == "web");
  CHECK(world.get("/nothing").status == 404);
}
