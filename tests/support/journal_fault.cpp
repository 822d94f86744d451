// SPDX-License-Identifier: MIT
// For tests, loaded into healerd with LD_PRELOAD: counts the writes and syncs of the database HEALER_JOURNAL, a byte in
// the file HEALER_JOURNAL_COUNT for each, and kills the process in place of the HEALER_JOURNAL_AT-th of them (0:
// never). With HEALER_JOURNAL_DROP what was written and not synced since is undone before that, as where the power
// fails.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <list>
#include <mutex>
#include <string>

namespace {

/// What a write has replaced.
struct Before {
  int file = -1;
  ino_t inode = 0;
  off_t size = 0;
  off_t offset = 0;
  std::string bytes;
};

struct Journal {
  std::string database = std::getenv("HEALER_JOURNAL");
  int left = std::atoi(std::getenv("HEALER_JOURNAL_AT"));
  int count = ::open(std::getenv("HEALER_JOURNAL_COUNT"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  bool drop = std::getenv("HEALER_JOURNAL_DROP") != nullptr;
  std::mutex mutex;
  std::list<Before> unsynced;  // the newest first
};

Journal& journal() {
  static auto* one = new Journal;
  return *one;
}

bool is_journal(int file) {
  char path[4096];
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path, sizeof path);
  const std::string name(path, size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::string& database = journal().database;
  return name == database || name == database + "-wal" || name == database + "-journal";
}

[[noreturn]] void end() {
  for (const Before& before : journal().unsynced) {
    ::syscall(SYS_pwrite64, before.file, before.bytes.data(), before.bytes.size(), before.offset);
    ::syscall(SYS_ftruncate, before.file, before.size);
  }
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();
}

/// One more; the mutex is held.
void count() {
  ::syscall(SYS_write, journal().count, "x", 1);
  if (--journal().left == 0) end();
}

ino_t inode_of(int file) {
  struct stat facts {};
  return ::fstat(file, &facts) == 0 ? facts.st_ino : 0;
}

void remember(int file, off_t offset, std::size_t size) {
  if (!journal().drop) return;
  struct stat facts {};
  ::fstat(file, &facts);
  Before before{::fcntl(file, F_DUPFD_CLOEXEC, 3), facts.st_ino, facts.st_size, offset, std::string(size, '\0')};
  const long got = ::syscall(SYS_pread64, file, before.bytes.data(), size, offset);
  before.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  journal().unsynced.push_front(std::move(before));
}

ssize_t write_at(int file, const void* bytes, std::size_t size, off_t offset) {
  if (!is_journal(file)) return ::syscall(SYS_pwrite64, file, bytes, size, offset);
  const std::lock_guard lock(journal().mutex);
  count();
  remember(file, offset, size);
  return ::syscall(SYS_pwrite64, file, bytes, size, offset);
}

int shorten(int file, off_t size) {
  if (!is_journal(file)) return static_cast<int>(::syscall(SYS_ftruncate, file, size));
  const std::lock_guard lock(journal().mutex);
  count();
  struct stat facts {};
  ::fstat(file, &facts);
  if (facts.st_size > size) remember(file, size, static_cast<std::size_t>(facts.st_size - size));
  return static_cast<int>(::syscall(SYS_ftruncate, file, size));
}

int sync(int file, long call) {
  if (!is_journal(file)) return static_cast<int>(::syscall(call, file));
  const std::lock_guard lock(journal().mutex);
  count();
  const ino_t inode = inode_of(file);
  journal().unsynced.remove_if([inode](const Before& before) {
    if (before.inode == inode) ::syscall(SYS_close, before.file);
    return before.inode == inode;
  });
  return static_cast<int>(::syscall(call, file));
}

}  // namespace

extern "C" {
ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t offset) {
  return write_at(file, bytes, size, offset);
}
ssize_t pwrite64(int file, const void* bytes, std::size_t size, off_t offset) {
  return write_at(file, bytes, size, offset);
}
int ftruncate(int file, off_t size) noexcept { return shorten(file, size); }
int ftruncate64(int file, off_t size) noexcept { return shorten(file, size); }
int fsync(int file) { return sync(file, SYS_fsync); }
int fdatasync(int file) { return sync(file, SYS_fdatasync); }
}
