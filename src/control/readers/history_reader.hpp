// SPDX-License-Identifier: MIT
// Reads the history off the loop: a query may wait for a disk that hangs. One thread, started with the first query.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "control/socket/server.hpp"
#include "store/store.hpp"

namespace healer::control {

class HistoryReader {
 public:
  using Page = Result<store::HistoryPage>;

  /// A query under way. Whoever asked holds it; where nobody does any more, it is not run.
  class Query {
   public:
    /// The records, once; nothing while they are being read.
    [[nodiscard]] std::optional<Page> take();

   private:
    friend class HistoryReader;
    store::HistoryQuery what_;
    Wake wake_;
    std::mutex mutex_;
    std::optional<Page> page_;
  };

  /// Requires: `store` outlives this.
  explicit HistoryReader(const store::Store& store) : store_(store) {}
  /// Waits for the query under way.
  ~HistoryReader();
  HistoryReader(const HistoryReader&) = delete;
  HistoryReader& operator=(const HistoryReader&) = delete;

  /// Queues a query; `wake` is called (on the reader's thread) when its records are there.
  [[nodiscard]] std::shared_ptr<Query> ask(store::HistoryQuery what, Wake wake);

 private:
  void run();

  const store::Store& store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::weak_ptr<Query>> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace healer::control
