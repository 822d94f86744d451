// SPDX-License-Identifier: MIT
#include "store/sqlite_file.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "store/salvage.hpp"
#include "store/sqlite_healings.hpp"
#include "store/sqlite_schema.hpp"
#include "store/sqlite_store.hpp"
#include "store/sqlite_tables.hpp"
#include "util/time.hpp"

namespace healer::store {
namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kApplicationIdOffset = 68;
constexpr std::size_t kMonitHead = 16;
constexpr unsigned char kNewestMonit = 16;
constexpr std::string_view kCorruptInfix = ".corrupt-";
constexpr std::string_view kOwnSuffix = ".healer";
constexpr int kRefused = -1;
constexpr int kFoundDamaged = -2;

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

/// Whether a file is certainly another program's, by its first bytes: Monit's state, or somebody's database. What is
/// neither is a state file of healer that is damaged.
bool is_anothers(std::string_view header) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(header[at]); };
  // Monit's begins with four zeros, and a small number that is the version of its format.
  const bool monit = header.size() >= kMonitHead &&
                     std::ranges::all_of(header.substr(0, 4), [](char c) { return !c; }) && byte(4) > 0 &&
                     byte(4) <= kNewestMonit && byte(5) == 0 && byte(6) == 0 && byte(7) == 0;
  if (monit) return true;
  if (header.size() < kApplicationIdOffset + 4 || !header.starts_with(kMagic)) return false;
  std::uint32_t id = 0;
  for (std::size_t i = 0; i < 4; ++i) id = id << 8 | byte(kApplicationIdOffset + i);
  return id != static_cast<std::uint32_t>(kApplicationId);
}

/// Creates the directories that are missing, for the daemon's user alone.
Result<void> make_directory(const std::filesystem::path& directory) {
  if (directory.empty() || exists(directory)) return {};
  if (auto above = make_directory(directory.parent_path()); !above) return above;
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error(errno, "cannot create directory " + directory.string());
  return {};
}

/// Takes a file of our own from everybody else. Its descriptor is for the name alone: closing it leaves the locks of a
/// connection of this process as they are.
Result<void> close_to_others(const std::string& path) {
  const int name = ::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  struct stat status {};
  int code = 0;
  if (name < 0 || ::fstat(name, &status) != 0) {
    code = errno;
  } else if ((status.st_mode & 0077) != 0 && ::chmod(fmt::format("/proc/self/fd/{}", name).c_str(), 0600) != 0) {
    code = errno;
  }
  if (name >= 0) ::close(name);
  if (code != 0) return system_error(code, "cannot set the mode of state file " + path);
  return {};
}

/// Creates the file where it is absent, and takes it from everybody else where it is not. SQLite gives its -wal and
/// -shm files the mode of the file itself.
Result<void> create_file(const std::string& path) {
  if (auto directory = make_directory(std::filesystem::path(path).parent_path()); !directory) return directory;
  if (auto own = check_owner(path); !own) return Error{kRefused, "state file " + path + ": " + own.error().what};
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor >= 0) {
    ::close(descriptor);
    return {};
  }
  if (errno != EEXIST) return system_error(errno, "cannot create state file " + path);
  return close_to_others(path);
}

Error damaged(const std::string& path, const std::string& what) {
  return {kFoundDamaged, "state file " + path + " is damaged: " + what};
}

bool is_found_damaged(const Error& error) { return error.code == kFoundDamaged || is_damage(error); }

/// What is wrong with a row that SQLite takes for a good one, and that no healer has written; empty: nothing.
std::string unsound_row(Database& database) {
  // Times lie before the year 9999, as those that are salvaged do.
  static constexpr std::pair<const char*, const char*> kFaults[] = {
      {"a time is not valid",
       "SELECT count(*) FROM services WHERE saved_ms NOT BETWEEN -253402300799999 AND 253402300799999 OR "
       "coalesce(last_start_ms, 0) NOT BETWEEN -253402300799999 AND 253402300799999 OR "
       "coalesce(not_before_ms, 0) NOT BETWEEN -253402300799999 AND 253402300799999 OR "
       "coalesce(paused_until_ms, 0) NOT BETWEEN -253402300799999 AND 253402300799999 OR "
       "coalesce(acknowledged_ms, 0) NOT BETWEEN -253402300799999 AND 253402300799999"},
      {"a time is not valid",
       "SELECT count(*) FROM wide_pauses WHERE "
       "coalesce(until_ms, 0) NOT BETWEEN -253402300799999 AND 253402300799999"},
      {"a time is not valid",
       "SELECT count(*) FROM rules WHERE "
       "coalesce(failing_since_ms, 0) NOT BETWEEN -253402300799999 AND 253402300799999 OR "
       "coalesce(clear_since_ms, 0) NOT BETWEEN -253402300799999 AND 253402300799999 OR "
       "coalesce(changed_ms, 0) NOT BETWEEN -253402300799999 AND 253402300799999"},
      {"a time is not valid",
       "SELECT count(*) FROM heartbeats WHERE since_ms NOT BETWEEN -253402300799999 AND 253402300799999 OR "
       "coalesce(started_ms, 0) NOT BETWEEN -253402300799999 AND 253402300799999 OR "
       "coalesce(ran_ms, 0) NOT BETWEEN 0 AND 253402300799999 OR "
       "coalesce(missed_ms, 0) NOT BETWEEN -253402300799999 AND 253402300799999"},
      {"a time is not valid", "SELECT count(*) FROM records WHERE when_ms < -253402300799999"},
      {"a time is not valid", "SELECT count(*) FROM records WHERE when_ms > 253402300799999"},
      {"a number has reached its limit",
       "SELECT count(*) FROM meta WHERE name IN ('last_sequence', 'last_id') AND value NOT BETWEEN 0 AND 1 << 62"}};
  for (const auto& [what, count] : kFaults)
    if (database.number(count) > 0) return what;
  return {};
}

