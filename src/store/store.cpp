// SPDX-License-Identifier: MIT
#include "store/store.hpp"

#include <algorithm>

#include "util/text.hpp"

namespace healer::store {

bool matches(const HistoryQuery& query, const engine::Record& record) {
  return (query.service.empty() || iequals(query.service, record.service)) && (!query.own || record.service.empty()) &&
         (!query.since || record.when >= *query.since) && record.sequence > query.after &&
         (query.kinds.empty() || std::ranges::find(query.kinds, record.kind) != query.kinds.end());
}

}  // namespace healer::store
