// SPDX-License-Identifier: MIT
// Threads that hang where nothing can wake them (a dead disk or mount) and are left behind by their owners. While one
// may still run, the process must not destroy its static objects: it ends by _Exit.
#pragma once

#include <thread>

namespace healer {

/// Joins the thread if it is over; else leaves it to itself, which threads_left() tells from then on.
void end_thread(std::thread& thread, bool over);

/// Whether a thread of this process was left behind.
[[nodiscard]] bool threads_left();

/// Ends the process with that status from main(): as `return status` does, or at once where threads were left.
[[nodiscard]] int end_process(int status);

}  // namespace healer
