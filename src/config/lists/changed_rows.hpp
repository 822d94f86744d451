// SPDX-License-Identifier: MIT
// Rules that differ from those in force by rows of lists alone: only what is new of them is compiled.
#pragma once

#include <filesystem>
#include <optional>

#include "config/environments.hpp"
#include "config/load.hpp"

namespace healer::engine {
struct Graph;
}  // namespace healer::engine

namespace healer::config {

/// What load() gives for the same rules with other rows of their lists, most of whose services are those of `in_force`,
/// which was made of `before`. Nothing where that cannot be told without all rows: where services name others, which
/// come and go, where most rows are other ones, or one does not compile.
///
/// `machine` has the rules files as they were loaded then; the lists are `now`. Warnings are told of new rows alone.
[[nodiscard]] std::optional<LoadResult> load_changed_rows(const std::filesystem::path& path, const LoadOptions& options,
                                                          const Environment& machine,
                                                          const ListsEnvironment::Lists& now,
                                                          const ListsEnvironment::Lists& before,
                                                          const engine::Graph& in_force);

}  // namespace healer::config
