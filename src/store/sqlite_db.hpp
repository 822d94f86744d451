// SPDX-License-Identifier: MIT
// A thin skin over SQLite: a connection, a statement, and values of healer bound and read by type.
//
// Errors stick, as with a stream: after the first failure of a connection every further step does nothing and tells
// false, until clear_error(). So a transaction is written as a plain list of steps, with one look at the end. A
// connection is used by one thread at a time.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/events/origin.hpp"
#include "util/hash.hpp"
#include "util/result.hpp"
#include "util/slim.hpp"
#include "util/time.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace healer::store {

class Database;

/// How long a reader of a state file waits for the lock of somebody else.
inline constexpr Duration kReadBusy{1000};

/// Bytes as they are.
struct Blob {
  std::string bytes;
};

/// A prepared statement. Requires: the Database outlives it.
class Statement {
 public:
  Statement() = default;

  /// Binds the values to the parameters, from the first on, and runs a statement that yields no rows.
  template <typename... Values>
  bool run(const Values&... values) {
    bind(values...);
    return run_bound();
  }
  /// The same with what is bound already.
  bool run_bound() {
    step();
    reset();
    return ok();
  }

  /// Binds the values and gives every row to `each`, which reads it with read().
  template <typename Each, typename... Values>
  bool rows(Each&& each, const Values&... values) {
    bind(values...);
    while (step()) each(*this);
    reset();
    return ok();
  }

  /// Reads the columns of the current row, from the first on.
  template <typename... Values>
  void read(Values&... values) {
    column_ = 0;
    (get(values), ...);
  }

  /// Binds values from the first parameter on; what is bound stays until it is bound again.
  template <typename... Values>
  void bind(const Values&... values) {
    parameter_ = 0;
    (put(values), ...);
  }

  /// How many rows it has changed, if it was the last to be run.
  [[nodiscard]] int changed() const;

  /// Lets go of what is bound: a copy of it stays here otherwise, however large.
  void unbind();

  /// Binds one more value after those already bound.
  template <typename Value>
  void bind_next(const Value& value) {
    put(value);
  }

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(Database& database, sqlite3_stmt* statement) : database_(&database), statement_(statement) {}

  bool step();
  void reset();
  [[nodiscard]] bool ok() const;

  void put_null();
  void put_integer(std::int64_t value);
  void put(std::string_view text);
  void put(double value);
  void put(const std::string& text) { put(std::string_view(text)); }
  void put(const char* text) { put(std::string_view(text)); }
  void put(const Blob& blob);
  void put(Duration value) { put_integer(value.count()); }
  void put(WallTime value) { put_integer(value.time_since_epoch().count()); }
  void put(const Hash128& value) { put(to_string(value)); }
  void put(const engine::Origin& by) { put(engine::saved_text(by)); }
  template <std::integral Number>
  void put(Number value) {
    put_integer(static_cast<std::int64_t>(value));  // 64-bit unsigned keep their bits
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    if (value) {
      put(*value);
    } else {
      put_null();
    }
  }

  template <typename T>
  void put(const Slim<T>& value) {
    put(std::optional<T>(value));
  }

  [[nodiscard]] bool null() const;
  [[nodiscard]] std::int64_t integer();
  void get(std::string& text);
  void get(Blob& blob);
  void get(double& value);
  void get(Duration& value) { value = Duration{integer()}; }
  void get(WallTime& value) { value = WallTime{Duration{integer()}}; }
  void get(Hash128& value);
  void get(engine::Origin& by);
  template <std::integral Number>
  void get(Number& value) {
    if constexpr (std::same_as<Number, bool>) {
      value = integer() != 0;
    } else {
      value = static_cast<Number>(integer());
    }
  }
  template <typename T>
  void get(std::optional<T>& value) {
    if (null()) {
      value.reset();
      ++column_;
    } else {
      get(value.emplace());
    }
  }

  template <typename T>
  void get(Slim<T>& value) {
    std::optional<T> read;
    get(read);
    value = read;
  }

  Database* database_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int parameter_ = 0;
  int column_ = 0;
};

/// A connection.
class Database {
 public:
  enum class Mode : std::uint8_t {
    Write,
    Read,
    ReadUnchanging  ///< a file that nobody can change (a file system mounted read-only): no locks, no journal
  };

  /// Opens a file that exists. `busy`: how long to wait for somebody else's lock; `called`: what errors call it.
  static Result<std::unique_ptr<Database>> open(const std::string& path, Mode mode, Duration busy,
                                                std::string_view called = "state file");
  /// A database in memory, of what image() has given.
  static Result<std::unique_ptr<Database>> from_image(std::string_view image);
  /// All that it holds, as the bytes of a file; empty: there is no memory for it.
  [[nodiscard]] std::string image() const;
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] Statement prepare(std::string_view sql);
  bool execute(const char* sql);
  /// The single number that `sql` yields; 0 where it yields nothing.
  std::int64_t number(std::string_view sql);
  /// The single text that `sql` yields.
  std::string text(std::string_view sql);
  /// The first bytes of the file itself, past every lock and journal; fewer where the file is shorter.
  [[nodiscard]] std::string header();
  /// Whether it was opened to write, but the file system lets it only read.
  [[nodiscard]] bool read_only() const;
  /// Whether the file was removed, or another one was put in its place, since it was opened.
  [[nodiscard]] bool moved();

  /// How long the log was after the last commit, in pages.
  [[nodiscard]] int log_pages() const { return log_pages_; }
  /// For how many pages there is room on the disk; very many where the file system does not say.
  [[nodiscard]] int room_pages() const;
  /// Moves the log into the file, as far as readers and the disk let it. It waits for the disk, and nothing else does
  /// it but the closing: whoever writes chooses the moment.
  bool checkpoint();

  [[nodiscard]] bool ok() const { return !error_; }
  /// Requires: !ok().
  [[nodiscard]] const Error& error() const { return *error_; }
  void clear_error() { error_.reset(); }
  void fail(Error error);

  /// Called after every step of a statement that succeeded.
  void on_progress(std::function<void()> progress) { progress_ = std::move(progress); }

 private:
  friend class Statement;
  Database(std::string path, std::string_view called) : path_(std::move(path)), called_(called) {}
  /// Remembers what SQLite says of the failure, unless there is an error already.
  void fail(int code);

  std::string path_;
  std::string called_;
  sqlite3* handle_ = nullptr;
  int log_pages_ = 0;
  std::optional<Error> error_;
  std::function<void()> progress_;
};

// Errors of SQLite have a mark in their code; those of the system have errno.

/// Whether the error says that the file is damaged, or no database at all.
[[nodiscard]] bool is_damage(const Error& error);
/// Whether the error says that the file could not be opened.
[[nodiscard]] bool is_cannot_open(const Error& error);

/// Looks whose the file of a database is, and what SQLite keeps beside it: another user may have put it there, to be
/// believed, or to be cut short while it is mapped. Error: one of them is a symbolic link, or belongs to another user;
/// it names it, and what to do. What is not there is no error.
[[nodiscard]] Result<void> check_owner(const std::string& path);

}  // namespace healer::store
