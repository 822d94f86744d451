// SPDX-License-Identifier: MIT
#include "daemon/background.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace healer {

Result<Background> Background::enter() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "cannot go into the background");
  const pid_t child = fork();
  if (child < 0) {
    const int code = errno;
    close(ends[0]);
    close(ends[1]);
    return system_error(code, "cannot go into the background");
  }
  if (child > 0) {
    close(ends[1]);
    std::string word;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = read(ends[0], buffer.data(), buffer.size())) > 0 || (count < 0 && errno == EINTR);)
      if (count > 0) word.append(buffer.data(), static_cast<std::size_t>(count));
    // The child says "+" when it is up, an error when it is not, and nothing when it died on the way.
    if (word == "+") std::_Exit(0);
    if (word.empty()) word = "healerd ended before it was up\n";
    std::fputs(word.c_str(), stderr);
    std::_Exit(1);
  }
  close(ends[0]);
  setsid();
  return Background(ends[1]);
}

Background::Background(Background&& other) noexcept : pipe_(std::exchange(other.pipe_, -1)) {}

Background::~Background() {
  if (pipe_ >= 0) close(pipe_);
}

void Background::up() {
  if (pipe_ < 0) return;
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, stream);
  if (null > STDERR_FILENO) close(null);
  // A parent that has gone meanwhile needs no word.
  if (write(pipe_, "+", 1) != 1) errno = 0;
  close(std::exchange(pipe_, -1));
}

void Background::failed(const std::string& error) {
  const std::string line = "healerd: " + error + "\n";
  if (pipe_ < 0) {
    std::fputs(line.c_str(), stderr);
    return;
  }
  if (write(pipe_, line.data(), line.size()) < 0) errno = 0;
  close(std::exchange(pipe_, -1));
}

}  // namespace healer
