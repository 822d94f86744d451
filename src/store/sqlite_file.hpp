// SPDX-License-Identifier: MIT
// The state file as a file: whose it is, how it is created and opened, and what happens to a damaged one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/events/commit.hpp"
#include "store/batch.hpp"
#include "store/sqlite_db.hpp"
#include "store/store.hpp"
#include "util/hash.hpp"

namespace healer::store {

/// What became of a file when it was opened for writing.
struct Opened {
  std::unique_ptr<Database> database;  ///< with the schema of this healer
  std::vector<std::string> notes;      ///< of a damaged file: what was moved aside, what was recovered
  bool index_rebuilt = false;          ///< an index said something else than its table, and nothing is lost
  Hash128 word{};                      ///< SavedState::word, which it has from now on
  bool word_is_new = false;            ///< it had none, or could not be read
};

/// Opens the state file at `path` for writing and creates it (mode 0600) and its directory (0700) where absent. A
/// damaged file, or one that writing has found so (`known_damaged`), is moved to PATH.corrupt-TIME, and what can be
/// read of it goes into the new one: states of services and rules, what healing remembers, rules files, the newest
/// history, the last numbers, its word; open acts are left behind, since one of them may be over, and healings are
/// given up. A file that has no word gets `word`, or where that is zero a new one. Errors: the file cannot be written;
/// or it is refused (is_refused()), and never touched: it was made by a newer healer, or is a symbolic link or another
/// user's.
[[nodiscard]] Result<Opened> open_state_file(const std::string& path, Duration busy, bool known_damaged = false,
                                             const Hash128& word = {});

/// A word for a state file, of the system's random numbers.
[[nodiscard]] Hash128 random_word();

/// Puts a copy of what `database` holds where its file was, after somebody removed that. The database is closed, unless
/// an error is returned.
[[nodiscard]] Result<void> restore_state_file(std::unique_ptr<Database>& database, const std::string& path);

/// Opens a state file for reading, and changes nothing in it. Works beside a daemon and without one.
[[nodiscard]] Result<std::unique_ptr<Database>> open_state_file_to_read(const std::string& path);

/// Whether the error means that this file will not be written by this healer however long it tries.
[[nodiscard]] bool is_refused(const Error& error);

}  // namespace healer::store
