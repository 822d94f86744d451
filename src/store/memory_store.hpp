// SPDX-License-Identifier: MIT
// A Store in memory, for tests and the simulator, with faults that can be switched on.
//
// Commits are durable, and told so, within submit(), unless they are held or the store is sick. Callbacks are called on
// the thread that calls; they may call the store again. Safe to use from several threads.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "store/store.hpp"
#include "util/hash.hpp"

namespace healer::store {

class MemoryStore : public Store {
 public:
  /// SavedState::word of each: what is done over it is the same each time.
  static constexpr Hash128 kWord{.high = 1, .low = 1};

  /// `max_records`: how many records of the history are kept.
  explicit MemoryStore(Callbacks callbacks = {}, std::size_t max_records = 100'000);

  [[nodiscard]] Result<engine::SavedState> load() override;
  void submit(engine::effect::Commit commit) override;
  [[nodiscard]] Result<HistoryPage> page(const HistoryQuery& query) const override;
  void save_sources(std::vector<SavedSource> sources) override;
  [[nodiscard]] Result<std::vector<SavedSource>> load_sources() override;
  /// Makes held commits durable; while sick it gives up at once.
  void flush() override;

  /// From now on commits wait for release().
  void hold();
  /// Makes the oldest `count` held commits durable; all of them end the holding. Returns how many.
  std::size_t release(std::size_t count = static_cast<std::size_t>(-1));
  [[nodiscard]] std::size_t held() const;

  /// From now on nothing can be written; commits are kept.
  void fall_sick(std::string reason);
  /// Writing works again: what was kept becomes durable.
  void get_well();

  /// What a new daemon finds after the old one was killed at this moment: what was held or kept is lost. Faults are
  /// off; `callbacks` are those of the new daemon.
  void restart(Callbacks callbacks);

 private:
  void write(engine::effect::Commit commit);

  mutable std::mutex mutex_;
  Callbacks callbacks_;
  std::size_t max_records_;
  bool holding_ = false;
  bool sick_ = false;
  std::deque<engine::effect::Commit> waiting_;

  // What is "on disk".
  engine::SavedState state_;
  std::deque<engine::Record> records_;
  std::vector<SavedSource> sources_;
};

}  // namespace healer::store
