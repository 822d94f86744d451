// SPDX-License-Identifier: MIT
// The new lines of a file, as `check file` asks for them: from where the last reading ended, over rotation and
// truncation.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/measure.hpp"
#include "engine/service.hpp"
#include "util/result.hpp"

namespace healer::runtime {

struct FileLines {
  engine::ReadPosition position;   ///< where the next reading begins
  std::vector<std::string> lines;  ///< by LinesSpec::patterns: the lines that fulfil it, each with its newline
};

/// Reads the whole lines that have come since `from`; where nobody has read it before, none. Of a file that was renamed
/// away meanwhile (rotated) the rest is read first, where it lies beside the new one under a name that begins alike. At
/// most kMostBytes a time: the next reading goes on there. A pattern may make it last for ever: not for the loop
/// thread. An Error where the file cannot be read or a pattern is invalid.
[[nodiscard]] Result<FileLines> read_lines(const std::string& path, const std::optional<engine::ReadPosition>& from,
                                           const engine::LinesSpec& spec);

inline constexpr std::size_t kMostBytes = 4 * 1024 * 1024;  ///< of a file that are read in one run
inline constexpr std::size_t kMostTold = 4 * 1024;          ///< of the lines that fulfil a pattern

}  // namespace healer::runtime
