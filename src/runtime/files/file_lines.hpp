// SPDX-License-Identifier: MIT
// The new lines of a file, as `check file` asks for them: from where the last reading ended, over rotation and
// truncation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/measure.hpp"
#include "engine/rules/service.hpp"
#include "util/result.hpp"

namespace healer::runtime {

struct NewLines {
  engine::ReadPosition position;  ///< where the next reading begins
  std::string text;
  std::string missing{};  ///< why lines may be missing that came since; or empty
};

/// Reads the whole lines that have come since `from`; where nobody has read it before, none. Of a file that was renamed
/// away meanwhile (rotated) the rest is read first, whatever its name is now, where it lies beside the new one or in a
/// folder there; as long as the new one is empty, that is where lines still come. One that was truncated and written
/// anew is known by its beginning, and read from there. At most kMostBytes of each a time: the next reading goes on
/// there. An Error where the file cannot be read. May wait for a mount that hangs: not for the loop thread.
[[nodiscard]] Result<NewLines> read_lines(const std::string& path, const std::optional<engine::ReadPosition>& from);

/// By LinesSpec::patterns: the lines of `text` that fulfil it, each with its newline. An Error where a pattern is
/// invalid. A pattern may make it last for ever: not for the loop thread.
[[nodiscard]] Result<std::vector<std::string>> sift(std::string_view text, const engine::LinesSpec& spec);

inline constexpr std::size_t kMostBytes = 4 * 1024 * 1024;  ///< of a file that are read in one run
inline constexpr std::size_t kMostListed = 4 * 1024;        ///< of the lines that fulfil a pattern

}  // namespace healer::runtime
