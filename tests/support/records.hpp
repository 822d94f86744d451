// SPDX-License-Identifier: MIT
// What the engine of a world has put on record.
#pragma once

#include <algorithm>
#include <string>

#include "support/engine_world.hpp"

namespace healer::test {

/// Whether there is a record of that kind with `text` in it.
inline bool has_record(const World& world, RecordKind kind, const std::string& text) {
  return std::ranges::any_of(world.records, [&](const Record& record) {
    return record.kind == kind && record.text.find(text) != std::string::npos;
  });
}

}  // namespace healer::test
