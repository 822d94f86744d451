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

#include "runtime/programs/action_runner.hpp"
#include "support/paths.hpp"
#include "support/processes.hpp"

namespace healer::test {

/// A loop with a runner that can be replaced by a new one, as after a restart of the daemon.
struct ActionBench {
  explicit ActionBench(runtime::Spawner::Options spawner_options = {}) : spawner(loop, std::move(spawner_options)) {
    open_to_all(directory);
    options.waiter = build_folder() + "/healerd";
  }

  void new_daemon();
  void start(std::uint64_t id, std::vector<std::string> arguments, Duration timeout = Duration{0});
  void shell(std::uint64_t id, const std::string& script, Duration timeout = Duration{0});
  const engine::event::ActionEnded& end(std::uint64_t id);
  std::string file(const std::string& name) const { return (directory.path() / "actions" / name).string(); }

  TemporaryDirectory directory;
  runtime::Loop loop;
  runtime::Spawner spawner;
  runtime::ActionRunner::Options options{(directory.path() / "actions").string()};
  runtime::ExitStatusReader exits{loop, {}};  // where a test gives it to `options`
  std::unique_ptr<runtime::ActionRunner> runner;
  std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  engine::Identity identity;
  bool sets_home = false;
  bool foreground = false;
  bool grouped = false;
  bool waited = false;
  runtime::ActionFiles::Shown output = runtime::ActionFiles::Shown::All;
  decltype(runtime::ActionRequest::late) late;
  std::string service = "shop";
  std::string line;
  std::map<std::uint64_t, std::int64_t> started;
  std::vector<std::uint64_t> order;  ///< in which they were started
  std::map<std::uint64_t, std::uint64_t> start_ticks;
  std::map<std::uint64_t, int> ready;
  std::map<std::uint64_t, std::vector<Duration>> silences, extensions;
  std::vector<std::string> waits;  ///< what was told of any
  std::map<std::uint64_t, engine::event::ActionEnded> ended;
};

/// Reaps what a runner that has gone let go of; the system's first process does it in life.
bool reap_all();

}  // namespace healer::test
