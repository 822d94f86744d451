// SPDX-License-Identifier: MIT
#include "runtime/action_bench.hpp"

namespace healer::test {

void ActionBench::new_daemon() {
  runner.reset();
  started.clear();
  order.clear();
  start_ticks.clear();
  ready.clear();
  silences.clear();
  extensions.clear();
  ended.clear();
  runner = std::make_unique<runtime::ActionRunner>(loop, spawner, options, [this](engine::Event event) {
    if (const auto* start = std::get_if<engine::event::ActionStarted>(&event)) {
      started[start->action.number()] = start->pid;
      order.push_back(start->action.number());
      start_ticks[start->action.number()] = start->start_ticks;
    }
    if (const auto* wait = std::get_if<engine::event::ActionWaits>(&event)) waits.push_back(wait->why);
    if (const auto* word = std::get_if<engine::event::ActionReady>(&event)) ++ready[word->action.number()];
    if (const auto* silent = std::get_if<engine::event::ActionSilent>(&event))
      silences[silent->action.number()].push_back(silent->span);
    if (const auto* more = std::get_if<engine::event::ActionExtended>(&event))
      extensions[more->action.number()].push_back(more->by);
    if (const auto* end = std::get_if<engine::event::ActionEnded>(&event)) ended.emplace(end->action.number(), *end);
  });
}

void ActionBench::start(std::uint64_t id, std::vector<std::string> arguments, Duration timeout) {
  runtime::ActionRequest request;
  request.action = engine::ActionId(id);
  request.command.arguments = std::move(arguments);
  request.command.timeout = timeout;
  request.command.identity = identity;
  request.environment = environment;
  request.sets_home = sets_home;
  request.foreground = foreground;
  request.grouped = grouped;
  request.waited = waited;
  request.output = output;
  request.late = late;
  if (foreground) request.service = service;
  request.line = line;
  if (!runner) new_daemon();
  runner->start(std::move(request));
}

void ActionBench::shell(std::uint64_t id, const std::string& script, Duration timeout) {
  start(id, {"/bin/sh", "-c", script}, timeout);
}

const engine::event::ActionEnded& ActionBench::end(std::uint64_t id) {
  REQUIRE(run_until(loop, [&] { return ended.count(id) != 0; }));
  return ended.at(id);
}

bool reap_all() {
  return eventually([] {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return !has_children();
  });
}

}  // namespace healer::test
