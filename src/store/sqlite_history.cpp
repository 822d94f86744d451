// SPDX-License-Identifier: MIT
// The history as it is asked for, and kept within its bounds.
#include <algorithm>
#include <iterator>

#include <spdlog/fmt/fmt.h>

#include "store/sqlite_tables.hpp"
#include "util/jq.hpp"

namespace healer::store {

using namespace engine;

namespace {

constexpr std::size_t kMany = 50;          // services
constexpr std::uint64_t kPruneStep = 256;  // records that one transaction prunes beyond what it adds

Severity severity_of(std::string_view text) {
  for (const auto severity : {Severity::Debug, Severity::Info, Severity::Warning})
    if (text == to_string(severity)) return severity;
  return Severity::Error;
}

/// `["web1","web2"]`: the services that are asked for.
std::string names_of(const HistoryQuery& query) {
  std::string names = "[" + json_string(query.service);
  for (const std::string& service : query.others) names += "," + json_string(service);
  return names + "]";
}

}  // namespace

std::vector<Record> read_history(Database& database, const HistoryQuery& query) {
  const bool is_of_many = query.others.size() >= kMany;
  if (!query.others.empty() && !is_of_many) {
    HistoryQuery one = query;
    one.others.clear();
    std::vector<Record> all = read_history(database, one);
    for (const std::string& service : query.others) {
      one.service = service;
      std::ranges::move(read_history(database, one), std::back_inserter(all));
    }
    std::ranges::stable_sort(all, {}, &Record::id);
    cut(all, query);
    return all;
  }
  std::string sql =
      "SELECT id, sequence, when_ms, kind, severity, service, rule, subject, text, output FROM records WHERE 1";
  if (query.after != 0) sql += " AND id > ?1";
  // Of many, the newest are looked through; by the index of services there would be as many ways to go.
  if (is_of_many)
    sql += " AND +service IN (SELECT value FROM json_each(?2))";
  else if (!query.service.empty())
    sql += " AND service = ?2";
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
  if (query.before != 0) sql += " AND id < ?5";
  // In the order that an index has, which is that of the numbers, too.
  const std::string_view order = query.oldest ? "" : " DESC";
  const bool by_number =
      (query.service.empty() || is_of_many) && !query.own && (query.after != 0 || query.before != 0 || query.oldest);
  sql += by_number ? fmt::format(" ORDER BY id{} LIMIT ?4", order)
                   : fmt::format(" ORDER BY sequence{0}, id{0} LIMIT ?4", order);
  std::vector<Record> records;
  database.prepare(sql).rows(
      [&records](Statement& row) {
        Record record;
        std::string kind, severity;
        row.read(record.id, record.sequence, record.when, kind, severity, record.service, record.rule, record.subject,
                 record.text, record.output);
        record.kind = record_kind(kind);
        record.severity = severity_of(severity);
        if (record.kind != RecordKind::Count_) records.push_back(std::move(record));
      },
      query.after, is_of_many ? names_of(query) : query.service, query.since.value_or(WallTime{}), query.limit,
      query.before);
  if (!query.oldest) std::ranges::reverse(records);
  return records;
}

RecordNumber newest_record(Database& database) {
  return static_cast<RecordNumber>(database.number("SELECT max(id) FROM records"));
}

HistoryPage read_page(Database& database, HistoryQuery query) {
  HistoryPage page{.records = {}, .up_to = newest_record(database)};
  if (query.after > page.up_to) {
    page.anew = true;
    query.after = 0;
  }
  page.records = read_history(database, query);
  if (!query.oldest) return page;
  if (page.records.size() == query.limit && !page.records.empty()) page.up_to = page.records.back().id;
  database.prepare("SELECT count(*) FROM records WHERE id > ? AND id <= ?")
      .rows(
          [&page, &query](Statement& row) {
            std::uint64_t kept = 0;
            row.read(kept);
            page.missing = page.up_to - query.after - kept;
          },
          query.after, page.up_to);
  return page;
}

void TableWriter::prune() {
  if (record_count_ <= retention_.records && record_bytes_ <= retention_.bytes) return;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t last = 0;
  // What one transaction adds is bounded, so this is: it removes as much as is too much, up to a step beyond the
  // limits.
  const std::uint64_t too_many = record_count_ > retention_.records ? record_count_ - retention_.records : 0;
  oldest_records_.rows(
      [&](Statement& row) {
        if (count >= too_many && record_bytes_ - bytes <= retention_.bytes) return;
        std::uint64_t size = 0;
        row.read(last, size);
        ++count;
        bytes += size;
      },
      std::max(too_many, kPruneStep));
  if (count == 0) return;
  prune_records_.run(last);
  record_count_ -= count;
  record_bytes_ -= std::min(bytes, record_bytes_);
}

}  // namespace healer::store
