// SPDX-License-Identifier: MIT
// The one way from rules files to a RuleSet: text -> tokens -> syntax -> passes -> rules.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostic.hpp"
#include "config/environment.hpp"
#include "config/passes/expand.hpp"
#include "config/source.hpp"
#include "engine/rules/rule_set.hpp"
#include "util/monit_version.hpp"

namespace healer::config {

struct LoadOptions {
  std::optional<MonitVersion> monit_dialect{};  ///< --dialect monit: that Monit's own verdict
  MonitVersion monit = MonitVersion::V5_33;     ///< whose meaning counts where no `set monit` says
  bool strict = false;                          ///< --strict: warnings are errors
  bool advice = false;                          ///< `healerctl lint`: what could be said better, too
  bool secrets = false;  ///< for who checks rules: whether the secrets of workflows can be read, too
};

/// "the row 'a' of the list NODE is refused: it has no field 'ip'".
[[nodiscard]] std::string left_out_text(const RowLeftOut& row);

struct LoadResult {
  Sources sources;                        ///< every file that was read, for messages and as the last good rules
  std::vector<Diagnostic> diagnostics;    ///< in the order of the files
  std::vector<std::string> unmatched;     ///< patterns, with their whole path, of includes that match no file
  std::vector<ListDeclaration> lists;     ///< those that were read, or are to be
  std::vector<RowLeftOut> rows_left_out;  ///< rows that do not compile: the others do without them
  std::string lists_left_out;             ///< why no row of any list is in the rules; empty: they are
  engine::Settings named;                 ///< paths and `set init`: known also where there are errors
  std::optional<engine::RuleSet> rules;   ///< absent where there is an error

  [[nodiscard]] bool ok() const { return rules.has_value(); }
};

/// Loads `path`: a file, or a directory whose *.rules are read in the order of their names. All errors of a run are
/// found. `environment` is the machine; the null one looks nothing up (--offline).
///
/// Rows of lists from outside make no errors: one that does not compile is left out and warned of, the others live. So
/// rules that are good while their lists are not known are good with any rows.
[[nodiscard]] LoadResult load(const std::filesystem::path& path, const LoadOptions& options,
                              const Environment& environment);

/// The same without the rows of lists, whatever they are: what is left where even that is not known to be good.
[[nodiscard]] LoadResult load_without_lists(const std::filesystem::path& path, const LoadOptions& options,
                                            const Environment& environment, std::string why);

}  // namespace healer::config