/// Whether the file ends within a page, which no log completes. Older versions of SQLite read zeros there, and newer
/// ones fail when they read a long text.
bool is_cut_off(const std::string& path, Database& database) {
  std::error_code unknown;
  const auto log = std::filesystem::file_size(path + "-wal", unknown);
  if (!unknown && log > 0) return false;
  const auto size = std::filesystem::file_size(path, unknown);
  const std::int64_t page = database.number("PRAGMA page_size");
  return !unknown && page > 0 && size % static_cast<std::uintmax_t>(page) != 0;
}

/// Opens a file that exists, and looks it over. `word`: as open_state_file() has it.
Result<Opened> open_existing(const std::string& path, Duration busy, const Hash128& word) {
  auto connected = Database::open(path, Database::Mode::Write, busy);
  if (!connected) return connected.error();
  Opened opened{.database = std::move(*connected), .notes = {}};
  Database& database = *opened.database;
  if (database.read_only()) return Error{EROFS, "state file " + path + ": it is read-only"};
  const auto version = database.number("PRAGMA user_version");
  const auto id = database.number("PRAGMA application_id");
  if (database.number("PRAGMA page_count") > 0 && (id != kApplicationId || version <= 0))
    return damaged(path, "its head is not healer's");
  // The schema is created before the file becomes a WAL database, so that its head names healer from the first byte on.
  if (version < schema_version()) migrate(database);
  std::string verdict = database.text("PRAGMA quick_check(1)");
  // Newer versions of SQLite see here, too, that an index says something else than its table, which is whole then.
  if (database.ok() && verdict.find("index") != std::string::npos && database.execute("REINDEX")) {
    verdict = database.text("PRAGMA quick_check(1)");
    opened.index_rebuilt = true;
  }
  if (!database.ok()) return database.error();
  if (verdict != "ok") return damaged(path, verdict);
  if (is_cut_off(path, database)) return damaged(path, "its last page is cut off");
  if (version > schema_version()) {
    return Error{kRefused, fmt::format("state file {} was written by a newer healer (schema {}, this one knows {}): "
                                       "install that healer again, or name another file with `set statefile`",
                                       path, version, schema_version())};
  }
  if (!has_schema(database)) return database.ok() ? damaged(path, "its schema is not healer's") : database.error();
  if (const std::string row = unsound_row(database); !row.empty() && database.ok()) return damaged(path, row);
  // An older healer has made none. It is on the disk itself before anybody is told of it: SQLite syncs up to here.
  opened.word = read_word(database);
  opened.word_is_new = opened.word == Hash128{};
  if (opened.word_is_new) keep_word(database, opened.word = word == Hash128{} ? random_word() : word);
  if (database.text("PRAGMA journal_mode = WAL") != "wal" && database.ok())
    database.fail(Error{0, "state file " + path + ": no write-ahead log is possible here"});
  database.execute("PRAGMA synchronous = NORMAL");
  database.execute("PRAGMA journal_size_limit = 4194304");
  if (!database.ok()) return database.error();
  return opened;
}

/// A name beside `path` that is free.
std::string corrupt_name(const std::string& path) {
  const auto now = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  std::string stamp = format_iso(now);
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
  const std::string name = path + std::string(kCorruptInfix) + stamp.substr(0, stamp.find('.')) + "Z";
  for (int i = 1;; ++i) {
    std::string candidate = i == 1 ? name : fmt::format("{}.{}", name, i);
    if (!exists(candidate)) return candidate;
  }
}

}  // namespace

Hash128 random_word() {
  std::array<std::uint64_t, 2> halves{};
  while (::getrandom(halves.data(), sizeof halves, 0) < 0 && errno == EINTR) continue;
  return {.high = halves[0], .low = halves[1]};
}

