// SPDX-License-Identifier: MIT
// Where files are when nothing else is said: those of a user who is not root, and the rules.
#pragma once

#include <string>

namespace healer {

/// What the files of this user begin with: his home, and ".healer.". Others can never write there: a folder that does
/// not exist is better, since that is an error with a name.
[[nodiscard]] std::string own_files();

/// The state file, of a daemon of root or of this user, where no rules name another.
[[nodiscard]] std::string usual_state(bool of_root);

/// The directory of rules of this installation: etc/healer/rules.d beside the folder that the program is in (sbin,
/// bin), and /etc/healer/rules.d for /usr, and for one that is run from where it was built.
[[nodiscard]] std::string usual_rules();

}  // namespace healer
