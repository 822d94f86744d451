// SPDX-License-Identifier: MIT
#include "store/steps_file.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "store/healing_json.hpp"
#include "store/sqlite_db.hpp"

namespace healer::store {

using namespace engine;

namespace {

/// Version 2 names users and groups. One who knows 1 alone would take such a step for one that runs as himself.
constexpr std::string_view kHead = "healer steps 2 ";
constexpr std::string_view kFormerHead = "healer steps 1 ";
static_assert(kHead.size() == kFormerHead.size());
constexpr std::string_view kEnd = "end";

/// Whether something of it may have been done, or is about to be.
bool is_under_way(const Healing& healing) {
  return !healing.rehearses() && (healing.has_place() || healing.has_begun());
}

struct Content {
  Sequence sequence = 0;
  std::vector<Healing> healings;
};

/// Nothing where there is none, or where it is not whole.
std::optional<Content> read(const std::string& path) {
  if (!check_owner(path)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string line;
  Content content;
  if (!std::getline(file, line) || !(line.starts_with(kHead) || line.starts_with(kFormerHead))) return std::nullopt;
  const char* const last = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data() + kHead.size(), last, content.sequence);
  if (error != std::errc{} || rest != last) return std::nullopt;
  while (std::getline(file, line)) {
    if (line == kEnd) return content;
    auto healing = healing_from_json(line);
    if (!healing) return std::nullopt;
    content.healings.push_back(std::move(*healing));
  }
  return std::nullopt;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(file, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

/// The programs of its steps: how they have ended, their own files tell (runtime/programs/action_files).
void add_programs(const Healing& healing, SavedState& state) {
  for (const StepRun& run : healing.under_way()) {
    if (run.state != StepRun::State::Running && run.state != StepRun::State::Ending) continue;
    const auto same = [&](const PendingExec& one) { return one.exec.action == run.action; };
    if (run.action == ActionId{} || std::ranges::any_of(state.execs, same)) continue;
    effect::Exec exec{.action = run.action, .rule = healing.rule, .healing = healing.id};
    exec.command.arguments.push_back("of a step");
    exec.cause = healing.cause;
    state.execs.push_back({std::move(exec), true});
    state.last_id = std::max(state.last_id, run.action.number());
  }
}

}  // namespace

std::string StepsFile::reconcile(SavedState& state) {
  const std::scoped_lock lock(mutex_);
  std::optional<Content> content = read(path_);
  exists_ = content.has_value();
  std::string note;
  if (content && content->sequence > state.last_sequence) {
    note = fmt::format(
        "the state file is older than {}: its log (-wal) was removed, or it was copied back; healings that were under "
        "way go by that file, and requests under way are in doubt",
        path_);
    state.last_sequence = content->sequence;
    const auto named = [&](HealingId id) { return std::ranges::find(content->healings, id, &Healing::id); };
    std::erase_if(state.healings, [&](const Healing& healing) {
      if (named(healing.id) != content->healings.end()) return true;
      if (!is_under_way(healing)) return false;
      state.damaged_healings.push_back({.id = healing.id,
                                        .target = healing.target,
                                        .workflow = healing.plan->name,
                                        .service = healing.service,
                                        .last_record = "its end is not in the state file"});
      return true;
    });
    std::erase_if(state.damaged_healings,
                  [&](const DamagedHealing& lost) { return named(lost.id) != content->healings.end(); });
    for (Healing& healing : content->healings) {
      add_programs(healing, state);
      state.last_id = std::max(state.last_id, healing.id.number());
      state.healings.push_back(std::move(healing));
    }
    std::ranges::sort(state.healings, {}, &Healing::id);
  }
  under_way_.clear();
  for (const Healing& healing : state.healings)
    if (is_under_way(healing)) under_way_.emplace(healing.id, to_json(healing));
  return note;
}

void StepsFile::written(const Batch& batch) {
  if (batch.healings().empty() && batch.ended_healings().empty()) return;
  const std::scoped_lock lock(mutex_);
  const bool any = !under_way_.empty();
  bool changed = false;
  for (const auto& [id, healing] : batch.healings()) {
    if (is_under_way(healing)) {
      under_way_.insert_or_assign(id, to_json(healing));
      changed = true;
    } else {
      changed = under_way_.erase(id) > 0 || changed;
    }
  }
  for (const HealingId id : batch.ended_healings()) changed = under_way_.erase(id) > 0 || changed;
  if (changed || (any && !exists_)) write(batch.up_to());
  exists_ = exists_ || changed;
}

/// Where the disk does not let it, it is an older one, which says nothing, or what it said before.
void StepsFile::write(Sequence sequence) const {
  std::string text = fmt::format("{}{}\n", kHead, sequence);
  for (const auto& [id, json] : under_way_) text.append(json).push_back('\n');
  text.append(kEnd).push_back('\n');
  const std::string fresh = path_ + ".new";
  ::unlink(fresh.c_str());
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  const bool whole = write_all(file, text);
  ::close(file);
  if (!whole || std::rename(fresh.c_str(), path_.c_str()) != 0) ::unlink(fresh.c_str());
}

}  // namespace healer::store
