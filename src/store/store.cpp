// SPDX-License-Identifier: MIT
#include "store/store.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "util/text.hpp"

namespace healer::store {

bool matches(const HistoryQuery& query, const engine::Record& record) {
  const auto is_of = [&record](const std::string& service) { return iequals(service, record.service); };
  return (query.service.empty() || is_of(query.service) || std::ranges::any_of(query.others, is_of)) &&
         (!query.own || record.service.empty()) && (!query.since || record.when >= *query.since) &&
         (query.after == 0 || record.id > query.after) && (query.before == 0 || record.id < query.before) &&
         (query.kinds.empty() || std::ranges::find(query.kinds, record.kind) != query.kinds.end());
}

void cut(std::vector<engine::Record>& records, const HistoryQuery& query) {
  if (records.size() <= query.limit) return;
  const auto most = static_cast<std::ptrdiff_t>(query.limit);
  if (query.oldest)
    records.erase(records.begin() + most, records.end());
  else
    records.erase(records.begin(), records.end() - most);
}

Result<std::vector<engine::Record>> Store::history(const HistoryQuery& query) const {
  Result<HistoryPage> found = page(query);
  if (!found) return found.error();
  return std::move(found->records);
}

}  // namespace healer::store
