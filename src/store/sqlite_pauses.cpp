// SPDX-License-Identifier: MIT
#include "store/sqlite_pauses.hpp"

#include <string>
#include <utility>

namespace healer::store {

using namespace engine;

PauseWriter::PauseWriter(Database& database)
    : clear_(database.prepare("DELETE FROM wide_pauses")),
      save_(database.prepare("INSERT INTO wide_pauses(scope, until_ms, reason, paused_by) VALUES(?, ?, ?, ?)")) {}

void PauseWriter::write(const Batch& batch) {
  if (!batch.wide_pauses()) return;
  clear_.run();
  for (const auto& [group, pause] : *batch.wide_pauses()) save_.run(group, pause.until, pause.reason, pause.by);
}

std::vector<WidePause> read_pauses(Database& database) {
  std::vector<WidePause> pauses;
  database.prepare("SELECT scope, until_ms, reason, paused_by FROM wide_pauses ORDER BY rowid")
      .rows([&](Statement& row) {
        WidePause wide;
        row.read(wide.group, wide.pause.until, wide.pause.reason, wide.pause.by);
        pauses.push_back(std::move(wide));
      });
  return pauses;
}

}  // namespace healer::store
