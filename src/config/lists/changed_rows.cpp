// SPDX-License-Identifier: MIT
#include "config/lists/changed_rows.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/rules/graph.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/workflow.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

using Lists = ListsEnvironment::Lists;
using Block = std::shared_ptr<const engine::ServiceBlock>;
using Rows = std::unordered_map<std::string, const ListRow*>;  ///< by name in lower case

Rows rows_by_name(const std::vector<ListRow>& rows) {
  Rows all;
  all.reserve(rows.size());
  for (const ListRow& row : rows) all.emplace(to_lower(row.name), &row);
  return all;
}

/// Whether services are named where services come and go: what is compiled of these depends on who is there.
bool names_services(const Sources& sources) {
  for (std::uint32_t file = 0; file < sources.size(); ++file) {
    const std::string text = to_lower(sources.at(file).text);
    for (const std::string_view word : {"depend", "composite"})
      if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

/// The services in force, and the places where those of the rows of a list stand.
class Merger {
 public:
  Merger(const Lists& now, const Lists& before) {
    for (const auto& [source, rows] : now) {
      List list{.rows = &rows, .kept = {}};
      const Rows known = rows_by_name(before.at(source));
      for (const ListRow& row : rows)
        if (const auto same = known.find(to_lower(row.name)); same != known.end() && *same->second == row)
          list.kept.insert(to_lower(row.name));
      lists_.emplace(source.name, std::move(list));
    }
  }

  /// The rows that are new, or others than they were.
  [[nodiscard]] Lists changed(const Lists& now) const {
    Lists some;
    for (const auto& [source, rows] : now) {
      const List& list = lists_.at(source.name);
      auto& left = some[source];
      std::ranges::copy_if(rows, std::back_inserter(left),
                           [&](const ListRow& row) { return !list.kept.contains(to_lower(row.name)); });
    }
    return some;
  }

  [[nodiscard]] std::size_t kept() const {
    std::size_t count = 0;
    for (const auto& [name, list] : lists_) count += list.kept.size();
    return count;
  }

  /// All that are in force. False: they are no simple rows.
  bool take_former(const engine::Graph& in_force) {
    for (const engine::ServiceId id : in_force.order) {
      const Block& block = in_force.slots[id.index()];
      const auto list = list_of(*block);
      if (!list) return false;
      if (*list == nullptr) {
        order_.push_back({.block = block, .part = kAlone});
        continue;
      }
      const std::size_t part = part_of(*block, **list);
      if (part == kAlone) return false;
      if ((*list)->kept.contains(to_lower(block->row->target))) put(part, block);
    }
    return true;
  }

  /// Those that were compiled of the changed rows, and of the rules beside them.
  bool take_new(const std::vector<Block>& services) {
    std::unordered_map<std::string_view, const engine::ServiceBlock*> before;
    for (const Place& place : order_)
      if (place.part == kAlone) before.emplace(place.block->name, place.block.get());
    std::size_t alone = 0;
    for (const Block& block : services) {
      const auto list = list_of(*block);
      if (!list) return false;
      if (*list == nullptr) {
        // One that is another now tells that the machine is: its users, its groups, its name.
        const auto same = before.find(block->name);
        if (same == before.end() || same->second->key != block->key) return false;
        ++alone;
        continue;
      }
      const auto known = part_at_.find(place_of(*block));
      if (known == part_at_.end()) return false;  // of its block there was no service
      put(known->second, block);
    }
    return alone == static_cast<std::size_t>(std::ranges::count(order_, kAlone, &Place::part));
  }

  /// As load() has them; nothing where two have one name, or there are too many.
  [[nodiscard]] std::optional<std::vector<Block>> merged() const {
    std::vector<Block> all;
    std::unordered_set<std::string> names;
    const auto add = [&](const Block& block) {
      all.push_back(block);
      return names.insert(to_lower(block->name)).second;
    };
    for (const Place& place : order_) {
      if (place.part == kAlone) {
        if (!add(place.block)) return std::nullopt;
        continue;
      }
      const Part& part = parts_[place.part];
      for (const ListRow& row : *part.list->rows) {
        const auto found = part.services.find(to_lower(row.name));
        if (found == part.services.end()) return std::nullopt;
        for (const Block& block : found->second)
          if (!add(block)) return std::nullopt;
      }
    }
    if (all.size() > kMostRows) return std::nullopt;
    return all;
  }

 private:
  static constexpr std::size_t kAlone = ~std::size_t{0};
  struct List {
    const std::vector<ListRow>* rows;
    std::unordered_set<std::string> kept;  ///< names in lower case of rows that are as they were
  };
  /// A `for each` block of a list from outside.
  struct Part {
    const List* list;
    std::unordered_map<std::string, std::vector<Block>> services;  ///< by row
  };
  /// Where a service stands, or all those of a part.
  struct Place {
    Block block;
    std::size_t part;
  };
  using At = std::tuple<std::uint16_t, std::uint32_t, std::uint16_t>;

  static At place_of(const engine::ServiceBlock& block) {
    return {block.place.file, block.place.line, block.place.column};
  }

  /// The list from outside whose row a service is of; null: of none. Nothing: of several, one in another.
  [[nodiscard]] std::optional<const List*> list_of(const engine::ServiceBlock& block) const {
    if (block.row == nullptr) return nullptr;
    const List* found = nullptr;
    for (const std::string& name : block.row->lists)
      if (const auto list = lists_.find(name); list != lists_.end()) found = &list->second;
    if (found != nullptr && block.row->lists.size() > 1) return std::nullopt;
    return found;
  }

  /// The part that a service in force is of: with those of the same row, and with those that stand at its place.
  std::size_t part_of(const engine::ServiceBlock& block, const List& list) {
    const auto of_row = part_of_row_.find(block.row.get());
    const auto at = part_at_.find(place_of(block));
    if (of_row != part_of_row_.end() && at != part_at_.end() && of_row->second != at->second) return kAlone;
    std::size_t part = of_row != part_of_row_.end() ? of_row->second
                       : at != part_at_.end()       ? at->second
                                                    : parts_.size();
    if (part == parts_.size()) {
      parts_.push_back({.list = &list, .services = {}});
      order_.push_back({.block = nullptr, .part = part});
    }
    if (parts_[part].list != &list) return kAlone;
    part_of_row_.emplace(block.row.get(), part);
    part_at_.emplace(place_of(block), part);
    return part;
  }

  void put(std::size_t part, const Block& block) {
    parts_[part].services[to_lower(block->row->target)].push_back(block);
  }

  std::map<std::string, List> lists_;  ///< by variable
  std::vector<Place> order_;
  std::vector<Part> parts_;
  std::unordered_map<const engine::Row*, std::size_t> part_of_row_;
  std::map<At, std::size_t> part_at_;
};

bool are_same_lists(const Lists& now, const Lists& before) {
  std::set<std::string> names;
  for (const auto& [source, rows] : now)
    if (!before.contains(source) || !names.insert(source.name).second) return false;
  return now.size() == before.size();
}

}  // namespace

std::optional<LoadResult> load_changed_rows(const std::filesystem::path& path, const LoadOptions& options,
                                            const Environment& machine, const Lists& now, const Lists& before,
                                            const engine::Graph& in_force) {
  if (!in_force.left_out.empty() || now.empty() || !are_same_lists(now, before)) return std::nullopt;
  Merger merger(now, before);
  Lists changed = merger.changed(now);
  std::size_t compiled = 0;
  for (const auto& [source, rows] : changed) compiled += rows.size();
  if (compiled > merger.kept() || !merger.take_former(in_force)) return std::nullopt;
  LoadResult result = load(path, options, ListsEnvironment(std::move(changed), machine));
  if (!result.ok() || names_services(result.sources)) return std::nullopt;
  engine::RuleSet& rules = *result.rules;
  const bool is_whole = rules.left_out.empty() && result.rows_left_out.empty() && result.lists_left_out.empty() &&
                        rules.files == in_force.files &&
                        std::ranges::equal(rules.workflows, in_force.workflows,
                                           [](const auto& one, const auto& other) { return *one == *other; });
  if (!is_whole || !merger.take_new(rules.services)) return std::nullopt;
  auto services = merger.merged();
  if (!services) return std::nullopt;
  rules.services = std::move(*services);
  return result;
}

}  // namespace healer::config
