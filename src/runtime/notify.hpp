// SPDX-License-Identifier: MIT
// Tells systemd how the daemon is, over NOTIFY_SOCKET. Without systemd everything here does nothing. Loop thread only.
#pragma once

#include <optional>
#include <string_view>

#include "util/time.hpp"

namespace healer::runtime {

class Notifier {
 public:
  /// Reads WATCHDOG_USEC.
  Notifier();

  void ready(std::string_view status);
  void reloading();
  void stopping();
  /// The line that `systemctl status` shows.
  void status(std::string_view text);
  /// The loop is alive. Call it at least twice within watchdog_interval(); it says so no more often than needed.
  void beat(Instant now);
  /// How long systemd waits for a beat before it kills the daemon; none: it does not watch.
  [[nodiscard]] std::optional<Duration> watchdog_interval() const { return watchdog_; }

 private:
  std::optional<Duration> watchdog_;
  std::optional<Duration> last_beat_;  // mono
};

}  // namespace healer::runtime
