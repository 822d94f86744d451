// SPDX-License-Identifier: MIT
// Any bytes as a request on the control socket: it is understood and means the same when sent on, or it is refused.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <variant>

#include <nlohmann/json.hpp>

#include "control/wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace healer::control;
  const std::string line(reinterpret_cast<const char*>(data), size);
  const auto parsed = parse_request(line);
  if (const auto* failure = std::get_if<Failure>(&parsed)) {
    if (failure->code.empty() || failure->message.empty() ||
        error_line(*failure).find('\n') + 1 != error_line(*failure).size()) {
      std::fprintf(stderr, "a refusal is one line and says why\n");
      std::abort();
    }
    return 0;
  }
  const std::string sent = to_line(Json(std::get<Request>(parsed)));
  const auto again = parse_request(sent);
  if (!std::holds_alternative<Request>(again) || !(std::get<Request>(again) == std::get<Request>(parsed))) {
    std::fprintf(stderr, "a request means the same when it is sent on: %s\n", sent.c_str());
    std::abort();
  }
  return 0;
}
