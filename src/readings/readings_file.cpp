// SPDX-License-Identifier: MIT
#include "readings/readings_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "util/hash.hpp"

namespace healer::readings {

using store::Blob;
using store::Database;
using store::Statement;

namespace {

constexpr std::int64_t kReadingsId = 0x68656172;  // "hear"
constexpr std::int64_t kReadingsVersion = 4;
constexpr std::int64_t kEldest = 2;  // that is read, and becomes this version when it is written
constexpr std::int64_t kWithoutTexts = 2;
constexpr Duration kBusy{1000};
constexpr std::string_view kCalled = "readings file";
constexpr int kLongLog = 1000;  // pages
constexpr int kPartsAtOnce = 256;

constexpr const char* kTables = R"sql(
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY,
  begun_ms INTEGER NOT NULL,
  starts_life INTEGER NOT NULL,
  state BLOB NOT NULL
);
CREATE TABLE parts(
  id INTEGER PRIMARY KEY,
  chunk INTEGER NOT NULL,
  until_ms INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  items BLOB NOT NULL
);
CREATE INDEX parts_by_chunk ON parts(chunk);
)sql";

constexpr const char* kTextTables = R"sql(
CREATE TABLE rules(
  id INTEGER PRIMARY KEY,
  chunk INTEGER NOT NULL,
  number INTEGER NOT NULL,
  since_ms INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  contents BLOB NOT NULL
);
CREATE INDEX rules_by_chunk ON rules(chunk);
CREATE TABLE texts(
  chunk INTEGER NOT NULL,
  hash TEXT NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY(chunk, hash)
);
)sql";

std::int64_t checksum(const std::string& bytes) { return static_cast<std::int64_t>(hash128(bytes).low); }

/// Makes the file where there is none, and looks whose it is where there is one.
Result<void> make_file(const std::string& path) {
  if (auto own = store::check_owner(path); !own)
    return Error{0, fmt::format("{}: {}; nothing is recorded", kCalled, own.error().what)};
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (made >= 0) {
    ::close(made);
    return {};
  }
  if (errno != EEXIST) return system_error(errno, fmt::format("cannot create {} {}", kCalled, path));
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0)
    return system_error(errno, fmt::format("cannot look at {} {}", kCalled, path));
  if (!S_ISREG(status.st_mode))
    return Error{0, fmt::format("{} {} is not a regular file: nothing is recorded; remove it", kCalled, path)};
  if ((status.st_mode & 0077) != 0 && ::chmod(path.c_str(), 0600) != 0)
    return system_error(errno, fmt::format("cannot set the mode of {} {}", kCalled, path));
  return {};
}

/// The database, with its tables. An error of damage, or code 0 where it is something else, is left to the caller.
Result<std::unique_ptr<Database>> open_tables(const std::string& path, bool& foreign) {
  auto opened = Database::open(path, Database::Mode::Write, kBusy, kCalled);
  if (!opened) return opened;
  Database& database = **opened;
  database.text("PRAGMA journal_mode = WAL");
  database.execute("PRAGMA synchronous = NORMAL");
  database.execute("PRAGMA journal_size_limit = 4194304");
  const bool fresh =
      database.number("PRAGMA application_id") == 0 && database.number("SELECT count(*) FROM sqlite_schema") == 0;
  const bool is_ours = !fresh && database.ok() && database.number("PRAGMA application_id") == kReadingsId;
  const std::int64_t version = is_ours ? database.number("PRAGMA user_version") : 0;
  const bool is_older = version >= kEldest && version < kReadingsVersion;
  if ((fresh || is_older) && database.ok()) {
    database.execute("BEGIN IMMEDIATE");
    if (fresh) database.execute(kTables);
    if (fresh || version == kWithoutTexts) database.execute(kTextTables);
    database.execute(fmt::format("PRAGMA application_id = {}", kReadingsId).c_str());
    database.execute(fmt::format("PRAGMA user_version = {}", kReadingsVersion).c_str());
    database.execute("COMMIT");
  }
  foreign = database.ok() && (database.number("PRAGMA application_id") != kReadingsId ||
                              database.number("PRAGMA user_version") != kReadingsVersion);
  if (!foreign && database.ok()) {
    // A damaged schema is seen now, not in the middle of the day.
    database.number("SELECT count(*) FROM chunks WHERE id < 0");
    database.number("SELECT count(*) FROM parts WHERE id < 0");
    database.number("SELECT count(*) FROM rules WHERE id < 0");
    database.number("SELECT count(*) FROM texts WHERE chunk < 0");
  }
  if (!database.ok()) return database.error();
  return opened;
}

}  // namespace

