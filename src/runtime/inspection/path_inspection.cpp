// SPDX-License-Identifier: MIT
#include "runtime/inspection/path_inspection.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <string_view>

#include "util/text.hpp"

namespace healer::runtime {
namespace {

using engine::Attribute;
using engine::measure::PathType;

constexpr mode_t kPermission = 07777;

struct Type {
  mode_t bits;
  std::string_view name;
};

/// Seconds since the epoch. Whoever owns a file can write any time to it, even one that no calculation holds.
std::int64_t bounded(const timespec& time) {
  constexpr std::int64_t kMost = 9'000'000'000;  // in the year 2255
  return std::clamp<std::int64_t>(time.tv_sec, -kMost, kMost);
}

bool is_of(mode_t mode, PathType type, mode_t bits) {
  return (mode & S_IFMT) == bits || (type == PathType::File && S_ISSOCK(mode));
}

Type type_of(PathType type) {
  switch (type) {
    case PathType::File: return {S_IFREG, "a regular file"};
    case PathType::Directory: return {S_IFDIR, "a directory"};
    case PathType::Fifo: return {S_IFIFO, "a fifo"};
  }
  return {};
}

}  // namespace

FileState state_of(const struct ::stat& seen) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto nanoseconds = [](const timespec& time) { return bounded(time) * kSecond + time.tv_nsec; };
  return {.device = seen.st_dev,
          .inode = seen.st_ino,
          .size = seen.st_size,
          .modified = nanoseconds(seen.st_mtim),
          .changed = nanoseconds(seen.st_ctim)};
}

std::array<std::pair<Attribute, engine::Value>, 3> owner_of(const struct ::stat& seen) {
  return {{{Attribute::Uid, std::int64_t{seen.st_uid}},
           {Attribute::Gid, std::int64_t{seen.st_gid}},
           {Attribute::Permission, std::int64_t{seen.st_mode & kPermission}}}};
}

bool is_of_the_path(int error) {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP || error == ENAMETOOLONG ||
         error == EISDIR || error == ENXIO;
}

Result<PathInspection> inspect_path(const std::string& path, PathType type) {
  PathInspection inspection;
  struct ::stat seen {};
  if (::stat(path.c_str(), &seen) != 0) {
    const int code = errno;
    Error error = system_error(code, "cannot look at " + printable(path));
    if (!is_of_the_path(code)) return error;
    inspection.answer = engine::Answer::Absent;
    if (code != ENOENT && code != ENOTDIR) inspection.output = std::move(error.what);
    return inspection;
  }
  const auto [bits, name] = type_of(type);
  if (!is_of(seen.st_mode, type, bits)) {
    inspection.answer = engine::Answer::Absent;
    inspection.output = fmt::format("{} is not {}", printable(path), name);
    return inspection;
  }
  const bool is_file = type == PathType::File;
  inspection.facts = std::make_shared<engine::Facts>();
  inspection.facts->path = engine::PathFacts{.uid = seen.st_uid,
                                             .gid = seen.st_gid,
                                             .permission = seen.st_mode & kPermission,
                                             .has_size = is_file,
                                             .size = is_file ? seen.st_size : 0,
                                             .accessed = bounded(seen.st_atim),
                                             .modified = bounded(seen.st_mtim),
                                             .changed = bounded(seen.st_ctim),
                                             .seen = std::time(nullptr),
                                             .links = static_cast<std::int64_t>(seen.st_nlink)};
  if (is_file) inspection.state = state_of(seen);
  return inspection;
}

}  // namespace healer::runtime
