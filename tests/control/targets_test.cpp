// SPDX-License-Identifier: MIT
// A target is named for the services that are healed as it.
#include <catch2/catch.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "control/client.hpp"
#include "control/daemon_world.hpp"
#include "control/selection.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"

namespace targets_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;

namespace {

RuleSet nodes() {
  const auto of_node = [](std::string name, std::string node) {
    auto block = service(std::move(name), {status_rule(Comparison::NotEqual, 0)});
    block->row = std::make_shared<const Row>(Row{.target = std::move(node), .variables = {}, .lists = {"NODE"}});
    return block;
  };
  return rule_set({of_node("ping_node6", "node6"), of_node("ping_node7", "node7"), of_node("disk_node6", "node6")});
}

/// The names of what a request chooses, or why there are none.
std::string chosen(Request request) {
  const auto graph = make_graph(nodes());
  const Selection selection = select(*graph, request);
  if (const auto* failure = std::get_if<Failure>(&selection)) return failure->message + " | " + failure->remedy;
  std::string names;
  for (const ServiceId id : std::get<std::vector<ServiceId>>(selection)) names += graph->at(id).name + " ";
  return names;
}

}  // namespace

TEST_CASE("a target stands for its services, but not to start or stop them", "[control]") {
  for (const Verb verb : {Verb::Status, Verb::Summary, Verb::Explain, Verb::Pause, Verb::Resume, Verb::Unmonitor,
                          Verb::Monitor, Verb::Ack, Verb::Validate})
    CHECK(chosen({.verb = verb, .names = {"Node6"}}) == "ping_node6 disk_node6 ");
  CHECK(chosen({.verb = Verb::Status, .names = {"disk_node6", "node6", "ping_node7"}}) ==
        "disk_node6 ping_node6 ping_node7 ");
  for (const Verb verb : {Verb::Start, Verb::Stop, Verb::Restart})
    CHECK(chosen({.verb = verb, .names = {"node6"}}) ==
          "there is no service \"node6\"; it is what ping_node6, disk_node6 are healed as | name the service");
  CHECK(chosen({.verb = Verb::Status, .names = {"node8"}}).starts_with("there is no service \"node8\" | "));
}

TEST_CASE("the history of a target is that of its services", "[control]") {
  DaemonWorld world(nodes());
  world.cycle(1);
  auto client = Client::connect(world.path(), kPatience);
  if (auto* failure = std::get_if<Failure>(&client)) throw std::runtime_error(failure->message);
  std::string text;
  const auto reply = std::get<Client>(client).call({.verb = Verb::History, .names = {"node6"}}, [&](const Json& item) {
    text += item.at("service").get<std::string>() + " " + item.at("kind").get<std::string>() + "\n";
  });
  CHECK(reply.ok());
  CHECK(text == "ping_node6 rule-failed\ndisk_node6 rule-failed\n");
}

}  // namespace targets_test
