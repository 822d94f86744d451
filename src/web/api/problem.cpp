// SPDX-License-Identifier: MIT
#include "web/api/problem.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "util/text.hpp"

namespace healer::web {
namespace {

/// Every other code is of a fault of ours.
constexpr std::array<std::pair<std::string_view, unsigned>, 23> kStatuses{{{"bad-request", 400},
                                                                           {"version", 400},
                                                                           {"unknown-command", 404},
                                                                           {"nothing-selected", 400},
                                                                           {"plan-needed", 400},
                                                                           {"denied", 403},
                                                                           {"forbidden", 403},
                                                                           {"secret-output", 403},
                                                                           {"unknown-service", 404},
                                                                           {"unknown-group", 404},
                                                                           {"unknown-workflow", 404},
                                                                           {"unknown-healing", 404},
                                                                           {"unknown-job", 404},
                                                                           {"unknown-row", 404},
                                                                           {"unknown-list", 404},
                                                                           {"no-output", 404},
                                                                           {"no-approval", 409},
                                                                           {"other-plan", 409},
                                                                           {"being-healed", 409},
                                                                           {"no-job", 409},
                                                                           {"reload-failed", 409},
                                                                           {"history", 503},
                                                                           {"busy", 503}}};

/// What a command of healerctl is in the API; the first that a command begins with counts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kRoutes{
    {{"accept list ", "POST /api/v1/services/accept with {\"names\":[\"list\",\"*\"]}"},
     {"accept ", "POST /api/v1/services/*/accept"},
     {"cancel ", "POST /api/v1/healings/*/cancel"},
     {"heal ", "POST /api/v1/services/*/heal"},
     {"healing report", "GET /api/v1/healings/report"},
     {"healing status", "GET /api/v1/healings"},
     {"heal", "POST /api/v1/services/NAME/heal"},
     {"history", "GET /api/v1/history"},
     {"jobs cancel ", "POST /api/v1/healings/*/cancel"},
     {"jobs", "GET /api/v1/jobs"},
     {"lists", "GET /api/v1/lists"},
     {"monitor ", "POST /api/v1/services/*/monitor"},
     {"output NAME", "GET /api/v1/services/NAME/output"},
     {"reload", "POST /api/v1/reload"},
     {"restart ", "POST /api/v1/services/*/restart"},
     {"resume ", "POST /api/v1/services/*/resume"},
     {"start ", "POST /api/v1/services/*/start"},
     {"status", "GET /api/v1/services"},
     {"stop", "POST /api/v1/services/NAME/stop"},
     {"summary", "GET /api/v1/services"}}};

/// "GET /api/v1/jobs" of "jobs"; the command itself where the API has none.
std::string route_of(std::string_view command) {
  const auto* const found =
      std::ranges::find_if(kRoutes, [&](const auto& one) { return command.starts_with(one.first); });
  if (found == kRoutes.end()) return fmt::format("`healerctl {}`", command);
  std::string route(found->second);
  std::string_view rest = command.substr(found->first.size());
  if (const std::size_t place = route.find('*'); place != std::string::npos)
    route.replace(place, 1, rest.substr(0, rest.find(" --")));
  return route;
}

}  // namespace

std::string for_http(std::string_view text) {
  constexpr std::string_view kBegin = "`healerctl ";
  std::string out;
  for (;;) {
    const std::size_t begin = text.find(kBegin);
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('`', begin + kBegin.size());
    if (end == std::string_view::npos) return out.append(text);
    out += text.substr(0, begin);
    out += route_of(text.substr(begin + kBegin.size(), end - begin - kBegin.size()));
    text.remove_prefix(end + 1);
  }
}

Response with_http_remedy(Response response) {
  control::Json json = control::Json::parse(response.body, nullptr, false);
  if (!json.is_object() || !json.contains("remedy") || !json["remedy"].is_string()) return response;
  json["remedy"] = for_http(json["remedy"].get<std::string>());
  response.body = control::to_line(json) + "\n";
  return response;
}

unsigned status_of(const control::Failure& failure) {
  const auto* const found = std::ranges::find(kStatuses, failure.code, &std::pair<std::string_view, unsigned>::first);
  return found == kStatuses.end() ? 500 : found->second;
}

Response problem(const control::Failure& failure) { return problem(failure, status_of(failure)); }

Response problem(const control::Failure& failure, unsigned status) {
  // `type` is about:blank where the status says what kind of problem it is; `code` says more.
  const bool is_of_socket = failure.code == "forbidden" && failure.remedy.starts_with("run healerctl as root");
  control::Json json{
      {"type", "about:blank"}, {"title", reason_of(status)},
      {"status", status},      {"detail", failure.message},
      {"code", failure.code},  {"remedy", is_of_socket ? "'allow' in 'set httpd' gives roles" : failure.remedy}};
  if (!failure.diagnostics.empty()) json["diagnostics"] = control::Json(failure)["diagnostics"];
  Response response{.status = status, .type = std::string(kProblemType), .body = control::to_line(json) + "\n"};
  response.headers.emplace_back("Cache-Control", "no-store");
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response as_problem(Response refusal) {
  constexpr std::array<std::pair<unsigned, std::string_view>, 7> kCodes{{{401, "unauthorized"},
                                                                         {403, "forbidden"},
                                                                         {404, "unknown-path"},
                                                                         {405, "wrong-method"},
                                                                         {413, "too-large"},
                                                                         {414, "too-large"},
                                                                         {421, "wrong-host"}}};
  const auto* const found = std::ranges::find(kCodes, refusal.status, &std::pair<unsigned, std::string_view>::first);
  const bool is_path = refusal.status == 404 || refusal.status == 405;
  Response response = problem({.code = std::string(found == kCodes.end() ? "refused" : found->second),
                               .message = std::string(trim(refusal.body)),
                               .remedy = is_path ? "GET /api/v1/openapi.json says what there is" : ""},
                              refusal.status);
  for (auto& header : refusal.headers) response.headers.push_back(std::move(header));
  return response;
}

}  // namespace healer::web
