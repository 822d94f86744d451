// SPDX-License-Identifier: MIT
// Which words begin a statement.
#pragma once

#include "grammar/kinds.hpp"

namespace healer::config {

[[nodiscard]] inline bool is_check(grammar::Kind kind) {
  return kind >= grammar::Kind::CheckProcess && kind <= grammar::Kind::CheckNetwork;
}

/// Where a statement of a file begins, wherever it stands.
[[nodiscard]] inline bool begins_statement(grammar::Kind kind) {
  return kind == grammar::Kind::Set || kind == grammar::Kind::Include || kind == grammar::Kind::Workflow ||
         is_check(kind);
}

/// Where a statement of a service may begin.
[[nodiscard]] inline bool begins_service_statement(grammar::Kind kind) {
  using grammar::Kind;
  switch (kind) {
    case Kind::If:
    case Kind::Every:
    case Kind::NotEvery:
    case Kind::Alert:
    case Kind::NoAlert:
    case Kind::Group:
    case Kind::Mode:
    case Kind::OnReboot:
    case Kind::Depends:
    case Kind::Start:
    case Kind::Stop:
    case Kind::Restart:
    case Kind::Ignore: return true;
    default: return false;
  }
}

}  // namespace healer::config
