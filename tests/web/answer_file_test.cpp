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
    file.append("one\n");
    file.append("two\n");
  }
  struct stat facts {};
  REQUIRE(stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777) == 0600);
  CHECK(*AnswerFile::read(path) == "\none\ntwo\n");
  AnswerFile file(path);
  file.replace("three\n");
  file.append("four\n");
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
  {
    AnswerFile file(path, [&](const std::string& why) {
      const std::scoped_lock lock(mutex);
      failures.push_back(why);
    });
    file.append("one\n");
    file.flush();
    file.append("two\n");
    file.flush();
  }
  const std::scoped_lock lock(mutex);
  REQUIRE(failures.size() == 1);  // of both
  CHECK(failures.front().find(path) != std::string::npos);
}
