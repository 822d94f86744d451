// SPDX-License-Identifier: MIT
#include "runtime/inspection/filesystem_inspection.hpp"

#include <mntent.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "runtime/clock.hpp"
#include "runtime/inspection/path_inspection.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using engine::Metric;
using engine::Metrics;

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// What a name under /dev is called without symbolic links, as /dev/disk/by-uuid/... is one.
std::string device_of(const std::string& name) {
  if (!name.starts_with("/dev/")) return name;
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(name.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : name;
}

void add_space(Metrics& metrics, const struct ::statvfs& seen) {
  const auto block = static_cast<double>(seen.f_frsize);
  const auto add = [&](Metric used_percent, Metric used, Metric free_percent, Metric free, double all, double left,
                       double size) {
    if (all <= 0) return;  // it has none to be counted
    metrics.set(used_percent, 100 * (all - left) / all);
    metrics.set(used, (all - left) * size);
    metrics.set(free_percent, 100 * left / all);
    metrics.set(free, left * size);
  };
  // What is kept for root is free, to Monit.
  add(Metric::SpaceUsage, Metric::SpaceUsageBytes, Metric::SpaceFree, Metric::SpaceFreeBytes,
      static_cast<double>(seen.f_blocks), static_cast<double>(seen.f_bfree), block);
  add(Metric::InodeUsage, Metric::InodeUsageNumber, Metric::InodeFree, Metric::InodeFreeNumber,
      static_cast<double>(seen.f_files), static_cast<double>(seen.f_ffree), 1);
}

/// The counters of a block device; none: there are none of it.
std::optional<DeviceSample> sample_of(dev_t device) {
  constexpr std::uint64_t kSector = 512;
  const File table(std::fopen("/proc/diskstats", "re"));
  if (table == nullptr) return std::nullopt;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), line.size(), table.get()) != nullptr) {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned long long reads = 0, sectors_read = 0, read_ms = 0, writes = 0, sectors_written = 0, write_ms = 0;
    if (std::sscanf(line.data(), " %u %u %*s %llu %*u %llu %llu %llu %*u %llu %llu", &major, &minor, &reads,
                    &sectors_read, &read_ms, &writes, &sectors_written, &write_ms) != 8)
      continue;
    if (makedev(major, minor) != device) continue;
    return DeviceSample{.taken = mono_now(),
                        .device = device,
                        .bytes_read = sectors_read * kSector,
                        .bytes_written = sectors_written * kSector,
                        .reads = reads,
                        .writes = writes,
                        .busy = Duration{static_cast<Duration::rep>(read_ms + write_ms)}};
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<Mounted>> find_mount(const std::string& name) {
  const std::string point = without_slash(name);
  const std::string device = name.starts_with("/dev/") ? device_of(name) : std::string();
  const File table(::setmntent("/proc/self/mounts", "re"));
  if (table == nullptr) return system_error(errno, "cannot read /proc/self/mounts");
  std::optional<Mounted> found;
  mntent entry{};
  std::string buffer(64 * 1024, '\0');
  while (::getmntent_r(table.get(), &entry, buffer.data(), static_cast<int>(buffer.size())) != nullptr) {
    const bool at = point == entry.mnt_dir;
    const std::string source = entry.mnt_fsname;
    // Who mounts may write anything for a source: only what is plainly a device is looked up.
    const bool plain = source.find("/../") == std::string::npos;
    const bool from = !found && (name == source || (plain && !device.empty() && device == device_of(source)));
    if (at || from) found = Mounted{entry.mnt_fsname, entry.mnt_dir, entry.mnt_opts};
  }
  return found;
}

Result<FilesystemInspection> inspect_filesystem(const Mounted& mount) {
  FilesystemInspection inspection;
  const auto& [source, point, flags] = mount;
  struct ::statvfs space {};
  struct ::stat seen {};
  if (::statvfs(point.c_str(), &space) != 0 || ::stat(point.c_str(), &seen) != 0) {
    const int code = errno;
    // What is mounted and cannot be read, because its server or its disk has gone, is as good as not there.
    const bool is_ours = code == ENOMEM || code == EMFILE || code == ENFILE || code == EINTR;
    Error error = system_error(code, "cannot look at " + printable(point));
    if (is_ours) return error;
    inspection.answer = engine::Answer::Absent;
    inspection.output = std::move(error.what);
    return inspection;
  }
  const auto owner = owner_of(seen);
  inspection.facts.attributes.edit().assign(owner.begin(), owner.end());
  inspection.facts.attributes.push_back({engine::Attribute::FsFlags, flags});
  add_space(inspection.facts.metrics, space);
  struct ::stat device {};
  if (source.starts_with('/') && ::stat(source.c_str(), &device) == 0 && S_ISBLK(device.st_mode))
    inspection.device = sample_of(device.st_rdev);
  return inspection;
}

void add_means(Metrics& metrics, const DeviceSample& former, const DeviceSample& present) {
  const double elapsed = static_cast<double>((present.taken - former.taken).count()) / 1000;
  if (elapsed <= 0) return;
  // The counters of a device that was changed for another start over.
  const auto since = [](std::uint64_t before, std::uint64_t now) {
    return static_cast<double>(now - std::min(before, now));
  };
  const double reads = since(former.reads, present.reads);
  const double writes = since(former.writes, present.writes);
  metrics.set(Metric::ReadRate, since(former.bytes_read, present.bytes_read) / elapsed);
  metrics.set(Metric::WriteRate, since(former.bytes_written, present.bytes_written) / elapsed);
  metrics.set(Metric::ReadOperations, reads / elapsed);
  metrics.set(Metric::WriteOperations, writes / elapsed);
  const auto busy = static_cast<double>(std::max(present.busy - former.busy, Duration{0}).count());
  metrics.set(Metric::ServiceTime, reads + writes > 0 ? busy / (reads + writes) : 0);
}

}  // namespace healer::runtime
