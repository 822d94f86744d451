// SPDX-License-Identifier: MIT
// Records what the engine is told, on a separate thread: neither the loop nor a commit ever waits for it. What cannot
// be written, because the disk is slow, full or gone, is left out, and the recording says that there is a gap.
//
// What is recorded, and what it costs. The end of every run is recorded with its time to the millisecond, since that
// decides when a rule fires. If the run found nothing new, that takes about four bytes, and the wake-up that began it
// another four. Changes are recorded exactly, so that other thresholds can be tried, and the same rules do exactly the
// same. For 1,000 services every 30 s that is some 20 MB a day if little changes; tests/bench/replay_bench.cpp measures
// it. The text of the rules, with the rows of lists, is kept at the beginning of each chunk; after a reload only the
// files and lists that changed are added. The limit of 500 MB matters if outputs and values change at each run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "replay/recorded.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::readings {

struct RecorderOptions {
  Duration keep = days{7};
  std::uint64_t bytes = 500'000'000;  ///< of the file
  std::size_t most_waiting = 50'000;  ///< items; more are left out
  Duration gather{1000};              ///< before they are written
  Duration chunk = hours{6};
  std::size_t chunk_bytes = 16'000'000;
  Duration retry{10'000};   ///< after a write has failed
  Duration patience{2000};  ///< at the end, with a disk that hangs: how long nothing may be written
  /// Of the disk, which the state needs more: with less room than that, or a twentieth of the disk where that is less,
  /// the oldest goes, and at last nothing is recorded.
  std::uint64_t reserve = 64'000'000;
};

class Recorder {
 public:
  /// Gives the state as it is on disk; called on the recorder's thread.
  using ReadState = std::function<Result<engine::SavedState>()>;
  /// What the log should tell; called on the recorder's thread.
  using Noted = std::function<void(std::string)>;

  Recorder(std::string path, ReadState read_state, Noted noted, RecorderOptions options = {});
  /// Writes what waits, unless the disk hangs; then it is left behind.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Never waits. The first is a Begun.
  void take(engine::recorded::Item&& item);

 private:
  class Worker;
  std::shared_ptr<Worker> worker_;
  std::thread thread_;
};

}  // namespace healer::readings
