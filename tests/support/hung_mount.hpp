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
  /// Requests are taken and never answered, so that not even SIGKILL ends the wait of who made them.
  HungMount() {
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
  void end() {
    if (reader_.joinable()) {
      stopping_ = true;
      reader_.join();
    }
    if (device_ >= 0) ::close(device_);
    device_ = -1;
    if (mounted_) ::umount2(path().c_str(), MNT_DETACH);
    mounted_ = false;
  }

 private:
  void take_requests() {
    alignas(8) std::array<char, 256 * 1024> request;
    while (!stopping_) {
      pollfd waiting{device_, POLLIN, 0};
      if (::poll(&waiting, 1, 10) <= 0) continue;
      if (::read(device_, request.data(), request.size()) < static_cast<ssize_t>(sizeof(fuse_in_header))) continue;
      const auto* head = reinterpret_cast<const fuse_in_header*>(request.data());
      if (head->opcode == FUSE_INIT) {
        greet(head->unique);
      } else if (head->opcode == FUSE_LOOKUP) {
        ++taken_;
      }
    }
  }
  void greet(std::uint64_t unique) const {
    struct {
      fuse_out_header head;
      fuse_init_out body;
    } answer{};
    answer.head.len = sizeof answer;
    answer.head.unique = unique;
    answer.body.major = FUSE_KERNEL_VERSION;
    answer.body.minor = FUSE_KERNEL_MINOR_VERSION;
    answer.body.max_write = 4096;
    [[maybe_unused]] const auto written = ::write(device_, &answer, sizeof answer);
  }

  TemporaryDirectory directory_;
  int device_ = -1;
  bool mounted_ = false;
  std::atomic<bool> stopping_{false};
  std::atomic<int> taken_{0};
  std::thread reader_;
};

}  // namespace healer::test
