// SPDX-License-Identifier: MIT
// Which routes the API has, who may ask them, and that its documents are what its description says.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "control/wire_schema.hpp"
#include "support/paths.hpp"
#include "web/api/openapi.hpp"
#include "web/api/operation.hpp"
#include "web/api_world.hpp"

using namespace healer;
using namespace healer::test;
using control::Json;
using control::Least;

namespace {

/// Every route. A new one is written here, with its role.
const std::map<std::string, Least> kRoles{
    {"GET /api/v1/changes", Least::ReadOnly},
    {"GET /api/v1/daemon", Least::ReadOnly},
    {"GET /api/v1/events", Least::ReadOnly},
    {"GET /api/v1/graph", Least::ReadOnly},
    {"GET /api/v1/healings", Least::ReadOnly},
    {"GET /api/v1/healings/report", Least::ReadOnly},
    {"GET /api/v1/healings/{id}", Least::ReadOnly},
    {"GET /api/v1/history", Least::ReadOnly},
    {"GET /api/v1/jobs", Least::ReadOnly},
    {"GET /api/v1/jobs/{id}", Least::ReadOnly},
    {"GET /api/v1/jobs/{id}/events", Least::Operator},
    {"GET /api/v1/lists", Least::ReadOnly},
    {"GET /api/v1/openapi.json", Least::ReadOnly},
    {"GET /api/v1/services", Least::ReadOnly},
    {"GET /api/v1/services/{name}", Least::ReadOnly},
    {"GET /api/v1/services/{name}/explain", Least::ReadOnly},
    {"GET /api/v1/services/{name}/history", Least::ReadOnly},
    {"GET /api/v1/services/{name}/output", Least::Operator},
    {"GET /api/v1/services/{name}/output/events", Least::Operator},
    {"GET /api/v1/session", Least::ReadOnly},
    {"POST /api/v1/healings/reset", Least::Admin},
    {"POST /api/v1/healings/{id}/approve", Least::Operator},
    {"POST /api/v1/healings/{id}/cancel", Least::Operator},
    {"POST /api/v1/healings/{id}/reject", Least::Operator},
    {"POST /api/v1/quit", Least::Admin},
    {"POST /api/v1/reload", Least::Admin},
    {"POST /api/v1/services/accept", Least::Admin},
    {"POST /api/v1/services/ack", Least::Operator},
    {"POST /api/v1/services/check", Least::Admin},
    {"POST /api/v1/services/forget", Least::Admin},
    {"POST /api/v1/services/heal", Least::Operator},
    {"POST /api/v1/services/monitor", Least::Admin},
    {"POST /api/v1/services/pause", Least::Operator},
    {"POST /api/v1/services/restart", Least::Admin},
    {"POST /api/v1/services/resume", Least::Operator},
    {"POST /api/v1/services/start", Least::Admin},
    {"POST /api/v1/services/stop", Least::Admin},
    {"POST /api/v1/services/unmonitor", Least::Admin},
    {"POST /api/v1/services/{name}/accept", Least::Admin},
    {"POST /api/v1/services/{name}/ack", Least::Operator},
    {"POST /api/v1/services/{name}/check", Least::Admin},
    {"POST /api/v1/services/{name}/forget", Least::Admin},
    {"POST /api/v1/services/{name}/heal", Least::Operator},
    {"POST /api/v1/services/{name}/monitor", Least::Admin},
    {"POST /api/v1/services/{name}/pause", Least::Operator},
    {"POST /api/v1/services/{name}/restart", Least::Admin},
    {"POST /api/v1/services/{name}/resume", Least::Operator},
    {"POST /api/v1/services/{name}/start", Least::Admin},
    {"POST /api/v1/services/{name}/stop", Least::Admin},
    {"POST /api/v1/services/{name}/unmonitor", Least::Admin},
};

std::string whole_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What in a value is not of its schema; empty: it is.
std::string unlike(const Json& value, Json schema, const std::string& where) {
  constexpr std::string_view kReference = "#/components/schemas/";
  if (value.is_null() && schema.value("nullable", false)) return {};
  if (schema.contains("allOf")) schema = schema["allOf"][0];
  if (schema.contains("$ref"))
    schema =
        web::openapi().at("components").at("schemas").at(schema["$ref"].get<std::string>().substr(kReference.size()));
  const std::string type = schema.at("type");
  if (type == "array") {
    if (!value.is_array()) return where + " is no list";
    for (const Json& one : value)
      if (std::string wrong = unlike(one, schema.at("items"), where + "[]"); !wrong.empty()) return wrong;
    return {};
  }
  if (type == "object") {
    if (!value.is_object()) return where + " is no object";
    for (const auto& [name, part] : value.items()) {
      if (!schema.at("properties").contains(name)) return where + " has " + name;
      if (std::string wrong = unlike(part, schema["properties"][name], where + "." + name); !wrong.empty())
        return wrong;
    }
    for (const Json& name : schema.value("required", Json::array()))
      if (!value.contains(name.get<std::string>())) return where + " lacks " + name.get<std::string>();
    return {};
  }
  const bool is = (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
                  (type == "integer" && value.is_number_integer()) || (type == "number" && value.is_number());
  return is ? "" : where + " is no " + type;
}

/// The schema of what a GET is answered.
const Json& schema_of(const std::string& path) {
  return web::openapi()
      .at("paths")
      .at(path)
      .at("get")
      .at("responses")
      .at("200")
      .at("content")
      .at("application/json")
      .at("schema");
}

}  // namespace

TEST_CASE("Every route is named with its role", "[api][routes]") {
  ApiWorld world;
  std::map<std::string, Least> found;
  for (const web::Route& route : world.web().router().routes())
    found.emplace(std::string(to_string(route.method)) + " " + route.pattern, route.least);
  for (const auto& [name, least] : found) {
    INFO(name);
    REQUIRE(kRoles.contains(name));
    CHECK(kRoles.at(name) == least);
  }
  CHECK(found.size() == kRoles.size());
}

TEST_CASE("The manual names every route, parameter and field of a body", "[api][routes]") {
  const std::string page = whole_file(source_folder() + "/man/healer-api.7");
  for (const web::Operation& one : web::operations()) {
    const std::size_t verb = one.path.rfind('/');
    const bool of_services = one.method == web::Method::Post && one.path.starts_with("/services/");
    const std::string named = of_services ? one.path.substr(verb + 1) : one.path;
    std::string written;
    for (const char c : named) written += c == '{' || c == '}' ? std::string() : std::string(1, c);
    INFO(one.path);
    CHECK(page.find(written) != std::string::npos);
    for (const auto& names : {one.parameters, one.body})
      for (const std::string_view name : names) {
        INFO(name);
        CHECK(page.find(".Cm " + std::string(name)) != std::string::npos);
      }
  }
}

TEST_CASE("The OpenAPI document has every route, and says who may ask it", "[api][openapi]") {
  const Json& document = web::openapi();
  CHECK(document.at("openapi") == "3.0.3");
  std::size_t count = 0;
  std::vector<std::string> ids;
  for (const auto& [path, item] : document.at("paths").items())
    for (const auto& [method, one] : item.items()) {
      ++count;
      INFO(path);
      CHECK(one.at("description").get<std::string>().starts_with("Needs the role "));
      ids.push_back(one.at("operationId"));
      for (const auto& [status, response] : one.at("responses").items())
        if (status != "default") CHECK(response.at("description").get<std::string>().find(' ') != std::string::npos);
    }
  CHECK(count == kRoles.size());
  std::ranges::sort(ids);
  CHECK(std::ranges::adjacent_find(ids) == ids.end());
  ApiWorld world;
  CHECK(world.read("/openapi.json") == document);
  // For validators, which no test of this program runs.
  std::ofstream(build_folder() + "/openapi.json") << document.dump(1);
}

TEST_CASE("What is answered is what the OpenAPI document says", "[api][openapi]") {
  ApiWorld world;
  const auto compare = [&](const std::string& target, const std::string& path) {
    INFO(target);
    const web::Response response = world.get(target);
    REQUIRE(response.status == 200);
    CHECK(unlike(Json::parse(response.body), schema_of(path), "it") == "");
  };
  for (int run = 0; run < 4; ++run) {
    world.daemon().cycle(run % 2);
    for (const char* path : {"/daemon", "/services", "/graph", "/history", "/healings", "/healings/report", "/jobs",
                             "/changes", "/session"})
      compare(path, path);
    compare("/services?fields=name,rules", "/services");
    compare("/services/db", "/services/{name}");
    compare("/services/db/explain", "/services/{name}/explain");
    compare("/services/db/history", "/services/{name}/history");
  }
  world.daemon().act([](World& engine) { add_restart(engine); });
  for (const char* path : {"/jobs", "/services?fields=job"}) compare(path, path[1] == 'j' ? "/jobs" : "/services");
}
