// SPDX-License-Identifier: MIT
// The client of the control socket: one request, its reply line by line. It waits for all of it, or, for a program that
// has more to wait for, takes what has come. For healerctl and tests; each Client belongs to one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include <nlohmann/json.hpp>

#include "control/wire.hpp"

namespace healer::control {

/// How a call ended.
struct Reply {
  std::optional<Failure> failure;  ///< why it was not done; `header` and `end` may be there even so
  Json header;                     ///< null: none came
  Json end;                        ///< null: none came

  [[nodiscard]] bool ok() const { return !failure; }
};

class Client {
 public:
  /// Connects. Failures: "not-running" (nobody listens at `path`), "permission", "connect". `timeout` bounds this, the
  /// sending, and the wait for each line of a reply that does not depend on something yet to happen.
  [[nodiscard]] static std::variant<Client, Failure> connect(const std::string& path, Duration timeout = seconds{30});

  /// The client of somebody else who speaks the protocol, at the other end of a connected pair of sockets.
  [[nodiscard]] static Client over(int descriptor, Duration timeout = seconds{30});

  /// From now on everything is to be over within `limit`, what is yet to happen too: call() fails then with "timeout",
  /// or, where the daemon has understood the request already, with "unfinished".
  void set_limit(Duration limit);

  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  ~Client();

  /// Sends `request` and reads its reply to the end; `on_header` and `on_item` are called as the lines come (either may
  /// be empty). Failures are the daemon's own, or "timeout", "closed" (the connection ended too early), "protocol".
  /// A `quit` succeeds by the end of the connection.
  [[nodiscard]] Reply call(const Request& request, const std::function<void(const Json&)>& on_item = {},
                           const std::function<void(const Json&)>& on_header = {});

  /// The same without waiting, part by part: begin() sends the request; then advance(), whenever descriptor() can be
  /// read, takes what has come, and returns true when `reply` is whole (or has failed). At most one request at a time.
  [[nodiscard]] std::optional<Failure> begin(const Request& request);
  [[nodiscard]] bool advance(Reply& reply, const std::function<void(const Json&)>& on_item = {},
                             const std::function<void(const Json&)>& on_header = {});
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Waits until the daemon at the other end has ended as a process; false where it still runs after `limit`.
  [[nodiscard]] bool wait_for_exit(Duration limit);

 private:
  Client(int descriptor, std::string path, Duration timeout);
  [[nodiscard]] std::optional<Failure> send(std::string_view bytes);
  [[nodiscard]] std::variant<std::string, Failure> line(std::optional<Duration> limit);
  [[nodiscard]] std::optional<std::string> buffered_line(std::size_t from);
  [[nodiscard]] std::optional<Failure> receive();
  void close();

  int descriptor_ = -1;
  int process_ = -1;  // pidfd of the daemon; -1: the kernel has none to give
  std::string path_;
  Duration timeout_;
  std::optional<std::chrono::steady_clock::time_point> end_;  // of everything
  std::string buffer_;
  std::size_t taken_ = 0;  // of buffer_
};

}  // namespace healer::control
