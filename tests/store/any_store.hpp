// SPDX-License-Identifier: MIT
// For what every store does, whichever it is.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "store/memory_store.hpp"
#include "store/sqlite_store.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/child.hpp"

namespace healer::store::test {

/// A store that can be closed and opened again, with the commits that it acknowledged.
class Bench {
 public:
  explicit Bench(bool sqlite) : sqlite_(sqlite) { open(); }

  Store& store() { return *store_; }
  void reopen() {
    if (sqlite_) store_.reset();
    open();
  }
  std::vector<engine::Sequence> acknowledged() {
    const std::scoped_lock lock(mutex_);
    return acknowledged_;
  }
  void submit(engine::effect::Commit commit) { store_->submit(std::move(commit)); }
  engine::SavedState loaded() {
    reopen();
    auto state = store_->load();
    REQUIRE(state);
    return *state;
  }
  std::vector<engine::Sequence> sequences(const HistoryQuery& query) {
    auto records = store_->history(query);
    REQUIRE(records);
    std::vector<engine::Sequence> sequences;
    for (const auto& record : *records) sequences.push_back(record.sequence);
    return sequences;
  }

 private:
  void open() {
    Callbacks callbacks;
    callbacks.committed = [this](engine::Sequence up_to) {
      const std::scoped_lock lock(mutex_);
      acknowledged_.push_back(up_to);
    };
    if (sqlite_) {
      auto opened = SqliteStore::open(in(directory_, "state"), callbacks);
      REQUIRE(opened);
      store_ = std::move(*opened);
    } else if (store_) {
      static_cast<MemoryStore&>(*store_).restart(callbacks);
    } else {
      store_ = std::make_unique<MemoryStore>(callbacks);
    }
  }

  bool sqlite_;
  healer::test::TemporaryDirectory directory_;
  std::mutex mutex_;
  std::vector<engine::Sequence> acknowledged_;
  std::unique_ptr<Store> store_;
};

}  // namespace healer::store::test
