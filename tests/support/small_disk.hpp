// SPDX-License-Identifier: MIT
// A small file system of a test's own, to be filled or made read-only (root only).
#pragma once

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "support/child.hpp"

namespace healer::test {

/// A file system of so many megabytes.
class SmallDisk {
 public:
  explicit SmallDisk(int megabytes = 1) : size_("size=" + std::to_string(megabytes) + "m") {
    works_ = ::mount("healer-test", path().c_str(), "tmpfs", MS_NOSUID | MS_NODEV, size_.c_str()) == 0;
  }
  ~SmallDisk() {
    if (works_) ::umount2(path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  /// False where no file system can be mounted here.
  [[nodiscard]] bool works() const { return works_; }
  [[nodiscard]] std::string path() const { return directory_.path().string(); }
  [[nodiscard]] std::string file(const std::string& name) const { return (directory_.path() / name).string(); }
  void fill() {
    const int ballast = ::open(file("ballast").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    REQUIRE(ballast >= 0);
    const std::string block(4096, 'b');
    for (std::size_t size = block.size(); size > 0; size /= 2)
      while (::write(ballast, block.data(), size) > 0) continue;
    ::close(ballast);
  }
  void free() { REQUIRE(::unlink(file("ballast").c_str()) == 0); }
  void set_read_only(bool on) {
    REQUIRE(::mount(nullptr, path().c_str(), nullptr, MS_REMOUNT | MS_NOSUID | MS_NODEV | (on ? MS_RDONLY : 0),
                    size_.c_str()) == 0);
  }

 private:
  TemporaryDirectory directory_;
  std::string size_;
  bool works_ = false;
};

}  // namespace healer::test
