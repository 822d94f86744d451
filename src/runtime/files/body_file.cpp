// SPDX-License-Identifier: MIT
#include "runtime/files/body_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <spdlog/fmt/fmt.h>

#include "runtime/files/open_regular.hpp"

namespace healer::runtime {

Result<std::string> read_body_file(const std::string& path, std::size_t most) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  auto file = open_regular(path);
  if (!file) return file.error();
  std::string text;
  for (std::size_t size = 0; size <= most;) {
    text.resize(size + std::min(kPiece, most + 1 - size));
    const ssize_t got = ::read(file->get(), text.data() + size, text.size() - size);
    if (got < 0) return system_error(errno, path);
    size += static_cast<std::size_t>(got);
    text.resize(size);
    if (got == 0) return text;
  }
  return Error{0, fmt::format("{} has more than {} MB: it is not sent", path, most >> 20U)};
}

}  // namespace healer::runtime
