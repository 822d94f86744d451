// SPDX-License-Identifier: MIT
// A loop with an action runner, and what it told.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/action_runner.hpp"
#include "support/processes.hpp"

namespace healer::test {

/// A loop with a runner that can be replaced by a new one, as after a restart of the daemon.
struct ActionBench {
  ActionBench() { open_to_all(directory); }

  void new_daemon() {
    runner.reset();
    started.clear();
    order.clear();
    start_ticks.clear();
    ready.clear();
    ended.clear();
    runner = std::make_unique<runtime::ActionRunner>(loop, spawner, options, [this](engine::Event event) {
      if (const auto* start = std::get_if<engine::event::ActionStarted>(&event)) {
        started[start->action.number()] = start->pid;
        order.push_back(start->action.number());
        start_ticks[start->action.number()] = start->start_ticks;
      }
      if (const auto* wait = std::get_if<engine::event::ActionWaits>(&event)) waits.push_back(wait->why);
      if (const auto* word = std::get_if<engine::event::ActionReady>(&event)) ++ready[word->action.number()];
      if (const auto* end = std::get_if<engine::event::ActionEnded>(&event)) ended.emplace(end->action.number(), *end);
    });
  }
  void start(std::uint64_t id, std::vector<std::string> arguments, Duration timeout = Duration{0}) {
    runtime::ActionRequest request;
    request.action = engine::ActionId(id);
    request.command.arguments = std::move(arguments);
    request.command.timeout = timeout;
    request.command.identity = identity;
    request.environment = environment;
    request.foreground = foreground;
    request.grouped = grouped;
    if (foreground) request.service = service;
    request.line = line;
    if (!runner) new_daemon();
    runner->start(std::move(request));
  }
  void shell(std::uint64_t id, const std::string& script, Duration timeout = Duration{0}) {
    start(id, {"/bin/sh", "-c", script}, timeout);
  }
  const engine::event::ActionEnded& end(std::uint64_t id) {
    REQUIRE(run_until(loop, [&] { return ended.count(id) != 0; }));
    return ended.at(id);
  }
  std::string file(const std::string& name) const { return (directory.path() / "actions" / name).string(); }

  TemporaryDirectory directory;
  runtime::Loop loop;
  runtime::Spawner spawner{loop, {}};
  runtime::ActionRunner::Options options{(directory.path() / "actions").string()};
  runtime::ExitNews news{loop, {}};  // where a test gives it to `options`
  std::unique_ptr<runtime::ActionRunner> runner;
  std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  engine::Identity identity;
  bool foreground = false;
  bool grouped = false;
  std::string service = "shop";
  std::string line;
  std::map<std::uint64_t, std::int64_t> started;
  std::vector<std::uint64_t> order;  ///< in which they were started
  std::map<std::uint64_t, std::uint64_t> start_ticks;
  std::map<std::uint64_t, int> ready;
  std::vector<std::string> waits;  ///< what was told of any
  std::map<std::uint64_t, engine::event::ActionEnded> ended;
};

/// Reaps what a runner that has gone let go of; the system's first process does it in life.
inline bool reap_all() {
  return eventually([] {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return !has_children();
  });
}

}  // namespace healer::test
