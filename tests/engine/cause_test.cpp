// SPDX-License-Identifier: MIT
// The expected texts were measured on Monit 5.33.
#include "engine/cause.hpp"

#include <catch2/catch.hpp>

using namespace healer;
using namespace healer::engine;
using State = effect::Cause::State;

TEST_CASE("Events are told in Monit's words") {
  CHECK(event_text(EventKind::Status, State::Failed) == "Status failed");
  CHECK(event_text(EventKind::Status, State::Succeeded) == "Status succeeded");
  CHECK(event_text(EventKind::Status, State::Changed) == "Status changed");
  CHECK(event_text(EventKind::Content, State::Changed) == "Content match");
  CHECK(event_text(EventKind::Content, State::Failed) == "Content match");
  CHECK(event_text(EventKind::Content, State::Succeeded) == "Content doesn't match");
  CHECK(event_text(EventKind::Instance, State::Changed) == "Monit instance changed");
  CHECK(event_text(EventKind::Action, State::Changed) == "Action done");
  CHECK(event_text(EventKind::Exec, State::Failed) == "Execution failed");
  CHECK(event_text(EventKind::Uptime, State::Failed) == "Uptime failed");
}

TEST_CASE("A status is described as Monit describes it") {
  CHECK(describe_status(3, true, "err line 2\nout line1 run 2 rc 3\nlast line\n") ==
        "status failed (3) -- err line 2\nout line1 run 2 rc 3\nlast line");
  CHECK(describe_status(0, false, "ok\n") == "status succeeded (0) -- ok");
  CHECK(describe_status(4, true, "") == "status failed (4) -- no output");
  CHECK(describe_status(1, true, "\n \n") == "status failed (1) -- no output");
  CHECK(describe_status(1, true, "\n\n  a b  \n\n \t\n\n") == "status failed (1) -- a b");
  CHECK(describe_status(1, true, std::string_view("before\0after\n", 13)) == "status failed (1) -- before");
  CHECK(describe_changed(0, 1, "x\n") == "status changed (0 -> 1) -- x");
  CHECK(describe_unchanged(1, "") == "status didn't change (1) -- no output");
}

TEST_CASE("Content is described as Monit describes it") {
  CHECK(describe_content(true, "err line 2\nlast line\n") ==
        "content match on program output:\nerr line 2\nlast line\n");
  CHECK(describe_content(true, "x\n\n\n") == "content match on program output:\nx\n");
  CHECK(describe_content(true, "") == "content match on program output:\n\n");
  CHECK(describe_content(false, "x\n") == "content doesn't match on program output:\nx");
}

TEST_CASE("A description says how a run ended where Monit hides it") {
  Observation run{.outcome = Outcome::Exited,
                  .status = 1,
                  .matches = 0,
                  .elapsed = seconds{17},
                  .output = std::make_shared<const std::string>("bad\n")};
  CHECK(describe_run(run, true, seconds{15}) == "status failed (1) -- bad");
  run.outcome = Outcome::TimedOut;
  run.status = 9;
  CHECK(describe_run(run, true, seconds{15}) == "status failed (9) -- timed out after 15 s\nbad");
  run.output = std::make_shared<const std::string>();
  CHECK(describe_run(run, true, seconds{15}) == "status failed (9) -- timed out after 15 s");
  run.outcome = Outcome::Signalled;
  run.status = 11;
  run.output = nullptr;
  CHECK(describe_run(run, true, seconds{15}) == "status failed (11) -- killed by signal 11");
}
