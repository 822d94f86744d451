// SPDX-License-Identifier: MIT
#include "web/api/problem.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

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

}  // namespace

unsigned status_of(const control::Failure& failure) {
  const auto* const found = std::ranges::find(kStatuses, failure.code, &std::pair<std::string_view, unsigned>::first);
  return found == kStatuses.end() ? 500 : found->second;
}

Response problem(const control::Failure& failure) { return problem(failure, status_of(failure)); }

Response problem(const control::Failure& failure, unsigned status) {
  // `type` is about:blank where the status says what kind of problem it is; `code` says more.
  control::Json json{{"type", "about:blank"},     {"title", reason_of(status)}, {"status", status},
                     {"detail", failure.message}, {"code", failure.code},       {"remedy", failure.remedy}};
  if (!failure.diagnostics.empty()) json["diagnostics"] = control::Json(failure)["diagnostics"];
  Response response{.status = status, .type = "application/problem+json", .body = control::to_line(json) + "\n"};
  response.headers.emplace_back("Cache-Control", "no-store");
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response as_problem(Response refusal) {
  constexpr std::array<std::pair<unsigned, std::string_view>, 5> kCodes{
      {{401, "unauthorized"}, {403, "forbidden"}, {404, "unknown-path"}, {405, "wrong-method"}, {421, "wrong-host"}}};
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
