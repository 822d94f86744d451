// SPDX-License-Identifier: MIT
// How rows of lists are, for whoever decides which of them leave.
#pragma once

#include <set>
#include <string>

namespace healer::engine {

class Engine;

/// The rows of lists with this variable, in lower case, of which a service stands failed.
[[nodiscard]] std::set<std::string> failed_rows(const Engine& engine, const std::string& list);
/// Those that are being healed.
[[nodiscard]] std::set<std::string> rows_in_repair(const Engine& engine, const std::string& list);

}  // namespace healer::engine
