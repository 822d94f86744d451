// SPDX-License-Identifier: MIT
// A child that is born in a control group: clone3, for which the libc has no call of its own.
//
// A program that is moved into a group after its birth waits, and lets the machine wait, for a lock that the kernel
// holds against every fork and exit; one that is born there waits for nobody.
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
/// -1, with errno: there is no child. ENOSYS: neither this machine nor this program can do it.
[[nodiscard]] pid_t clone_into(int group, const ChildCode& code, int* pidfd);

}  // namespace healer::runtime
