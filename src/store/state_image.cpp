// SPDX-License-Identifier: MIT
#include "store/state_image.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "store/batch.hpp"
#include "store/sqlite_db.hpp"
#include "store/sqlite_schema.hpp"
#include "store/sqlite_tables.hpp"

namespace healer::store {

using namespace engine;

namespace {

/// What makes an empty state this one.
effect::Commit whole(const SavedState& state) {
  effect::Commit commit;
  commit.sequence = std::max<Sequence>(state.last_sequence, 1);
  commit.services.assign(state.services.begin(), state.services.end());
  for (const PendingExec& pending : state.execs) {
    commit.pending.emplace_back(pending.exec);
    if (pending.started) commit.started.push_back(pending.exec.action);
  }
  for (const effect::Alert& alert : state.alerts) commit.pending.emplace_back(alert);
  commit.jobs = state.jobs;
  commit.healings = state.healings;
  commit.targets = state.healing.targets;
  commit.workflows = state.healing.workflows;
  commit.closed_brakes = state.healing.closed;
  commit.occurrences = state.occurrences;
  return commit;
}

}  // namespace

Result<std::string> image_of(const SavedState& state) {
  auto database = Database::open(":memory:", Database::Mode::Write, Duration{0}, "image");
  if (!database) return database.error();
  if (!migrate(**database)) return (*database)->error();
  Batch batch;
  batch.add(whole(state));
  if (!TableWriter(**database, Retention{}).write(batch)) return (*database)->error();
  // What no row of an act tells any more.
  const auto number_of = [](const std::optional<WallTime>& when) {
    return when ? when->time_since_epoch().count() : -1L;
  };
  (*database)
      ->prepare(
          "INSERT OR REPLACE INTO meta(name, value) VALUES('last_id', ?), ('image_died', ?), ('image_boot', ?), "
          "('image_seen', ?)")
      .run(state.last_id, number_of(state.died), state.boot, number_of(state.seen));
  if (state.word != Hash128{}) keep_word(**database, state.word);
  if (!(*database)->ok()) return (*database)->error();
  std::string image = (*database)->image();
  if (image.empty()) return Error{0, "no memory for the image of the state"};
  return image;
}

Result<SavedState> state_of(std::string_view image) {
  auto opened = Database::from_image(image);
  if (!opened) return opened.error();
  Database& database = **opened;
  if (database.number("PRAGMA user_version") > schema_version())
    return Error{0, "the state in it was saved by a newer healer"};
  if (!migrate(database)) return database.error();
  DamagedJournal damaged;
  SavedState state = read_state(database, damaged);
  const auto time_of = [&database](std::string_view name) {
    const std::int64_t when = database.number(fmt::format("SELECT value FROM meta WHERE name = '{}'", name));
    return when < 0 ? std::nullopt : std::optional(WallTime{Duration{when}});
  };
  state.died = time_of("image_died");
  state.seen = time_of("image_seen");
  if (state.seen == WallTime{}) state.seen.reset();  // not in images of earlier versions
  state.boot = static_cast<std::uint64_t>(database.number("SELECT value FROM meta WHERE name = 'image_boot'"));
  if (!database.ok()) return database.error();
  return state;
}

}  // namespace healer::store
