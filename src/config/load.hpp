// SPDX-License-Identifier: MIT
// The one way from rules files to a RuleSet: text -> tokens -> syntax -> passes -> rules.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostic.hpp"
#include "config/environment.hpp"
#include "config/expand.hpp"
#include "config/source.hpp"
#include "engine/rule_set.hpp"

namespace healer::config {

struct LoadOptions {
  bool monit_dialect = false;  ///< --dialect monit: Monit 5.33's own verdict
  bool strict = false;         ///< --strict: warnings are errors
  bool advice = false;         ///< `healerctl lint`: what could be said better, too
  bool secrets = false;        ///< for who checks rules: whether the secrets of workflows can be read, too
};

struct LoadResult {
  Sources sources;                       ///< every file that was read, for messages and as the last good rules
  std::vector<Diagnostic> diagnostics;   ///< in the order of the files
  std::vector<std::string> unmatched;    ///< patterns, with their whole path, of includes that match no file
  std::vector<ListDeclaration> lists;    ///< those that were read, or are to be
  engine::Settings named;                ///< paths and `set init`: known also where there are errors
  std::optional<engine::RuleSet> rules;  ///< absent where there is an error

  [[nodiscard]] bool ok() const { return rules.has_value(); }
};

/// Loads `path`: a file, or a directory whose *.rules are read in the order of their names. All errors of a run are
/// found. `environment` is the machine; the null one looks nothing up (--offline).
[[nodiscard]] LoadResult load(const std::filesystem::path& path, const LoadOptions& options,
                              const Environment& environment);

}  // namespace healer::config
