// SPDX-License-Identifier: MIT
#include "runtime/host.hpp"

#include <fcntl.h>
#include <glob.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <system_error>

#include "runtime/accounts.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/files/secret_file.hpp"

namespace healer::runtime {
namespace {

constexpr std::size_t kLargestRulesFile = 64U << 20;

std::optional<std::uint32_t> as_number(const std::string& text) {
  std::uint32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Nothing where there is none, or where that cannot be known.
template <typename Entry>
std::optional<Entry> known(Result<std::optional<Entry>> found) {
  return found ? std::move(*found) : std::nullopt;
}

}  // namespace

Result<std::string> Host::read(const std::string& path) const {
  // Non-blocking, so that a FIFO of that name does not wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return system_error(errno, path);
  struct ::stat facts {};
  if (::fstat(file.get(), &facts) != 0) return system_error(errno, path);
  if (!S_ISREG(facts.st_mode)) return Error{S_ISDIR(facts.st_mode) ? EISDIR : EINVAL, path + ": not a regular file"};
  std::string text;
  text.reserve(std::min(static_cast<std::size_t>(facts.st_size), kLargestRulesFile));
  std::array<char, 64 * 1024> buffer;
  while (true) {
    const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return system_error(errno, path);
    if (size == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
    if (text.size() > kLargestRulesFile) {
      return Error{EFBIG, fmt::format("{}: larger than {} MiB", path, kLargestRulesFile >> 20)};
    }
  }
}

Result<config::FileFacts> Host::stat(const std::string& path) const {
  struct ::stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return system_error(errno, path);
  return config::FileFacts{S_ISDIR(facts.st_mode), S_ISREG(facts.st_mode), facts.st_mode & 07777U, facts.st_uid,
                           facts.st_gid};
}

Result<std::vector<std::string>> Host::glob(const std::string& pattern) const {
  glob_t found{};
  std::vector<std::string> paths;
  static thread_local std::optional<Error> unreadable;  // glob(3) hands its caller nothing on
  unreadable.reset();
  const auto note = [](const char* path, int error) {
    if (error != ENOENT && error != ENOTDIR && !unreadable) unreadable = system_error(error, path);
    return 0;
  };
  if (::glob(pattern.c_str(), 0, note, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    std::ranges::sort(paths);  // glob(3) sorts as the locale wants
  }
  ::globfree(&found);
  if (unreadable) return *unreadable;
  return paths;
}

std::string Host::canonical(const std::string& path) const {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string result = resolved;
  std::free(resolved);
  return result;
}

std::optional<config::UserEntry> Host::user(const std::string& name_or_uid) const {
  std::optional<Account> found = known(account_of(name_or_uid));
  if (const auto uid = as_number(name_or_uid); !found && uid) found = known(account_of(*uid));
  if (!found) return std::nullopt;
  return config::UserEntry{found->uid, found->gid, std::move(found->name), std::move(found->home)};
}

std::optional<std::uint32_t> Host::group(const std::string& name_or_gid) const {
  std::optional<std::uint32_t> found = known(group_of(name_or_gid));
  if (const auto gid = as_number(name_or_gid); !found && gid) found = known(group_of(*gid));
  return found;
}

bool Host::executable(const std::string& path) const {
  struct ::stat facts {};
  // For root access() says yes where anybody may execute it, which is what execve asks too.
  return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
}

std::string Host::host_name() const {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::uint32_t Host::effective_uid() const { return ::geteuid(); }

std::optional<config::SecretFault> Host::secret_fault(const std::string& name, const std::string& folder) const {
  return runtime::secret_fault(name, folder);
}

}  // namespace healer::runtime
