// SPDX-License-Identifier: MIT
#include "support/hung_mount.hpp"

namespace healer::test {

void HungMount::end() {
  if (reader_.joinable()) {
    stopping_ = true;
    reader_.join();
  }
  if (device_ >= 0) ::close(device_);
  device_ = -1;
  if (mounted_) ::umount2(path().c_str(), MNT_DETACH);
  mounted_ = false;
}

void HungMount::take_requests() {
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

void HungMount::greet(std::uint64_t unique) const {
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

}  // namespace healer::test
