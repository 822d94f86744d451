// SPDX-License-Identifier: MIT
#include "runtime/process/clone_into.hpp"

#include <sched.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

namespace healer::runtime {
namespace {

/// As the kernel knows it since it can do this (5.7).
struct CloneArguments {
  std::uint64_t flags;
  std::uint64_t pidfd;
  std::uint64_t child_tid;
  std::uint64_t parent_tid;
  std::uint64_t exit_signal;
  std::uint64_t stack;
  std::uint64_t stack_size;
  std::uint64_t tls;
  std::uint64_t set_tid;
  std::uint64_t set_tid_size;
  std::uint64_t cgroup;
};

constexpr std::uint64_t kCloneIntoCgroup = 0x200000000;  // not in every <sched.h>

// The child begins behind the system call with all registers of its parent but the stack: it calls its code in the same
// breath, and does not come back. The result is the kernel's, an error is negative. No instrumentation by sanitizers,
// which would book the child's doings on the thread of its parent.
#define HEALER_PARENT_AND_CHILD __attribute__((no_sanitize("address", "thread", "undefined"), noinline))

#if defined(__x86_64__)

HEALER_PARENT_AND_CHILD long clone3(const CloneArguments* arguments, const ChildCode* code) {
  long result = SYS_clone3;
  asm volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "movq %[argument], %%rdi\n\t"
      "call *%[run]\n\t"
      "ud2\n"
      "1:"
      : "+a"(result)
      : "D"(arguments), "S"(sizeof *arguments), [run] "r"(code->run), [argument] "r"(code->argument)
      : "rcx", "r11", "cc", "memory");
  return result;
}

#elif defined(__aarch64__)

HEALER_PARENT_AND_CHILD long clone3(const CloneArguments* arguments, const ChildCode* code) {
  register long number asm("x8") = SYS_clone3;
  register long result asm("x0") = reinterpret_cast<long>(arguments);
  register std::size_t size asm("x1") = sizeof *arguments;
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x0, %[argument]\n\t"
      "blr %[run]\n\t"
      "brk #1\n"
      "1:"
      : "+r"(result)
      : "r"(number), "r"(size), [run] "r"(code->run), [argument] "r"(code->argument)
      : "cc", "memory");
  return result;
}

#else

long clone3(const CloneArguments*, const ChildCode*) { return -ENOSYS; }

#endif

}  // namespace

pid_t clone_into(int group, const ChildCode& code, int* pidfd, bool shares_files) {
  CloneArguments arguments{};
  arguments.flags = kCloneIntoCgroup | CLONE_VM | CLONE_VFORK;
  if (pidfd != nullptr) arguments.flags |= CLONE_PIDFD;
  if (shares_files) arguments.flags |= CLONE_FILES;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(pidfd);
  arguments.exit_signal = SIGCHLD;
  arguments.stack = reinterpret_cast<std::uint64_t>(code.stack);
  arguments.stack_size = code.stack_size;
  arguments.cgroup = static_cast<std::uint64_t>(group);
  const long result = clone3(&arguments, &code);
  if (result >= 0) return static_cast<pid_t>(result);
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace healer::runtime
