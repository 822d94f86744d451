// SPDX-License-Identifier: MIT
#include "runtime/programs/helper_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

namespace healer::runtime {

Result<pid_t> start_helper(const std::string& program, std::string name, std::string option, int socket) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | static_cast<short>(POSIX_SPAWN_SETSID));
  std::array<char*, 3> arguments{name.data(), option.data(), nullptr};
  std::array<char*, 1> environment{nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &files, &attributes, arguments.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) return system_error(error, "cannot start " + name);
  return pid;
}

}  // namespace healer::runtime
