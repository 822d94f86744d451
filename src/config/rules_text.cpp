// SPDX-License-Identifier: MIT
#include "config/rules_text.hpp"

#include <utility>

namespace healer {

using engine::recorded::RulesText;

std::shared_ptr<const RulesText> text_of(const std::string& path, const config::LoadResult& loaded,
                                         const config::ListsEnvironment::Lists& lists) {
  auto text = std::make_shared<RulesText>();
  text->path = path;
  for (std::uint32_t i = 0; i < loaded.sources.size(); ++i)
    text->files.push_back({loaded.sources.at(i).path, loaded.sources.at(i).text});
  for (const config::ListDeclaration& list : loaded.lists) {
    const auto rows = lists.find(list.source);
    if (rows == lists.end()) continue;
    RulesText::List known{
        .name = list.source.name, .command = list.source.command, .file = list.source.file, .rows = {}};
    for (const config::ListRow& row : rows->second) known.rows.push_back({row.name, row.fields});
    text->lists.push_back(std::move(known));
  }
  return text;
}

config::ListsEnvironment::Lists lists_of(const RulesText& text) {
  config::ListsEnvironment::Lists lists;
  for (const RulesText::List& list : text.lists) {
    auto& rows = lists[config::ListSource{.name = list.name, .command = list.command, .file = list.file}];
    for (const RulesText::Row& row : list.rows) rows.push_back({row.name, row.fields});
  }
  return lists;
}

config::LoadResult load_text(const RulesText& text, const config::Environment& machine) {
  std::vector<config::Source> files;
  for (const RulesText::File& file : text.files) files.push_back({file.path, file.text});
  const config::SavedEnvironment saved(std::move(files), machine);
  const config::OfflineEnvironment offline(saved);
  return config::load(text.path, {}, config::ListsEnvironment(lists_of(text), offline));
}

}  // namespace healer
