// SPDX-License-Identifier: MIT
// A /proc of its own for a part of a test: an empty one, as in a container that has none, or one that hides the
// processes of others.
#pragma once

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <optional>
#include <thread>

namespace healer::test {

/// Runs `use` on a thread of its own, for which, and for the threads that it begins, /proc is such a mount; as `user`,
/// where that is set. False where this machine does not let us.
inline bool with_proc(const char* type, const char* options, std::optional<uid_t> user,
                      const std::function<void()>& use) {
  bool works = false;
  std::exception_ptr thrown;
  std::thread([&] {
    works = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            ::mount("none", "/proc", type, 0, options) == 0;
    // The calls of the kernel are for a thread, those of the library for all of them.
    if (works && user)
      works = ::syscall(SYS_setgroups, 0, nullptr) == 0 && ::syscall(SYS_setresgid, *user, *user, *user) == 0 &&
              ::syscall(SYS_setresuid, *user, *user, *user) == 0;
    try {
      if (works) use();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
  return works;
}

}  // namespace healer::test
