// SPDX-License-Identifier: MIT
#include "runtime/path_look.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "protocols/digest.hpp"
#include "runtime/clock.hpp"
#include "runtime/descriptor.hpp"
#include "util/result.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using engine::Attribute;
using engine::Metric;
using engine::measure::PathType;

struct Type {
  mode_t bits;
  std::string_view name;
};

bool is_of(mode_t mode, PathType type, mode_t bits) {
  return (mode & S_IFMT) == bits || (type == PathType::File && S_ISSOCK(mode));
}

FileState state_of(const struct ::stat& seen) {
  const auto nanoseconds = [](const timespec& time) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    return time.tv_sec * kSecond + time.tv_nsec;
  };
  return {.device = seen.st_dev,
          .inode = seen.st_ino,
          .size = seen.st_size,
          .modified = nanoseconds(seen.st_mtim),
          .changed = nanoseconds(seen.st_ctim)};
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

PathLook look_at_path(const std::string& path, PathType type) {
  PathLook look;
  struct ::stat seen {};
  if (::stat(path.c_str(), &seen) != 0) {
    const int code = errno;
    look.answer = code == ENOENT || code == ENOTDIR ? engine::Answer::Absent : engine::Answer::Unknown;
    if (look.answer == engine::Answer::Unknown)
      look.output = system_error(code, "cannot look at " + printable(path)).what;
    return look;
  }
  const auto [bits, name] = type_of(type);
  if (!is_of(seen.st_mode, type, bits)) {
    look.answer = engine::Answer::Absent;
    look.output = fmt::format("{} is not {}", printable(path), name);
    return look;
  }
  const std::int64_t now = std::chrono::duration_cast<seconds>(runtime::now().wall.time_since_epoch()).count();
  const std::int64_t accessed = seen.st_atim.tv_sec;
  const std::int64_t modified = seen.st_mtim.tv_sec;
  const std::int64_t changed = seen.st_ctim.tv_sec;
  const std::int64_t touched = std::max(modified, changed);
  constexpr mode_t kPermission = 07777;
  look.facts.attributes = {{Attribute::Uid, std::int64_t{seen.st_uid}},
                           {Attribute::Gid, std::int64_t{seen.st_gid}},
                           {Attribute::Permission, std::int64_t{seen.st_mode & kPermission}},
                           {Attribute::AccessTime, accessed},
                           {Attribute::ModificationTime, modified},
                           {Attribute::ChangeTime, changed},
                           {Attribute::Timestamp, touched}};
  const auto age = [&](Metric metric, std::int64_t time) {
    look.facts.metrics.set(metric, static_cast<double>(std::max<std::int64_t>(now - time, 0)));
  };
  age(Metric::AccessAge, accessed);
  age(Metric::ModificationAge, modified);
  age(Metric::ChangeAge, changed);
  age(Metric::Age, touched);
  if (type == PathType::File) {
    look.state = state_of(seen);
    look.facts.metrics.set(Metric::Size, static_cast<double>(seen.st_size));
    look.facts.attributes.emplace_back(Attribute::Size, std::int64_t{seen.st_size});
  }
  return look;
}

Result<FileSums> sum_file(const std::string& path, const engine::measure::Checksums& wanted) {
  const auto failed = [&](int code) { return system_error(code, "cannot read " + printable(path)); };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct ::stat seen {};
  if (!file || ::fstat(file.get(), &seen) != 0) return failed(errno);
  if (!S_ISREG(seen.st_mode)) return failed(EINVAL);
  FileSums result{.state = state_of(seen), .wanted = wanted, .sums = {}};
  std::vector<std::pair<Attribute, protocols::Digest>> digests;
  const auto add = [&](bool asked, Attribute attribute, std::size_t digits) {
    if (asked) digests.emplace_back(attribute, protocols::Digest(std::string(digits, '0')));
  };
  add(wanted.md5, Attribute::Md5, 32);
  add(wanted.sha1, Attribute::Sha1, 40);
  add(wanted.sha256, Attribute::Sha256, 64);
  add(wanted.sha512, Attribute::Sha512, 128);
  std::vector<char> buffer(256 * 1024);
  while (true) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(errno);
    if (count == 0) break;
    for (auto& [attribute, digest] : digests) digest.add({buffer.data(), static_cast<std::size_t>(count)});
  }
  for (auto& [attribute, digest] : digests) result.sums.emplace_back(attribute, digest.finish());
  return result;
}

}  // namespace healer::runtime
