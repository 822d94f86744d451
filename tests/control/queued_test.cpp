// SPDX-License-Identifier: MIT
// What is shown of a firing that waits for its turn, and of an action that has failed.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "control/client.hpp"
#include "control/daemon_world.hpp"
#include "engine/rules/rule_set.hpp"

namespace queued_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;

namespace {

std::vector<Json> ask(DaemonWorld& world, const Request& request) {
  auto client = Client::connect(world.path(), kPatience);
  if (auto* failure = std::get_if<Failure>(&client)) throw std::runtime_error(failure->message);
  std::vector<Json> items;
  const Reply reply = std::get<Client>(client).call(request, [&](const Json& item) { items.push_back(item); });
  if (!reply.ok()) throw std::runtime_error(reply.failure->message);
  return items;
}

std::string text_of(DaemonWorld& world) { return ask(world, {.verb = Verb::Summary}).at(0).at("text"); }

}  // namespace

TEST_CASE("a firing that waits is among the jobs, and in the summary", "[control][jobs]") {
  DaemonWorld world(rule_set({service("db", {status_rule(Comparison::NotEqual, 0, {}, 1)})}));
  const ActionId first = running_action(world);
  world.cycle(1);
  const auto jobs = ask(world, {.verb = Verb::Jobs});
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0].at("id") == first.number());
  CHECK(jobs[1].at("doing") == "exec /bin/heal");
  CHECK(jobs[1].at("waits_for") == "its previous run to end");
  CHECK(jobs[1].at("action") == 0);
  CHECK_THAT(text_of(world),
             Catch::EndsWith("exit status 1 in 5 ms (exec /bin/heal waits for its previous run to end)"));
  CHECK(ask(world, {.verb = Verb::Status, .names = {"db"}}).at(0).at("actions").at(0).at("again") == true);
  CHECK(ask(world, {.verb = Verb::Explain, .names = {"db"}})
            .at(0)
            .at("notes")
            .at(0)
            .get<std::string>()
            .starts_with("exec /bin/heal has been queued for "));
  ask(world, {.verb = Verb::Cancel, .id = jobs[1].at("id")});
  CHECK(ask(world, {.verb = Verb::Jobs}).size() == 1);
}

TEST_CASE("how the last action failed is in summary, status and explain", "[control]") {
  DaemonWorld world(rule_set({service("db", {status_rule(Comparison::NotEqual, 0)})}));
  const ActionId action = running_action(world);
  world.act(
      [&](World& engine) { engine.handle(event::ActionEnded{.action = action, .status = 2, .elapsed = seconds{5}}); });
  const std::string failure = "exec /bin/heal exited with status 2 after 5 s";
  CHECK_THAT(text_of(world), Catch::EndsWith("exit status 1 in 5 ms (last action: " + failure + ")"));
  const Json status = ask(world, {.verb = Verb::Status, .names = {"db"}}).at(0);
  CHECK(status.at("action_failure") == failure);
  CHECK_FALSE(status.at("action_failed_at").is_null());
  CHECK(ask(world, {.verb = Verb::Explain, .names = {"db"}}).at(0).at("notes").dump().find("Its last action failed ") !=
        std::string::npos);
}

}  // namespace queued_test
