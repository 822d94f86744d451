// SPDX-License-Identifier: MIT
#include "store/sqlite_db.hpp"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

namespace healer::store {

// ---- Statement ----------------------------------------------------------------------------------------------------

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

bool Statement::ok() const { return statement_ != nullptr && database_->ok(); }

bool Statement::step() {
  if (!ok()) return false;
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    database_->fail(code);
    return false;
  }
  if (database_->progress_) database_->progress_();
  return code == SQLITE_ROW;
}

void Statement::reset() {
  if (statement_) sqlite3_reset(statement_.get());
}

int Statement::changed() const { return statement_ ? sqlite3_changes(sqlite3_db_handle(statement_.get())) : 0; }

void Statement::unbind() {
  if (statement_) sqlite3_clear_bindings(statement_.get());
}

void Statement::put_null() {
  if (statement_) sqlite3_bind_null(statement_.get(), ++parameter_);
}

void Statement::put_integer(std::int64_t value) {
  if (statement_) sqlite3_bind_int64(statement_.get(), ++parameter_, value);
}

void Statement::put(double value) {
  if (statement_) sqlite3_bind_double(statement_.get(), ++parameter_, value);
}

void Statement::put(std::string_view text) {
  if (!statement_) return;
  // A null pointer would bind NULL.
  const char* const data = text.data() == nullptr ? "" : text.data();
  const int code =
      sqlite3_bind_text64(statement_.get(), ++parameter_, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) database_->fail(code);
}

void Statement::put(const Blob& blob) {
  if (!statement_) return;
  const int code =
      sqlite3_bind_blob64(statement_.get(), ++parameter_, blob.bytes.data(), blob.bytes.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) database_->fail(code);
}

bool Statement::null() const { return sqlite3_column_type(statement_.get(), column_) == SQLITE_NULL; }

std::int64_t Statement::integer() { return sqlite3_column_int64(statement_.get(), column_++); }

void Statement::get(double& value) { value = sqlite3_column_double(statement_.get(), column_++); }

void Statement::get(std::string& text) {
  const auto* const data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column_));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column_));
  ++column_;
  if (data == nullptr) {
    text.clear();
  } else {
    text.assign(data, size);
  }
}

void Statement::get(Blob& blob) {
  const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column_));
  const int size = sqlite3_column_bytes(statement_.get(), column_++);
  blob.bytes.assign(bytes == nullptr ? "" : bytes, bytes == nullptr ? 0 : static_cast<std::size_t>(size));
}

void Statement::get(engine::Origin& by) {
  std::string text;
  get(text);
  by = engine::origin_of(text);
}

void Statement::get(Hash128& value) {
  std::string text;
  get(text);
  value = parse_hash128(text).value_or(Hash128{});
}

// ---- Database -----------------------------------------------------------------------------------------------------

