// SPDX-License-Identifier: MIT
// Items as bytes. A chunk is written by one writer and read by one reader, from its beginning on: times, services and
// what they have seen are stored as differences to what came earlier in the chunk. A run that has seen the same as the
// previous run takes four bytes, including its time to the millisecond, on which it depends when a rule fires.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "readings/bytes.hpp"
#include "replay/recorded.hpp"

namespace healer::readings {

enum class Tag : std::uint8_t;

class ChunkWriter {
 public:
  /// `rules`: whose slots the items name.
  explicit ChunkWriter(std::shared_ptr<const engine::Graph> rules) : rules_(std::move(rules)) {}

  /// Appends the item to `out`. The state of a Begun is not written, and of the text of rules only the number.
  void write(const engine::recorded::Item& item, std::string& out);

 private:
  class Walk;
  struct Known {
    std::uint32_t number = 0;  // of the service in this chunk, from 1; 0: not named yet
    std::shared_ptr<const engine::Evidence> seen;
  };
  Known& name(engine::recorded::Number slot, std::string& out);
  template <typename What>
  [[nodiscard]] bool is_nobodys(const What& what) const;
  void take_rules(const std::shared_ptr<const engine::Graph>& rules);
  void write_clock(const engine::recorded::Item& item, std::string& out);
  void write_rules(const engine::recorded::Item& item, const engine::Graph* former, std::string& out);

  void write(const engine::recorded::Ran& ran, const engine::recorded::Item& item, std::string& out);
  void write(const engine::recorded::Woke& woke, const engine::recorded::Item& item, std::string& out);
  template <typename What>
  void write(const What& what, const engine::recorded::Item& item, std::string& out);

  std::shared_ptr<const engine::Graph> rules_;
  std::vector<Known> known_;  // by slot
  std::string own_;           // the bytes of one item, which stand behind the names of its services
  std::uint32_t named_ = 0;
  std::uint32_t last_ = 0;  // the service of the run before
  Duration mono_{0};
  Duration offset_{0};  // wall - mono
  bool timed_ = false;
};

class ChunkReader {
 public:
  /// The services that are named are added to `services`, under numbers of their own; it outlives this.
  explicit ChunkReader(std::vector<engine::recorded::Service>& services) : services_(services) {}

  /// Adds the items of one part to `items`. False: it is no such part, and some of its items may have been added.
  bool read(std::string_view part, std::vector<engine::recorded::Item>& items);

 private:
  class Walk;
  struct Known {
    engine::recorded::Number number = 0;
    std::shared_ptr<const engine::Evidence> seen;
  };
  void read_item(ByteReader& in, std::vector<engine::recorded::Item>& items);
  void read_named(ByteReader& in);
  void read_what(Tag tag, ByteReader& in, engine::recorded::What& what);
  void read_ran(Tag tag, ByteReader& in, engine::recorded::Ran& ran);
  void read_woke(Tag tag, ByteReader& in, engine::recorded::Woke& woke);
  static void read_rules(Tag tag, ByteReader& in, engine::recorded::Item& item);
  [[nodiscard]] Known& known(std::uint64_t number, ByteReader& in);

  std::vector<engine::recorded::Service>& services_;
  std::vector<Known> known_;  // by number in the chunk, from 1
  std::uint32_t last_ = 0;
  Duration mono_{0};
  Duration offset_{0};
};

}  // namespace healer::readings
