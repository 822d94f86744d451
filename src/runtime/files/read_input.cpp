// SPDX-License-Identifier: MIT
#include "runtime/files/read_input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <spdlog/fmt/fmt.h>

#include "runtime/descriptor.hpp"

namespace healer {
namespace {

constexpr std::size_t kMost = 64U << 20;

}  // namespace

Result<std::string> read_input(const std::string& path) {
  const bool is_standard = path == "-";
  const std::string name = is_standard ? "standard input" : path;
  runtime::Descriptor opened;
  if (!is_standard) {
    opened = runtime::Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!opened) return system_error(errno, name);
  }
  std::string text;
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    const ssize_t size = read(is_standard ? STDIN_FILENO : opened.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return system_error(errno, name);
    if (size == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
    if (text.size() > kMost) return Error{EFBIG, fmt::format("{}: larger than {} MiB", name, kMost >> 20)};
  }
}

}  // namespace healer
