// SPDX-License-Identifier: MIT
// What tests with real processes need: a loop that runs until something is so, and a check of what is left behind.
#pragma once

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/loop.hpp"
#include "support/child.hpp"

namespace healer::test {

/// Runs the loop until `done`, looking every few milliseconds; false where `limit` passed first.
bool run_until(runtime::Loop& loop, const std::function<bool()>& done, Duration limit = seconds{120});

/// Runs the loop for a while, for what must not happen.
void run_for(runtime::Loop& loop, Duration time);

/// Tries timeouts of programs, a longer one where the program had not begun as `begins` wants it when the timeout came;
/// false where none was long enough.
bool begins_in_time(Duration shortest, const std::function<bool(Duration)>& begins);

std::size_t open_descriptors();

/// A variable for the environment of what a test starts, which nothing else on the machine has.
std::string own_mark(const std::string& name);

/// While it lives this process can open `spare` more descriptors, and no other.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t spare = 0) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest = ::dup(STDIN_FILENO);
    ::close(lowest);
    const rlimit few{static_cast<rlim_t>(lowest) + spare, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

/// Living processes (no zombies) whose environment holds `variable` ("NAME=value").
std::vector<pid_t> processes_with(const std::string& variable);

/// Whether this process has any child left, running or dead.
bool has_children();

/// Writes a file of that mode and returns its path.
std::string write_with_mode(const std::filesystem::path& path, const std::string& text, unsigned mode);

/// A directory that other users may enter.
void open_to_all(const TemporaryDirectory& directory);

}  // namespace healer::test
