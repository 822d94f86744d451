// SPDX-License-Identifier: MIT
#include "web/server/answer_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <mutex>
#include <vector>

#include "control/server_world.hpp"

using namespace healer;
using healer::test::TemporaryFolder;
using healer::web::AnswerFile;

TEST_CASE("What is added to a file of answers is there for the next daemon", "[keys][answer_file]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/answers";
  CHECK(*AnswerFile::read(path) == "");
  {
    AnswerFile file(path);
    file.append("one\n", {});
    file.append("two\n", {});
  }
  struct stat facts {};
  REQUIRE(stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777) == 0600);
  CHECK(*AnswerFile::read(path) == "\none\ntwo\n");
  AnswerFile file(path);
  file.replace("three\n");
  file.append("four\n", {});
  file.flush();
  CHECK(*AnswerFile::read(path) == "three\nfour\n");
}

TEST_CASE("A link, or another's file, is no file of answers", "[keys][answer_file]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/answers";
  REQUIRE(symlink("/etc/hostname", path.c_str()) == 0);
  CHECK_FALSE(AnswerFile::read(path));
  std::mutex mutex;
  std::vector<std::string> failures;
  std::vector<bool> written;
  {
    AnswerFile file(path, {}, [&](const std::string& why) {
      const std::scoped_lock lock(mutex);
      failures.push_back(why);
    });
    const auto done = [&](bool was) {
      const std::scoped_lock lock(mutex);
      written.push_back(was);
    };
    file.append("one\n", done);
    file.flush();
    file.append("two\n", done);
    file.flush();
  }
  const std::scoped_lock lock(mutex);
  CHECK(written == std::vector{false, false});
  REQUIRE(failures.size() == 1);  // of both
  CHECK(failures.front().find(path) != std::string::npos);
  CHECK(failures.front().ends_with(AnswerFile::kMeanwhile));
}

TEST_CASE("It is told when a line is on disk, of lines too that were put in place of", "[keys][answer_file]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/answers";
  std::mutex mutex;
  std::vector<std::string> seen;
  AnswerFile file(path);
  const auto look = [&](bool written) {
    const std::scoped_lock lock(mutex);
    seen.push_back(written ? *AnswerFile::read(path) : "not written");
  };
  file.append("one\n", look);
  file.flush();
  CHECK(seen == std::vector<std::string>{"\none\n"});
  file.append("two\n", look);
  file.replace("one\ntwo\n");
  file.append("three\n", look);
  file.flush();
  REQUIRE(seen.size() == 3);
  CHECK(seen[1].find("one\ntwo\n") != std::string::npos);
  CHECK(seen[2] == "one\ntwo\nthree\n");
}

TEST_CASE("A line for which there is no room is told of, once in the log", "[keys][answer_file]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/answers";
  std::mutex mutex;
  std::vector<std::string> told;
  {
    AnswerFile file(
        path, {},
        [&](const std::string& why) {
          const std::scoped_lock lock(mutex);
          told.push_back(why);
        },
        8);
    for (int i = 0; i < 2; ++i)
      file.append("too long a line\n", [&](bool written) {
        const std::scoped_lock lock(mutex);
        told.emplace_back(written ? "written" : "not written");
      });
    file.replace("too long a text\n");
    file.flush();
    file.append("short\n", {});
  }
  CHECK(told == std::vector<std::string>{
                    "cannot write " + path + ": too much waits for the disk; " + std::string(AnswerFile::kMeanwhile),
                    "not written", "not written"});
  CHECK(*AnswerFile::read(path) == "\nshort\n");
}
