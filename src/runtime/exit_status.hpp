// SPDX-License-Identifier: MIT
// How a process has ended that is not our child. That it has, a pidfd tells at once; its status the kernel tells its
// parent. But there are other ways to learn it, each of which closes the gaps of the others:
//
//   not reaped yet                a zombie's line in /proc tells it, to who may look; its pidfd proves whose line it is
//   reaped, from Linux 6.15 on    the pidfd itself tells it, for good
//   reaped, by older kernels      the connector has told it: a socket on which the kernel speaks of every exit, to
//                                 root, in the first name spaces of users and processes
//
// The connector is opened with the first process that is followed, and only where pidfds do not tell. A filter in the
// kernel lets through what may concern one that is followed, so that a machine which starts thousands of programs a
// second has nothing to say here. An exit is told there a moment after the pidfd has become readable, not before; who
// has been reaped by then has been told of as a rule.
//
// Nothing is waited for and nothing guessed: what is not certain is not known. Of a process whose first thread left
// before the others, the connector alone does not tell how it ended.
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

#include "engine/outcome.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/loop.hpp"

namespace healer::runtime {

class ExitStatusReader {
  class Connector;

 public:
  struct Options {
    bool look = true;       ///< at zombies
    bool ask_pidfd = true;  ///< where the kernel can answer
    bool listen = true;     ///< where pidfds are not asked
    int buffer = 4 << 20;   ///< of the connector, in bytes: the room for what comes between two turns of the loop
    /// Called once, where the connector cannot be had.
    std::function<void(const std::string& why)> unheard{};
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
  [[nodiscard]] static bool pidfds_tell();
  /// Whether the kernel speaks of exits to us.
  [[nodiscard]] bool hears() const { return connector_ != nullptr; }
  /// Messages of the kernel that came through its filter so far.
  [[nodiscard]] std::uint64_t heard() const;

 private:
  void listen();

  Loop& loop_;
  Options options_;
  bool tried_ = false;
  std::unique_ptr<Connector> connector_;
};

}  // namespace healer::runtime
