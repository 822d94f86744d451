// SPDX-License-Identifier: MIT
// Where the files of a user who is not root are: the daemon puts its own there, and healerctl looks for them.
#pragma once

#include <string>

namespace healer {

/// What the files of this user begin with: his home, and ".healer.". Others can never write there: a folder that does
/// not exist is better, since that is an error with a name.
[[nodiscard]] std::string own_files();

}  // namespace healer
