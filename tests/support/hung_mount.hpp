// SPDX-License-Identifier: MIT
// A mount on which nothing is ever answered, as of a file server that has gone: made with FUSE, without a server
// behind.
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include "support/child.hpp"

namespace healer::test {

class HungMount {
 public:
  enum class Answers {
    Nothing,
    Names  ///< whatever is asked for is there, an empty file; but it cannot be opened
  };
  /// Requests are taken and never answered, so that not even SIGKILL ends the wait of who made them.
  explicit HungMount(Answers answers = Answers::Nothing) : answers_(answers) {
    device_ = ::open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (device_ < 0) return;
    const std::string options = "fd=" + std::to_string(device_) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
    mounted_ = ::mount("none", path().c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
    if (mounted_) reader_ = std::thread([this] { take_requests(); });
  }
  ~HungMount() { end(); }
  HungMount(const HungMount&) = delete;
  HungMount& operator=(const HungMount&) = delete;

  /// False where this machine does not let us.
  [[nodiscard]] bool works() const { return mounted_; }
  [[nodiscard]] std::string path() const { return directory_.path().string(); }
  /// Requests that wait for ever.
  [[nodiscard]] int waiting() const { return taken_; }

  /// All who wait get an error.
  void end();

 private:
  void take_requests();
  void greet(std::uint64_t unique) const;
  void name(std::uint64_t unique) const;

  TemporaryDirectory directory_;
  Answers answers_;
  int device_ = -1;
  bool mounted_ = false;
  std::atomic<bool> stopping_{false};
  std::atomic<int> taken_{0};
  std::thread reader_;
};

/// Whether a test is left out, and says so, because this machine lets nobody mount.
[[nodiscard]] bool skipped(const HungMount& mount);

}  // namespace healer::test
