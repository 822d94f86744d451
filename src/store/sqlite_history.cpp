// SPDX-License-Identifier: MIT
// The history as it is asked for.
#include <algorithm>

#include "store/sqlite_tables.hpp"

namespace healer::store {

using namespace engine;

namespace {

Severity severity_of(std::string_view text) {
  for (const auto severity : {Severity::Debug, Severity::Info, Severity::Warning})
    if (text == to_string(severity)) return severity;
  return Severity::Error;
}

}  // namespace

std::vector<Record> read_history(Database& database, const HistoryQuery& query) {
  std::string sql =
      "SELECT sequence, when_ms, kind, severity, service, rule, subject, text, output FROM records WHERE sequence > ?1";
  if (!query.service.empty()) sql += " AND service = ?2";
  if (query.own) sql += " AND service = ''";
  if (query.since) sql += " AND when_ms >= ?3";
  if (!query.kinds.empty()) {
    sql += " AND kind IN ('";
    for (std::size_t i = 0; i < query.kinds.size(); ++i) {
      if (i > 0) sql += "', '";
      sql += to_string(query.kinds[i]);  // our own words, never a person's
    }
    sql += "')";
  }
  sql += " ORDER BY sequence DESC, id DESC LIMIT ?4";
  std::vector<Record> records;
  database.prepare(sql).rows(
      [&records](Statement& row) {
        Record record;
        std::string kind, severity;
        row.read(record.sequence, record.when, kind, severity, record.service, record.rule, record.subject, record.text,
                 record.output);
        record.kind = record_kind(kind);
        record.severity = severity_of(severity);
        if (record.kind != RecordKind::Count_) records.push_back(std::move(record));
      },
      query.after, query.service, query.since.value_or(WallTime{}), query.limit);
  std::ranges::reverse(records);
  return records;
}

}  // namespace healer::store
