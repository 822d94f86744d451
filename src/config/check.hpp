// SPDX-License-Identifier: MIT
// `healerd -t`: is this file all right? No side effects at all: nothing is written, no id is made.
#pragma once

#include <filesystem>
#include <string>

#include "config/environments.hpp"
#include "config/load.hpp"

namespace healer::config {

struct CheckOptions {
  LoadOptions load;
  bool verbose = false;  ///< -v: print the rules as they were understood, and notes that are else left out
  bool color = false;
};

/// What to write where, and the exit status: 0 accepted (there may be warnings), 1 rejected.
struct CheckOutcome {
  std::string out;
  std::string err;
  int status = 0;
};

[[nodiscard]] CheckOutcome check(const std::filesystem::path& path, const CheckOptions& options,
                                 const Environment& environment);

/// The same of what was loaded.
[[nodiscard]] CheckOutcome outcome_of(const LoadResult& result, const CheckOptions& options);

/// Loads a file as one of those that `context` names, a directory or a file with includes. It takes the place of the
/// one with its name, else of the one with which it shares the most services; where there is none it is one more of the
/// directory. What was to be said of the other files without it is left out, so the result may lack its rules though
/// nothing is said.
[[nodiscard]] LoadResult load_with(const std::filesystem::path& context, NewFile file, const LoadOptions& options,
                                   const Environment& environment);

/// So many errors are shown, unless all are asked for: who fixes those seldom needs the rest.
inline constexpr std::size_t kMostErrors = 20;

/// All messages of a load as text, for stderr; after so many errors, or very many messages, only their number.
[[nodiscard]] std::string format_all(const Diagnostics& diagnostics, const Sources& sources, bool color,
                                     std::size_t most_errors = kMostErrors);

}  // namespace healer::config
