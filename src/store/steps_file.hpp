// SPDX-License-Identifier: MIT
// STATE.steps: beside the state file, the healings under way and the number of the commit by which they were so.
//
// The state file holds what was committed last only together with its log, STATE-wal, where healerd was killed: if that
// is removed meanwhile, the file is an older state, as is one that was copied back. Then a step whose request went out
// long ago would be made again. The number tells: where this file's is higher than that of the state, what it holds of
// healings is newer, and is gone by; requests under way are in doubt then, as after any end of the daemon.
//
// Written after each commit that is about healings, before what that sets free is done; whole, and renamed into its
// place. It need not be flushed to the disk: a power failure does not remove the log, and an older file says nothing.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/events/commit.hpp"
#include "store/batch.hpp"

namespace healer::store {

class StepsFile {
 public:
  /// `state_path`: of the state file.
  explicit StepsFile(const std::string& state_path) : path_(state_path + ".steps") {}

  /// Compares what was read from the state file with this file. Where this one is newer, what is under way in `state`
  /// is what it says: healings that it does not name are over, how nobody knows. Returns what is to be said then;
  /// empty: nothing.
  [[nodiscard]] std::string reconcile(engine::SavedState& state);
  /// The batch is in the state file.
  void written(const Batch& batch);

 private:
  void write(engine::Sequence sequence) const;

  const std::string path_;
  std::mutex mutex_;
  std::map<engine::HealingId, std::string> under_way_;  ///< as JSON
  bool exists_ = false;
};

}  // namespace healer::store
