// SPDX-License-Identifier: MIT
// What alerts are about: a rule from its firing to its recovery; and what becomes of those that reach nobody.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/cause.hpp"
#include "support/engine_world.hpp"

namespace incident_test {

using namespace healer;
using namespace healer::test;

namespace {

Recipient team(std::string name = "team") {
  return {.address = std::move(name), .reminder = 2, .format = {}, .contact = true};
}

World world_of(std::vector<Rule> rules) {
  auto block = service("s", std::move(rules));
  *block->recipients = {team()};
  return World(rule_set({block}));
}

/// "failed A, reminder A, recovered A": the incidents by their first letters of the alphabet.
std::string notified(const World& world) {
  std::vector<std::string> known;
  std::string text;
  for (const effect::Alert& alert : world.alerts) {
    if (std::ranges::find(known, alert.incident) == known.end()) known.push_back(alert.incident);
    const auto which = std::ranges::find(known, alert.incident) - known.begin();
    const bool failed = alert.cause->state == effect::Cause::State::Failed;
    text += (text.empty() ? "" : ", ") +
            std::string(alert.reminder ? "reminder"
                        : failed       ? "failed"
                                       : "recovered") +
            " " + static_cast<char>('A' + which);
  }
  return text;
}

}  // namespace

TEST_CASE("failure, reminders and recovery of a rule are one incident; its next failure is another", "[incident]") {
  World world = world_of({status_rule(Comparison::NotEqual, 0)});
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{4});  // runs 1..5
  world.answer = [](ServiceId) { return 0; };
  world.advance(seconds{1});
  world.answer = [](ServiceId) { return 1; };
  world.advance(seconds{1});
  CHECK(notified(world) == "failed A, reminder A, reminder A, recovered A, failed B");
  for (const effect::Alert& alert : world.alerts) CHECK(alert.incident.size() == 32);
}

TEST_CASE("two rules that fire in one run are two incidents", "[incident]") {
  World world = world_of({status_rule(Comparison::NotEqual, 0), status_rule(Comparison::Greater, 0)});
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(Duration{0});
  CHECK(notified(world) == "failed A, failed B");
}

TEST_CASE("an incident outlives healer", "[incident]") {
  World first = world_of({status_rule(Comparison::NotEqual, 0)});
  first.answer = [](ServiceId) { return 1; };
  first.start();
  first.advance(Duration{0});
  REQUIRE(first.alerts.size() == 1);
  auto block = service("s", {status_rule(Comparison::NotEqual, 0)});
  *block->recipients = {team()};
  Instant later = first.now;
  later.mono += minutes{5};
  later.wall += minutes{5};
  SavedState left = first.saved;
  left.alerts.clear();
  World second(make_graph(rule_set({block})), left, later);
  second.answer = [](ServiceId) { return 0; };
  second.start();
  second.advance(seconds{2});
  REQUIRE(second.alerts.size() == 1);
  CHECK(second.alerts[0].incident == first.alerts[0].incident);
}

TEST_CASE("an alert that its contact did not get is recorded, and told to all others that want it", "[incident]") {
  auto block = service("s", {status_rule(Comparison::NotEqual, 0)});
  RuleSet rules = rule_set({block});
  rules.settings.mail.recipients = {team("team"), team("Other"), {.address = "team"}, {.address = "all@b"}};
  World world(std::move(rules));
  world.start();
  world.alerts.clear();
  world.handle(event::MailOutcome{.alert = AlertId{1},
                                  .kind = event::MailOutcome::Kind::Dropped,
                                  .text = "alert to contact team dropped",
                                  .contact = "Team",
                                  .tells_others = true});
  CHECK(world.count(RecordKind::AlertDropped) == 1);
  REQUIRE(world.alerts.size() == 1);
  CHECK(world.alerts[0].cause->event_text == kNotDelivered);
  std::vector<std::string> to;
  for (const Recipient& one : world.alerts[0].recipients) to.push_back(one.address);
  CHECK(to == std::vector<std::string>{"Other", "team", "all@b"});  // the second is an address of mail
  world.handle(event::MailOutcome{.alert = AlertId{2}, .text = "sent", .contact = "team"});
  CHECK(world.count(RecordKind::AlertSent) == 1);
  CHECK(world.alerts.size() == 1);
}

}  // namespace incident_test