namespace {

constexpr std::uint64_t kPageBytes = 4096;  // SQLite's page, unless told otherwise
constexpr int kSqliteCode = 1 << 20;        // marks what is in an Error's code as SQLite's, not errno

/// SQLite's code without its extension; SQLITE_OK where the error is not SQLite's.
int primary_code(const Error& error) {
  return error.code > 0 && (error.code & kSqliteCode) != 0 ? error.code & 0xff : SQLITE_OK;
}

/// The path with the symbolic links of its folders replaced: SQLite, told to follow none, follows none of these either.
std::string without_links_above(const std::string& path) {
  if (path.starts_with(':')) return path;  // in memory
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  const std::filesystem::path folder = std::filesystem::canonical(whole.parent_path(), failed);
  return failed ? path : (folder / whole.filename()).string();
}

/// The path as a URI, for the options that only a URI takes.
std::string unchanging_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      constexpr std::string_view digits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      uri += {'%', digits[byte >> 4], digits[byte & 15]};
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Mode mode, Duration busy,
                                                 std::string_view called) {
  std::unique_ptr<Database> database(new Database(path, called));
  const int flags = (mode == Mode::Write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW : SQLITE_OPEN_READONLY) |
                    SQLITE_OPEN_NOMUTEX | (mode == Mode::ReadUnchanging ? SQLITE_OPEN_URI : 0);
  const std::string name = mode == Mode::ReadUnchanging ? unchanging_uri(path)
                           : mode == Mode::Write        ? without_links_above(path)
                                                        : path;
  const int code = sqlite3_open_v2(name.c_str(), &database->handle_, flags, nullptr);
  if (code != SQLITE_OK) {
    database->fail(code);
    return database->error();
  }
  sqlite3_extended_result_codes(database->handle_, 1);
  sqlite3_busy_timeout(database->handle_, static_cast<int>(busy.count()));
  const auto note_log = [](void* self, sqlite3*, const char*, int pages) {
    static_cast<Database*>(self)->log_pages_ = pages;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(database->handle_, note_log, database.get());  // instead of a checkpoint within a commit
  return database;
}

Result<std::unique_ptr<Database>> Database::from_image(std::string_view image) {
  auto database = open(":memory:", Mode::Write, Duration{0}, "image");
  if (!database) return database.error();
  auto* const bytes = static_cast<unsigned char*>(sqlite3_malloc64(image.size()));
  if (bytes == nullptr) return Error{0, "no memory for the image of a database"};
  std::ranges::copy(image, bytes);
  const auto size = static_cast<sqlite3_int64>(image.size());
  const int code = sqlite3_deserialize((*database)->handle_, "main", bytes, size, size,
                                       SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  if (code != SQLITE_OK) (*database)->fail(code);
  if (!(*database)->ok()) return (*database)->error();
  return database;
}

std::string Database::image() const {
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(handle_, "main", &size, 0);
  if (bytes == nullptr) return {};
  std::string image(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return image;
}

Database::~Database() { sqlite3_close_v2(handle_); }

Statement Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (ok()) {
    const int code = sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
    if (code != SQLITE_OK) fail(code);
  }
  return Statement(*this, statement);
}

bool Database::execute(const char* sql) {
  if (!ok()) return false;
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
  if (ok() && progress_) progress_();
  return ok();
}

std::int64_t Database::number(std::string_view sql) {
  std::int64_t value = 0;
  prepare(sql).rows([&value](Statement& row) { row.read(value); });
  return value;
}

std::string Database::text(std::string_view sql) {
  std::string value;
  prepare(sql).rows([&value](Statement& row) { row.read(value); });
  return value;
}

std::string Database::header() {
  sqlite3_file* file = nullptr;
  std::array<char, 100> bytes{};
  sqlite3_int64 size = 0;
  if (sqlite3_file_control(handle_, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || file == nullptr ||
      file->pMethods == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
    return {};
  const auto count = std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(size));
  if (file->pMethods->xRead(file, bytes.data(), static_cast<int>(count), 0) != SQLITE_OK) return {};
  return {bytes.data(), count};
}

int Database::room_pages() const {
  struct statvfs disk {};
  constexpr std::uint64_t many = std::numeric_limits<int>::max();
  if (::statvfs(path_.c_str(), &disk) != 0 || disk.f_blocks == 0) return static_cast<int>(many);
  const std::uint64_t blocks = ::geteuid() == 0 ? disk.f_bfree : disk.f_bavail;  // some are kept for root
  return static_cast<int>(std::min(many, blocks * disk.f_frsize / kPageBytes));
}

bool Database::checkpoint() {
  if (!ok()) return false;
  log_pages_ = 0;  // what is held up is seen at the next commit
  const int code = sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_OK && code != SQLITE_BUSY && code != SQLITE_FULL) fail(code);
  return ok();
}

bool Database::read_only() const { return sqlite3_db_readonly(handle_, "main") == 1; }

bool Database::moved() {
  int moved = 0;
  return sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

void Database::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void Database::fail(int code) {
  if (error_) return;
  const int extended = handle_ == nullptr ? code : sqlite3_extended_errcode(handle_);
  const int system = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
  std::string what =
      called_ + " " + path_ + ": " + (handle_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_));
  const int primary = code & 0xff;
  if (system != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN))
    what += " (" + std::generic_category().message(system) + ")";
  error_ = Error{kSqliteCode | (extended == SQLITE_OK ? code : extended), std::move(what)};
}

bool is_damage(const Error& error) {
  // Our statements are fixed: where they make no sense to SQLite, the schema in the file is not what it was.
  switch (primary_code(error)) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH: return true;
    default: return false;
  }
}

bool is_cannot_open(const Error& error) {
  const int primary = primary_code(error);
  return primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY || primary == SQLITE_PERM;
}

Result<void> check_owner(const std::string& path) {
  for (const char* const suffix : {"", "-wal", "-shm", "-journal"}) {
    const std::string name = path + suffix;
    struct stat status {};
    if (::lstat(name.c_str(), &status) != 0) continue;
    if (S_ISLNK(status.st_mode))
      return Error{0, name + " is a symbolic link: name the file that it leads to, or remove it"};
    if (status.st_uid != ::geteuid())
      return Error{0, name + " belongs to another user (uid " + std::to_string(status.st_uid) +
                          "): remove it, or choose another place"};
  }
  return {};
}

}  // namespace healer::store
