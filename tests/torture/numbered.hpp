// SPDX-License-Identifier: MIT
// Commits that are a function of their number, so that whoever knows how many there were knows the whole state.
#pragma once

#include "tests/store/samples.hpp"

namespace healer::store::test {

/// Execs live for five commits, alerts for four, jobs for three, in which they are saved twice; seven services change
/// in turn, and one is forgotten now and then. Every other commit is one of healing, too: a healing lives for three of
/// these.
inline effect::Commit numbered_commit(Sequence number) {
  effect::Commit commit;
  commit.sequence = number;
  for (Sequence i = 0; i < 1 + number % 3; ++i) {
    commit.records.push_back(record(number, "web" + std::to_string(number % 7)));
    commit.records.back().output = std::string(number % 300, 'o');
  }
  if (number % 11 == 0) commit.forgotten.push_back("web" + std::to_string(number / 11 % 7));
  SavedService service = full_service();
  service.cron_minute = static_cast<std::int64_t>(number);
  service.rules.resize(number % 4);
  for (auto& [key, identity, rule] : service.rules) rule.since_fired = static_cast<std::uint32_t>(number);
  commit.services.emplace_back("web" + std::to_string(number % 7), service);
  commit.pending = {full_exec(2 * number), full_alert(2 * number + 1)};
  if (number > 3) commit.started.emplace_back(2 * (number - 3));
  if (number > 4) commit.handed_over.emplace_back(2 * (number - 4) + 1);
  commit.jobs = {full_job(3 * number)};
  if (number > 1) commit.jobs.push_back(full_job(3 * (number - 1)));
  if (number > 3) commit.ended_jobs.emplace_back(3 * (number - 3));
  if (number > 5) commit.ended.emplace_back(2 * (number - 5));
  if (number % 2 == 0) {
    for (Sequence begun = number > 4 ? number - 4 : 2; begun <= number; begun += 2) {
      commit.healings.push_back(full_healing(begun, "web" + std::to_string(begun % 7)));
      commit.healings.back().round = static_cast<std::uint32_t>(number);
    }
    if (number > 6) commit.ended_healings.emplace_back(number - 6);
    const std::string target = "web" + std::to_string(number % 5);
    if (number % 3 == 0) {
      commit.forgotten_targets.emplace_back(target, number % 4 == 0);
    } else {
      commit.targets.push_back(target_memory(target, number % 4 == 0, number));
    }
    commit.workflows.push_back(workflow_memory("heal" + std::to_string(number % 3), number));
    commit.closed_brakes.emplace(number % 3);
  }
  return commit;
}

}  // namespace healer::store::test
