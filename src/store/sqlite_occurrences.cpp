// SPDX-License-Identifier: MIT
#include "store/sqlite_occurrences.hpp"

#include <spdlog/fmt/fmt.h>

#include <memory>
#include <optional>
#include <utility>

#include "store/healing_json.hpp"

namespace healer::store {

using namespace engine;

OccurrenceWriter::OccurrenceWriter(Database& database)
    : save_(database.prepare("INSERT INTO occurrences(number, state, document) VALUES(?, ?, ?) ON CONFLICT(number) DO "
                             "UPDATE SET state = excluded.state, document = coalesce(excluded.document, document)")),
      forget_(database.prepare("DELETE FROM occurrences WHERE number = ?")) {}

void OccurrenceWriter::write(const Batch& batch) {
  for (const auto& [number, event] : batch.occurrences())
    save_.run(number, to_json(event), event.document ? std::optional<std::string>(*event.document) : std::nullopt);
  for (const std::uint64_t number : batch.forgotten_occurrences()) forget_.run(number);
  save_.unbind();
}

std::vector<Occurrence> read_occurrences(Database& database, std::vector<std::string>& notes) {
  std::vector<Occurrence> events;
  database.prepare("SELECT number, state, document FROM occurrences ORDER BY number").rows([&](Statement& row) {
    std::uint64_t number = 0;
    std::string state;
    std::optional<std::string> document;
    row.read(number, state, document);
    Result<Occurrence> event = occurrence_from_json(state);
    if (!event || event->number != number) {
      notes.push_back(fmt::format("event {} is forgotten, because its saved record is damaged{}", number,
                                  event ? "" : ": " + event.error().what));
      return;
    }
    if (document && !document->empty()) event->document = std::make_shared<const std::string>(*std::move(document));
    events.push_back(std::move(*event));
  });
  return events;
}

}  // namespace healer::store
