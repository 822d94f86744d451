// SPDX-License-Identifier: MIT
// How rows of lists are, for whoever decides which of them leave.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace healer::engine {

class Engine;
struct Healing;

/// The rows of lists with this variable, in lower case, of which a service stands failed.
[[nodiscard]] std::set<std::string> failed_rows(const Engine& engine, const std::string& list);
/// Those that are being healed, save where the healing waits for them to be well or gone.
[[nodiscard]] std::set<std::string> rows_in_repair(const Engine& engine, const std::string& list);

/// The healings of a row of a list that is read, in any case: those that wait, too.
[[nodiscard]] std::vector<const Healing*> healings_of_row(const Engine& engine, std::string_view row);
/// Why the row cannot be forgotten: "healing 7 of n1 with rebuild is under way"; empty: it can be.
struct KeptRow {
  std::string why;
  std::string remedy;
};
[[nodiscard]] KeptRow why_row_is_kept(const Engine& engine, std::string_view row);

}  // namespace healer::engine
