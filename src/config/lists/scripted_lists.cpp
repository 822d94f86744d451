// SPDX-License-Identifier: MIT
#include "config/lists/scripted_lists.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::config {
namespace {

void take_out(const std::vector<ListRow>& rows, std::vector<ListRow>& from) {
  std::erase_if(from, [&](const ListRow& row) {
    return std::ranges::any_of(rows, [&](const ListRow& one) { return iequals(one.name, row.name); });
  });
}

}  // namespace

ScriptedLists::ScriptedLists(const std::vector<ListDeclaration>& declared, const ListsEnvironment::Lists& begin,
                             std::vector<Statement> statements, Load load)
    : statements_(std::move(statements)), load_(std::move(load)) {
  for (const ListDeclaration& list : declared) {
    One one{.declared = list};
    const auto rows = begin.find(list.source);
    if (rows == begin.end()) {
      one.fails = "the script has no rows for it";
    } else {
      one.says.rows = rows->second;
      static_cast<void>(one.memory.read(one.says, {}, {}));
      one.memory.accept();
    }
    lists_.push_back(std::move(one));
  }
}

std::vector<engine::ListKeeper::Interval> ScriptedLists::lists() const {
  std::vector<Interval> all;
  for (const One& one : lists_)
    all.push_back({one.declared.source.name, one.declared.every, key_of(one.declared.source)});
  return all;
}

void ScriptedLists::change(std::size_t statement) {
  using What = Statement::What;
  const Statement& scripted = statements_[statement];
  for (One& one : lists_) {
    if (!iequals(one.declared.name, scripted.list)) continue;
    one.fails = scripted.what == What::Fails ? "it fails according to the script" : "";
    if (scripted.what == What::Says) one.says = scripted.reading;
    if (scripted.what == What::Gains || scripted.what == What::Loses) take_out(scripted.reading.rows, one.says.rows);
    if (scripted.what == What::Gains)
      one.says.rows.insert(one.says.rows.end(), scripted.reading.rows.begin(), scripted.reading.rows.end());
  }
}

engine::ListKeeper::Changes ScriptedLists::read(std::size_t list, const std::set<std::string>& failed,
                                                const std::set<std::string>& in_repair, WallTime now) {
  One& one = lists_[list];
  const std::vector<ListRow> before = one.memory.rows();
  const std::vector<ListRecord> records =
      one.fails.empty() ? one.memory.read(one.says, failed, in_repair, now) : one.memory.fail(one.fails);
  Changes changes;
  for (const ListRecord& record : records)
    changes.messages.push_back({fmt::format("list {}: {}", one.declared.name, record.text), record.alerts});
  if (!same_rows(before, one.memory.rows())) load_again(changes);
  return changes;
}

std::optional<WallTime> ScriptedLists::has_row(std::size_t list, std::string_view row) const {
  const One& one = lists_[list];
  const std::string name = to_lower(row);
  if (!one.memory.saved().failure.empty() || one.memory.is_missing(name)) return std::nullopt;
  const bool is_there = std::ranges::binary_search(one.memory.saved().names, name);
  return is_there ? std::optional(one.memory.known_since(name)) : std::nullopt;
}

bool ScriptedLists::see(std::size_t list, const std::set<std::string>& failed, const std::set<std::string>& in_repair) {
  ListMemory& memory = lists_[list].memory;
  return memory.has_missing_ill() && memory.see(failed, in_repair);
}

engine::ListKeeper::Changes ScriptedLists::accept(std::string_view list) {
  const auto one = std::ranges::find_if(lists_, [&](const One& known) { return iequals(known.declared.name, list); });
  if (one == lists_.end()) return {.refused = fmt::format("there is no list {}", printable(list))};
  if (!one->memory.known()) return {.refused = fmt::format("the list {} was not read yet", printable(list))};
  one->memory.accept();
  const std::size_t rows = one->memory.rows().size();
  return {.messages = {{fmt::format("list {}: accepted by the script, {} row{}", one->declared.name, rows,
                                    rows == 1 ? "" : "s")}}};
}

engine::ListKeeper::Changes ScriptedLists::forget(std::string_view row) {
  Changes changes;
  for (One& one : lists_)
    if (one.memory.forget(row))
      changes.messages.push_back(
          {fmt::format("list {}: the row '{}' is forgotten by the script", one.declared.name, printable(row))});
  if (changes.messages.empty())
    changes.refused = fmt::format("no list has a row '{}' that is being removed", printable(row));
  else
    load_again(changes);
  return changes;
}

engine::event::ListsDoubted ScriptedLists::doubted() const {
  engine::event::ListsDoubted doubted;
  for (const One& one : lists_) one.memory.doubt(one.declared.source.name, doubted);
  return doubted;
}

void ScriptedLists::load_again(Changes& changes) {
  ListsEnvironment::Lists rows;
  for (const One& one : lists_)
    if (one.memory.known()) rows.emplace(one.declared.source, one.memory.rows());
  LoadResult loaded = load_(std::move(rows));
  std::set<std::string> reported;
  for (const RowLeftOut& row : loaded.rows_left_out)
    if (const auto [text, is_new] = reported.insert(left_out_text(row)); is_new && !reported_.contains(*text))
      changes.messages.push_back({*text, true});
  reported_ = std::move(reported);
  if (loaded.ok() && loaded.lists_left_out.empty()) {
    changes.rules = std::move(loaded.rules);
    return;
  }
  changes.errors = loaded.lists_left_out;
  for (const Diagnostic& one : loaded.diagnostics)
    if (changes.errors.empty() && one.severity == DiagnosticSeverity::Error) changes.errors = one.message;
}

}  // namespace healer::config
