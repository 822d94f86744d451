// SPDX-License-Identifier: MIT
#include "runtime/process/own_programs.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"

namespace own_programs_test {

using namespace healer;
using namespace healer::runtime;
using Kind = ProgramUse::Kind;

namespace {

/// Numbers that no process of this machine has.
constexpr pid_t kProgram = 5'000'000;
constexpr pid_t kMember = 5'000'001;

ProcStat stat(pid_t pid, pid_t session, std::uint64_t start_ticks, pid_t parent = 1) {
  ProcStat made;
  made.pid = pid;
  made.session = session;
  made.start_ticks = start_ticks;
  made.parent = parent;
  made.state = 'S';
  return made;
}

bool is_not(OwnPrograms& programs, std::vector<ProcStat> all, pid_t pid, const std::string& service = "web") {
  const ProcSnapshot snapshot(mono_now(), std::move(all));
  return programs.is_not(snapshot, *snapshot.find(pid), service);
}

}  // namespace

TEST_CASE("a program that runs, and what is in its session, is no service", "[own-programs]") {
  OwnPrograms programs;
  programs.runs(kProgram, {.kind = GENERATE(Kind::Check, Kind::Other)});
  CHECK(is_not(programs, {stat(kProgram, kProgram, 5)}, kProgram));
  CHECK(is_not(programs, {stat(kProgram, kProgram, 5), stat(kMember, kProgram, 6)}, kMember));
  CHECK_FALSE(is_not(programs, {stat(kProgram, kProgram, 5), stat(kMember, kMember, 6)}, kMember));  // a daemon
  CHECK_FALSE(is_not(programs, {stat(kMember, 1, 6)}, kMember));
  // One of which nobody has told yet.
  CHECK(is_not(programs, {stat(kMember, kMember, 6, ::getpid())}, kMember));
}

TEST_CASE("what a program has left in its session is no service until the number of the session is another's",
          "[own-programs]") {
  OwnPrograms programs;
  programs.runs(kProgram, {});
  programs.ended(kProgram);
  const std::uint64_t now = ticks_at(mono_now());
  CHECK(is_not(programs, {stat(kMember, kProgram, 6)}, kMember));
  CHECK(is_not(programs, {stat(kMember, kProgram, 6), stat(kMember + 1, kProgram, now + 100)}, kMember + 1));
  SECTION("a session of that number has begun later") {
    CHECK_FALSE(is_not(programs, {stat(kProgram, kProgram, now + 1000), stat(kMember, kProgram, now + 1001)}, kMember));
    CHECK(programs.size() == 0);
  }
  SECTION("another program of healer's has that number") {
    programs.runs(kProgram, {.kind = Kind::Service});
    CHECK_FALSE(is_not(programs, {stat(kMember, kProgram, 6)}, kMember));
  }
}

TEST_CASE("check programs that leave nothing, and services, are not remembered", "[own-programs]") {
  OwnPrograms programs;
  programs.runs(kProgram, {.kind = GENERATE(Kind::Check, Kind::Service, Kind::Start)});
  programs.ended(kProgram);
  CHECK(programs.size() == 0);
  programs.ended(kProgram);
}

TEST_CASE("no more sessions are remembered than there is room for", "[own-programs]") {
  OwnPrograms programs;
  for (std::size_t i = 0; i < 2 * OwnPrograms::kMostLeft; ++i) {
    programs.runs(kProgram + static_cast<pid_t>(i), {});
    programs.ended(kProgram + static_cast<pid_t>(i));
  }
  CHECK(programs.size() == OwnPrograms::kMostLeft);
  CHECK_FALSE(is_not(programs, {stat(kMember, kProgram, 6)}, kMember));
}

TEST_CASE("a start program may be its own service at once, and another's when its time is over", "[own-programs]") {
  OwnPrograms programs;
  const std::vector<ProcStat> all{stat(kProgram, kProgram, 5), stat(kMember, kProgram, 6)};
  programs.runs(kProgram, {.kind = Kind::Start, .service = "web", .until = mono_now() + minutes{1}});
  CHECK_FALSE(is_not(programs, all, kMember, "web"));
  CHECK(is_not(programs, all, kMember, "other"));
  programs.runs(kProgram, {.kind = Kind::Start, .service = "web", .until = mono_now() - Duration{1}});
  CHECK_FALSE(is_not(programs, all, kMember, "other"));
}

TEST_CASE("a foreground process and its children may be services", "[own-programs]") {
  OwnPrograms programs;
  programs.runs(kProgram, {.kind = Kind::Service});
  CHECK_FALSE(is_not(programs, {stat(kProgram, kProgram, 5, ::getpid()), stat(kMember, kProgram, 6)}, kMember));
}

}  // namespace own_programs_test
