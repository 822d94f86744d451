// SPDX-License-Identifier: MIT
// The exit status of a process that is not our child. A pidfd reports at once that it has ended, but the kernel reports
// the status only to its parent. There are other ways to learn it, which complement each other:
//
//   not reaped yet                the zombie's line in /proc shows it, if we may read it; the pidfd proves that the
//                                 line belongs to this process
//   reaped, from Linux 6.15 on    the pidfd itself reports it, at any later time
//   reaped, on older kernels      the connector has reported it: a socket on which the kernel reports every exit, to
//                                 root, in the initial namespaces of users and processes
//
// The connector is opened for the first process that is followed, and only if pidfds do not report the status. A filter
// in the kernel passes only messages that may concern a followed process, so a machine that starts thousands of
// programs a second causes no work here. The connector reports an exit shortly after the pidfd has become readable, not
// before; for a process that has been reaped by then, the report has usually arrived.
//
// Nothing waits and nothing is guessed: a status that is not certain is unknown. If the first thread of a process ended
// before the others, the connector alone does not tell how the process ended.
//
// Owned and called by the loop thread; never blocks.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/events/outcome.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/loop.hpp"

namespace healer::runtime {

class ExitStatusReader {
  class Connector;

 public:
  struct Options {
    bool check = true;      ///< at zombies
    bool ask_pidfd = true;  ///< where the kernel can answer
    bool listen = true;     ///< where pidfds are not asked
    int buffer = 4 << 20;   ///< of the connector, in bytes: the room for what comes between two turns of the loop
    /// Called once, where the connector cannot be had.
    std::function<void(const std::string& why)> not_received{};
  };

  /// The interest in how one process ends, kept from before its end until that has been asked for. Goes before the
  /// ExitStatusReader does. One that was made without any knows nothing.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(Subscription&& other) noexcept
        : exits_(std::exchange(other.exits_, nullptr)), pid_(other.pid_), since_(other.since_) {}
    Subscription& operator=(Subscription&& other) noexcept;
    ~Subscription();
    /// How the process has ended that `pidfd` holds, and which has. Nothing: that is not known, or not yet.
    [[nodiscard]] std::optional<engine::ProcessEnd> ask(const Descriptor& pidfd) const;

   private:
    friend class ExitStatusReader;
    Subscription(ExitStatusReader* exits, pid_t pid, std::int64_t since) : exits_(exits), pid_(pid), since_(since) {}
    ExitStatusReader* exits_ = nullptr;
    pid_t pid_ = 0;
    std::int64_t since_ = 0;
  };

  ExitStatusReader(Loop& loop, Options options);
  ~ExitStatusReader();
  ExitStatusReader(const ExitStatusReader&) = delete;
  ExitStatusReader& operator=(const ExitStatusReader&) = delete;

  /// Follows a process that lives, as somebody holds it by a pidfd.
  [[nodiscard]] Subscription follow(pid_t pid);

  /// Whether pidfds tell how those ended whom they hold: from Linux 6.15 on.
  [[nodiscard]] static bool pidfds_report();
  /// Whether the kernel speaks of exits to us.
  [[nodiscard]] bool receives() const { return connector_ != nullptr; }
  /// Messages of the kernel that came through its filter so far.
  [[nodiscard]] std::uint64_t received() const;

 private:
  void listen();

  Loop& loop_;
  Options options_;
  bool tried_ = false;
  std::unique_ptr<Connector> connector_;
};

}  // namespace healer::runtime
