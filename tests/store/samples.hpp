// SPDX-License-Identifier: MIT
// Commits for the tests of the store: whole ones with every field set, random ones, and texts to compare states by.
#pragma once

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/effect.hpp"
#include "engine/record.hpp"
#include "engine/service.hpp"
#include "store/store.hpp"
#include "tests/support/child.hpp"

namespace healer::store::test {

using namespace engine;

/// The path of a file in a directory.
std::string in(const healer::test::TemporaryDirectory& directory, const std::string& name);

/// Files of the directory whose names begin with this; not those that SQLite keeps beside a database.
std::vector<std::string> named(const std::string& beginning);

/// The head of a state file of Monit 5.33, of a machine called "vm", and zeros.
std::string monit_state();

inline WallTime wall(std::int64_t ms) { return WallTime{milliseconds{ms}}; }

Record record(Sequence sequence, std::string service = "web", RecordKind kind = RecordKind::RuleFailed);

effect::Commit commit(Sequence sequence, std::string service = "web", RecordKind kind = RecordKind::RuleFailed);

/// A text that says every field but the time of saving, so that two states are equal where their texts are.
std::string describe(const effect::Cause* cause);

std::string describe(const effect::Exec& exec);

std::string describe(const effect::Alert& alert);

std::string describe(const effect::SavedJob& job);

std::string describe(const SavedService& service);

/// Everything but last_id, which a store may raise.
std::string describe(const SavedState& state);

std::shared_ptr<const effect::Cause> full_cause();

effect::Exec full_exec(std::uint64_t id);

effect::Alert full_alert(std::uint64_t id);

effect::SavedJob full_job(std::uint64_t id);

SavedService full_service();

/// A stream of commits as a daemon may make them, the same for the same seed.
class RandomCommits {
 public:
  explicit RandomCommits(std::uint32_t seed) : random_(seed), moves_(seed) {}

  effect::Commit next();

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  std::string name() { return "service" + std::to_string(pick(6)); }
  std::uint64_t take(std::vector<std::uint64_t>& from);
  SavedService service();

  std::mt19937 random_;
  std::mt19937 moves_;
  Sequence sequence_ = 0;
  std::uint64_t id_ = 0;
  std::vector<std::uint64_t> waiting_, running_, alerts_, jobs_;
};

}  // namespace healer::store::test