std::string readings_path(const std::string& state_file) { return state_file + ".readings"; }

// ---- writing ------------------------------------------------------------------------------------------------------

Result<ReadingsFile::Opened> ReadingsFile::open(const std::string& path) {
  std::string note;
  for (const bool again : {false, true}) {
    if (auto made = make_file(path); !made) return made.error();
    bool foreign = false;
    auto opened = open_tables(path, foreign);
    if (opened && !foreign) return Opened{std::unique_ptr<ReadingsFile>(new ReadingsFile(std::move(*opened))), note};
    const Error why = foreign ? Error{0, "it is of another version, or no such file"} : opened.error();
    if (again || (!foreign && !store::is_damage(why))) return why;
    opened = Error{};  // closes it
    const std::string aside = path + ".corrupt";
    for (const char* const suffix : {"-wal", "-shm"}) ::unlink((path + suffix).c_str());
    if (::rename(path.c_str(), aside.c_str()) != 0)
      return system_error(errno, fmt::format("cannot set {} {} aside", kCalled, path));
    note = fmt::format("{} {} was set aside as {}, and a new one was begun: {}", kCalled, path, aside, why.what);
  }
  return Error{};
}

Result<void> ReadingsFile::outcome() {
  if (database_->ok()) {
    if (database_->log_pages() >= kLongLog) database_->checkpoint();
    return {};
  }
  const Error error = database_->error();
  database_->clear_error();
  database_->execute("ROLLBACK");
  database_->clear_error();
  return error;
}

Result<void> ReadingsFile::begin_chunk(WallTime begun, bool starts_life, std::string state) {
  database_->prepare("INSERT INTO chunks(begun_ms, starts_life, state) VALUES(?, ?, ?)")
      .run(begun, starts_life, Blob{std::move(state)});
  chunk_ = database_->number("SELECT max(id) FROM chunks");
  return outcome();
}

Result<void> ReadingsFile::add_part(WallTime until, std::string bytes) {
  const std::int64_t sum = checksum(bytes);
  database_->prepare("INSERT INTO parts(chunk, until_ms, checksum, items) VALUES(?, ?, ?, ?)")
      .run(chunk_, until, sum, Blob{std::move(bytes)});
  return outcome();
}

Result<void> ReadingsFile::add_text(WallTime since, std::uint32_t number, TextBytes text) {
  database_->execute("BEGIN IMMEDIATE");
  for (TextPart& part : text.parts)
    database_->prepare("INSERT OR IGNORE INTO texts(chunk, hash, bytes) VALUES(?, ?, ?)")
        .run(chunk_, to_string(part.hash), Blob{std::move(part.bytes)});
  const std::int64_t sum = checksum(text.contents);
  database_->prepare("INSERT INTO rules(chunk, number, since_ms, checksum, contents) VALUES(?, ?, ?, ?, ?)")
      .run(chunk_, std::int64_t{number}, since, sum, Blob{std::move(text.contents)});
  database_->execute("COMMIT");
  return outcome();
}

ReadingsFile::Bounds ReadingsFile::bounds() {
  return {database_->number("SELECT coalesce(min(id), 0) FROM chunks"),
          database_->number("SELECT coalesce(max(id), 0) FROM chunks")};
}

/// How much is used that the pragma counts in pages.
std::uint64_t ReadingsFile::bytes_of(const char* pages) {
  return static_cast<std::uint64_t>(database_->number(pages) * database_->number("PRAGMA page_size"));
}

Result<void> ReadingsFile::drop(std::int64_t chunk) {
  database_->execute("BEGIN IMMEDIATE");
  database_->prepare("DELETE FROM parts WHERE chunk = ?").run(chunk);
  for (const char* const table : {"rules", "texts"})
    database_->prepare(fmt::format("DELETE FROM {} WHERE chunk = ?", table).c_str()).run(chunk);
  database_->prepare("DELETE FROM chunks WHERE id = ?").run(chunk);
  database_->execute("COMMIT");
  return outcome();
}

Result<void> ReadingsFile::prune(WallTime oldest, std::uint64_t bytes) {
  for (;;) {
    const auto [first, last] = bounds();
    const std::uint64_t used = bytes_of("PRAGMA page_count") - bytes_of("PRAGMA freelist_count");
    std::int64_t until = 0;
    database_->prepare("SELECT coalesce(max(until_ms), 0) FROM parts WHERE chunk = ?")
        .rows([&until](Statement& row) { row.read(until); }, first);
    const bool old = WallTime{Duration{until}} < oldest;
    if (!database_->ok() || first == last || (!old && used <= bytes)) return outcome();
    if (auto done = drop(first); !done) return done;
  }
}

