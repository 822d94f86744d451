// SPDX-License-Identifier: MIT
#include "web/basic.hpp"

#include "engine/engine.hpp"

namespace healer::web {
namespace {

/// So late the engine may be woken on a machine that is busy.
constexpr Duration kLate = seconds{30};

}  // namespace

std::vector<Route> basic_routes(const Backend& backend) {
  const auto health = [backend](const Call&) -> Reply {
    const auto due = backend.daemon.engine().next_deadline();
    const bool is_late = due && *due + kLate < backend.daemon.now().mono;
    if (is_late) return Response{.status = 503, .body = "cycles are late\n"};
    return Response{.body = "ok\n"};
  };
  return {{Method::Get, "/healthz", control::Least::Anybody, health}};
}

}  // namespace healer::web
