// SPDX-License-Identifier: MIT
// What a store has told, and waiting for it to tell something.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace healer::store::test {

class Listener {
 public:
  /// Requires: this outlives the store.
  Callbacks callbacks() {
    return {[this](engine::Sequence up_to) { note("committed " + std::to_string(up_to), up_to); },
            [this](std::string reason) { note("sick", 0, std::move(reason)); }, [this] { note("well", 0); }};
  }

  bool wait_committed(engine::Sequence up_to) {
    return wait([&] { return committed_ >= up_to; });
  }
  bool wait_sick(std::size_t times = 1) {
    return wait([&] { return count("sick") >= times; });
  }
  bool wait_well(std::size_t times = 1) {
    return wait([&] { return count("well") >= times; });
  }
  /// Until it is "sick" or "well" by the last word of that, whatever was committed since.
  bool wait_health(const std::string& what) {
    return wait([&] {
      const auto last = std::find_if(all_.rbegin(), all_.rend(), [](const auto& word) { return word.size() == 4; });
      return last != all_.rend() && *last == what;
    });
  }
  /// Everything told, in order ("committed 3", "sick", "well").
  std::vector<std::string> all() {
    const std::scoped_lock lock(mutex_);
    return all_;
  }
  engine::Sequence committed() {
    const std::scoped_lock lock(mutex_);
    return committed_;
  }
  std::string reason() {
    const std::scoped_lock lock(mutex_);
    return reason_;
  }

 private:
  std::size_t count(const char* what) const {
    return static_cast<std::size_t>(std::count(all_.begin(), all_.end(), what));
  }
  void note(std::string what, engine::Sequence up_to, std::string reason = "") {
    const std::scoped_lock lock(mutex_);
    all_.push_back(std::move(what));
    committed_ = std::max(committed_, up_to);
    if (!reason.empty()) reason_ = std::move(reason);
    changed_.notify_all();
  }
  template <typename Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), condition);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> all_;
  std::string reason_;
  engine::Sequence committed_ = 0;
};

}  // namespace healer::store::test
