// SPDX-License-Identifier: MIT
#include "engine/job_step_run.hpp"

#include <catch2/catch.hpp>

namespace healer::engine {
namespace {

using State = JobStepRun;

TEST_CASE("what holds a step goes on when it has waited for another job", "[engine][job]") {
  JobStepRun run;
  CHECK_FALSE(run.acting());
  run.hold(seconds{3}).failure = "its previous program /start does not end";
  run.await(ServiceId{1});
  run.await(ServiceId{2});
  CHECK(run.awaited() == ServiceId{2});
  CHECK(run.held() == nullptr);
  CHECK(run.failure() == "its previous program /start does not end");
  run.await_no_more();
  REQUIRE(run.held() != nullptr);
  CHECK_FALSE(run.acting());
  CHECK(run.hold(seconds{9}).until == seconds{3});
  CHECK(run.failure() == "its previous program /start does not end");

  run = {};
  run.await(ServiceId{1});
  run.await_no_more();
  CHECK(std::holds_alternative<State::Looking>(run.state));
}

TEST_CASE("the program of a step is known when it has ended, and what has held it is forgotten", "[engine][job]") {
  JobStepRun run;
  run.hold(seconds{3}).failure = "its previous program /start does not end";
  run.run(ActionId{7});
  run.follow();
  CHECK(run.acting());
  CHECK(run.running() == ActionId{7});
  CHECK(run.failure().empty());
  CHECK_FALSE(run.ran_well());
  run.ended("failed to start: exit status 1");
  CHECK(run.acting());
  CHECK(run.running() == ActionId{});
  CHECK(run.action() == ActionId{7});
  CHECK(run.failure() == "failed to start: exit status 1");
  CHECK_FALSE(run.ran_well());

  run.run(ActionId{8});
  run.ended({});
  CHECK(run.ran_well());
}

TEST_CASE("who is signalled after another has taken its place", "[engine][job]") {
  JobStepRun run;
  run.signal(100, 1);
  REQUIRE(run.signalled() != nullptr);
  CHECK(run.acting());
  CHECK_FALSE(run.signalled()->replaced);
  run.kill();
  CHECK(run.signalled()->killed);
  run.signal(101, 2);
  CHECK(run.signalled()->pid == 101);
  CHECK(run.signalled()->replaced);
}

TEST_CASE("a step begins afresh but for the look in flight", "[engine][job]") {
  JobStepRun run;
  run.follow();
  run.seen = true;
  run.check = RunId{5};
  run.due = seconds{4};
  run.deadline = seconds{8};
  run.pause = run.extended = seconds{1};
  run = run.anew();
  CHECK(std::holds_alternative<State::Looking>(run.state));
  CHECK_FALSE(run.seen);
  CHECK(run.check == RunId{5});
  CHECK(run.due == seconds{4});
  CHECK(run.deadline == Duration{0});
  CHECK(run.pause == JobStepRun::kFirstPause);
  CHECK(run.extended == Duration{0});
}

}  // namespace
}  // namespace healer::engine
