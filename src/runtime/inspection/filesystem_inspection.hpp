// SPDX-License-Identifier: MIT
// What the kernel says of a mounted filesystem and of the device that it is on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/events/evidence.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// What a device has done up to a moment, as /proc/diskstats counts it.
struct DeviceSample {
  Duration taken{0};
  std::uint64_t device = 0;  ///< which one
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  Duration busy{0};  ///< of all its operations together
};

/// What is mounted, and where.
struct Mounted {
  std::string source;
  std::string point;
  std::string flags;
};

struct FilesystemInspection {
  engine::Answer answer = engine::Answer::Present;  ///< or Absent
  engine::Facts facts;                              ///< its space, inodes, owner, permission and flags
  std::string output;                               ///< why it is as good as not there
  std::optional<DeviceSample> device;               ///< none: it is on no device of its own
};

/// The mount of that name: a device (also by a symbolic link under /dev), a mount point, or what a remote one is
/// mounted from. Of several at one point it is the last, which hides the others; of several from one device the first,
/// which the others are bound to. None: nothing is mounted so. No mount is touched.
[[nodiscard]] Result<std::optional<Mounted>> find_mount(const std::string& name);
/// Looks at it. An Error where nobody can tell. May wait for a mount that hangs: not for the loop thread.
[[nodiscard]] Result<FilesystemInspection> inspect_filesystem(const Mounted& mount);

/// Adds what the device has done in a second since `former`, and how long an operation took: 0 where there was none.
void add_means(engine::Metrics& metrics, const DeviceSample& former, const DeviceSample& present);

}  // namespace healer::runtime
