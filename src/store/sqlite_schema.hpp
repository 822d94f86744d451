// SPDX-License-Identifier: MIT
// The schema of the state file, and how an older one becomes this one.
//
// All fields are columns with readable values (kinds by name, hashes in hexadecimal, times in milliseconds), so that
// `sqlite3 FILE` shows what healer knows. Healings and their plans are trees, and JSON.
#pragma once

#include <cstdint>

#include "store/sqlite_db.hpp"

namespace healer::store {

/// Marks a database as healer's state ("heal").
inline constexpr std::int32_t kApplicationId = 0x6865616c;
/// The version of the schema that this healer writes.
[[nodiscard]] std::int32_t schema_version();

/// Brings the schema from whatever earlier version to schema_version(), in one transaction. Requires: the version of
/// the file is not newer.
bool migrate(Database& database);

/// Whether everything that schema_version() has is there, to the letter: a damaged schema may read like another one.
bool has_schema(Database& database);

}  // namespace healer::store
