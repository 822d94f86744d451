// SPDX-License-Identifier: MIT
// Probes of a benchmark: through runtime/net/connector on a loop of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/probe.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/connector.hpp"

namespace healer::bench {

using protocols::ProbePlan;
using protocols::ProbeResult;
using protocols::ProbeVerdict;

using Plan = std::shared_ptr<const ProbePlan>;

inline Plan plan_for(const std::string& host, std::uint16_t port, std::string_view protocol) {
  ProbePlan plan{.host = host, .port = port, .protocol = protocols::find_protocol(protocol)};
  plan.timeout = seconds{60};
  return std::make_shared<const ProbePlan>(std::move(plan));
}

class Probes {
 public:
  explicit Probes(std::size_t max_open = 0) : connector_(loop_, {.max_open = max_open}) {}

  /// Runs `count` probes, so many at a time, of these plans in turn; false where one did not pass.
  bool run(const std::vector<Plan>& plans, int count, int at_once) {
    passed_ = ended_ = started_ = 0;
    count_ = count;
    plans_ = &plans;
    for (int i = 0; i < std::min(at_once, count); ++i) start();
    loop_.run();
    return passed_ == count;
  }
  runtime::Loop& loop() { return loop_; }
  runtime::Connector& connector() { return connector_; }

 private:
  void start() {
    connector_.probe((*plans_)[static_cast<std::size_t>(started_++) % plans_->size()],
                     [this](const ProbeResult& result) {
                       passed_ += result.verdict == ProbeVerdict::Passed ? 1 : 0;
                       if (++ended_ == count_) return loop_.stop();
                       if (started_ < count_) start();
                     });
  }
  runtime::Loop loop_;
  runtime::Connector connector_;
  const std::vector<Plan>* plans_ = nullptr;
  int started_ = 0, ended_ = 0, passed_ = 0, count_ = 0;
};

}  // namespace healer::bench
