// SPDX-License-Identifier: MIT
// The header of Catch2 2, made of that of Catch2 3: the include path has it only where Catch2 is 3 (Debian 13). It
// gives what the tests use by the names of 2.
#pragma once

#include <catch2/catch_all.hpp>

using Catch::Approx;

namespace Catch {
using Matchers::EndsWith;
using Matchers::StartsWith;
}  // namespace Catch

#ifdef CATCH_CONFIG_MAIN
int main(int argc, char* argv[]) { return Catch::Session().run(argc, argv); }
#endif
