// SPDX-License-Identifier: MIT
#include "runtime/files/pid_file.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>

#include "support/processes.hpp"
#include "support/small_disk.hpp"

namespace pid_file_test {

using namespace healer;
using healer::runtime::InstanceLocks;
using healer::runtime::LockFile;
using healer::runtime::running_by_pid_file;
using healer::test::read_file;
using healer::test::write_with_mode;

TEST_CASE("a lock file holds our number, strictly moded, and goes with its owner", "[pid-file]") {
  test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "healer.pid").string();
  write_with_mode(path, "99999999 stale and longer than ours\n", 0666);
  {
    auto lock = LockFile::take(path, 0644, "the pid file " + path);
    REQUIRE(lock);
    CHECK(read_file(path) == std::to_string(::getpid()) + "\n");
    struct stat facts {};
    REQUIRE(::stat(path.c_str(), &facts) == 0);
    CHECK((facts.st_mode & 07777) == 0644);
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a lock that a dead daemon has left is the same to the next, and no other", "[pid-file]") {
  test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "state.lock").string();
  const std::string other = (directory.path() / "other.lock").string();
  write_with_mode(path, "99999999\n", 0600);
  std::filesystem::create_hard_link(path, directory.path() / "kept");  // as when killed: the file itself stays
  std::string former;
  {
    auto lock = LockFile::take(path, 0600, "the state file");
    REQUIRE(lock);
    former = lock->identity();
  }
  std::filesystem::rename(directory.path() / "kept", path);
  LockFile moved;
  {
    auto lock = LockFile::take(path, 0600, "the state file");
    REQUIRE(lock);
    moved = std::move(*lock);
  }
  CHECK(moved.identity() == former);
  CHECK_FALSE(former.empty());
  const auto another = LockFile::take(other, 0600, "the state file");
  REQUIRE(another);
  CHECK(another->identity() != former);
}

TEST_CASE("a second daemon is told which file is held, and by whom", "[pid-file]") {
  test::TemporaryDirectory directory;
  const std::string base = directory.path().string();
  int ready[2];
  int quit[2];
  REQUIRE(::pipe(ready) == 0);
  REQUIRE(::pipe(quit) == 0);
  const pid_t other = ::fork();
  if (other == 0) {
    ::close(quit[1]);
    auto locks = InstanceLocks::take(base + "/pid", base + "/socket", base + "/state");
    char byte = locks ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1 || ::read(quit[0], &byte, 1) != 0) ::_exit(1);
    ::_exit(0);  // without removing anything, as when killed
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  REQUIRE(byte == 'y');
  const auto message = [](const std::string& pid_file, const std::string& socket, const std::string& state) {
    auto locks = InstanceLocks::take(pid_file, socket, state);
    return locks ? std::string() : locks.error().what;
  };
  const std::string held = " is held by another healerd (pid " + std::to_string(other) + ")";
  CHECK(message(base + "/pid", base + "/socket2", base + "/state2") == "the pid file " + base + "/pid" + held);
  CHECK(message(base + "/pid2", base + "/socket", base + "/state2") == "the control socket " + base + "/socket" + held);
  CHECK(message(base + "/pid2", "", base + "/state") == "the state file " + base + "/state" + held);
  // All or none: what was taken before the refusal is free again.
  CHECK_FALSE(std::filesystem::exists(base + "/pid2"));
  CHECK(std::filesystem::exists(base + "/pid"));

  for (const int end : {ready[0], ready[1], quit[0], quit[1]}) ::close(end);
  ::waitpid(other, nullptr, 0);
  CHECK(std::filesystem::exists(base + "/pid"));
  CHECK(message(base + "/pid", base + "/socket", base + "/state").empty());  // stale: taken over
}

TEST_CASE("a state file that is held is held by all its names", "[pid-file]") {
  test::TemporaryDirectory directory;
  const std::string base = directory.path().string();
  { const std::ofstream made(base + "/state"); }
  std::filesystem::create_hard_link(base + "/state", base + "/other");
  const auto held = InstanceLocks::take("", "", base + "/state");
  REQUIRE(held);
  const auto second = InstanceLocks::take("", "", base + "/other");
  REQUIRE_FALSE(second);
  CHECK(second.error().what == "the state file " + base + "/other is held by another healerd");
}

TEST_CASE("a lock file is never followed through a link, and never another kind of file", "[pid-file]") {
  test::TemporaryDirectory directory;
  const std::string target = write_with_mode(directory.path() / "precious", "keep me", 0600);
  const std::string link = (directory.path() / "link").string();
  std::filesystem::create_symlink(target, link);
  CHECK_FALSE(LockFile::take(link, 0644, "x"));
  CHECK(read_file(target) == "keep me");
  const std::string fifo = (directory.path() / "fifo").string();
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  auto refused = LockFile::take(fifo, 0644, "the pid file");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "the pid file is not a regular file");
  CHECK_FALSE(LockFile::take((directory.path() / "none" / "pid").string(), 0644, "x"));
}

TEST_CASE("a file that was put in the lock file's place is not removed", "[pid-file]") {
  test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "pid").string();
  {
    auto lock = LockFile::take(path, 0644, "x");
    REQUIRE(lock);
    std::filesystem::remove(path);
    write_with_mode(path, "other", 0600);
  }
  CHECK(read_file(path) == "other");
}

TEST_CASE("another supervisor is recognised by its pid file and its name", "[pid-file]") {
  test::TemporaryDirectory directory;
  const std::string own = read_file("/proc/self/comm");
  const std::string name = own.substr(0, own.size() - 1);
  const std::string path = write_with_mode(directory.path() / "pid", std::to_string(::getpid()) + "\n", 0644);
  CHECK(running_by_pid_file(path, name) == ::getpid());
  CHECK_FALSE(running_by_pid_file(path, "monit"));
  CHECK_FALSE(running_by_pid_file(path + "x", name));
  write_with_mode(path, "no number", 0644);
  CHECK_FALSE(running_by_pid_file(path, name));
}

TEST_CASE("a disk that cannot be written keeps no daemon from its locks, and is written when it has recovered",
          "[pid-file]") {
  test::SmallDisk disk;
  if (!disk.works()) {
    WARN("SKIPPED: no file system can be mounted here");
    return;
  }
  test::TemporaryDirectory directory;
  const std::string pid = (directory.path() / "healer.pid").string();
  const std::string state = disk.file("state");
  write_with_mode(state, "", 0600);
  SECTION("read-only") { disk.set_read_only(true); }
  SECTION("full") { disk.fill(); }
  {
    auto locks = InstanceLocks::take(pid, "", state);
    REQUIRE(locks);
    CHECK(locks->complaints().size() == 1);
    CHECK_FALSE(locks->state_identity().empty());
    // A second daemon that cannot write either.
    const auto second = InstanceLocks::take("", "", state);
    REQUIRE_FALSE(second);
    CHECK(second.error().code == EWOULDBLOCK);
    if (access(disk.file("ballast").c_str(), F_OK) == 0)
      disk.free();
    else
      disk.set_read_only(false);
    CHECK(locks->try_again());
    CHECK(locks->complaints().empty());
    CHECK(read_file(state + ".lock") == std::to_string(::getpid()) + "\n");
  }
  CHECK_FALSE(std::filesystem::exists(state + ".lock"));
  CHECK(std::filesystem::exists(state));
}

}  // namespace pid_file_test
