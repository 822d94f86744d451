// SPDX-License-Identifier: MIT
#include "web/api/openapi.hpp"

#include <cctype>
#include <string>
#include <string_view>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/wire_schema.hpp"
#include "web/api/body.hpp"
#include "web/api/operation.hpp"

namespace healer::web {
namespace {

using control::Json;
using control::Least;

Json reference(std::string_view type) { return {{"$ref", fmt::format("#/components/schemas/{}", type)}}; }

/// An object with these fields.
Json object_of(Json properties) { return {{"type", "object"}, {"properties", std::move(properties)}}; }

/// "getServicesNameHistory" of GET /services/{name}/history.
std::string id_of(const Operation& one) {
  std::string id = one.method == Method::Get ? "get" : "post";
  bool begins = false;
  for (const char c : one.path) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (letter) id += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = !letter && (begins || c != '}');
  }
  return id;
}

Json schema_of(const Parameter& one, const Operation& of) {
  if (one.shape == Parameter::Shape::Number) {
    Json schema{{"type", "integer"}, {"minimum", one.least}};
    if (one.name == "limit") schema.update({{"maximum", one.most}, {"default", kUsualPage}});
    return schema;
  }
  Json schema{{"type", "string"}};
  const std::vector<std::string> words = one.name == "fields" ? control::wire_fields_of(of.item) : one.words;
  if (!words.empty()) schema["enum"] = words;
  const bool many = one.shape == Parameter::Shape::Words || one.shape == Parameter::Shape::Texts;
  return many ? Json{{"type", "array"}, {"items", schema}} : schema;
}

Json parameters_of(const Operation& one) {
  Json all = Json::array();
  std::string_view rest = one.path;
  for (std::size_t open = 0; (open = rest.find('{')) != std::string_view::npos;) {
    rest.remove_prefix(open + 1);
    const std::string_view name = rest.substr(0, rest.find('}'));
    all.push_back({{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  for (const std::string_view name : one.parameters) {
    const Parameter& of = parameter(name);
    Json json{{"name", name}, {"in", "query"}, {"description", of.what}, {"schema", schema_of(of, one)}};
    if (of.shape == Parameter::Shape::Words) json.update({{"style", "form"}, {"explode", false}});
    all.push_back(std::move(json));
  }
  const auto header = [&](std::string_view name, std::string_view what, std::string_view type) {
    all.push_back({{"name", name}, {"in", "header"}, {"description", what}, {"schema", {{"type", type}}}});
  };
  if (one.method == Method::Post)
    header("Idempotency-Key", "The same answer, and nothing done, where it is sent again within a day", "string");
  if (one.path == "/events") header("Last-Event-ID", "In place of `after`", "integer");
  return all;
}

Json body_of(const Operation& one) {
  const Json& fields = control::wire_schemas().at("Request").at("properties");
  Json properties = Json::object();
  for (const std::string_view name : one.body) {
    Json schema = fields.at(std::string(name));
    schema.erase("nullable");
    schema["description"] = body_field(name).what;
    if (schema["type"] == "integer") schema["minimum"] = 0;
    properties[std::string(name)] = std::move(schema);
  }
  Json schema = object_of(std::move(properties));
  schema["additionalProperties"] = false;
  return {{"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
}

/// What a document looks like: where `fields` chooses what is in a list, nothing of it needs to be there.
Json document_of(const Operation& one) {
  if (one.path == "/session")
    return object_of({{"version", {{"type", "integer"}}},
                      {"user", {{"type", "string"}}},
                      {"role", {{"type", "string"}, {"nullable", true}}},
                      {"token", {{"type", "string"}}}});
  if (one.verb == control::Verb::Count_) return {{"type", "object"}};
  Json properties{
      {"version", {{"type", "integer"}}}, {"command", {{"type", "string"}}}, {"daemon", reference("DaemonView")}};
  if (!one.list.empty()) {
    Json item = control::wire_schemas().at(one.item);
    item.erase("required");
    if (one.list == "records") item["properties"]["gap"] = {{"type", "object"}};
    properties[one.list] = {{"type", "array"}, {"items", std::move(item)}};
  }
  for (const auto& [name, type] : one.further) properties[name] = reference(type);
  if (!one.whole.empty()) properties.update(control::wire_schemas().at(one.whole).at("properties"));
  if (one.list == "output") properties["text"] = {{"type", "string"}};
  if (one.paged) properties["next"] = {{"type", "string"}, {"nullable", true}};
  return object_of(std::move(properties));
}

std::string_view role_of(Least least) {
  return least == Least::Admin ? "admin" : least == Least::Operator ? "operator" : "read-only";
}

/// What is answered where nothing is wrong.
std::string answered(const Operation& one) {
  if (one.streams) return "Server-sent events, until the client or healerd ends";
  if (one.verb == control::Verb::Quit) return "healerd ends";
  if (one.method == Method::Post) return "What has been done; `ok` is false where something of it has failed";
  if (one.paged) return one.summary + "; `next` is the cursor of the page after it, or null";
  return one.summary;
}

Json operation_of(const Operation& one) {
  const std::string_view type = one.streams ? "text/event-stream" : "application/json";
  const Json schema = one.streams ? Json{{"type", "string"}} : document_of(one);
  Json json{{"operationId", id_of(one)},
            {"summary", one.summary},
            {"description", fmt::format("Needs the role {}.", role_of(one.least))}};
  json["parameters"] = parameters_of(one);
  if (one.method == Method::Post) json["requestBody"] = body_of(one);
  const std::string status = one.path == "/quit" ? "202" : "200";
  json["responses"][status] = {{"description", answered(one)}, {"content", {{type, {{"schema", schema}}}}}};
  json["responses"]["default"] = {{"$ref", "#/components/responses/Problem"}};
  return json;
}

Json problem_schema() {
  Json properties = control::wire_schemas().at("Failure").at("properties");
  properties.erase("message");
  properties.update({{"type", {{"type", "string"}}},
                     {"title", {{"type", "string"}}},
                     {"status", {{"type", "integer"}}},
                     {"detail", {{"type", "string"}}}});
  return object_of(std::move(properties));
}

Json make_document() {
  Json paths = Json::object();
  for (const Operation& one : operations())
    paths[one.path][one.method == Method::Get ? "get" : "post"] = operation_of(one);
  Json schemas = control::wire_schemas();
  for (const std::string_view inner : {"Request", "Failure", "Done"}) schemas.erase(std::string(inner));
  schemas["Problem"] = problem_schema();
  return {
      {"openapi", "3.0.3"},
      {"info",
       {{"title", "healer"},
        {"version", fmt::format("{}", control::kWireVersion)},
        {"description", "What healerctl reads and does: see healer-api(7) and healer-json(5)."},
        {"license", {{"name", "MIT"}, {"url", "https://spdx.org/licenses/MIT.html"}}}}},
      {"servers", Json::array({{{"url", kApi}}})},
      {"security", Json::array({{{"basic", Json::array()}}, {{"bearer", Json::array()}}})},
      {"paths", std::move(paths)},
      {"components",
       {{"securitySchemes",
         {{"basic", {{"type", "http"}, {"scheme", "basic"}}}, {"bearer", {{"type", "http"}, {"scheme", "bearer"}}}}},
        {"responses",
         {{"Problem",
           {{"description", "It was not done: see `code` and `remedy`"},
            {"content", {{"application/problem+json", {{"schema", reference("Problem")}}}}}}}}},
        {"schemas", std::move(schemas)}}}};
}

}  // namespace

const Json& openapi() {
  static const Json kDocument = make_document();
  return kDocument;
}

}  // namespace healer::web
