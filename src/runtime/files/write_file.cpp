// SPDX-License-Identifier: MIT
#include "runtime/files/write_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include <spdlog/fmt/fmt.h>

#include "runtime/descriptor.hpp"

namespace healer {
namespace {

bool write_all(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    at += static_cast<std::size_t>(written);
  }
  return true;
}

/// Writes a file beside `path`, which then takes its place.
Result<void> put(const std::string& path, const std::string& text, mode_t mode, const struct stat* like, bool over) {
  const auto failed = [&](int code) { return system_error(code, fmt::format("cannot write {}", path)); };
  std::string fresh = (std::filesystem::path(path).parent_path() / ".healer-XXXXXX").string();
  const runtime::Descriptor file(mkostemp(fresh.data(), O_CLOEXEC));
  if (!file) return failed(errno);
  // The owner first: a change of it takes bits of the mode away.
  const bool owned = like == nullptr || (like->st_uid == geteuid() && like->st_gid == getegid()) ||
                     fchown(file.get(), like->st_uid, like->st_gid) == 0;
  bool done = owned && fchmod(file.get(), mode) == 0 && write_all(file.get(), text) && fsync(file.get()) == 0;
  // A link fails where the name is taken, a rename would not.
  if (done) done = over ? rename(fresh.c_str(), path.c_str()) == 0 : link(fresh.c_str(), path.c_str()) == 0;
  const int code = errno;
  if (!done || !over) unlink(fresh.c_str());
  if (!done) return failed(code);
  return {};
}

}  // namespace

Result<void> replace_file(const std::string& path, const std::string& text) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  struct stat facts {};
  if (!real || stat(real.get(), &facts) != 0) return system_error(errno, path);
  if (!S_ISREG(facts.st_mode)) return Error{EINVAL, fmt::format("{}: no regular file", path)};
  return put(real.get(), text, facts.st_mode & 07777, &facts, true);
}

Result<void> make_file(const std::string& path, const std::string& text, mode_t mode, bool over) {
  return put(path, text, mode, nullptr, over);
}

}  // namespace healer
