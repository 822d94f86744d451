// SPDX-License-Identifier: MIT
#include "runtime/process/session.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "support/processes.hpp"

namespace session_test {

using namespace healer;
using namespace healer::runtime;
using healer::test::run_until;

namespace {

/// A session whose leader has exited and was reaped, with two processes left: one writes to `output`, the other to
/// nobody.
class Orphans {
 public:
  explicit Orphans(const std::string& output) {
    leader_ = ::fork();
    if (leader_ == 0) {
      ::setenv("HEALER_TEST", output.c_str(), 1);
      ::setsid();
      const std::string script = "exec >/dev/null 2>&1; sleep 600 >>" + output + " & timeout 600 sleep 600 & exit 0";
      ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
      ::_exit(127);
    }
    mark_ = "HEALER_TEST=" + output;
    ::waitpid(leader_, nullptr, 0);
    REQUIRE(test::eventually([&] { return alive() == 3 && std::filesystem::exists(output); }));
  }
  ~Orphans() {
    for (const pid_t pid : test::processes_with(mark_)) ::kill(pid, SIGKILL);
  }
  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;

  [[nodiscard]] pid_t leader() const { return leader_; }
  [[nodiscard]] std::size_t alive() const { return test::processes_with(mark_).size(); }

 private:
  pid_t leader_ = -1;
  std::string mark_;
};

struct SessionBench {
  /// How many are left of the session when the sweeper says that it is done.
  std::size_t left(const Orphans& orphans, SessionProof proof) {
    std::size_t left = 99;
    sweeper.kill(orphans.leader(), std::make_shared<SessionProof>(std::move(proof)), [&] { left = orphans.alive(); });
    REQUIRE(run_until(loop, [&] { return left != 99; }));
    return left;
  }
  std::string path(const std::string& name) const { return (directory.path() / name).string(); }

  test::TemporaryDirectory directory;
  Loop loop;
  SessionSweeper sweeper{loop};
};

}  // namespace

TEST_CASE("without proof nobody is taken for one of a session whose leader is gone", "[session]") {
  SessionBench bench;
  const Orphans orphans(bench.path("output"));
  CHECK(bench.left(orphans, {}) == 3);
  CHECK(bench.left(orphans, {1, bench.path("another")}) == 3);
}

TEST_CASE("who was in a session while its leader lived is one of it", "[session]") {
  SessionBench bench;
  const Orphans orphans(bench.path("output"));
  test::run_for(bench.loop, Duration{30});  // a tick or two later
  CHECK(bench.left(orphans, {ticks_at(mono_now()), {}}) == 0);
}

TEST_CASE("one that writes to the file of a session proves all that are in it", "[session]") {
  SessionBench bench;
  const Orphans orphans(bench.path("output"));
  CHECK(bench.left(orphans, {0, bench.path("output")}) == 0);
}

TEST_CASE("many sessions share a look", "[session]") {
  SessionBench bench;
  std::vector<std::unique_ptr<Orphans>> orphans;
  for (int i = 0; i < 20; ++i) orphans.push_back(std::make_unique<Orphans>(bench.path(std::to_string(i))));
  std::size_t done = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string output = i % 2 == 0 ? bench.path(std::to_string(i)) : "";
    bench.sweeper.kill(orphans[static_cast<std::size_t>(i)]->leader(),
                       std::make_shared<SessionProof>(SessionProof{0, output}), [&] { ++done; });
  }
  REQUIRE(run_until(bench.loop, [&] { return done == 20; }));
  for (std::size_t i = 0; i < 20; ++i) CHECK(orphans[i]->alive() == (i % 2 == 0 ? 0 : 3));
}

}  // namespace session_test
