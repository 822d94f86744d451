// SPDX-License-Identifier: MIT
#include "runtime/files/named_pid.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/events/evidence.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/files/safe_path.hpp"
#include "runtime/inspection/path_inspection.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr std::size_t kMostOfPidFile = 64;
constexpr int kReadings = 5;  // of a file that others put in place of the one before

/// Who, root apart, can have chosen what is read through a path: the owners of the file, and of folders and links on
/// the way. Whoever can write a folder can put another file into the place of one that is root's. In a sticky folder
/// only its owner can, and whose the entry is.
class Namers {
 public:
  [[nodiscard]] std::int64_t all() const { return all_; }
  void add(const struct ::stat& facts) {
    const bool by_group = facts.st_uid == 0 && facts.st_gid != 0 && (facts.st_mode & S_IWGRP) != 0;
    const bool by_others = by_group || (facts.st_mode & S_IWOTH) != 0;
    const bool is_sticky = S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX) != 0;
    if (by_others && !is_sticky && !S_ISLNK(facts.st_mode))
      all_ = engine::ProcessFacts::kAnybody;
    else if (facts.st_uid != 0 && all_ != facts.st_uid)
      all_ = all_ == 0 ? facts.st_uid : engine::ProcessFacts::kAnybody;
  }

 private:
  std::int64_t all_ = 0;
};

/// Those of the file that `opened` is; nothing where the path leads to another one by now.
std::optional<std::int64_t> namers_of(const std::string& path, const struct ::stat& opened) {
  std::vector<std::string> ahead;  // the next one last
  const auto push = [&ahead](std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('/'), text.size());
      if (end > 0 && text.substr(0, end) != ".") parts.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    ahead.insert(ahead.end(), parts.rbegin(), parts.rend());
  };
  push(path);
  Namers namers;
  std::string at;
  for (int links = 0; !ahead.empty();) {
    const std::string name = std::move(ahead.back());
    ahead.pop_back();
    if (name == "..") {
      at.resize(at.empty() ? 0 : at.rfind('/'));
      continue;
    }
    struct ::stat facts {};
    if (::lstat(at.empty() ? "/" : at.c_str(), &facts) != 0) return std::nullopt;
    namers.add(facts);
    const std::string next = at + '/' + name;
    if (::lstat(next.c_str(), &facts) != 0) return std::nullopt;
    if (S_ISLNK(facts.st_mode)) {
      std::array<char, PATH_MAX> target{};
      const ssize_t size = ::readlink(next.c_str(), target.data(), target.size());
      if (size <= 0 || ++links > kMostLinks) return std::nullopt;
      namers.add(facts);
      if (target[0] == '/') at.clear();
      push({target.data(), static_cast<std::size_t>(size)});
    } else if (ahead.empty()) {
      if (facts.st_dev != opened.st_dev || facts.st_ino != opened.st_ino) return std::nullopt;
      namers.add(facts);
      return namers.all();
    } else {
      at = next;
    }
  }
  return std::nullopt;
}

std::int64_t written_at(const struct ::stat& facts) {
  return std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

}  // namespace

Result<PidFile> read_pid_file(const std::string& path) {
  const std::string name = printable(path);
  const auto names_nobody = [&](std::string_view why) {
    return Error{ESRCH, fmt::format("the pid file {} {}", name, why)};
  };
  const auto unreadable = [&](int error) {
    if (error == ENOENT || error == ENOTDIR) return names_nobody("does not exist");
    Error failed = system_error(error, fmt::format("cannot read the pid file {}", name));
    if (is_of_the_path(error)) failed.code = ESRCH;
    return failed;
  };
  struct ::stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return unreadable(errno);
  if (!S_ISREG(facts.st_mode)) return names_nobody("is not a regular file");
  for (int readings = 1;; ++readings) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) return unreadable(errno);
    std::array<char, kMostOfPidFile> head{};
    ssize_t size = 0;
    do size = ::pread(file.get(), head.data(), head.size(), 0);
    while (size < 0 && errno == EINTR);
    if (size < 0) return unreadable(errno);
    const std::string text(head.data(), static_cast<std::size_t>(size));
    if (trim(text).empty()) return names_nobody("is empty");
    const long number = std::strtol(text.c_str(), nullptr, 10);
    constexpr long kHighest = 1L << 22;  // the kernel's own
    if (number <= 0 || number > kHighest) return names_nobody("holds no pid");
    // Written when, and by whom? Asked after the reading: what was read is not newer than that.
    if (::fstat(file.get(), &facts) != 0) return unreadable(errno);
    const auto namers = namers_of(path, facts);
    if (!namers && readings < kReadings) continue;  // there is another file by now
    return PidFile{static_cast<pid_t>(number), written_at(facts), namers.value_or(engine::ProcessFacts::kAnybody)};
  }
}

}  // namespace healer::runtime
