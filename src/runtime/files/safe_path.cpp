// SPDX-License-Identifier: MIT
#include "runtime/files/safe_path.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <filesystem>
#include <system_error>

namespace healer::runtime {
namespace {

bool is_trusted(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

/// Whether somebody but the owner can write: everybody, or a group. Root's group is no stranger, nor is that of the
/// user himself, who often has one of his own.
bool others_write(const struct stat& facts) {
  return (facts.st_mode & S_IWOTH) != 0 ||
         ((facts.st_mode & S_IWGRP) != 0 && facts.st_gid != 0 && facts.st_gid != ::getegid());
}

/// One look at a path, part by part, as the kernel goes.
class Walk {
 public:
  Walk(std::string_view what, const std::string& path, Use use) : what_(what), path_(path), use_(use) {
    std::error_code none;
    add(std::filesystem::absolute(path, none));
  }

  Result<std::string> go() {
    while (!parts_.empty()) {
      const std::string part = parts_.front();
      parts_.pop_front();
      if (part == "..") {
        here_ = here_.parent_path();
        continue;
      }
      if (const auto allowed = inspect_folder(); !allowed) return allowed.error();
      struct stat facts {};
      const std::filesystem::path next = here_ / part;
      if (::lstat(next.c_str(), &facts) != 0) {
        if (errno == ENOENT) return rest(next);
        return system_error(errno, fmt::format("cannot look at {}", next.string()));
      }
      // In a folder where only the sticky bit protects it, and as the file itself, an entry must be ours.
      if ((shared_ || parts_.empty()) && !is_trusted(facts.st_uid))
        return refuse(next, fmt::format("belongs to another user (uid {})", facts.st_uid));
      if (!S_ISLNK(facts.st_mode)) {
        here_ = next;
        continue;
      }
      if (parts_.empty() && (use_ == Use::State || shared_)) return refuse(next, "is a symbolic link");
      std::error_code failed;
      const std::filesystem::path target = std::filesystem::read_symlink(next, failed);
      if (failed) return system_error(failed.value(), fmt::format("cannot read the link {}", next.string()));
      if (++links_ > kMostLinks) return system_error(ELOOP, fmt::format("cannot use {} {}", what_, path_));
      add(target);
    }
    return here_.string();
  }

 private:
  /// What is not there yet.
  [[nodiscard]] std::string rest(std::filesystem::path path) const {
    for (const std::string& part : parts_) path /= part;
    return path.string();
  }

  void add(const std::filesystem::path& path) {
    if (path.is_absolute()) here_ = "/";
    std::deque<std::string> added;
    for (const auto& part : path.relative_path())
      if (const std::string name = part.string(); !name.empty() && name != ".") added.push_back(name);
    parts_.insert(parts_.begin(), added.begin(), added.end());
  }

  Result<void> inspect_folder() {
    struct stat facts {};
    if (::lstat(here_.c_str(), &facts) != 0)
      return system_error(errno, fmt::format("cannot look at {}", here_.string()));
    if (!S_ISDIR(facts.st_mode)) return Error{ENOTDIR, fmt::format("{} is not a folder", here_.string())};
    if (!is_trusted(facts.st_uid)) return refuse(here_, fmt::format("belongs to another user (uid {})", facts.st_uid));
    shared_ = others_write(facts);
    if (!shared_ || (facts.st_mode & S_ISVTX) != 0) return {};
    if (use_ == Use::Log && parts_.empty() && (facts.st_mode & S_IWOTH) == 0) return {};
    return refuse(here_, fmt::format("can be written by others (mode {:04o})", facts.st_mode & 07777));
  }

  [[nodiscard]] Error refuse(const std::filesystem::path& place, const std::string& why) const {
    return {EPERM, fmt::format("{} {} is not safe: {} {}; choose a place that only {} can write", what_, path_,
                               place.string(), why, ::geteuid() == 0 ? "root" : "you and root")};
  }

  std::string_view what_;
  const std::string& path_;
  Use use_;
  std::filesystem::path here_ = "/";  // without links
  std::deque<std::string> parts_;     // that are still to be gone through
  bool shared_ = false;               // others can write `here_`, as far as the sticky bit lets them
  int links_ = 0;
};

}  // namespace

Result<std::string> safe_path(std::string_view what, const std::string& path, Use use) {
  return Walk(what, path, use).go();
}

Result<struct stat> stat_of_own(int file, const std::string& path) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) return system_error(errno, "cannot look at " + path);
  if (facts.st_uid != ::geteuid()) return Error{EPERM, path + " belongs to another user"};
  return facts;
}

}  // namespace healer::runtime
