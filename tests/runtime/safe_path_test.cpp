// SPDX-License-Identifier: MIT
#include "runtime/files/safe_path.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>

#include "support/processes.hpp"

namespace safe_path_test {

using namespace healer;
using healer::runtime::safe_path;
using healer::runtime::Use;
using healer::test::write_with_mode;
namespace fs = std::filesystem;

namespace {

constexpr uid_t kNobody = 65534;

/// TOP/a/b, and what is said of a file "state" in b.
struct Folders {
  test::TemporaryDirectory directory;
  fs::path a = directory.path() / "a";
  fs::path b = a / "b";
  std::string file = (b / "state").string();

  Folders() { fs::create_directories(b); }
  [[nodiscard]] std::string refusal(Use use = Use::State) const { return refusal(file, use); }
  [[nodiscard]] static std::string refusal(const std::string& path, Use use = Use::State) {
    const auto safe = safe_path("the state file", path, use);
    if (safe) return {};
    CHECK(safe.error().code == EPERM);
    return safe.error().what;
  }
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a place of our own is safe, below a sticky directory, too", "[safe-path]") {
  const Folders folders;
  CHECK(folders.refusal().empty());
  write_with_mode(folders.file, "", 0600);
  CHECK(folders.refusal().empty());
  fs::permissions(folders.a, fs::perms{01777});
  CHECK(folders.refusal().empty());
  CHECK(Folders::refusal((folders.b / "not" / "there" / "yet").string()).empty());
}

TEST_CASE("A path is unsafe if others can write any of its folders", "[safe-path]") {
  const Folders folders;
  fs::permissions(GENERATE(0, 1) == 0 ? folders.a : folders.b, fs::perms{0777});
  const std::string refused_text = folders.refusal();
  CHECK(contains(refused_text, "the state file " + folders.file + " is not safe: "));
  CHECK(contains(refused_text, "can be written by others (mode 0777); choose a place that only "));
}

TEST_CASE("a symbolic link in the place of the file is refused, one above it is followed and looked at",
          "[safe-path]") {
  const Folders folders;
  fs::create_symlink("/etc/passwd", folders.file);
  CHECK(contains(folders.refusal(), "is a symbolic link"));
  const fs::path link = folders.directory.path() / "link";
  fs::create_symlink("a", link);
  const auto safe = safe_path("it", (link / "b" / ".." / "b" / "other").string());
  REQUIRE(safe);
  CHECK(*safe == (folders.b / "other").string());
  fs::permissions(folders.a, fs::perms{0777});
  CHECK(contains(Folders::refusal((link / "b" / "other").string()), folders.a.string() + " can be written"));
  fs::create_symlink("loop", folders.directory.path() / "loop");
  const auto loop = safe_path("it", (folders.directory.path() / "loop" / "x").string());
  REQUIRE_FALSE(loop);
  CHECK(loop.error().code == ELOOP);
}

TEST_CASE("a log may lie behind a link of our own, and in a folder that a group can write", "[safe-path]") {
  const Folders folders;
  write_with_mode(folders.a / "log", "", 0600);
  fs::create_symlink(folders.a / "log", folders.file);
  const auto safe = safe_path("the log file", folders.file, Use::Log);
  REQUIRE(safe);
  CHECK(*safe == (folders.a / "log").string());
  fs::permissions(folders.b, fs::perms{0777});
  CHECK_FALSE(safe_path("the log file", folders.file, Use::Log));
  if (geteuid() != 0) return;
  fs::permissions(folders.b, fs::perms{0775});
  REQUIRE(chown(folders.b.c_str(), 0, kNobody) == 0);
  CHECK(contains(folders.refusal(Use::Log), "is a symbolic link"));  // it may be of that group
  CHECK(safe_path("the log file", (folders.b / "other").string(), Use::Log));
  CHECK_FALSE(safe_path("the state file", (folders.b / "other").string()));
}

TEST_CASE("A file of another user is not safe", "[safe-path]") {
  if (geteuid() != 0) return;  // nothing can be given away
  const Folders folders;
  write_with_mode(folders.file, "", 0600);
  SECTION("a folder above") { REQUIRE(chown(folders.a.c_str(), kNobody, 0) == 0); }
  SECTION("its folder") { REQUIRE(chown(folders.b.c_str(), kNobody, 0) == 0); }
  SECTION("the file") { REQUIRE(chown(folders.file.c_str(), kNobody, 0) == 0); }
  SECTION("a folder in a sticky one") {
    fs::permissions(folders.a, fs::perms{01777});
    REQUIRE(chown(folders.b.c_str(), kNobody, 0) == 0);
  }
  CHECK(contains(folders.refusal(), "belongs to another user (uid 65534)"));
}

}  // namespace safe_path_test
