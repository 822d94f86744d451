// SPDX-License-Identifier: MIT
// Where foreground processes say that they are ready, or well: the socket behind their NOTIFY_SOCKET, as systemd's. Of
// what it knows READY=1, WATCHDOG=1 and EXTEND_TIMEOUT_USEC=N are taken, and BARRIER=1 answered by closing the
// descriptor that came with it; nothing else is.
//
// Everybody may write there, since programs run as any user; the kernel says who it was, and whose word counts is the
// receiver's to judge. Descriptors that come along are closed at once, and a datagram larger than kMostOfMessage says
// nothing. The file stays when the daemon ends: programs keep its path, and the next daemon listens there again.
//
// Where the path of a file is too long for a socket, a name in the kernel takes its place (`@NAME`, as systemd writes
// it). It needs no folder; but whoever takes it first has it, and only programs in the daemon's network namespace find
// it.
//
// Owned and called by the loop thread; never blocks.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/descriptor.hpp"
#include "runtime/loop.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// What a process says of itself.
struct Notice {
  pid_t sender = 0;
  bool ready = false;                ///< READY=1
  bool alive = false;                ///< WATCHDOG=1
  std::optional<Duration> extend{};  /// EXTEND_TIMEOUT_USEC: how long, from now on, its start or stop may yet take

  /// What a datagram of that sender says.
  [[nodiscard]] static Notice read(pid_t sender, std::string_view text);
  [[nodiscard]] bool has_content() const { return ready || alive || extend; }
};

class ReadySocket {
 public:
  static constexpr std::size_t kMostOfMessage = 4096;
  /// Gets what a process says, on the loop.
  using Sink = std::function<void(const Notice& notice)>;

  /// Where to listen for programs that shall find the socket at `path`: there, or at a name made of it.
  [[nodiscard]] static std::string place_for(const std::string& path);
  /// Listens at `path`, or at `@NAME`, in place of a daemon that has ended. The caller sees to it that no other daemon
  /// does.
  [[nodiscard]] static Result<std::unique_ptr<ReadySocket>> open(Loop& loop, const std::string& path, Sink sink);
  ReadySocket(const ReadySocket&) = delete;
  ReadySocket& operator=(const ReadySocket&) = delete;

 private:
  ReadySocket(Descriptor socket, Sink sink) : socket_(std::move(socket)), sink_(std::move(sink)) {}
  void take();
  [[nodiscard]] bool take_one();

  Descriptor socket_;
  Sink sink_;
  Loop::Watch watch_;  // goes before the descriptor
};

/// The first folder on the way to `path` that a program of that user and group, and of no other group, cannot enter, so
/// that it does not reach a socket there; empty where there is none. Access lists are not looked at.
[[nodiscard]] std::string closed_folder(const std::string& path, uid_t user, gid_t group);

}  // namespace healer::runtime
