// SPDX-License-Identifier: MIT
#include "support/hung_mount.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>

namespace healer::test {
namespace {

template <typename Body>
void answer(int device, std::uint64_t unique, const Body& body) {
  struct {
    fuse_out_header head;
    Body body;
  } answer{};
  answer.head.len = sizeof answer;
  answer.head.unique = unique;
  answer.body = body;
  [[maybe_unused]] const auto written = ::write(device, &answer, sizeof answer);
}

}  // namespace

bool skipped(const HungMount& mount) {
  if (!mount.works()) WARN("SKIPPED: no FUSE mounts here");
  return !mount.works();
}

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
    } else if (head->opcode == FUSE_LOOKUP && answers_ == Answers::Names) {
      name(head->unique);
    } else if (head->opcode == FUSE_LOOKUP) {
      ++taken_;
    }
  }
}

void HungMount::greet(std::uint64_t unique) const {
  fuse_init_out body{};
  body.major = FUSE_KERNEL_VERSION;
  body.minor = FUSE_KERNEL_MINOR_VERSION;
  body.max_write = 4096;
  answer(device_, unique, body);
}

void HungMount::name(std::uint64_t unique) const {
  constexpr std::uint64_t kForLong = 3600;
  fuse_entry_out body{};
  body.nodeid = FUSE_ROOT_ID + 1;
  body.entry_valid = body.attr_valid = kForLong;
  body.attr.ino = body.nodeid;
  body.attr.mode = S_IFREG | 0644;
  body.attr.nlink = 1;
  answer(device_, unique, body);
}

}  // namespace healer::test
