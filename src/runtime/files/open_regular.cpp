// SPDX-License-Identifier: MIT
#include "runtime/files/open_regular.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::runtime {

Result<Descriptor> open_regular(const std::string& path, Links links) {
  const auto failed = [&] { return system_error(errno, "cannot read " + printable(path)); };
  const Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC | (links == Links::Refused ? O_NOFOLLOW : 0)));
  struct ::stat seen {};
  if (!place || ::fstat(place.get(), &seen) != 0) return failed();
  if (!S_ISREG(seen.st_mode)) return Error{EINVAL, fmt::format("{} is not a regular file", printable(path))};
  struct ::statfs on {};
  constexpr std::array<decltype(on.f_type), 3> kKernel{PROC_SUPER_MAGIC, TRACEFS_MAGIC, DEBUGFS_MAGIC};
  const bool has_device = major(seen.st_dev) != 0;  // which a file system of the kernel's own has not
  if (!has_device && ::fstatfs(place.get(), &on) != 0) return failed();
  const bool is_kernels = std::ranges::find(kKernel, on.f_type) != kKernel.end();
  if (is_kernels && !path.starts_with("/proc/") && !path.starts_with("/sys/"))
    return Error{EINVAL, fmt::format("{} leads to a file of the kernel's", printable(path))};
  Descriptor file(
      ::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return failed();
  return file;
}

}  // namespace healer::runtime
