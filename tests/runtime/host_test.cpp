// SPDX-License-Identifier: MIT
#include "runtime/host.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "support/processes.hpp"

namespace host_test {

using namespace healer;
using healer::runtime::Host;
using healer::test::write_with_mode;

TEST_CASE("the real machine reads rules files, and only regular ones of a bearable size", "[host]") {
  const Host host;
  test::TemporaryDirectory directory;
  const std::string path = write_with_mode(directory.path() / "a.rules", std::string("check\0x", 7), 0640);
  auto text = host.read(path);
  REQUIRE(text);
  CHECK(*text == std::string("check\0x", 7));
  auto missing = host.read(path + "x");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ENOENT);
  auto folder = host.read(directory.path().string());
  REQUIRE_FALSE(folder);
  CHECK(folder.error().what == directory.path().string() + ": not a regular file");
  const std::string fifo = (directory.path() / "fifo").string();
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_FALSE(host.read(fifo));
  const std::string large = write_with_mode(directory.path() / "large", "", 0600);
  std::filesystem::resize_file(large, (64U << 20) + 1);
  auto refused = host.read(large);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == large + ": larger than 64 MiB");
}

TEST_CASE("the real machine tells facts of paths", "[host]") {
  const Host host;
  test::TemporaryDirectory directory;
  const std::string path = write_with_mode(directory.path() / "b.rules", "x", 0640);
  std::filesystem::create_symlink(path, directory.path() / "a.rules");
  const auto facts = host.stat((directory.path() / "a.rules").string());
  REQUIRE(facts);
  CHECK(facts->is_regular);
  CHECK_FALSE(facts->is_directory);
  CHECK(facts->mode == 0640);
  CHECK(facts->uid == ::getuid());
  CHECK(host.stat("/")->is_directory);
  CHECK(host.stat("/no/such").error().code == ENOENT);
  const std::string base = directory.path().string();
  CHECK(host.glob(base + "/*.rules").value() == std::vector<std::string>{base + "/a.rules", base + "/b.rules"});
  CHECK(host.glob(base + "/*.none").value().empty());
  CHECK(host.glob(base + "/none/*.rules").value().empty());
  CHECK(host.glob(base + "/a.rules/*.rules").value().empty());
  std::filesystem::create_symlink("loop", base + "/loop");  // root, too, cannot read this
  CHECK_FALSE(host.glob(base + "/loop/*.rules"));
  CHECK(host.canonical(base + "/../" + directory.path().filename().string() + "/a.rules") ==
        std::filesystem::canonical(path).string());
  CHECK(host.canonical("/no/such") == "/no/such");
}

TEST_CASE("the real machine knows users, groups and programs", "[host]") {
  const Host host;
  CHECK(host.looks_up());
  const auto root = host.user("root");
  REQUIRE(root);
  CHECK(root->uid == 0);
  CHECK(root->name == "root");
  CHECK(root->home == "/root");
  REQUIRE(host.user("0"));
  CHECK(host.user("0")->name == "root");
  CHECK_FALSE(host.user("no-such-user"));
  CHECK_FALSE(host.user(""));
  CHECK_FALSE(host.user("4123456789"));
  CHECK(host.group("root") == 0U);
  CHECK(host.group("0") == 0U);
  CHECK_FALSE(host.group("no-such-group"));
  CHECK(host.executable("/bin/sh"));
  CHECK_FALSE(host.executable("/etc/passwd"));
  CHECK_FALSE(host.executable("/etc"));
  CHECK_FALSE(host.executable("/no/such"));
  CHECK_FALSE(host.host_name().empty());
  CHECK(host.effective_uid() == ::geteuid());
}

}  // namespace host_test
