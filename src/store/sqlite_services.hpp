// SPDX-License-Identifier: MIT
// The tables of services: their states, those of their rules, and what their tests remember.
#pragma once

#include <string>

#include "engine/events/commit.hpp"
#include "engine/occurrence.hpp"
#include "engine/state.hpp"
#include "store/batch.hpp"
#include "store/sqlite_db.hpp"

namespace healer::store {

/// Writes them within the transaction of the batch.
class ServiceWriter {
 public:
  ServiceWriter() = default;
  explicit ServiceWriter(Database& database);
  void write(const Batch& batch);

 private:
  static bool write(const std::string& service, const engine::Baseline& baseline, Statement& statement);
  void write(const std::string& service, const engine::Heartbeat& heartbeat);

  Statement save_service_, save_rule_, cut_rules_, forget_service_, forget_rules_;
  Statement save_baseline_, move_baseline_, forget_baselines_;
  Statement save_heartbeat_, forget_heartbeat_;
};

void read_services(Database& database, engine::SavedState& state);
/// Adds what is known of heartbeats to the services that were read.
void read_heartbeats(Database& database, engine::SavedState& state);

/// Writes events that others told of, within the transaction of the batch.
class OccurrenceWriter {
 public:
  OccurrenceWriter() = default;
  explicit OccurrenceWriter(Database& database);
  void write(const Batch& batch);

 private:
  Statement save_, forget_;
};

/// By number. What cannot be read is left out, and is in `notes`, a sentence each, for the log.
[[nodiscard]] std::vector<engine::Occurrence> read_occurrences(Database& database, std::vector<std::string>& notes);

}  // namespace healer::store