Result<bool> ReadingsFile::make_room(std::uint64_t bytes) {
  for (;;) {
    const bool enough = bytes_of("PRAGMA freelist_count") >= bytes;
    const auto [first, last] = bounds();
    if (auto done = outcome(); !done) return done.error();
    if (enough || first == last) return enough;
    if (auto done = drop(first); !done) return done.error();
  }
}

// ---- reading ------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<ReadingsReader>> ReadingsReader::open(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0)
    return Error{errno,
                 fmt::format("there are no readings at {}: healerd of this version records them while it runs", path)};
  Error first{};
  for (const auto mode : {Database::Mode::Read, Database::Mode::ReadUnchanging}) {
    auto opened = Database::open(path, mode, kBusy, kCalled);
    if (opened) {
      const std::int64_t id = (*opened)->number("PRAGMA application_id");
      const std::int64_t version = (*opened)->number("PRAGMA user_version");
      if ((*opened)->ok() && (id != kReadingsId || version < kEldest || version > kReadingsVersion))
        return Error{0, fmt::format("{} {} is not a recording, or is from another version of healer", kCalled, path)};
      (*opened)->number("SELECT count(*) FROM chunks");
      if ((*opened)->ok())
        return std::unique_ptr<ReadingsReader>(new ReadingsReader(std::move(*opened), version > kWithoutTexts));
      if (first.what.empty()) first = (*opened)->error();
    } else if (first.what.empty()) {
      first = opened.error();
    }
  }
  return first;
}

Result<std::vector<Chunk>> ReadingsReader::chunks() {
  std::vector<Chunk> chunks;
  database_->prepare("SELECT id, begun_ms, starts_life FROM chunks ORDER BY id").rows([&](Statement& row) {
    Chunk chunk;
    row.read(chunk.id, chunk.begun, chunk.starts_life);
    chunks.push_back(chunk);
  });
  if (!database_->ok()) return database_->error();
  return chunks;
}

std::optional<WallTime> ReadingsReader::last() {
  const std::int64_t last = database_->number("SELECT until_ms FROM parts ORDER BY id DESC LIMIT 1");
  return last == 0 ? std::nullopt : std::optional(WallTime{Duration{last}});
}

Result<std::string> ReadingsReader::state(std::int64_t chunk) {
  Blob state;
  database_->prepare("SELECT state FROM chunks WHERE id = ?").rows([&](Statement& row) { row.read(state); }, chunk);
  if (!database_->ok()) return database_->error();
  return std::move(state.bytes);
}

Result<std::vector<ReadingsReader::Text>> ReadingsReader::texts(std::int64_t chunk) {
  std::vector<Text> texts;
  if (!has_texts_) return texts;
  std::vector<std::string> contents;
  database_->prepare("SELECT number, since_ms, checksum, contents FROM rules WHERE chunk = ? ORDER BY id")
      .rows(
          [&](Statement& row) {
            Text text;
            std::int64_t number = 0;
            std::int64_t sum = 0;
            Blob bytes;
            row.read(number, text.since, sum, bytes);
            text.number = static_cast<std::uint32_t>(number);
            contents.push_back(sum == checksum(bytes.bytes) ? std::move(bytes.bytes) : std::string());
            texts.push_back(std::move(text));
          },
          chunk);
  const auto find = [&](const Hash128& hash) {
    std::optional<std::string> found;
    database_->prepare("SELECT bytes FROM texts WHERE chunk = ? AND hash = ?")
        .rows(
            [&](Statement& row) {
              Blob bytes;
              row.read(bytes);
              found = std::move(bytes.bytes);
            },
            chunk, to_string(hash));
    return found;
  };
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i].text = text_of(contents[i], find);
  if (!database_->ok()) return database_->error();
  return texts;
}

Result<std::vector<ReadingsReader::Part>> ReadingsReader::parts(std::int64_t chunk, std::int64_t after) {
  std::vector<Part> parts;
  database_->prepare("SELECT id, checksum, items FROM parts WHERE chunk = ? AND id > ? ORDER BY id LIMIT ?")
      .rows(
          [&](Statement& row) {
            Part part;
            Blob bytes;
            std::int64_t sum = 0;
            row.read(part.id, sum, bytes);
            part.bytes = std::move(bytes.bytes);
            part.sound = sum == checksum(part.bytes);
            parts.push_back(std::move(part));
          },
          chunk, after, kPartsAtOnce);
  if (!database_->ok()) return database_->error();
  return parts;
}

}  // namespace healer::readings
