// SPDX-License-Identifier: MIT
// The file of the readings: an SQLite database beside the state file, in WAL mode. The state does not depend on it: if
// it is damaged, it is set aside and a new one is begun.
//
// A chunk is some hours of recording that can be read without the chunks before it. It has the state at its beginning,
// the texts of its rules, and parts, each with the items of about a second and a checksum. Old data is deleted by whole
// chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "readings/text_code.hpp"
#include "store/sqlite_db.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::readings {

/// Where the readings are of a daemon with this state file.
[[nodiscard]] std::string readings_path(const std::string& state_file);

struct Chunk {
  std::int64_t id = 0;
  WallTime begun{};
  bool starts_life = false;  ///< a start of the daemon; else a place in its life
};

/// For writing. Every call may wait for the disk.
class ReadingsFile {
 public:
  struct Opened {
    std::unique_ptr<ReadingsFile> file;
    std::string note;  ///< what has become of a damaged one; or empty
  };
  /// Creates it where it is absent, with mode 0600. Error: it cannot be written now, or is a symbolic link or
  /// another's.
  [[nodiscard]] static Result<Opened> open(const std::string& path);

  /// The next parts are of a new chunk, which begins with `state`, the image of a state.
  Result<void> begin_chunk(WallTime begun, bool starts_life, std::string state);
  Result<void> add_part(WallTime until, std::string bytes);
  /// The text of rules that this chunk names by `number`, in force from then on. Parts that it has are not kept twice.
  Result<void> add_text(WallTime since, std::uint32_t number, TextBytes text);
  /// Drops the oldest chunks, but never the last, until none ends before `oldest` and no more than `bytes` are used.
  Result<void> prune(WallTime oldest, std::uint64_t bytes);
  /// Drops the oldest chunks, but never the last, until so many bytes can be written without more of the disk. False:
  /// they cannot.
  Result<bool> make_room(std::uint64_t bytes);

 private:
  explicit ReadingsFile(std::unique_ptr<store::Database> database) : database_(std::move(database)) {}
  Result<void> outcome();
  struct Bounds {
    std::int64_t first = 0, last = 0;  ///< chunks; 0: there is none
  };
  [[nodiscard]] Bounds bounds();
  [[nodiscard]] std::uint64_t bytes_of(const char* pages);
  Result<void> drop(std::int64_t chunk);

  std::unique_ptr<store::Database> database_;
  std::int64_t chunk_ = 0;
};

/// For reading, beside a daemon or without one; changes nothing.
class ReadingsReader {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ReadingsReader>> open(const std::string& path);

  /// By time.
  [[nodiscard]] Result<std::vector<Chunk>> chunks();
  /// The end of the last part; none: there is none.
  [[nodiscard]] std::optional<WallTime> last();
  /// The image of the state that the chunk begins with.
  [[nodiscard]] Result<std::string> state(std::int64_t chunk);
  struct Part {
    std::int64_t id = 0;
    std::string bytes;
    bool sound = true;  ///< its checksum is right
  };
  struct Text {
    std::uint32_t number = 0;  ///< in its chunk
    WallTime since{};
    std::optional<engine::recorded::RulesText> text;  ///< none: it is damaged
  };
  /// The texts of rules of a chunk, by their numbers; none where an earlier version has written it.
  [[nodiscard]] Result<std::vector<Text>> texts(std::int64_t chunk);
  /// The next parts of a chunk after the one named, some at a time.
  [[nodiscard]] Result<std::vector<Part>> parts(std::int64_t chunk, std::int64_t after);

 private:
  ReadingsReader(std::unique_ptr<store::Database> database, bool has_texts)
      : database_(std::move(database)), has_texts_(has_texts) {}
  std::unique_ptr<store::Database> database_;
  bool has_texts_;
};

}  // namespace healer::readings
