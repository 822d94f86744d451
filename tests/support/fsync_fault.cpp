// SPDX-License-Identifier: MIT
// For tests, loaded into healerd with LD_PRELOAD: at the HEALER_FSYNC_AT-th fsync of the folder HEALER_FSYNC_IN, or of
// what is in it, the process gets the signal HEALER_FSYNC_SIGNAL, and that fsync never returns.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

extern "C" int fsync(int file) {
  static std::atomic<int> left{std::atoi(std::getenv("HEALER_FSYNC_AT"))};
  static const std::string folder = std::getenv("HEALER_FSYNC_IN");
  char path[4096];
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path, sizeof path);
  if (size > 0 && std::string(path, static_cast<std::size_t>(size)).starts_with(folder) && --left == 0) {
    ::kill(::getpid(), std::atoi(std::getenv("HEALER_FSYNC_SIGNAL")));
    while (true) ::pause();
  }
  return static_cast<int>(::syscall(SYS_fsync, file));
}
