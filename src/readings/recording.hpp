// SPDX-License-Identifier: MIT
// The recording of a time, read from the file as it is wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "readings/item_code.hpp"
#include "readings/readings_file.hpp"
#include "replay/recorded.hpp"

namespace healer::readings {

class Recording final : public engine::recorded::Source {
 public:
  /// Opens the readings at `path` so that what is wanted from `since` to `until` can be played: it begins before that,
  /// with a start of the daemon where there is one within a day, else at least an hour, if so much is kept. Error:
  /// there are none of that time, or they cannot be read.
  [[nodiscard]] static Result<std::unique_ptr<Recording>> open(const std::string& path, WallTime since, WallTime until);

  [[nodiscard]] std::optional<engine::recorded::Item> next() override;
  void rewind() override;
  [[nodiscard]] const engine::recorded::Service& service(engine::recorded::Number number) const override {
    return services_[number];
  }
  struct Text {
    WallTime since{};
    std::shared_ptr<const engine::recorded::RulesText> text;  ///< never null
  };
  /// What the rules of that time were loaded from, by engine::recorded::TextNumber.
  [[nodiscard]] const std::vector<Text>& texts() const { return texts_; }
  /// Why it has come to its end early; empty: it has not.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  explicit Recording(std::unique_ptr<ReadingsReader> reader) : reader_(std::move(reader)) {}
  bool begin_chunk();
  Result<void> read_texts();
  [[nodiscard]] std::optional<engine::recorded::TextNumber> text(
      std::optional<engine::recorded::TextNumber> in_chunk) const;
  void read_on();
  void give_up(std::string what);

  std::unique_ptr<ReadingsReader> reader_;
  std::vector<Chunk> chunks_;  // to be read
  std::size_t first_ = 0;      // the chunk that it begins with
  std::size_t chunk_ = 0;      // the one that is read
  std::int64_t part_ = 0;      // the last that was read of it
  WallTime until_{};
  std::vector<Text> texts_;
  using Place = std::pair<std::int64_t, engine::recorded::TextNumber>;  // a chunk, and the number in it
  std::map<Place, engine::recorded::TextNumber> numbers_;
  std::optional<ChunkReader> in_;  // none: the chunk has not begun
  std::shared_ptr<const engine::SavedState> state_;
  std::vector<engine::recorded::Service> services_;
  std::vector<engine::recorded::Item> items_;  // that were read
  std::size_t given_ = 0;                      // of items_
  std::string trouble_;
};

}  // namespace healer::readings