Result<Opened> open_state_file(const std::string& path, Duration busy, bool known_damaged, const Hash128& word) {
  if (auto created = create_file(path); !created) return created.error();
  Result<Opened> opened = known_damaged ? damaged(path, "it cannot be written") : open_existing(path, busy, word);
  if (opened) return opened;
  if (!is_found_damaged(opened.error())) return opened.error();

  const std::string aside = corrupt_name(path);
  if (std::rename(path.c_str(), aside.c_str()) != 0) return system_error(errno, "cannot move " + path + " to " + aside);
  // The log belongs to the file; the index over it is recreated by whoever reads.
  std::rename((path + "-wal").c_str(), (aside + "-wal").c_str());
  std::rename((path + "-journal").c_str(), (aside + "-journal").c_str());
  std::remove((path + "-shm").c_str());
  Opened result;
  result.notes.push_back(fmt::format("{}; it was moved to {}", opened.error().what, aside));
  Salvaged saved = salvage(aside);
  std::ranges::move(saved.notes, std::back_inserter(result.notes));
  // Whoever writes to it has read it, and knows what is under way.
  if (known_damaged)
    std::erase_if(saved.healings, [](const engine::DamagedHealing& lost) { return lost.id == engine::HealingId{}; });
  std::remove((aside + "-shm").c_str());
  std::error_code none;
  if (std::filesystem::file_size(aside + "-wal", none) == 0 && !none) std::remove((aside + "-wal").c_str());
  // The next attempt finds no damaged file any more: what has become of it is told with why this one failed.
  const auto failed = [&result](const Error& error) {
    return Error{error.code, fmt::format("{}; {}", fmt::join(result.notes, "; "), error.what)};
  };
  if (auto created = create_file(path); !created) return failed(created.error());
  auto fresh = open_existing(path, busy, saved.word == Hash128{} ? word : saved.word);
  if (!fresh) return failed(fresh.error());
  result.database = std::move(fresh->database);
  result.word = fresh->word;
  result.word_is_new = fresh->word_is_new;
  give_up_healings(*result.database, saved.healings);
  if (!saved.batch.empty() && !TableWriter(*result.database, Retention{}).write(saved.batch))
    return failed(result.database->error());
  return result;
}

Result<void> restore_state_file(std::unique_ptr<Database>& database, const std::string& path) {
  const std::string copy = path + ".new";
  ::unlink(copy.c_str());
  if (auto created = create_file(copy); !created) return created;
  if (!database->prepare("VACUUM INTO ?").run(copy)) {
    const Error error = database->error();
    database->clear_error();
    ::unlink(copy.c_str());
    return error;
  }
  // The old log must be gone before there is a file that it does not belong to.
  database.reset();
  ::unlink((path + "-wal").c_str());
  ::unlink((path + "-shm").c_str());
  if (std::rename(copy.c_str(), path.c_str()) != 0) return system_error(errno, "cannot move " + copy + " to " + path);
  return {};
}

Result<std::unique_ptr<Database>> open_state_file_to_read(const std::string& path) {
  if (!exists(path)) return system_error(errno, "cannot read state file " + path);
  Error error;
  for (const auto mode : {Database::Mode::Read, Database::Mode::ReadUnchanging}) {
    // A log with something in it must be read too, or the state would be an old one.
    if (mode == Database::Mode::ReadUnchanging) {
      std::error_code none;
      if (const auto size = std::filesystem::file_size(path + "-wal", none); !none && size > 0) break;
    }
    auto opened = Database::open(path, mode, kReadBusy);
    if (!opened) return opened.error();
    const auto version = (*opened)->number("PRAGMA user_version");
    if ((*opened)->ok()) {
      if (version == schema_version()) return opened;
      return Error{kRefused,
                   fmt::format("state file {} has schema {}, this healer reads {}: {}", path, version, schema_version(),
                               version < schema_version() ? "start healerd once, it brings the file up to date"
                                                          : "it was written by a newer healer")};
    }
    error = (*opened)->error();
    if (!is_cannot_open(error)) break;
  }
  return error;
}

std::vector<std::string> damaged_files(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string begin = file.filename().string() + std::string(kCorruptInfix);
  std::vector<std::string> found;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(file.parent_path(), failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(begin) && !name.ends_with("-wal") && !name.ends_with("-journal"))
      found.push_back(entry->path().string());
  }
  std::ranges::sort(found);
  return found;
}

bool is_refused(const Error& error) { return error.code == kRefused; }

std::string resolve_state_path(const std::string& path) {
  if (path.ends_with(kOwnSuffix)) return path;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return errno == ENOENT ? path : path + std::string(kOwnSuffix);
  if (S_ISLNK(status.st_mode) && ::stat(path.c_str(), &status) != 0) return path;  // whoever opens it refuses it
  if (!S_ISREG(status.st_mode)) return path + std::string(kOwnSuffix);
  if (status.st_size == 0) return path;
  // Read through SQLite: closing a descriptor of our own would drop the locks of a connection of this process.
  auto opened = Database::open(path, Database::Mode::Read, Duration{0});
  return opened && !is_anothers((*opened)->header()) ? path : path + std::string(kOwnSuffix);
}

}  // namespace healer::store
