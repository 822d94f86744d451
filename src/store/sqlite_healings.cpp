// SPDX-License-Identifier: MIT
#include "store/sqlite_healings.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "store/healing_json.hpp"
#include "util/text.hpp"

namespace healer::store {

using namespace engine;

namespace {

constexpr std::string_view kSaveHealing = "INSERT OR REPLACE INTO healings(healing, target, state) VALUES(?, ?, ?)";

constexpr std::string_view kGivenUp = "given up\n";

/// What stands in place of the state of a healing that nobody can go on with: each part behind its length.
std::string given_up_text(const DamagedHealing& lost) {
  std::string text(kGivenUp);
  for (const std::string* const part : {&lost.workflow, &lost.service, &lost.last_record})
    text += fmt::format("{} {}\n", part->size(), *part);
  return text;
}

std::optional<DamagedHealing> given_up_from_text(std::string_view text) {
  if (!text.starts_with(kGivenUp)) return std::nullopt;
  text.remove_prefix(kGivenUp.size());
  DamagedHealing lost;
  for (std::string* const part : {&lost.workflow, &lost.service, &lost.last_record}) {
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    const auto begin = static_cast<std::size_t>(end - text.data()) + 1;
    if (error != std::errc{} || begin > text.size() || size > text.size() - begin) break;
    *part = text.substr(begin, size);
    text.remove_prefix(std::min(begin + size + 1, text.size()));
  }
  return lost;
}

Error another() { return {0, "it is of another one"}; }

}  // namespace

HealingWriter::HealingWriter(Database& database) {
  const auto prepare = [&database](std::string_view sql) { return database.prepare(sql); };
  save_healing_ = prepare(kSaveHealing);
  end_healing_ = prepare("DELETE FROM healings WHERE healing = ?");
  save_target_ = prepare("INSERT OR REPLACE INTO healing_targets(target, rehearsed, state) VALUES(?, ?, ?)");
  forget_target_ = prepare("DELETE FROM healing_targets WHERE target = ? AND rehearsed = ?");
  save_workflow_ = prepare("INSERT OR REPLACE INTO healing_workflows(workflow, state) VALUES(?, ?)");
  clear_brakes_ = prepare("DELETE FROM closed_brakes");
  save_brake_ = prepare("INSERT INTO closed_brakes(position, state) VALUES(?, ?)");
}

void HealingWriter::write(const Batch& batch) {
  for (const auto& [id, healing] : batch.healings()) save_healing_.run(id.number(), healing.target, to_json(healing));
  for (const HealingId id : batch.ended_healings()) end_healing_.run(id.number());
  for (const auto& [target, rehearsed] : batch.forgotten_targets()) forget_target_.run(target, rehearsed);
  for (const auto& [key, memory] : batch.targets()) save_target_.run(memory.target, memory.rehearsed, to_json(memory));
  for (const auto& [key, memory] : batch.workflows()) save_workflow_.run(memory.workflow, to_json(memory));
  if (batch.closed_brakes()) {
    clear_brakes_.run();
    std::size_t position = 0;
    for (const ClosedBrake& brake : *batch.closed_brakes()) save_brake_.run(position++, to_json(brake));
  }
}

void read_under_way(Database& database, SavedState& state, DamagedJournal& damaged) {
  database.prepare("SELECT healing, target, state FROM healings ORDER BY healing").rows([&](Statement& row) {
    std::int64_t number = 0;
    std::string target, text;
    row.read(number, target, text);
    const auto id = static_cast<std::uint64_t>(number);
    if (auto lost = given_up_from_text(text)) {
      damaged.healings.emplace_back(id, target);
      lost->id = HealingId{number > 0 ? id : 0};
      lost->target = std::move(target);
      state.damaged_healings.push_back(std::move(*lost));
      return;
    }
    auto healing = healing_from_json(text);
    if (healing && (healing->id.number() != id || !iequals(healing->target, target))) healing = another();
    if (healing) {
      state.healings.push_back(std::move(*healing));
      return;
    }
    const std::string name = target.empty() ? fmt::format("{}", id) : fmt::format("{} of {}", id, printable(target));
    state.damaged_healings.push_back({.id = HealingId{id}, .target = target});
    damaged.healings.emplace_back(id, target);
    damaged.notes.push_back(
        fmt::format("healing {} cannot be resumed: its journal is damaged: {}", name, healing.error().what));
  });
}

void read_targets(Database& database, SavedState& state, DamagedJournal& damaged) {
  database.prepare("SELECT target, rehearsed, state FROM healing_targets ORDER BY target, rehearsed")
      .rows([&](Statement& row) {
        std::string target, text;
        bool rehearsed = false;
        row.read(target, rehearsed, text);
        auto memory = target_from_json(text);
        if (memory && (!iequals(memory->target, target) || memory->rehearsed != rehearsed)) memory = another();
        if (memory) {
          state.healing.targets.push_back(std::move(*memory));
          return;
        }
        damaged.targets.emplace_back(target, rehearsed);
        state.damaged_targets.emplace_back(target, rehearsed);
        damaged.notes.push_back(
            fmt::format("{} is put into a cooldown, because the saved record of its last healing is damaged: {}",
                        printable(target), memory.error().what));
      });
}

void read_workflows(Database& database, SavedState& state, DamagedJournal& damaged) {
  database.prepare("SELECT workflow, state FROM healing_workflows ORDER BY workflow").rows([&](Statement& row) {
    std::string workflow, text;
    row.read(workflow, text);
    auto memory = workflow_from_json(text);
    if (memory && !iequals(memory->workflow, workflow)) memory = another();
    if (memory) {
      state.healing.workflows.push_back(std::move(*memory));
    } else {
      // Its breaker may have been open: a person is to say that it goes on.
      state.healing.workflows.push_back({.workflow = workflow, .open = true});
      damaged.notes.push_back(fmt::format(
          "workflow {} heals nothing until `healerctl healing reset {}`, because the saved record of its tries and "
          "failures is damaged: {}",
          printable(workflow), printable(workflow), memory.error().what));
    }
  });
}

void read_closed_brakes(Database& database, SavedState& state, DamagedJournal& damaged) {
  database.prepare("SELECT state FROM closed_brakes ORDER BY position").rows([&](Statement& row) {
    std::string text;
    row.read(text);
    auto brake = brake_from_json(text);
    if (brake) {
      state.healing.closed.push_back(std::move(*brake));
    } else {
      damaged.notes.push_back(
          fmt::format("a `pause while` that had closed is forgotten, because its saved record is "
                      "damaged: {}",
                      brake.error().what));
    }
  });
}

void read_healings(Database& database, SavedState& state, DamagedJournal& damaged) {
  read_under_way(database, state, damaged);
  read_targets(database, state, damaged);
  read_workflows(database, state, damaged);
  read_closed_brakes(database, state, damaged);
}

void drop_damaged(const DamagedJournal& damaged, effect::Commit& commit) {
  for (const auto& [id, target] : damaged.healings) commit.ended_healings.push_back(id);
  commit.forgotten_targets.insert(commit.forgotten_targets.end(), damaged.targets.begin(), damaged.targets.end());
}

void give_up_healings(Database& database, const std::vector<DamagedHealing>& healings) {
  Statement save = database.prepare(kSaveHealing);
  std::int64_t unnumbered = 0;
  for (const DamagedHealing& lost : healings) {
    const bool numbered = lost.id != HealingId{};
    save.run(numbered ? static_cast<std::int64_t>(lost.id.number()) : --unnumbered, lost.target, given_up_text(lost));
  }
}

}  // namespace healer::store
