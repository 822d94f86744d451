// SPDX-License-Identifier: MIT
#include "support/paths.hpp"

namespace healer::test {

std::string source_folder() { return HEALER_SOURCE_DIR; }

std::string build_folder() { return HEALER_BUILD_DIR; }

}  // namespace healer::test
