// SPDX-License-Identifier: MIT
// Letters on disk.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "delivery/outbox/letter_queue.hpp"
#include "support/processes.hpp"

using namespace healer;
using namespace healer::delivery;
using healer::test::TemporaryDirectory;

namespace {

Letter letter(std::uint64_t number) {
  return {.key = {number, 5}, .state = "failed", .incident = "i", .event = "Status failed", .service = "web"};
}

struct QueueWorld {
  TemporaryDirectory directory;
  std::string path = (directory.path() / "contacts").string();
  LetterQueue queue{path};
  std::vector<std::string> warnings;

  std::map<std::string, FoundLetters> check() {
    auto found = queue.check([this](std::string text) { warnings.push_back(std::move(text)); });
    REQUIRE(found);
    return std::move(*found);
  }
};

unsigned mode_of(const std::string& path) {
  struct stat facts {};
  REQUIRE(::lstat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777;
}

}  // namespace

TEST_CASE("letters are found again, for each contact in their order, and what was sent is not sent again", "[outbox]") {
  QueueWorld world;
  CHECK(world.check().empty());
  CHECK(::access(world.path.c_str(), F_OK) != 0);  // nothing is made where nothing is to be kept
  const std::vector<Letter> letters{letter(10), letter(9)};
  REQUIRE(world.queue.put("team", letters));
  REQUIRE(world.queue.put("wall", std::vector{letter(11)}));
  CHECK(mode_of(world.path) == 0700);
  CHECK(mode_of(world.path + "/team") == 0700);
  CHECK(mode_of(world.path + "/team/" + file_name(LetterKey{9, 5}) + ".letter") == 0600);
  REQUIRE(world.queue.bury("team", {9, 5}));
  struct stat facts {};
  REQUIRE(::stat((world.path + "/team/" + file_name(LetterKey{9, 5}) + ".sent").c_str(), &facts) == 0);
  CHECK(facts.st_size == 0);  // what it said is needed no more
  auto found = world.check();
  REQUIRE(found.size() == 2);
  CHECK(found["team"].waiting == std::vector{letter(10)});
  CHECK(found["team"].sent == std::vector{LetterKey{9, 5}});
  CHECK(found["wall"].waiting == std::vector{letter(11)});
  world.queue.forget("team", {9, 5});
  CHECK(world.check()["team"].sent.empty());
  const Result<Letter> read = world.queue.read("team", {10, 5});
  REQUIRE(read);
  CHECK(*read == letter(10));
}

TEST_CASE("a damaged letter is set aside, and half a one is none", "[outbox]") {
  QueueWorld world;
  REQUIRE(world.queue.put("team", std::vector{letter(1), letter(2)}));
  const std::string first = world.path + "/team/" + file_name(LetterKey{1, 5});
  std::ofstream(first + ".letter", std::ios::trunc) << "healer-letter 1 nonsense";
  std::ofstream(world.path + "/team/" + file_name(LetterKey{3, 5}) + ".new") << "half";
  CHECK(world.check()["team"].waiting == std::vector{letter(2)});
  REQUIRE(world.warnings.size() == 1);
  CHECK(world.warnings[0].find("is damaged, and was set aside") != std::string::npos);
  CHECK(::access((first + ".bad").c_str(), F_OK) == 0);
  CHECK(::access((world.path + "/team/" + file_name(LetterKey{3, 5}) + ".new").c_str(), F_OK) != 0);
  const Result<Letter> gone = world.queue.read("team", {1, 5});
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == 0);  // it never comes back
  CHECK(gone.error().what.find("has vanished") != std::string::npos);
}

TEST_CASE("only so many damaged letters are kept", "[outbox]") {
  QueueWorld world;
  for (std::uint64_t number = 1; number <= Limits{}.damaged + 2; ++number) {
    REQUIRE(world.queue.put("team", std::vector{letter(number)}));
    std::ofstream(world.path + "/team/" + file_name(LetterKey{number, 5}) + ".letter", std::ios::trunc) << "nonsense";
  }
  CHECK(world.check()["team"].waiting.empty());
  const auto is_kept = [&](std::uint64_t number) {
    return ::access((world.path + "/team/" + file_name(LetterKey{number, 5}) + ".bad").c_str(), F_OK) == 0;
  };
  CHECK_FALSE(is_kept(1));
  CHECK_FALSE(is_kept(2));
  CHECK(is_kept(3));
  CHECK(is_kept(Limits{}.damaged + 2));
}

TEST_CASE("one letter or folder that cannot be read hides no other", "[outbox]") {
  QueueWorld world;
  REQUIRE(world.queue.put("team", std::vector{letter(2)}));
  REQUIRE(world.queue.put("wall", std::vector{letter(3)}));
  const std::string unreadable = world.path + "/team/" + file_name(LetterKey{1, 5}) + ".letter";
  ::symlink("/dev/null", unreadable.c_str());
  std::ofstream(world.path + "/none") << "no folder";
  ::mkdir((world.path + "/Team").c_str(), 0700);  // no contact's: those are in lower case
  auto found = world.check();
  CHECK(found["team"].waiting == std::vector{letter(2)});
  CHECK(found["wall"].waiting == std::vector{letter(3)});
  CHECK_FALSE(found.contains("Team"));
  REQUIRE(world.warnings.size() == 2);
  CHECK(world.warnings[0].find("/none") != std::string::npos);
  CHECK(world.warnings[1].find("is damaged, and was set aside") != std::string::npos);
}

TEST_CASE("what was never on disk is over there, too", "[outbox]") {
  QueueWorld world;
  CHECK(world.queue.bury("team", {1, 5}));
  CHECK(world.queue.bury("team", {1, 5}));
  CHECK(world.check()["team"].sent == std::vector{LetterKey{1, 5}});
}

TEST_CASE("a queue that is not ours alone is refused", "[outbox]") {
  QueueWorld world;
  ::symlink("/tmp", world.path.c_str());
  CHECK_FALSE(world.queue.put("team", std::vector{letter(1)}));
}
