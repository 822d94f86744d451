// SPDX-License-Identifier: MIT
// For tests of probes: a connector of the test's own, and plans as people write them.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>

#include "config/text/probe_text.hpp"
#include "runtime/net/connector.hpp"
#include "support/paths.hpp"
#include "support/processes.hpp"
#include "support/servers.hpp"

namespace healer::test {

using namespace healer::protocols;

/// The plan of a text; {port} in it is the listener's.
inline std::shared_ptr<ProbePlan> plan_of(const std::string& host, const std::string& text) {
  auto read = config::read_probe(host, text);
  for (const auto& one : read.diagnostics)
    UNSCOPED_INFO(one.message << "\n" << config::excerpt(one, read.sources, false));
  REQUIRE(read.plan);
  return std::make_shared<ProbePlan>(*std::move(read.plan));
}

class Prober {
 public:
  explicit Prober(runtime::Connector::Options options = {}) : connector_(loop_, with_helper(std::move(options))) {}

  ProbeResult run(const std::shared_ptr<ProbePlan>& plan) {
    std::optional<ProbeResult> result;
    connector_.probe(plan, [&](const ProbeResult& outcome) {
      result = outcome;
      loop_.stop();
    });
    REQUIRE_FALSE(result);  // never from within probe()
    loop_.run();
    REQUIRE(result);
    return *result;
  }
  ProbeResult run(const std::string& host, const std::string& text) { return run(plan_of(host, text)); }
  ProbeResult run(const Listener& listener, const std::string& text, const std::string& host = "127.0.0.1") {
    return run(host, "port " + std::to_string(listener.port()) + " " + text);
  }
  /// "passed", "failed" or "unknown", and the result in words without its times and ports.
  std::string words(const Listener& listener, const std::string& text, const std::string& host = "127.0.0.1") {
    const ProbeResult result = run(listener, text, host);
    return std::string(to_string(result.verdict)) + " at " + std::string(to_string(result.phase)) + ": " + result.text;
  }

  runtime::Loop& loop() { return loop_; }
  runtime::Connector& connector() { return connector_; }

 private:
  static runtime::Connector::Options with_helper(runtime::Connector::Options options) {
    options.jq_helper = build_folder() + "/healerd";
    return options;
  }

  runtime::Loop loop_;
  runtime::Connector connector_;
};

}  // namespace healer::test
