// SPDX-License-Identifier: MIT
#include "util/left_threads.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <thread>

namespace left_threads_test {

using namespace healer;

namespace {

int told = -1;

/// What a process says that ends with status 3 after it has ended its thread: "destroyed" where its static objects are.
std::string end_with(bool over) {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    told = pipe[1];
    close(STDOUT_FILENO);  // what the reporter has not written yet is its parent's
    std::atexit([] {
      (void)!write(told, "destroyed", 9);
      std::_Exit(3);  // before the reporter's file is destroyed, which is its parent's, too
    });
    std::thread thread([over] {
      while (!over) pause();
    });
    end_thread(thread, over);
    std::exit(end_process(3));
  }
  close(pipe[1]);
  std::string text(16, '\0');
  text.resize(static_cast<std::size_t>(read(pipe[0], text.data(), text.size())));
  close(pipe[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  return text;
}

}  // namespace

TEST_CASE("static objects outlive a thread that is left behind", "[left_threads]") {
  CHECK(end_with(true) == "destroyed");
  CHECK(end_with(false).empty());
}

}  // namespace left_threads_test
