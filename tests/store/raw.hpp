// SPDX-License-Identifier: MIT
// The state file seen past the store, with SQLite itself.
#pragma once

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/child.hpp"

namespace healer::store::test {

class Raw {
 public:
  explicit Raw(const std::string& path) { REQUIRE(sqlite3_open(path.c_str(), &handle_) == SQLITE_OK); }
  ~Raw() { sqlite3_close(handle_); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  /// Runs statements; the first column of the last row.
  std::string operator()(const std::string& sql) {
    std::string value;
    const auto take = [](void* out, int, char** columns, char**) {
      *static_cast<std::string*>(out) = columns[0] == nullptr ? "NULL" : columns[0];
      return 0;
    };
    INFO(sql << ": " << sqlite3_errmsg(handle_));
    REQUIRE(sqlite3_exec(handle_, sql.c_str(), take, &value, nullptr) == SQLITE_OK);
    return value;
  }

 private:
  sqlite3* handle_ = nullptr;
};

/// Moves the whole log into the file, as soon as the store, which may be doing the same just now, lets that happen.
inline void move_log(const std::string& path) {
  Raw raw(path);
  REQUIRE(healer::test::eventually([&] { return raw("PRAGMA wal_checkpoint(TRUNCATE)") == "0"; }));
}

}  // namespace healer::store::test
