// SPDX-License-Identifier: MIT
#include "runtime/notify.hpp"

#include <systemd/sd-daemon.h>
#include <time.h>

#include <cstdint>
#include <string>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::runtime {
namespace {

void say(const std::string& state) { (void)::sd_notify(0, state.c_str()); }

/// A status is one line: a line end would begin another assignment.
std::string status_line(std::string_view text) { return "STATUS=" + printable(text); }

}  // namespace

Notifier::Notifier() {
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(0, &microseconds) > 0)
    watchdog_ = std::chrono::duration_cast<Duration>(std::chrono::microseconds{microseconds});
}

void Notifier::ready(std::string_view status) { say("READY=1\n" + status_line(status)); }

void Notifier::reloading() {
  // systemd takes a reload for a newer one than the last by its own clock, CLOCK_MONOTONIC.
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  say(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", time.tv_sec * 1'000'000 + time.tv_nsec / 1'000));
}

void Notifier::stopping() { say("STOPPING=1"); }

void Notifier::status(std::string_view text) { say(status_line(text)); }

void Notifier::beat(Instant now) {
  if (!watchdog_ || (last_beat_ && now.mono - *last_beat_ < *watchdog_ / 4)) return;
  last_beat_ = now.mono;
  say("WATCHDOG=1");
}

}  // namespace healer::runtime
