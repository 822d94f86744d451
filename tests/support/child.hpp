// SPDX-License-Identifier: MIT
// For tests that need a real program beside them: a child process that ends with its owner, a directory that goes with
// it, and waiting for a condition.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace healer::test {

/// Waits until `condition()` is true, at most `limit`; whether it became true.
template <typename Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds{60}) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return condition();
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return true;
}

std::string read_file(const std::filesystem::path& path);

void write_file(const std::filesystem::path& path, const std::string& text);

/// A directory under /tmp that is removed with its owner.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = "/tmp/healer-test-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A running program: what is there when it has been made, no copy of the test any more, with its command line and its
/// handlers of signals. Its standard input is a pipe that closes with its owner; its output goes to `output`.
class Child {
 public:
  explicit Child(std::vector<std::string> command, const std::filesystem::path& output = "/dev/null") {
    int ends[2];
    int begun[2];  // closed where the program begins
    if (pipe2(ends, O_CLOEXEC) != 0 || pipe2(begun, O_CLOEXEC) != 0) std::abort();
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[0], 0);
      const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      dup2(file, 1);
      dup2(file, 2);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    close(ends[0]);
    close(begun[1]);
    char none = 0;
    while (read(begun[0], &none, 1) < 0 && errno == EINTR) {
    }
    close(begun[0]);
    input_ = ends[1];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();
  [[nodiscard]] pid_t pid() const { return pid_; }
  void send(int signal) const { kill(pid_, signal); }
  /// Waits for its end; its wait status.
  int wait();

 private:
  pid_t pid_ = -1;
  int input_ = -1;
};

}  // namespace healer::test
