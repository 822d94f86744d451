// SPDX-License-Identifier: MIT
#include "config/lists/list_memory.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/environment.hpp"
#include "engine/events/event.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kShare = 10;  ///< at most one of so many rows leaves at a reading, but always one
constexpr std::size_t kMostListed = 5;

/// The names of rows in lower case, sorted; of equal ones the first row is kept, and the others are told of.
std::vector<std::string> sorted_names(std::vector<ListRow>& rows, std::vector<ListRecord>& records) {
  std::set<std::string> names;
  std::vector<ListRow> kept;
  for (ListRow& row : rows) {
    if (names.insert(to_lower(row.name)).second)
      kept.push_back(std::move(row));
    else
      records.push_back(
          {.alerts = true, .text = fmt::format("the row '{}' is refused: it is there already", row.name)});
  }
  rows = std::move(kept);
  return {names.begin(), names.end()};
}

std::size_t not_in(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  return static_cast<std::size_t>(
      std::ranges::count_if(some, [&](const std::string& name) { return !std::ranges::binary_search(others, name); }));
}

}  // namespace

bool ListMemory::differs_much(const std::vector<std::string>& names) const {
  return not_in(names, saved_.names) * 2 > names.size() || not_in(saved_.names, names) * 2 > saved_.names.size();
}

std::vector<ListRecord> ListMemory::read(const ListReading& reading, const std::set<std::string>& failed,
                                         const std::set<std::string>& in_repair, WallTime now) {
  std::vector<ListRecord> records;
  for (std::size_t i = 0; i < reading.refused.size() && i < kMostListed; ++i) {
    const RefusedRow& row = reading.refused[i];
    records.push_back({.alerts = true,
                       .text = row.name.empty() ? "a row is refused: " + row.why
                                                : fmt::format("the row '{}' is refused: {}", row.name, row.why)});
  }
  if (reading.refused.size() > kMostListed)
    records.push_back(
        {.alerts = true, .text = fmt::format("{} more rows are refused", reading.refused.size() - kMostListed)});
  std::vector<ListRow> rows = reading.rows;
  std::vector<std::string> names = sorted_names(rows, records);
  // A row that is refused at each reading is told once.
  std::set<std::string> refused;
  for (const ListRecord& record : records) refused.insert(record.text);
  std::erase_if(records, [this](const ListRecord& record) { return refused_.contains(record.text); });
  refused_ = std::move(refused);
  if (names.empty()) {
    std::vector<ListRecord> more = fail("it was empty, which is not accepted");
    records.insert(records.end(), more.begin(), more.end());
    return records;
  }
  if (!std::exchange(saved_.failure, {}).empty()) records.push_back({.alerts = true, .text = "it is read again"});

  const bool is_first = !known();
  const bool equal = names == saved_.names;
  if (is_first || differs_much(names)) {
    if (!is_first && saved_.proven)
      records.push_back({.alerts = true,
                         .text =
                             "more than half of it is new or gone: nothing in it is healed until three readings are "
                             "equal, or a person accepts it"});
    saved_.proven = false;
    saved_.equal = 1;
  } else {
    saved_.equal = equal ? saved_.equal + 1 : 1;
  }
  if (!saved_.proven && saved_.equal >= kReadingsThatProve) {
    saved_.proven = true;
    records.push_back({.alerts = false, .text = "three equal readings: it is accepted"});
  }

  // Rows of the reading are in force at once; the others leave one after the other.
  std::map<std::string, unsigned> missing;
  std::set<std::string> well;
  for (ListRow& row : saved_.rows) {
    std::string name = to_lower(row.name);
    if (std::ranges::binary_search(names, name)) continue;
    const auto before = saved_.missing.find(name);
    // Only a reading that is believed says that something is gone.
    const unsigned misses = before == saved_.missing.end() ? 0 : before->second;
    if (saved_.well.contains(name)) well.insert(name);
    missing.emplace(std::move(name), saved_.proven ? misses + 1 : misses);
    rows.push_back(std::move(row));
  }
  for (const std::string& name : names) saved_.known.try_emplace(name, now);
  std::erase_if(saved_.known, [&](const auto& one) {
    return !std::ranges::binary_search(names, one.first) && !missing.contains(one.first);
  });
  saved_.names = std::move(names);
  saved_.rows = std::move(rows);
  saved_.missing = std::move(missing);
  saved_.well = std::move(well);
  see(failed, in_repair);
  if (saved_.proven) let_leave(failed, in_repair, records);
  return records;
}

bool ListMemory::see(const std::set<std::string>& failed, const std::set<std::string>& in_repair) {
  bool is_new = false;
  for (const auto& [name, misses] : saved_.missing)
    if (!failed.contains(name) && !in_repair.contains(name)) is_new = saved_.well.insert(name).second || is_new;
  return is_new;
}

void ListMemory::let_leave(const std::set<std::string>& failed, const std::set<std::string>& in_repair,
                           std::vector<ListRecord>& records) {
  std::vector<std::pair<unsigned, std::string>> candidates;
  for (const auto& [name, misses] : saved_.missing)
    if (!in_repair.contains(name) && (!failed.contains(name) || misses >= kMissesOfFailed))
      candidates.emplace_back(misses, name);
  // Whoever is missing longest goes first.
  std::ranges::stable_sort(candidates, std::greater<>(), &std::pair<unsigned, std::string>::first);
  const std::size_t most = std::max<std::size_t>(saved_.rows.size() / kShare, 1);
  if (candidates.size() > most) candidates.resize(most);
  for (const auto& [misses, name] : candidates) {
    const bool is_failed = failed.contains(name);
    records.push_back(
        {.alerts = is_failed,
         .text =
             is_failed
                 ? fmt::format("the row '{}' is being removed although it has failed: it was missing from {} readings",
                               name, misses)
                 : fmt::format("the row '{}' leaves", name)});
    forget(name);
  }
}

std::vector<ListRecord> ListMemory::fail(std::string why) {
  const bool is_new = why != saved_.failure;
  saved_.failure = std::move(why);
  if (!is_new) return {};
  return {{.alerts = true, .text = "could not be read: " + saved_.failure}};
}

void ListMemory::doubt(std::string_view variable, engine::event::ListsDoubted& doubted) const {
  const std::string list = to_lower(variable);
  if (!proven()) doubted.names.push_back(list);
  for (const std::string& row : missing_well()) doubted.missing.push_back({list, row});
}

WallTime ListMemory::known_since(const std::string& name) const {
  const auto found = saved_.known.find(name);
  return found == saved_.known.end() ? WallTime{} : found->second;
}

bool ListMemory::is_missing(std::string_view name) const { return saved_.missing.contains(to_lower(name)); }

bool ListMemory::forget(std::string_view name) {
  const std::string wanted = to_lower(name);
  if (saved_.missing.erase(wanted) == 0) return false;
  saved_.well.erase(wanted);
  saved_.known.erase(wanted);
  std::erase_if(saved_.rows, [&](const ListRow& row) { return iequals(row.name, wanted); });
  return true;
}

}  // namespace healer::config
