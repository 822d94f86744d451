// SPDX-License-Identifier: MIT
#include "engine/parts/leftovers.hpp"

#include <chrono>

#include <spdlog/fmt/fmt.h>

#include "engine/job.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/parts/programs.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {
namespace {

constexpr int kLeftTimes = 10;

}  // namespace

std::string StartLeftovers::behind(ServiceId id) const {
  const ServiceState& state = services_[id.index()];
  const ActionId by = state.starts->left_by;
  if (by == ActionId{} || programs_.find(by) != nullptr) return {};  // one that still runs is ended first
  const std::vector<LeftProcess>& left = of(id);
  if (left.empty() || state.last->facts->further->left_by != by) return {};
  return fmt::format("its start program has left {}, which {} still, and no pid file names it", describe_left(left),
                     left.size() == 1 ? "runs" : "run");
}

const std::vector<LeftProcess>& StartLeftovers::of(ServiceId id) const {
  static const std::vector<LeftProcess> kNothing;
  const std::shared_ptr<const Evidence>& last = services_[id.index()].last;
  if (!last || !last->facts || process_of(*last) != nullptr) return kNothing;
  return last->facts->further->left;
}

std::string StartLeftovers::over(ServiceId id) const {
  const std::vector<LeftProcess>& left = of(id);
  const ServiceState& state = services_[id.index()];
  if (left.empty() || state.last->facts->further->left_by != state.starts->came_by) return {};
  return fmt::format("{} of its former start {} still", describe_left(left), left.size() == 1 ? "runs" : "run");
}

bool StartLeftovers::are_old(ServiceId id, Instant now) const {
  const std::optional<WallTime>& last = services_[id.index()].starts->last;
  return !last || std::chrono::abs(now.wall - *last) >=
                      kLeftTimes * timeout_of(graph_->at(id), Bringing::Start, graph_->settings->limits);
}

}  // namespace healer::engine
