// SPDX-License-Identifier: MIT
// What waits in a queue, in sending order, with its size, and what was sent of late, so that it is not sent again: the
// part of a queue that is in memory, the same for letters and for mails. Who uses it keeps the disk like it. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace healer::delivery {

/// How many alerts, and of what size, one queue keeps.
struct Limits {
  std::size_t letters = 1000;       ///< that wait
  std::uint64_t bytes = 16U << 20;  ///< the same
  std::size_t sent = 500;           ///< the last that are known to be over
  std::size_t damaged = 100;        ///< that are set aside for people to look at
};

template <typename Key, typename Item>
class Backlog {
 public:
  struct Entry {
    std::uint64_t bytes = 0;
    Item item{};
  };
  using Entries = std::map<Key, Entry>;

  explicit Backlog(const Limits& limits) : limits_(limits) {}

  void set_limits(const Limits& limits) { limits_ = limits; }
  [[nodiscard]] const Limits& limits() const { return limits_; }

  /// All that wait.
  [[nodiscard]] const Entries& waiting() const { return waiting_; }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const Key& first_key() const { return waiting_.begin()->first; }
  [[nodiscard]] const Item& first() const { return waiting_.begin()->second.item; }
  [[nodiscard]] Item* find(const Key& key) {
    const auto found = waiting_.find(key);
    return found == waiting_.end() ? nullptr : &found->second.item;
  }

  /// One more waits; false: it did already, and is as it was.
  std::pair<Item&, bool> add(const Key& key, std::uint64_t bytes) {
    const auto [entry, is_new] = waiting_.try_emplace(key);
    if (is_new) {
      entry->second.bytes = bytes;
      bytes_ += bytes;
    }
    return {entry->second.item, is_new};
  }
  /// It waits no more. Nothing: it did not.
  std::optional<Item> remove(const Key& key) {
    const auto found = waiting_.find(key);
    if (found == waiting_.end()) return std::nullopt;
    Item item = std::move(found->second.item);
    bytes_ -= found->second.bytes;
    waiting_.erase(found);
    return item;
  }

  /// Whether there is no room for one more of that size.
  [[nodiscard]] bool is_full(std::uint64_t bytes) const {
    return waiting_.size() >= limits_.letters || bytes_ + bytes > limits_.bytes;
  }
  /// Whether more waits than there is room for.
  [[nodiscard]] bool is_over() const { return waiting_.size() > limits_.letters || bytes_ > limits_.bytes; }

  [[nodiscard]] bool was_sent(const Key& key) const { return sent_.contains(key); }
  [[nodiscard]] bool knows(const Key& key) const { return waiting_.contains(key) || was_sent(key); }
  /// It is over. Returns those that are now too many to be known.
  std::vector<Key> note_sent(const Key& key) {
    std::vector<Key> forgotten;
    if (sent_.insert(key).second) order_.push_back(key);
    while (order_.size() > limits_.sent) {
      forgotten.push_back(order_.front());
      sent_.erase(order_.front());
      order_.pop_front();
    }
    return forgotten;
  }

 private:
  Limits limits_;
  Entries waiting_;
  std::uint64_t bytes_ = 0;
  std::set<Key> sent_;
  std::deque<Key> order_;  ///< of these, in which they were over
};

}  // namespace healer::delivery
