// SPDX-License-Identifier: MIT
// One daemon at a time: locks on what two daemons must not share. Start-up and shut-down only; blocks on the disk.
//
// The lock is the kernel's, on an open file, so it ends with its holder however that dies, and a file that is left over
// is simply taken over. The number in the file is for people; it is never believed as proof of anything.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/descriptor.hpp"
#include "util/result.hpp"

namespace healer::runtime {

/// A locked file that holds the number of this process. Removed when its owner goes.
class LockFile {
 public:
  /// Locks `path`, making it with `mode`. `subject` is what a message calls it ("the pid file /run/healer.pid"). An
  /// Error with code EWOULDBLOCK names the process that holds it. Symbolic links are not followed.
  /// Where a full disk has room for the file, but not for the number in it, complaint() says so.
  [[nodiscard]] static Result<LockFile> take(const std::string& path, mode_t mode, const std::string& subject);
  /// Locks `path` only where it is there, without writing to it: for what must not be written now. It is not removed.
  [[nodiscard]] static Result<LockFile> take_unwritten(const std::string& path, const std::string& subject);
  /// Whether `path` names the file that is locked.
  [[nodiscard]] bool is_of(const std::string& path) const;

  LockFile() = default;
  LockFile(LockFile&&) noexcept = default;
  LockFile& operator=(LockFile&& other) noexcept;
  ~LockFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The file itself, whatever its name, as a word: no other lock on this machine has it while this one is held.
  [[nodiscard]] const std::string& identity() const { return identity_; }
  /// Why the number is not in the file; empty: it is.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  /// Writes the number.
  void write_number();

  explicit operator bool() const { return static_cast<bool>(file_); }

 private:
  std::string path_;
  std::string identity_;
  std::string complaint_;
  bool stays_ = false;  // it is another's to remove
  Descriptor file_;
};

/// The locks of one daemon. What cannot be locked since the disk is full or read-only is done without, for the time
/// being: a supervisor that cannot write supervises all the same.
struct InstanceLocks {
  LockFile pid_file;
  LockFile control_socket;  ///< PATH.lock beside the socket
  LockFile state_file;      ///< PATH.lock beside the state

  /// A lock that is done without.
  struct Lack {
    LockFile InstanceLocks::*which = nullptr;
    std::string path;
    mode_t mode = 0;
    std::string subject;
    std::string why;
  };
  std::vector<Lack> lacks;
  LockFile state_itself;  ///< where there is one; see hold_state()

  /// What is lacking, a sentence each; empty: all is well.
  [[nodiscard]] std::vector<std::string> complaints() const;
  /// Tries again what is lacking. An Error with code EWOULDBLOCK: another healerd has it by now.
  [[nodiscard]] Result<void> try_again();
  /// Locks the state file that is open now, by its inode: it may be known by other names, and the lock beside it may
  /// have been removed. Where it is not there, nothing is done. An Error with code EWOULDBLOCK: another healerd has it.
  /// A file that SQLite has open in this process may be given: no descriptor of it is closed.
  [[nodiscard]] Result<void> hold_state(const std::string& path);
  /// Of the state file, as LockFile::identity().
  [[nodiscard]] std::string state_identity() const;

  /// Takes all three, or none; a disk that cannot be written apart. Empty paths are left out.
  [[nodiscard]] static Result<InstanceLocks> take(const std::string& pid_file, const std::string& control_socket,
                                                  const std::string& state_file);
};

/// Whether the error is that of a disk that cannot be written now: it is full, read-only, or fails.
[[nodiscard]] bool is_sick_disk(const Error& error);

/// The number in a pid file, where a process of that number runs whose name is `name` ("monit"): to see that another
/// supervisor is at work. Looks only.
[[nodiscard]] std::optional<pid_t> running_by_pid_file(const std::string& path, const std::string& name);

}  // namespace healer::runtime
