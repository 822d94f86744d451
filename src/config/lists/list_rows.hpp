// SPDX-License-Identifier: MIT
// The rows of a list: what `for each` goes over.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/result.hpp"

namespace healer::config {

/// One row: its name, and of a JSON object its other fields, an object's or array's as its JSON.
struct ListRow {
  std::string name;
  std::vector<std::pair<std::string, std::string>> fields;

  bool operator==(const ListRow&) const = default;
};

/// A row that is refused, and why.
struct RefusedRow {
  std::size_t line = 0;
  std::string why;     ///< "line 3: ..."
  std::string name{};  ///< of one that can be read, but does not compile; or empty
};

struct ListReading {
  std::vector<ListRow> rows;
  std::vector<RefusedRow> refused;
  std::vector<std::string> documents{};  ///< by `rows`, where they are asked for: the object; empty: it is only a name
};

/// What is kept of the rows of a list.
struct KeptOfRows {
  bool all = true;                  ///< all fields that an object has itself
  std::vector<std::string> fields;  ///< these: "ip", "spec.zone"
  bool documents = false;           ///< ListReading::documents
};

inline constexpr std::size_t kMostRows = 100'000;  ///< of one list, and of all services of all lists
inline constexpr std::size_t kMostRangeRows = 10'000;

/// What a command or a file says: one name, or one JSON object with "name", a line. Empty lines and those that begin
/// with `#` say nothing. Errors: it has too many rows.
[[nodiscard]] Result<ListReading> read_rows(std::string_view text, const KeptOfRows& kept = {});
/// Why a row with this name and these fields is refused; empty: it is not.
[[nodiscard]] std::string fault_of(const ListRow& row);

/// Without regard to their order.
[[nodiscard]] bool same_rows(std::vector<ListRow> one, std::vector<ListRow> other);

/// Of a name of a row that is not plain (util/text).
inline constexpr std::string_view kRowNameRemedy =
    "a name has letters, digits and . _ : @ -, begins with a letter or digit, and is at most 253 characters long";

/// "db1" .. "db9", "web08" .. "web12". Errors say what is wrong with it.
[[nodiscard]] Result<std::vector<std::string>> rows_of_range(std::string_view first, std::string_view last);

}  // namespace healer::config
