// SPDX-License-Identifier: MIT
// All kinds of services: the one place that knows them by name. A new one is a file in checks/ and a line here.
#include <array>

#include "engine/rules/kind.hpp"

// clang-format off
#define HEALER_KINDS(KIND) \
  KIND(kProgram) \
  KIND(kProcess) \
  KIND(kSystem) \
  KIND(kFile) \
  KIND(kFilesystem) \
  KIND(kDirectory) \
  KIND(kFifo) \
  KIND(kNetwork) \
  KIND(kHost) \
  KIND(kComposite) \
  KIND(kHeartbeat) \
  KIND(kEvent) \
  KIND(kRow) \
  KIND(kUnit)
// clang-format on

namespace healer {

namespace checks {
#define KIND(name) extern const engine::CheckKind name;
HEALER_KINDS(KIND)
#undef KIND
}  // namespace checks

#define KIND(name) &checks::name,
constexpr std::array kKinds{HEALER_KINDS(KIND)};
#undef KIND

std::span<const engine::CheckKind* const> engine::all_kinds() { return kKinds; }

}  // namespace healer
