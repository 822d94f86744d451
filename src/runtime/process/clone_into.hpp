// SPDX-License-Identifier: MIT
// Creates a child directly in a control group: clone3, for which the libc has no wrapper.
//
// Moving a process into a group later takes a lock in the kernel that excludes every fork and exit on the machine;
// creating it there does not.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace healer::runtime {

/// What the child does, on a stack of its own.
struct ChildCode {
  int (*run)(void*);  ///< never returns
  void* argument;
  void* stack;  ///< its lowest address
  std::size_t stack_size;
};

/// A child as that of vfork, with the memory of its parent, which sleeps until it has become a program or has ended. It
/// is born in the control group whose directory is open as `group`; its pidfd is put at `pidfd` (null: it gets none).
/// With `shares_files` it also shares the descriptor table. -1, with errno: there is no child. ENOSYS: neither this
/// machine nor this program can do it.
[[nodiscard]] pid_t clone_into(int group, const ChildCode& code, int* pidfd, bool shares_files = false);

}  // namespace healer::runtime
