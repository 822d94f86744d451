// SPDX-License-Identifier: MIT
#include "engine/evidence.hpp"

#include <array>

namespace healer::engine {
namespace {

constexpr std::array<std::string_view, 4> kReaches{"untried", "unknown", "failed", "passed"};

}  // namespace

std::string_view to_string(Reach reach) { return kReaches[static_cast<std::size_t>(reach)]; }

}  // namespace healer::engine
