// SPDX-License-Identifier: MIT
#include "web/api/body.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/queries.hpp"
#include "control/wire_schema.hpp"
#include "util/text.hpp"

namespace healer::web {
namespace {

using control::Failure;
using control::Json;

constexpr int kDeepest = 4;  // an object with lists of texts has 2

constexpr std::array<BodyField, 9> kFields{{
    {"names", "Services, by name"},
    {"groups", "All services of these groups"},
    {"all", "All services"},
    {"reason", "Why, for the history: of pause and ack"},
    {"for_ms", "For how long, in milliseconds"},
    {"workflow", "The workflow, in place of the one that the rules name"},
    {"plan", "The hash of the plan that is approved, as it was shown"},
    {"confirmed", "Also where services of healer's own end because their files are gone"},
    {"id", "The process that is accepted though its pid file is in doubt; 1: whichever that names"},
}};

Failure refused_body(std::string message, std::string remedy) {
  return {.code = "bad-request", .message = std::move(message), .remedy = std::move(remedy)};
}

/// What a value must be, of a schema of control/wire_schema.
std::string wanted_of(const Json& schema) {
  const std::string type = schema.value("type", "object");
  if (type == "array") return "a list of texts";
  if (type == "integer") return "a whole number that is not negative";
  if (type == "boolean") return "true or false";
  return "a text";
}

/// Whether a value is of the type of a schema: as control::wiring::decode will have it, but nothing is null.
bool fits(const Json& value, const Json& schema) {
  const std::string type = schema.value("type", "object");
  if (type == "array")
    return value.is_array() && std::ranges::all_of(value, [](const Json& one) { return one.is_string(); });
  if (type == "integer") return value.is_number_unsigned();
  if (type == "boolean") return value.is_boolean();
  return value.is_string();
}

/// The object that a text is; what is wrong with it, where it is none.
std::variant<Json, Failure> object_in(std::string_view body) {
  if (body.size() > kMostBody)
    return refused_body(fmt::format("the body has more than {} bytes", kMostBody), "name fewer services, or groups");
  std::string wrong;
  std::set<std::string> seen;
  const auto look = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth >= kDeepest) wrong = "it is nested too deeply";
    if (event == Json::parse_event_t::key && depth == 1 && !seen.insert(value.get<std::string>()).second)
      wrong = fmt::format("\"{}\" is there twice", printable(value.get<std::string>()));
    return wrong.empty();
  };
  Json json = Json::parse(body, look, false);
  if (wrong.empty() && json.is_discarded()) wrong = "it is not JSON";
  if (wrong.empty() && !json.is_object()) wrong = "it is not a JSON object";
  if (wrong.empty()) return json;
  return refused_body(fmt::format("the body is not understood: {}", wrong),
                      R"(send one JSON object, such as {"names":["web"]}, or no body)");
}

/// Why the body may not have that field.
std::optional<Failure> wrong_field(const std::string& name, const Json& value, std::span<const std::string_view> taken,
                                   const Json& schemas) {
  if (std::ranges::find(taken, name) == taken.end()) {
    const std::string_view near = nearest_word(name, taken);
    const std::vector<std::string> words(taken.begin(), taken.end());
    return refused_body(fmt::format("the body may not have a field \"{}\" here", printable(name)),
                        !near.empty()   ? fmt::format("did you mean \"{}\"?", near)
                        : taken.empty() ? "send no body"
                                        : fmt::format("it may have {}", join_words(words, "and")));
  }
  if (const Json& schema = schemas.at(name); !fits(value, schema))
    return refused_body(fmt::format("{} is not {}", name, wanted_of(schema)),
                        fmt::format("{}: {}", name, body_field(name).what));
  return std::nullopt;
}

std::optional<Failure> beyond_bounds(const control::Request& request) {
  if (request.reason.size() > control::kMaxReason)
    return refused_body("reason is too long", fmt::format("it has at most {} bytes", control::kMaxReason));
  if (request.span && (*request.span <= Duration{0} || *request.span > control::kLongestAsked))
    return refused_body("for_ms is out of range", fmt::format("it is from 1 to {}: for no end leave it out",
                                                              control::kLongestAsked / Duration{1}));
  return std::nullopt;
}

}  // namespace

const BodyField& body_field(std::string_view name) { return *std::ranges::find(kFields, name, &BodyField::name); }

std::variant<control::Request, Failure> read_body(std::string_view body, std::span<const std::string_view> taken) {
  if (trim(body).empty()) return control::Request{};
  auto read = object_in(body);
  if (auto* const failure = std::get_if<Failure>(&read)) return std::move(*failure);
  Json& json = std::get<Json>(read);
  const Json& schemas = control::wire_schemas().at("Request").at("properties");
  for (const auto& [name, value] : json.items())
    if (auto wrong = wrong_field(name, value, taken, schemas)) return std::move(*wrong);
  if (const auto span = json.find("for_ms"); span != json.end() && span->get<std::uint64_t>() > INT64_MAX)
    return refused_body("for_ms is out of range", "for no end leave it out");
  json["command"] = to_string(control::Verb::Ping);
  auto request = json.get<control::Request>();
  if (auto wrong = beyond_bounds(request)) return std::move(*wrong);
  return request;
}

}  // namespace healer::web
