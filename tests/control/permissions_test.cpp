// SPDX-License-Identifier: MIT
#include "control/permissions.hpp"

#include <catch2/catch.hpp>
#include <map>

namespace permissions_test {

using namespace healer::control;
using healer::engine::Role;

namespace {

constexpr uid_t kJohn = 1001, kMember = 1002, kStranger = 1003, kDaemon = 900;
constexpr gid_t kGroup = 77;

SocketAccess with_operators() { return {.group = kGroup, .operators = {{kJohn, "john"}}}; }

/// What somebody of that role may do, a verb each.
std::string may(const std::optional<Role>& role) {
  std::string verbs;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Verb::Count_); ++i) {
    const auto verb = static_cast<Verb>(i);
    if (!forbidden({.verb = verb}, {.name = "somebody", .role = role}))
      verbs += (verbs.empty() ? "" : " ") + std::string(to_string(verb));
  }
  return verbs;
}

}  // namespace

TEST_CASE("what each role may do, verb by verb", "[control][permissions]") {
  CHECK(may(std::nullopt) == "ping");
  CHECK(may(Role::ReadOnly) ==
        "ping status summary explain history report names jobs diff healing-status healing-report lists open "
        "events");
  CHECK(may(Role::Operator) ==
        "ping status summary explain history report names jobs follow output diff healing-status healing-report lists "
        "open events pause resume cancel heal approve reject ack beat event");
  CHECK(may(Role::Admin) ==
        "ping status summary explain history report names jobs follow output diff healing-status healing-report lists "
        "open events monitor unmonitor validate accept start stop restart pause resume cancel heal approve reject "
        "healing-reset ack "
        "forget beat event reload quit");
}

TEST_CASE("an override takes more than what it is said with", "[control][permissions]") {
  Request heal{.verb = Verb::Heal, .overrides = {"limit"}};
  const Asker john{.name = "john", .role = Role::Operator};
  const auto failure = forbidden(heal, john);
  REQUIRE(failure);
  CHECK(failure->code == "forbidden");
  CHECK(failure->message == "'heal' with overrides needs the role admin, and the user 'john' has the role operator");
  CHECK(failure->remedy ==
        "run healerctl as root; who is named in 'set operators' is an operator, whatever his groups");
  CHECK_FALSE(forbidden(heal, {.name = "root", .role = Role::Admin}));
  heal.overrides.clear();
  CHECK_FALSE(forbidden(heal, john));
}

TEST_CASE("a refusal names the role that is needed", "[control][permissions]") {
  const auto restart = forbidden({.verb = Verb::Restart}, {.name = "john", .role = Role::Operator});
  REQUIRE(restart);
  CHECK(restart->message == "'restart' needs the role admin, and the user 'john' has the role operator");
  const auto output = forbidden({.verb = Verb::Output}, {.name = "eve", .role = Role::ReadOnly});
  REQUIRE(output);
  CHECK(output->message == "'output' needs the role operator, and the user 'eve' has the role read-only");
  const auto status = forbidden({.verb = Verb::Status}, {.name = "uid 1003", .role = {}});
  REQUIRE(status);
  CHECK(status->code == "denied");
  CHECK(status->message ==
        "uid 1003 may not control healerd: it is neither root nor in the group that may; 'status' needs the role "
        "read-only");
  CHECK(status->remedy == "run healerctl as root, or join the group \"healer\", or be named in 'set operators'");
}

TEST_CASE("whoever gives a token may ask to beat, and nothing else", "[control][permissions]") {
  const Asker stranger{.name = "uid 1003", .role = {}};
  Request beat{.verb = Verb::Beat, .names = {"backup"}, .beat = BeatSent{}};
  const auto failure = forbidden(beat, stranger);
  REQUIRE(failure);
  CHECK(failure->code == "denied");
  CHECK(
      failure->remedy ==
      "run healerctl as root, or join the group \"healer\", or be named in 'set operators', or set HEALER_TOKEN to the "
      "token of the heartbeat");
  beat.beat->token = "any";
  CHECK_FALSE(forbidden(beat, stranger));
  beat.verb = Verb::Pause;
  CHECK(forbidden(beat, stranger));
}

TEST_CASE("the socket is open to all where there are operators, or tokens", "[control][permissions]") {
  CHECK_FALSE(SocketAccess{.group = kGroup, .operators = {}}.is_open());
  CHECK(with_operators().is_open());
  CHECK(SocketAccess{.group = kGroup, .operators = {}, .has_tokens = true}.is_open());
}

TEST_CASE("the kernel's credentials say who somebody is", "[control][permissions]") {
  const auto asker = [](uid_t uid, std::vector<gid_t> groups, const SocketAccess& access) {
    const Asker who = asker_of({.uid = uid, .groups = std::move(groups)}, access, kDaemon);
    return who.name + " " + (who.role ? std::string(to_string(*who.role)) : "stranger");
  };
  const SocketAccess group_only{.group = kGroup, .operators = {}};
  CHECK(asker(0, {}, {}) == "root admin");
  CHECK(asker(0, {}, {.group = {}, .operators = {{0, "root"}}}) == "root admin");
  CHECK(asker(kDaemon, {}, with_operators()) == "uid 900 admin");
  CHECK(asker(kMember, {5, kGroup}, group_only) == "uid 1002 admin");
  CHECK(asker(kMember, {5, kGroup}, with_operators()) == "uid 1002 admin");
  CHECK(asker(kMember, {5, kGroup}, {}) == "uid 1002 stranger");
  CHECK(asker(kJohn, {5}, with_operators()) == "john operator");
  CHECK(asker(kJohn, {5, kGroup}, with_operators()) == "john operator");
  CHECK(asker(kJohn, {5}, group_only) == "uid 1001 stranger");
  CHECK(asker(kStranger, {5}, with_operators()) == "uid 1003 stranger");
}

}  // namespace permissions_test
