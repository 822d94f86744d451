// SPDX-License-Identifier: MIT
// What grows with the number of services must not grow with its square: counted, not timed.
#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/process_world.hpp"

namespace cost_test {

using namespace healer;
using namespace healer::test;

namespace {

/// The rows that a store writes for a commit, about.
std::size_t rows_of(const effect::Commit& commit) {
  std::size_t rows = commit.records.size() + commit.remembered.size() + commit.forgotten.size() +
                     commit.started.size() + commit.ended.size() + commit.handed_over.size() +
                     commit.moved_jobs.size() + commit.ended_jobs.size();
  for (const auto& [name, service] : commit.services) rows += 1 + service.rules.size();
  for (const auto& act : commit.pending) {
    const auto* exec = std::get_if<effect::Exec>(&act);
    rows += 1 + (exec != nullptr ? exec->command.arguments.size() : 0);
  }
  for (const effect::SavedJob& job : commit.jobs) rows += 1 + job.steps.size();
  return rows;
}

/// Of a restart of one service on which `count` others depend: of all commits, and of the largest.
struct Written {
  std::size_t rows = 0;
  std::size_t most = 0;
};

Written restart_with_dependents(unsigned count) {
  std::vector<std::shared_ptr<ServiceBlock>> blocks{process("db")};
  for (unsigned i = 0; i < count; ++i) blocks.push_back(process("app" + std::to_string(i), {missing_rule()}, {"db"}));
  ProcessWorld world(rule_set(blocks, minutes{10}));
  for (const auto& block : blocks) world.bring_up(block->name);
  world.start();
  world.run(seconds{6});
  const std::size_t before = world.effects.size();
  world.command(event::Command::Kind::Restart, {"db"});
  world.run(minutes{9});
  REQUIRE(world.programs.size() == 2 * (count + 1));
  REQUIRE(world.replies.size() == 1);
  REQUIRE(world.replies[0].ok);
  Written written;
  for (std::size_t i = before; i < world.effects.size(); ++i) {
    const auto* commit = std::get_if<effect::Commit>(&world.effects[i]);
    if (commit == nullptr) continue;
    written.rows += rows_of(*commit);
    written.most = std::max(written.most, rows_of(*commit));
  }
  return written;
}

}  // namespace

TEST_CASE("a restart writes as much for each service that takes part, however many these are") {
  const Written few = restart_with_dependents(10);
  const Written many = restart_with_dependents(1000);
  CHECK(many.rows / 1001 <= few.rows / 11 + 1);
  CHECK(many.rows / 1001 <= 40);
  CHECK(many.most <= 4 * 1001 + 40);  // its beginning, with all of its steps, or its end, with all of its services
}

}  // namespace cost_test
