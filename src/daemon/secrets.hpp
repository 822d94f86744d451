// SPDX-License-Identifier: MIT
// `${secret:NAME}`: values that only programs and requests of healings are given.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/events/act.hpp"
#include "runtime/programs/action_runner.hpp"
#include "util/result.hpp"

namespace healer {

/// The text of these parts; of a secret it is what the file of its name holds, read again, without the line feed at its
/// end. The file is one of `directory`, or where that is empty of systemd's credentials directory, or of
/// /etc/healer/secrets. Errors: it cannot be read, is larger than 64 kB, may be read by others than its owner, or the
/// name is none. `read`: gets what was read. `write`: how a secret is written there, which is the text's beginning or
/// not; nothing: it cannot be, as it holds control characters.
using WriteSecret = std::function<std::optional<std::string>(const std::string& secret, bool begins)>;
[[nodiscard]] Result<std::string> with_secrets(const std::vector<engine::effect::Place::Part>& parts,
                                               const std::string& directory, std::vector<std::string>& read,
                                               const WriteSecret& write = {});

/// The variables that a program is given by its step, and the secrets that it is to tell nobody. Errors: as above;
/// without one of them the program would do something else.
[[nodiscard]] Result<runtime::LateVariables> late_variables(const engine::effect::Place& place,
                                                            const std::string& directory);

}  // namespace healer
