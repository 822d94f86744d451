// SPDX-License-Identifier: MIT
// Where mails of this daemon may still wait: the directories of its queues, the newest last, in a file beside the state
// file (0600), each with a NUL behind it. Without it, mails would stay behind in a queue whose place has changed, and
// what was sent from there would be sent again when the old place comes back.
#pragma once

#include <string>
#include <vector>

#include "util/result.hpp"

namespace healer::delivery {

/// More than that many are not kept: the oldest are forgotten.
inline constexpr std::size_t kMostMailPlaces = 16;

/// The places that the file names; none where there is no such file. Error: it cannot be read, is damaged, or may have
/// been written by another user.
[[nodiscard]] Result<std::vector<std::string>> read_mail_places(const std::string& file);

/// Replaces the file, and waits until it is on the disk; without places there is none.
[[nodiscard]] Result<void> write_mail_places(const std::string& file, const std::vector<std::string>& places);

}  // namespace healer::delivery
