// SPDX-License-Identifier: MIT
// A loop with a process runner, and the results that came.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/rules/service.hpp"
#include "runtime/process/process_runner.hpp"
#include "support/processes.hpp"

namespace healer::test {

struct RunnerBench {
  explicit RunnerBench(runtime::ProcessRunner::Options options = {}, runtime::Spawner::Options spawner_options = {})
      : spawner(loop, std::move(spawner_options)),
        runner(loop, spawner, std::move(options), [this](const engine::Event& event) {
          if (const auto* wait = std::get_if<engine::event::RunWaits>(&event)) {
            waits[wait->run.number()].push_back(wait->why);
            return;
          }
          if (const auto* wrote = std::get_if<engine::event::RunWrote>(&event)) {
            REQUIRE(seen.contains(wrote->run.number()));
            late[wrote->run.number()] = *wrote->output;
            return;
          }
          const auto& observed = std::get<engine::event::Measured>(event);
          arrived[observed.run.number()] = runtime::mono_now();
          seen.emplace(observed.run.number(), observed);
        }) {}

  /// Starts a run of `service` and returns its number.
  std::uint64_t start(std::vector<std::string> arguments, Duration timeout = Duration{0}, std::uint32_t service = 0,
                      std::vector<std::string> patterns = {}) {
    auto block = std::make_shared<engine::ServiceBlock>();
    block->name = name;
    block->program->command.arguments = std::move(arguments);
    block->program->command.timeout = timeout;
    block->program->command.identity = identity;
    block->program->output_limit = limit;
    block->program->patterns = std::move(patterns);
    if (every > Duration{0})
      block->schedule = engine::Schedule{.kind = engine::Schedule::Kind::Interval, .interval = every};
    const std::uint64_t id = ++last;
    runner.start({engine::ServiceId(service != 0 ? service : static_cast<std::uint32_t>(1000 + id)), engine::RunId(id),
                  block, environment});
    return id;
  }
  std::uint64_t shell(const std::string& script, Duration timeout = Duration{0}, std::uint32_t service = 0) {
    return start({"/bin/sh", "-c", script}, timeout, service);
  }
  const engine::Evidence& result(std::uint64_t id) {
    REQUIRE(run_until(loop, [&] { return seen.count(id) != 0; }));
    return *seen.at(id).evidence;
  }
  const std::string& output(std::uint64_t id) { return *result(id).output; }
  bool idle() {
    return run_until(loop, [&] { return runner.running() == 0 && runner.waiting() == 0; });
  }

  runtime::Loop loop;
  runtime::Spawner spawner;
  std::map<std::uint64_t, engine::event::Measured> seen;
  std::map<std::uint64_t, Duration> arrived;
  std::map<std::uint64_t, std::vector<std::string>> waits;  ///< what was told of a run, in order
  std::map<std::uint64_t, std::string> late;  ///< all that a run has written that timed out, told after it
  runtime::ProcessRunner runner;
  std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  engine::Identity identity;
  std::string name;
  std::uint32_t limit = 512;
  Duration every{0};  ///< of the services that are started from now on; 0: each cycle
  std::uint64_t last = 0;
};

}  // namespace healer::test
