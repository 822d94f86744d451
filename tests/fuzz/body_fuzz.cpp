// SPDX-License-Identifier: MIT
// Any bytes as a body of the API: it is a request, which the control protocol understands and takes for the same, or it
// is refused with what is wrong.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "web/api/body.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace healer;
  constexpr std::array<std::string_view, 9> kAll{"names",    "groups", "all",       "reason", "for_ms",
                                                 "workflow", "plan",   "confirmed", "id"};
  const auto read = web::read_body(std::string_view(reinterpret_cast<const char*>(data), size), kAll);
  if (const auto* failure = std::get_if<control::Failure>(&read)) {
    if (failure->code != "bad-request" || failure->message.empty() || failure->remedy.empty()) {
      std::fprintf(stderr, "a refusal says what is wrong and what helps\n");
      std::abort();
    }
    return 0;
  }
  auto request = std::get<control::Request>(read);
  request.verb = control::Verb::Restart;
  const auto again = control::parse_request(control::to_line(control::Json(request)));
  if (!std::holds_alternative<control::Request>(again) || !(std::get<control::Request>(again) == request)) {
    std::fprintf(stderr, "a request means the same on the control socket\n");
    std::abort();
  }
  return 0;
}
