// SPDX-License-Identifier: MIT
// What is said of rows, put into words for people.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/passes/expand.hpp"
#include "util/text.hpp"

namespace healer::config {

void name_lists(Expansion& expansion, const Sources& sources) {
  std::map<std::string, std::size_t> count;
  for (const ListDeclaration& list : expansion.lists) ++count[list.name];
  for (ListDeclaration& list : expansion.lists) {
    if (count[list.name] == 1) continue;
    const Position position = sources.position(list.range.file, list.range.begin);
    list.name = fmt::format("{}@{}:{}", list.name, sources.at(list.range.file).path, position.line);
  }
}

void drop_unknown(Diagnostics& diagnostics, const Expansion& expansion) {
  std::erase_if(diagnostics, [&](const Diagnostic& one) {
    if (!one.range) return false;
    const std::tuple place(one.range->file, one.range->begin, one.range->row);
    return expansion.unknown_words.contains(place) ||
           (one.code == Code::MissingProgram && expansion.unknown_programs.contains(place));
  });
}

void join_rows(Diagnostics& diagnostics, const Expansion& expansion) {
  struct Group {
    std::size_t first = 0;
    std::vector<std::uint32_t> rows;
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Code, DiagnosticSeverity>, Group> groups;
  Diagnostics result;
  for (Diagnostic& one : diagnostics) {
    if (!one.range || one.range->row == 0) {
      result.push_back(std::move(one));
      continue;
    }
    const auto [group, is_new] =
        groups.try_emplace(std::tuple(one.range->file, one.range->begin, one.range->end, one.code, one.severity),
                           Group{result.size(), {}});
    if (group->second.rows.empty() || group->second.rows.back() != one.range->row)
      group->second.rows.push_back(one.range->row);
    // More than one message about a row stay, of the first row.
    if (is_new || one.range->row == group->second.rows.front()) result.push_back(std::move(one));
  }
  for (auto& [key, group] : groups) {
    const engine::Row& row = *expansion.rows[group.rows.front() - 1];
    std::string note;
    for (const auto& [name, value] : row.variables)
      if (!name.empty() && name.find('.') == std::string::npos)  // a list that is broken has no name
        note += fmt::format("{}{} is {}", note.empty() ? "" : " and ", name, in_quotes(value));
    if (!note.empty()) note = "here " + note;
    if (group.rows.size() > 1)
      note += fmt::format("; the same of {} more row{}", group.rows.size() - 1, group.rows.size() == 2 ? "" : "s");
    result[group.first].row = std::move(note);
  }
  diagnostics = std::move(result);
}

}  // namespace healer::config
