// SPDX-License-Identifier: MIT
// One daemon at a time: locks on what two daemons must not share. Start-up and shut-down only; blocks on the disk.
//
// The lock is the kernel's, on an open file, so it ends with its holder however that dies, and a file that is left over
// is simply taken over. The number in the file is for people; it is never believed as proof of anything.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "runtime/descriptor.hpp"
#include "util/result.hpp"

namespace healer::runtime {

/// A locked file that holds the number of this process. Removed when its owner goes.
class LockFile {
 public:
  /// Locks `path`, making it with `mode`. `subject` is what a message calls it ("the pid file /run/healer.pid"). An
  /// Error with code EWOULDBLOCK names the process that holds it. Symbolic links are not followed.
  [[nodiscard]] static Result<LockFile> take(const std::string& path, mode_t mode, const std::string& subject);

  LockFile() = default;
  LockFile(LockFile&&) noexcept = default;
  LockFile& operator=(LockFile&& other) noexcept;
  ~LockFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The file itself, whatever its name, as a word: no other lock on this machine has it while this one is held.
  [[nodiscard]] const std::string& identity() const { return identity_; }

 private:
  std::string path_;
  std::string identity_;
  Descriptor file_;
};

/// The locks of one daemon.
struct InstanceLocks {
  LockFile pid_file;
  LockFile control_socket;  ///< PATH.lock beside the socket
  LockFile state_file;      ///< PATH.lock beside the state

  /// Takes all three, or none. Empty paths are left out.
  [[nodiscard]] static Result<InstanceLocks> take(const std::string& pid_file, const std::string& control_socket,
                                                  const std::string& state_file);
};

/// The number in a pid file, where a process of that number runs whose name is `name` ("monit"): to see that another
/// supervisor is at work. Looks only.
[[nodiscard]] std::optional<pid_t> running_by_pid_file(const std::string& path, const std::string& name);

}  // namespace healer::runtime
