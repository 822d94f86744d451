// SPDX-License-Identifier: MIT
#include "runtime/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace healer::runtime {

void Descriptor::reset() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

std::string words_of_errno(int code) {
  std::string words = system_error(code, "").what.substr(2);
  if (!words.empty() && words[0] >= 'A' && words[0] <= 'Z') words[0] = static_cast<char>(words[0] - 'A' + 'a');
  return words;
}

bool lacks_resources(const Error& error) {
  return error.code == EMFILE || error.code == ENFILE || error.code == ENOMEM || error.code == EAGAIN;
}

bool lacks_room(const Error& error) { return error.code == ENOSPC || error.code == EDQUOT; }

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error(errno, "cannot make a pipe");
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

bool write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(file, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace healer::runtime
