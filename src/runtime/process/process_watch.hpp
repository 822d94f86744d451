// SPDX-License-Identifier: MIT
// Hears of the death of processes that are not our children at once, by the kernel's word: one pidfd a service, watched
// on the loop. Where there are no descriptors for it, nothing is lost but time: the next look finds the death. How it
// died is told where runtime/process/exit_status knows it at that moment; nothing waits for that.
//
// Owned and called by the loop thread; never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "engine/events/event.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/loop.hpp"
#include "runtime/process/exit_status.hpp"

namespace healer::runtime {

/// How many processes may be watched, so that half of what RLIMIT_NOFILE has room for is left.
[[nodiscard]] std::size_t half_of_descriptors();

class ProcessWatch {
 public:
  /// Gets event::ProcessDied, on the loop, never from within a call.
  using Sink = std::function<void(engine::event::ProcessDied)>;

  /// At most `most` processes are watched at a time. `exits`, where there is one, outlives this.
  ProcessWatch(Loop& loop, std::size_t most, Sink sink, ExitStatusReader* exits = nullptr);
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  /// Watches this process for the service from now on, instead of another one. `pidfd` holds it. Its death is told
  /// once, also where it is dead already.
  void watch(engine::ServiceId service, ProcessIdentity process, Descriptor pidfd);
  /// Whom it watches for the service; pid 0: nobody.
  [[nodiscard]] ProcessIdentity watched(engine::ServiceId service) const;
  void forget(engine::ServiceId service);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool full() const { return entries_.size() >= most_; }

 private:
  struct Entry {
    ProcessIdentity process;
    Descriptor pidfd;
    ExitStatusReader::Subscription subscription;
    Loop::Watch watch;  // goes before the descriptor
  };
  void died(engine::ServiceId service);

  Loop& loop_;
  std::size_t most_;
  Sink sink_;
  ExitStatusReader* exits_;
  std::unordered_map<std::uint32_t, Entry> entries_;
};

}  // namespace healer::runtime
