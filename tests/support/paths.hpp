// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace healer::test {

/// The project's top folder.
std::string source_folder();

/// The build folder, where the programs under test lie.
std::string build_folder();

}  // namespace healer::test
