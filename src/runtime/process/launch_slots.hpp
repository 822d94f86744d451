// SPDX-License-Identifier: MIT
// Low descriptor numbers that are reserved for what a new program is given, so that its child can share the table of
// the daemon and leave it with all that lies above them: nothing is copied or closed, however much is open.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/descriptor.hpp"

namespace healer::runtime {

/// May be used by several threads.
class LaunchSlots {
 public:
  /// Numbers that one launch needs: output, error, proof, control group.
  static constexpr int kNumbers = 4;

  /// Reserves the lowest numbers that are free for `count` launches at a time. Null where the kernel cannot leave a
  /// shared table in this way (before 5.9), or where there are not so many numbers.
  [[nodiscard]] static std::shared_ptr<LaunchSlots> reserve(unsigned count);

  /// kNumbers numbers of one launcher; empty: all are in use.
  [[nodiscard]] std::vector<int> take();
  /// Of a launcher that is no more. Requires: they were left by put_down().
  void give_back(std::vector<int> numbers);

  /// Another number of an open file, which `number` becomes; false, with errno, where that cannot be.
  [[nodiscard]] static bool pick_up(int number, int file);
  /// Nothing of what was picked up stays open by it.
  void put_down(int number) const;

  /// Above all of them.
  [[nodiscard]] int first_free() const { return first_free_; }

 private:
  Descriptor null_;
  std::vector<Descriptor> reserved_;
  int first_free_ = 0;
  std::mutex mutex_;
  std::vector<std::vector<int>> unused_;  // guarded by it
};

}  // namespace healer::runtime
