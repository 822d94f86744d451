// SPDX-License-Identifier: MIT
// What a program is born with, whether its child shares the descriptor table of its parent at first or copies it.
#include "runtime/process/launch.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "support/processes.hpp"

namespace launch_test {

using namespace healer;
using namespace healer::runtime;

namespace {

struct Ended {
  std::string output;
  int status = -1;
};

/// Runs a shell script to its end. Its output ends when nobody has it open any more.
Ended run(Launcher& launcher, const std::string& script, bool with_proof = false) {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  Launch launch;
  launch.arguments = {"/bin/sh", "-c", script};
  launch.environment = {"PATH=/usr/bin:/bin"};
  launch.output = std::move(pipe->write);
  std::array<int, 2> proof{};
  REQUIRE(::pipe2(proof.data(), O_CLOEXEC) == 0);
  const Descriptor proof_end(proof[0]);
  Descriptor written(proof[1]);
  if (with_proof) launch.proof = std::move(written);
  LaunchProgress progress;
  const auto started = launcher.start(std::move(launch), progress);
  REQUIRE(started);
  CHECK((started->start_ticks != 0) == with_proof);
  Ended ended;
  int flags = ::fcntl(pipe->read.get(), F_GETFL);
  ::fcntl(pipe->read.get(), F_SETFL, flags & ~O_NONBLOCK);
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = ::read(pipe->read.get(), part.data(), part.size())) > 0;)
    ended.output.append(part.data(), static_cast<std::size_t>(size));
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(started->pid), &info, WEXITED) == 0);
  ended.status = info.si_status;
  return ended;
}

}  // namespace

TEST_CASE("a program has its three descriptors, default signals and the limits of the start", "[launch]") {
  const bool shares = GENERATE(true, false);
  const auto slots = shares ? LaunchSlots::reserve(2) : nullptr;
  if (shares && slots == nullptr) {
    WARN("SKIPPED: this kernel cannot leave a shared descriptor table");
    return;
  }
  LaunchDefaults defaults = LaunchDefaults::capture();
  rlimit core{};
  ::getrlimit(RLIMIT_CORE, &core);
  const rlimit changed{rlim_t{core.rlim_max == 0 ? 0U : 4096U}, core.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_CORE, &changed) == 0);
  const auto pipe_before = std::signal(SIGPIPE, SIG_IGN);
  const auto usr_before = std::signal(SIGUSR1, [](int) {});
  const Descriptor inherited(::open("/dev/null", O_RDONLY));  // not close-on-exec
  const std::size_t before = test::open_descriptors();
  {
    Launcher launcher(defaults, slots);
    const std::string listed = "for i in $(seq 0 200); do [ ! -e /proc/$$/fd/$i ] || echo -n $i,; done";
    CHECK(run(launcher, listed).output == "0,1,2,");
    CHECK(run(launcher, "readlink /proc/self/fd/0").output == "/dev/null\n");
    CHECK(run(launcher, "echo out; echo error >&2; exit 3", true).output == "out\nerror\n");
    CHECK(run(launcher, "exit 3").status == 3);
    CHECK(run(launcher, "grep SigIgn /proc/self/status").output == "SigIgn:\t0000000000000000\n");
    CHECK(run(launcher, "grep SigBlk /proc/self/status").output == "SigBlk:\t0000000000000000\n");
    const std::string limit = core.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(core.rlim_cur / 512);
    CHECK(run(launcher, "ulimit -c").output == limit + "\n");
    CHECK(test::open_descriptors() == before);
    CHECK(::fcntl(inherited.get(), F_GETFD) == 0);
  }
  ::setrlimit(RLIMIT_CORE, &core);
  std::signal(SIGPIPE, pipe_before);
  std::signal(SIGUSR1, usr_before);
}

TEST_CASE("A failed start leaves the descriptors of the daemon unchanged", "[launch]") {
  const auto slots = LaunchSlots::reserve(1);
  const std::size_t before = test::open_descriptors();
  Launcher launcher(LaunchDefaults::capture(), slots);
  Launcher second(LaunchDefaults::capture(), slots);  // there is no slot for this one
  for (Launcher* one : {&launcher, &second}) {
    Launch launch;
    launch.arguments = {"/nowhere/program"};
    launch.output = Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    LaunchProgress progress;
    const auto started = one->start(std::move(launch), progress);
    REQUIRE_FALSE(started);
    CHECK(started.error().what == "cannot execute /nowhere/program: No such file or directory");
    CHECK(run(*one, "echo on").output == "on\n");
  }
  CHECK(test::open_descriptors() == before);
  CHECK_FALSE(test::has_children());
}

TEST_CASE("the numbers of a launcher that is gone are another's", "[launch]") {
  const auto slots = LaunchSlots::reserve(1);
  if (slots == nullptr) return;
  std::vector<int> numbers = slots->take();
  CHECK(numbers.size() == LaunchSlots::kNumbers);
  CHECK(slots->take().empty());
  for (const int number : numbers) CHECK(number < slots->first_free());
  slots->give_back(std::move(numbers));
  CHECK(slots->take().size() == LaunchSlots::kNumbers);
}

}  // namespace launch_test
