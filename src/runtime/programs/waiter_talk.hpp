// SPDX-License-Identifier: MIT
// What a daemon and a waiter say to each other, over a socket that keeps messages apart. The daemon speaks once, and
// hands over what the waiter needs; the waiter says whether the program runs, and how it has ended.
#pragma once

#include <csignal>
#include <optional>

#include "runtime/process/launch.hpp"
#include "runtime/programs/waiter.hpp"
#include "util/result.hpp"

namespace healer::runtime {

inline constexpr const char* kWaiterName = "healer-waiter";
inline constexpr const char* kWaiterOption = "--wait-for-program";

/// By which a waiter is asked to end its program.
inline constexpr int kEndProgram = SIGUSR1;

/// What a waiter is to do.
struct WaiterTask {
  Launch launch;  ///< with its `waiter`
  LaunchDefaults defaults;
};
/// False, with errno, where it could not be sent. The texts, which secrets may be among, go in memory of their own that
/// nobody else can name.
[[nodiscard]] bool send_task(int socket, const Launch& launch, const LaunchDefaults& defaults);
/// Nothing where there is no whole one.
[[nodiscard]] std::optional<WaiterTask> receive_task(int socket);

/// What a waiter says, one of these.
struct WaiterWord {
  std::optional<Result<Started>> start;  ///< whether the program runs; why not
  std::optional<WaiterEnd> end;
};
/// Whoever does not hear it is no longer there.
void send_start(int socket, const Result<Started>& start);
void send_end(int socket, const WaiterEnd& end);
/// Nothing where it has gone, or, without `wait`, has said nothing.
[[nodiscard]] std::optional<WaiterWord> receive_from_waiter(int socket, bool wait);

}  // namespace healer::runtime
