// SPDX-License-Identifier: MIT
#include "web/hooks/refusal.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "web/api/problem.hpp"

namespace healer::web {
namespace {

constexpr std::array<std::pair<unsigned, std::string_view>, 9> kCodes{{{400, "bad-request"},
                                                                       {401, "unauthorized"},
                                                                       {403, "forbidden"},
                                                                       {404, "unknown-path"},
                                                                       {405, "wrong-method"},
                                                                       {413, "too-large"},
                                                                       {422, "refused"},
                                                                       {429, "queue-full"},
                                                                       {503, "busy"}}};

}  // namespace

Response refusal(unsigned status, std::string why) {
  const auto* const code = std::ranges::find(kCodes, status, &std::pair<unsigned, std::string_view>::first);
  Response response = problem(
      {.code = std::string(code == kCodes.end() ? "refused" : code->second), .message = std::move(why), .remedy = ""},
      status);
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"healer\"");
  if (status == 429 || status == 503) {
    std::erase_if(response.headers, [](const auto& header) { return header.first == "Retry-After"; });
    response.headers.emplace_back("Retry-After", std::to_string(kRetryAfter));
  }
  return response;
}

Response wrong_method(std::initializer_list<Method> allowed) {
  Response response = refusal(405, "this address is not asked by that method");
  std::string names;
  for (const Method method : allowed) names += (names.empty() ? "" : ", ") + std::string(to_string(method));
  response.headers.emplace_back("Allow", std::move(names));
  return response;
}

}  // namespace healer::web
