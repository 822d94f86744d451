// SPDX-License-Identifier: MIT
#include "web/metrics/metrics.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "util/hash.hpp"
#include "util/text.hpp"
#include "web/metrics/badge.hpp"
#include "web/metrics/daemon_metrics.hpp"
#include "web/metrics/exposition.hpp"
#include "web/metrics/service_series.hpp"

namespace healer::web {
namespace {

Response refusal(unsigned status, std::string text) { return {.status = status, .body = std::move(text) + "\n"}; }

Response exposed(Format format) {
  return {.type = std::string(content_type(format)), .headers = {{"Vary", "Accept"}, {"Cache-Control", "no-store"}}};
}

/// /metrics, as soon as all services are counted: of very many that takes several turns of the loop.
class Counting final : public Deferred {
 public:
  Counting(const control::Supervisor& daemon, Format format, Wake wake)
      : daemon_(daemon), format_(format), wake_(std::move(wake)) {}

  std::optional<Response> poll() override {
    if (!count_.go_on(daemon_.engine())) {
      wake_();
      return std::nullopt;
    }
    Response response = exposed(format_);
    response.body = daemon_metrics(daemon_, count_.counts(), format_);
    return response;
  }

 private:
  const control::Supervisor& daemon_;
  Format format_;
  Wake wake_;
  StateCount count_;
};

Response series(const Backend& backend, const Call& call, Format format, std::vector<ServiceFamily> families,
                std::string preface = {}) {
  Response response = exposed(format);
  response.stream =
      std::make_unique<ServiceSeries>(backend.daemon, format, std::move(families), call.wake, std::move(preface));
  return response;
}

Reply metrics(const Backend& backend, const Call& call) {
  const Format format = format_for(call.request.header("Accept"));
  const auto compatible = find(call.request.query, "compat");
  if (!compatible) {
    auto counting = std::make_unique<Counting>(backend.daemon, format, call.wake);
    if (auto response = counting->poll()) return std::move(*response);
    return counting;
  }
  if (*compatible != "monit") return refusal(400, "'compat' can only be 'monit'");
  std::string up;
  Exposition out(format);
  out.write_to(up);
  out.only({"monit_up", FamilyType::Gauge, "Monit status availability"}, true);
  return series(backend, call, format, monit_families(), std::move(up));
}

/// Whether one of the tags of If-None-Match is this one.
bool is_known(std::string_view tags, std::string_view tag) {
  while (!tags.empty()) {
    const std::size_t end = std::min(tags.find(','), tags.size());
    std::string_view one = trim(tags.substr(0, end));
    tags.remove_prefix(std::min(end + 1, tags.size()));
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag || one == "*") return true;
  }
  return false;
}

Reply show_badge(const Backend& backend, const Call& call) {
  constexpr std::string_view kSuffix = ".svg";
  std::string_view name = call.captured.front();
  if (!name.ends_with(kSuffix)) return refusal(404, "a badge is /badge/NAME.svg");
  name.remove_suffix(kSuffix.size());
  const engine::Engine& engine = backend.daemon.engine();
  const auto service = engine.graph()->find(name);
  if (!service) return refusal(404, "there is no service '" + printable(name) + "'");
  const std::string_view state = backend.queries().state(*service);
  const bool is_paused = engine.pauses().in_force(*service, backend.daemon.now());
  const std::string words = std::string(state) + (is_paused ? ", paused" : "");
  const std::string_view label =
      find(call.request.query, "label").value_or(std::string_view(engine.graph()->at(*service).name));
  Response response{.type = "image/svg+xml", .body = badge(label, state, words)};
  const std::string tag = '"' + to_string(hash128(response.body)) + '"';
  response.headers = {{"ETag", tag}, {"Cache-Control", "no-cache"}};
  if (is_known(call.request.header("If-None-Match").value_or(""), tag)) {
    response.status = 304;
    response.body.clear();
  }
  return response;
}

}  // namespace

std::vector<Route> metrics_routes(const Backend& backend) {
  using control::Least;
  const auto route = [](std::string pattern, Handle handle) {
    return Route{Method::Get, std::move(pattern), Least::ReadOnly, std::move(handle)};
  };
  std::vector<Route> routes;
  routes.push_back(route("/metrics", [backend](const Call& call) { return metrics(backend, call); }));
  routes.push_back(route("/metrics/services", [backend](const Call& call) -> Reply {
    return series(backend, call, format_for(call.request.header("Accept")), service_families());
  }));
  // A name may have dots, so that the suffix is not part of the pattern.
  routes.push_back(route("/badge/{file}", [backend](const Call& call) { return show_badge(backend, call); }));
  return routes;
}

}  // namespace healer::web
