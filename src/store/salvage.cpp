// SPDX-License-Identifier: MIT
#include "store/salvage.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "engine/events/record.hpp"
#include "engine/state.hpp"
#include "store/sqlite_db.hpp"
#include "store/sqlite_healings.hpp"
#include "store/sqlite_pauses.hpp"
#include "store/sqlite_services.hpp"
#include "store/sqlite_tables.hpp"
#include "util/text.hpp"

namespace healer::store {

using engine::DamagedHealing;
using engine::HealingId;
using engine::RecordKind;

namespace {

constexpr std::uint32_t kSalvagedRecords = 10'000;
constexpr Duration kLastTime{253'402'300'799'999};  // of the year 9999; it counts both ways
constexpr std::uint64_t kLastNumber = std::uint64_t{1} << 62;

bool is_sound(WallTime when) { return when.time_since_epoch() >= -kLastTime && when.time_since_epoch() <= kLastTime; }
bool is_sound(const std::optional<WallTime>& when) { return !when || is_sound(*when); }
bool is_sound(const engine::SavedService& service) {
  const auto is_sound_rule = [](const engine::SavedRule& saved) {
    const engine::RuleState& rule = saved.state;
    const auto within = [](const std::optional<Duration>& since) {
      return !since || (*since >= -kLastTime && *since <= kLastTime);
    };
    return within(rule.past->failing_since) && within(rule.past->clear_since) && is_sound(rule.past->changed);
  };
  return is_sound(service.saved) && is_sound(service.starts->last) && is_sound(service.starts->not_before) &&
         (!service.pause || is_sound(service.pause->until)) && std::ranges::all_of(service.rules, is_sound_rule) &&
         (!service.action_failure || is_sound(service.action_failure->when)) &&
         (!service.acknowledged || is_sound(service.acknowledged->when));
}
bool is_sound(const engine::Heartbeat& heartbeat) {
  return is_sound(heartbeat.since) && is_sound(heartbeat.started) && is_sound(heartbeat.missed) &&
         heartbeat.ran.value_or(Duration{0}) >= Duration{0} && heartbeat.ran.value_or(Duration{0}) <= kLastTime;
}

/// What records, the newest last, tell of healings that have not ended.
std::map<std::uint64_t, DamagedHealing> not_ended(const std::vector<engine::Record>& records) {
  std::map<std::uint64_t, DamagedHealing> open;
  for (const engine::Record& record : records) {
    if (record.subject == 0) continue;
    if (record.kind == RecordKind::HealingEnded || record.kind == RecordKind::HealingFailed) {
      open.erase(record.subject);
    } else if (record.kind == RecordKind::HealingAsked || record.kind == RecordKind::HealingHeld ||
               record.kind == RecordKind::HealingBegun || record.kind == RecordKind::HealingStep) {
      DamagedHealing& lost = open[record.subject];
      lost.id = HealingId{record.subject};
      if (!record.service.empty()) lost.service = record.service;
      lost.last_record = record.text;
    }
  }
  return open;
}

/// Adds the healings whose programs were pending.
void add_of_programs(Database& database, std::map<std::uint64_t, DamagedHealing>& healings) {
  database.prepare("SELECT healing, cause_service FROM execs WHERE healing > 0").rows([&](Statement& row) {
    std::uint64_t id = 0;
    std::string service;
    row.read(id, service);
    healings.try_emplace(id, DamagedHealing{.id = HealingId{id}, .service = std::move(service)});
  });
}

/// The healings that were under way, by whatever tells of them. `records`: of the file; `whole`: all that it had.
std::vector<DamagedHealing> under_way(Database& database, const std::vector<engine::Record>& records, bool whole) {
  engine::SavedState state;
  DamagedJournal journal;
  read_under_way(database, state, journal);
  const bool known = database.ok();
  database.clear_error();
  std::map<std::uint64_t, DamagedHealing> all;
  if (!known) {
    all = not_ended(records);
    add_of_programs(database, all);
    database.clear_error();
  }
  std::vector<DamagedHealing> lost;
  for (DamagedHealing& damaged : state.damaged_healings) {
    all.erase(damaged.id.number());
    lost.push_back(std::move(damaged));
  }
  for (const engine::Healing& healing : state.healings) {
    all.erase(healing.id.number());
    lost.push_back(
        {.id = healing.id, .target = healing.target, .workflow = healing.plan->name, .service = healing.service});
  }
  for (auto& [id, damaged] : all) lost.push_back(std::move(damaged));
  if (!known && !whole) lost.push_back({});
  return lost;
}

/// Reads what healing remembers, table by table.
void salvage_memory(Database& database, engine::effect::Commit& commit, std::vector<std::string>& notes) {
  engine::SavedState state;
  DamagedJournal ignored;  // damaged rows are told of, and dropped, where the new file is read
  const auto read = [&](auto read_table, std::string_view what) {
    read_table(database, state, ignored);
    if (!database.ok()) notes.push_back(fmt::format("{} could not all be recovered", what));
    database.clear_error();
  };
  read(read_targets, "the cooldowns of targets");
  read(read_workflows, "the limits and breakers of workflows");
  read(read_closed_brakes, "the `pause while` that had closed");
  commit.targets = std::move(state.healing.targets);
  commit.workflows = std::move(state.healing.workflows);
  if (!state.healing.closed.empty()) commit.closed_brakes = std::move(state.healing.closed);
}

}  // namespace

Salvaged salvage(const std::string& path) {
  Salvaged salvaged;
  auto& [batch, healings, notes, word] = salvaged;
  auto opened = Database::open(path, Database::Mode::Read, kReadBusy);
  if (!opened) {
    healings.emplace_back();
    return salvaged;
  }
  Database& database = **opened;
  engine::effect::Commit commit;
  engine::SavedState state;
  read_numbers(database, state);
  if (database.ok()) {
    commit.sequence = state.last_sequence;
    commit.ended.emplace_back(state.last_id);  // hands the number on, no more
  }
  database.clear_error();
  if (commit.sequence > kLastNumber || state.last_id > kLastNumber) {
    commit.sequence = 0;
    commit.ended.clear();
  }
  word = read_word(database);
  database.clear_error();
  read_services(database, state);
  if (database.ok()) {
    read_heartbeats(database, state);
    bool all_heard = database.ok();
    for (auto& [name, service] : state.services)
      if (service.heartbeat && !is_sound(*service.heartbeat)) {
        service.heartbeat = {};
        all_heard = false;
      }
    if (!all_heard) notes.emplace_back("what was heard of heartbeats could not all be recovered: they begin afresh");
    std::erase_if(state.services, [](const auto& named) { return !is_sound(named.second); });
    for (auto& [name, service] : state.services) commit.services.emplace_back(name, std::move(service));
    notes.push_back(fmt::format("the states of {} services were recovered from {}", commit.services.size(), path));
  } else {
    notes.push_back(fmt::format("no states of services could be recovered from {}: every rule starts afresh", path));
  }
  database.clear_error();
  salvage_memory(database, commit, notes);
  std::vector<engine::WidePause> pauses = read_pauses(database);
  std::erase_if(pauses, [](const engine::WidePause& wide) { return !is_sound(wide.pause.until); });
  if (!pauses.empty()) commit.wide_pauses = std::move(pauses);
  database.clear_error();
  commit.occurrences = read_occurrences(database, notes);
  if (!database.ok()) notes.emplace_back("the events that came could not all be recovered");
  database.clear_error();
  HistoryQuery newest;
  newest.limit = kSalvagedRecords;
  commit.records = read_history(database, newest);  // up to the damage
  const bool whole = database.ok();
  database.clear_error();
  healings = under_way(database, commit.records, whole);
  if (!healings.empty() && healings.back().id != HealingId{})
    notes.push_back(fmt::format("{} healing{} under way, and cannot be resumed", healings.size(),
                                healings.size() == 1 ? " was" : "s were"));
  std::erase_if(commit.records, [](const engine::Record& record) {
    return !is_sound(record.when) || record.id == 0 || record.id > kLastNumber;
  });
  if (!commit.records.empty()) commit.sequence = std::max(commit.sequence, commit.records.back().sequence);
  auto sources = read_sources(database);
  if (database.ok() && !sources.empty()) batch.set_sources(std::move(sources));
  if (commit.sequence == 0 &&
      (!commit.services.empty() || commit.of_healings() || commit.wide_pauses || !commit.occurrences.empty()))
    commit.sequence = 1;
  if (commit.sequence > 0) batch.add(std::move(commit));
  return salvaged;
}

}  // namespace healer::store
