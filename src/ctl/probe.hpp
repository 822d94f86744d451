// SPDX-License-Identifier: MIT
// `healerctl probe HOST [WORDS...]`: tries one connection test, or ping, now, and tells each phase with its time. Needs
// no daemon.
#pragma once

#include <string>
#include <vector>

#include "ctl/output.hpp"

namespace healer {

/// `words` are one text in the words of the rules language, or its words one by one. Returns the exit status: 0 passed,
/// 1 failed or not known, 2 the words are wrong.
[[nodiscard]] int probe(const std::string& host, const std::vector<std::string>& words, Output& output);

}  // namespace healer
