// SPDX-License-Identifier: MIT
// What lists say that is not in the rules now.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "util/text.hpp"

namespace healer::engine {

/// Rows that do not compile, and lists of which nothing is known. Their services are not gone: what is known of them
/// stays, until they come back or leave their lists.
struct LeftOut {
  std::set<std::string> lists;                         ///< variables in lower case: no row of it is known
  std::set<std::pair<std::string, std::string>> rows;  ///< in lower case: variable and name

  bool operator==(const LeftOut&) const = default;
  [[nodiscard]] bool empty() const { return lists.empty() && rows.empty(); }
  /// Whether something with these values ("NODE", "web1") belongs to it.
  [[nodiscard]] bool holds(const auto& variables) const {
    return !empty() && std::ranges::any_of(variables, [this](const auto& one) {
      const std::string list = to_lower(one.first);
      return lists.contains(list) || rows.contains({list, to_lower(one.second)});
    });
  }
};

}  // namespace healer::engine
