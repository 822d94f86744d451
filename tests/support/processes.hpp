// SPDX-License-Identifier: MIT
// What tests with real processes need: a loop that runs until something is so, and a look at what is left behind.
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
inline bool run_until(runtime::Loop& loop, const std::function<bool()>& done, Duration limit = seconds{120}) {
  const Duration end = runtime::mono_now() + limit;
  bool reached = false;
  runtime::Loop::Timer timer;
  timer = loop.timer([&] {
    reached = done();
    if (reached || runtime::mono_now() >= end) return loop.stop();
    timer.set_deadline(runtime::mono_now() + Duration{2});
  });
  timer.set_deadline(Duration{0});
  loop.run();
  return reached;
}

/// Runs the loop for a while, for what must not happen.
inline void run_for(runtime::Loop& loop, Duration time) {
  const Duration end = runtime::mono_now() + time;
  run_until(loop, [end] { return runtime::mono_now() >= end; });
}

/// Tries timeouts of programs, a longer one where the program had not begun as `begins` wants it when the timeout came;
/// false where none was long enough.
inline bool begins_in_time(Duration shortest, const std::function<bool(Duration)>& begins) {
  for (const int times : {1, 5, 25})
    if (begins(times * shortest)) return true;
  return false;
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

/// A variable for the environment of what a test starts, which nothing else on the machine has.
inline std::string own_mark(const std::string& name) {
  return "HEALER_TEST=" + name + '-' + std::to_string(::getpid());
}

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
inline std::vector<pid_t> processes_with(const std::string& variable) {
  std::vector<pid_t> found;
  DIR* directory = ::opendir("/proc");
  while (const dirent* entry = ::readdir(directory)) {
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file("/proc/" + name + "/environ");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (("\0" + text).find(variable + '\0') != std::string::npos) found.push_back(std::stoi(name));
  }
  ::closedir(directory);
  return found;
}

/// Whether this process has any child left, running or dead.
inline bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Writes a file of that mode and returns its path.
inline std::string write_with_mode(const std::filesystem::path& path, const std::string& text, unsigned mode) {
  std::ofstream(path) << text;
  std::filesystem::permissions(path, std::filesystem::perms(mode));
  return path.string();
}

/// A directory that other users may enter.
inline void open_to_all(const TemporaryDirectory& directory) {
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0755));
}

}  // namespace healer::test
