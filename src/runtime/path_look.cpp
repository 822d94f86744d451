// SPDX-License-Identifier: MIT
#include "runtime/path_look.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "runtime/clock.hpp"
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
  if ((seen.st_mode & S_IFMT) != bits) {
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
  return look;
}

}  // namespace healer::runtime
