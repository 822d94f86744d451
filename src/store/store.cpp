// SPDX-License-Identifier: MIT
#include "store/store.hpp"

#include <algorithm>

#include "util/text.hpp"

namespace healer::store {

bool matches(const HistoryQuery& query, const engine::Record& record) {
  const auto is_of = [&record](const std::string& service) { return iequals(service, record.service); };
  return (query.service.empty() || is_of(query.service) || std::ranges::any_of(query.others, is_of)) &&
         (!query.own || record.service.empty()) && (!query.since || record.when >= *query.since) &&
         record.sequence > query.after &&
         (query.kinds.empty() || std::ranges::find(query.kinds, record.kind) != query.kinds.end());
}

}  // namespace healer::store
