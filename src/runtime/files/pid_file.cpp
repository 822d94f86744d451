// SPDX-License-Identifier: MIT
#include "runtime/files/pid_file.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

namespace healer::runtime {
namespace {

constexpr int kMostReads = 100;

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

std::string identity_of(const struct stat& facts) { return fmt::format("{:x}-{:x}", facts.st_dev, facts.st_ino); }

}  // namespace

bool is_sick_disk(const Error& error) {
  return error.code == EROFS || error.code == ENOSPC || error.code == EDQUOT || error.code == EIO;
}

Result<LockFile> LockFile::take(const std::string& path, mode_t mode, const std::string& subject) {
  // A holder that ends removes the file: what was opened may not be the file of that name any more.
  for (int attempt = 0; attempt < kMostReads; ++attempt) {
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
    if (::fchmod(file.get(), mode) != 0) return system_error(errno, "cannot set the mode of " + subject);
    LockFile taken;
    taken.path_ = path;
    taken.identity_ = identity_of(facts);
    taken.file_ = std::move(file);
    taken.write_number();
    return taken;
  }
  return Error{EWOULDBLOCK, subject + " changes all the time"};
}

Result<LockFile> LockFile::take_unwritten(const std::string& path, const std::string& subject) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return system_error(errno, "cannot open " + subject);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    const int code = errno;
    // Closing it would end the locks that SQLite has on it, if this process has it open.
    static std::vector<Descriptor> unclosed;
    unclosed.push_back(std::move(file));
    if (code == EWOULDBLOCK) return Error{EWOULDBLOCK, subject + " is held by another healerd"};
    return system_error(code, "cannot lock " + subject);
  }
  LockFile taken;
  taken.path_ = path;
  taken.identity_ = identity_of(facts);
  taken.stays_ = true;
  taken.file_ = std::move(file);
  return taken;
}

bool LockFile::is_of(const std::string& path) const { return file_ && same_file(file_.get(), path); }

void LockFile::write_number() {
  const std::string text = fmt::format("{}\n", ::getpid());
  const bool written = ::ftruncate(file_.get(), 0) == 0 &&
                       ::pwrite(file_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  complaint_ = written ? "" : system_error(errno, path_ + " cannot be written").what;
}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  LockFile old(std::move(other));
  std::swap(path_, old.path_);
  std::swap(identity_, old.identity_);
  std::swap(complaint_, old.complaint_);
  std::swap(stays_, old.stays_);
  std::swap(file_, old.file_);
  return *this;
}

LockFile::~LockFile() {
  // Still locked, so it is ours; a file that somebody put in its place is not.
  if (file_ && !stays_ && same_file(file_.get(), path_)) ::unlink(path_.c_str());
}

Result<InstanceLocks> InstanceLocks::take(const std::string& pid_file, const std::string& control_socket,
                                          const std::string& state_file) {
  InstanceLocks locks;
  const auto add = [&locks](LockFile InstanceLocks::*which, const std::string& path, mode_t mode,
                            std::string subject) -> Result<void> {
    auto taken = LockFile::take(path, mode, subject);
    if (taken)
      locks.*which = std::move(*taken);
    else if (is_sick_disk(taken.error()))
      locks.lacks.push_back({which, path, mode, std::move(subject), taken.error().what});
    else
      return taken.error();
    return {};
  };
  if (!pid_file.empty()) {
    auto added = add(&InstanceLocks::pid_file, pid_file, 0644, "the pid file " + pid_file);
    if (!added) return added.error();
  }
  if (!control_socket.empty()) {
    auto added =
        add(&InstanceLocks::control_socket, control_socket + ".lock", 0600, "the control socket " + control_socket);
    if (!added) return added.error();
  }
  if (!state_file.empty()) {
    const std::string subject = "the state file " + state_file;
    if (auto added = add(&InstanceLocks::state_file, state_file + ".lock", 0600, subject); !added) return added.error();
    // The file itself, too: its holder may be one that could not write the lock beside it, or knows it by another name.
    auto itself = LockFile::take_unwritten(state_file, subject);
    if (!itself && itself.error().code == EWOULDBLOCK) return itself.error();
    if (itself) locks.state_itself = std::move(*itself);
  }
  return locks;
}

std::vector<std::string> InstanceLocks::complaints() const {
  std::vector<std::string> texts;
  for (const Lack& lack : lacks) texts.push_back(lack.why);
  for (const LockFile* lock : {&pid_file, &control_socket, &state_file})
    if (!lock->complaint().empty()) texts.push_back(lock->complaint());
  return texts;
}

Result<void> InstanceLocks::try_again() {
  Result<void> held;
  std::erase_if(lacks, [&](Lack& lack) {
    auto taken = LockFile::take(lack.path, lack.mode, lack.subject);
    if (taken) this->*lack.which = std::move(*taken);
    if (!taken) lack.why = taken.error().what;
    if (!taken && taken.error().code == EWOULDBLOCK) held = taken.error();
    return static_cast<bool>(taken);
  });
  for (LockFile* lock : {&pid_file, &control_socket, &state_file})
    if (!lock->complaint().empty()) lock->write_number();
  return held;
}

Result<void> InstanceLocks::hold_state(const std::string& path) {
  if (state_itself.is_of(path)) return {};
  auto itself = LockFile::take_unwritten(path, "the state file " + path);
  if (itself) {
    state_itself = std::move(*itself);
    return {};
  }
  return itself.error().code == EWOULDBLOCK ? Result<void>(itself.error()) : Result<void>();
}

std::string InstanceLocks::state_identity() const {
  if (state_file) return state_file.identity();
  return state_itself ? state_itself.identity() : fmt::format("pid-{}", ::getpid());
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
