// SPDX-License-Identifier: MIT
#include "runtime/pid_file.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>
#include <utility>

namespace healer::runtime {
namespace {

constexpr int kAttempts = 100;

pid_t number_in(int file) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  pid_t pid = 0;
  if (size > 0) std::from_chars(text.data(), text.data() + size, pid);
  return pid;
}

bool same_file(int file, const std::string& path) {
  struct stat open_one {};
  struct stat named {};
  return ::fstat(file, &open_one) == 0 && ::lstat(path.c_str(), &named) == 0 && open_one.st_dev == named.st_dev &&
         open_one.st_ino == named.st_ino;
}

}  // namespace

Result<LockFile> LockFile::take(const std::string& path, mode_t mode, const std::string& subject) {
  // A holder that ends removes the file: what was opened may not be the file of that name any more.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode));
    if (!file) return system_error(errno, "cannot open " + subject);
    struct stat facts {};
    if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
      return Error{EINVAL, subject + " is not a regular file"};
    }
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
      if (errno != EAGAIN && errno != EACCES) return system_error(errno, "cannot lock " + subject);
      const pid_t holder = number_in(file.get());
      return Error{EWOULDBLOCK, holder > 0 ? fmt::format("{} is held by another healerd (pid {})", subject, holder)
                                           : fmt::format("{} is held by another healerd", subject)};
    }
    if (!same_file(file.get(), path)) continue;
    const std::string text = fmt::format("{}\n", ::getpid());
    if (::fchmod(file.get(), mode) != 0 || ::ftruncate(file.get(), 0) != 0 ||
        ::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      return system_error(errno, "cannot write " + subject);
    }
    LockFile taken;
    taken.path_ = path;
    taken.identity_ = fmt::format("{:x}-{:x}", facts.st_dev, facts.st_ino);
    taken.file_ = std::move(file);
    return taken;
  }
  return Error{EWOULDBLOCK, subject + " changes all the time"};
}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  LockFile old(std::move(other));
  std::swap(path_, old.path_);
  std::swap(identity_, old.identity_);
  std::swap(file_, old.file_);
  return *this;
}

LockFile::~LockFile() {
  // Still locked, so it is ours; a file that somebody put in its place is not.
  if (file_ && same_file(file_.get(), path_)) ::unlink(path_.c_str());
}

Result<InstanceLocks> InstanceLocks::take(const std::string& pid_file, const std::string& control_socket,
                                          const std::string& state_file) {
  InstanceLocks locks;
  const auto add = [](LockFile& into, const std::string& path, mode_t mode, std::string subject) -> Result<void> {
    auto taken = LockFile::take(path, mode, subject);
    if (!taken) return taken.error();
    into = std::move(*taken);
    return {};
  };
  if (!pid_file.empty()) {
    if (auto added = add(locks.pid_file, pid_file, 0644, "the pid file " + pid_file); !added) return added.error();
  }
  if (!control_socket.empty()) {
    auto added = add(locks.control_socket, control_socket + ".lock", 0600, "the control socket " + control_socket);
    if (!added) return added.error();
  }
  if (!state_file.empty()) {
    auto added = add(locks.state_file, state_file + ".lock", 0600, "the state file " + state_file);
    if (!added) return added.error();
  }
  return locks;
}

std::optional<pid_t> running_by_pid_file(const std::string& path, const std::string& name) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return std::nullopt;
  const pid_t pid = number_in(file.get());
  if (pid <= 0) return std::nullopt;
  std::ifstream command(fmt::format("/proc/{}/comm", pid));
  std::string running;
  if (!std::getline(command, running) || running != name) return std::nullopt;
  return pid;
}

}  // namespace healer::runtime
