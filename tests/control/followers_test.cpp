// SPDX-License-Identifier: MIT
// Those who follow the history, and come back.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "control/client.hpp"
#include "control/daemon_world.hpp"
#include "engine/rules/rule_set.hpp"

namespace followers_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;

namespace {

std::string follow(std::optional<std::uint64_t> after, std::vector<std::string> names = {}) {
  return to_line(Request{.verb = Verb::History, .names = std::move(names), .after = after, .follow = true}) + "\n";
}

/// The items of lines, the gaps among them.
std::vector<Json> items_of(const std::string& lines) {
  std::vector<Json> items;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    const Json json = Json::parse(line);
    if (json.contains("item")) items.push_back(json["item"]);
  }
  return items;
}

std::uint64_t id_of(const Json& item) { return item.at("id").get<std::uint64_t>(); }

/// So many records come: "db" fails and recovers.
void happen(DaemonWorld& world, int records) {
  for (int i = 0; i < records; ++i) {
    bool fails = false;
    world.act([&](World& engine) { fails = engine.engine->rules(engine.id("db"))[0].status == RuleStatus::Ok; });
    world.cycle(fails ? 1 : 0);
  }
}

std::uint64_t newest(DaemonWorld& world) {
  std::uint64_t id = 0;
  world.act([&](World& engine) { id = engine.saved.last_record; });
  return id;
}

/// Reads what there is after `last`, up to the record `until`; each record once, in order.
std::uint64_t read_on(RawClient& client, std::uint64_t last, std::uint64_t until) {
  while (last < until) {
    const std::vector<Json> items = items_of(client.lines(1));
    REQUIRE(items.size() == 1);
    REQUIRE(id_of(items[0]) == last + 1);
    ++last;
  }
  return last;
}

const KeptHistory kSmall{.records = 100'000, .tail = {.records = 20, .bytes = 1U << 20}};

}  // namespace

TEST_CASE("a follower that comes back with its last number misses nothing", "[control][followers]") {
  DaemonWorld world(two_services(), patient(), kSmall);
  happen(world, 10);
  std::uint64_t last = 0;
  for (int round = 0; round < 20; ++round) {
    RawClient client(world.path());
    client.send(follow(last));
    CHECK(client.lines(1).find("\"daemon\"") != std::string::npos);
    last = read_on(client, last, newest(world));
    happen(world, round % 3 == 0 ? 45 : 7);  // often more than the tail keeps
    last = read_on(client, last, newest(world) - static_cast<std::uint64_t>(round % 5));
    happen(world, round % 4 == 0 ? 30 : 0);
  }
  CHECK(last > 300);
}

TEST_CASE("a follower that is behind the tail gets what is between from the store", "[control][followers]") {
  DaemonWorld world(two_services(), patient(), kSmall);
  RawClient client(world.path());
  client.send(follow(0));
  CHECK(client.lines(1).find("\"daemon\"") != std::string::npos);
  for (int i = 0; i < 30; ++i) happen(world, 50);  // it does not read meanwhile
  CHECK(read_on(client, 0, newest(world)) == newest(world));
}

TEST_CASE("whoever goes on after what is pruned is told how much that is", "[control][followers]") {
  DaemonWorld world(two_services(), patient(), {.records = 30, .tail = {.records = 20, .bytes = 1U << 20}});
  happen(world, 100);
  const std::uint64_t last = newest(world);
  RawClient client(world.path());
  client.send(follow(10));
  CHECK(client.lines(1).find("\"daemon\"") != std::string::npos);
  const std::vector<Json> items = items_of(client.lines(2));
  REQUIRE(items.size() == 2);
  const auto gap = items[0].get<GapView>();
  CHECK(gap == GapView{.after = 10, .records = last - 30 - 10, .anew = false});
  CHECK(id_of(items[1]) == last - 29);
  read_on(client, last - 29, last);
  SECTION("and one that does not follow, too") {
    std::vector<Json> all;
    auto other = std::get<Client>(Client::connect(world.path(), kPatience));
    const Reply reply =
        other.call(Request{.verb = Verb::History, .after = 10}, [&](const Json& item) { all.push_back(item); });
    CHECK(reply.ok());
    REQUIRE(all.size() == 31);
    CHECK(all[0].at("gap").at("records") == last - 40);
  }
  SECTION("but not one who asks for all that there is") {
    RawClient from_begin(world.path());
    from_begin.send(follow(0));
    CHECK(from_begin.lines(1).find("\"daemon\"") != std::string::npos);
    read_on(from_begin, last - 30, last);
  }
}

TEST_CASE("a number that none has had yet: numbers have begun anew", "[control][followers]") {
  DaemonWorld world(two_services());
  happen(world, 3);
  RawClient client(world.path());
  client.send(follow(5'000));
  CHECK(client.lines(1).find("\"daemon\"") != std::string::npos);
  const std::vector<Json> items = items_of(client.lines(1));
  REQUIRE(items.size() == 1);
  CHECK(items[0].get<GapView>().anew);
  std::uint64_t last = read_on(client, 0, newest(world));
  happen(world, 5);
  last = read_on(client, last, newest(world));
  CHECK(last == newest(world));
}

TEST_CASE("the oldest after a number, as many as are asked for", "[control][followers]") {
  DaemonWorld world(two_services());
  happen(world, 20);
  std::vector<std::uint64_t> ids;
  auto client = std::get<Client>(Client::connect(world.path(), kPatience));
  const Reply reply = client.call(Request{.verb = Verb::History, .after = 4, .limit = 3},
                                  [&](const Json& item) { ids.push_back(id_of(item)); });
  CHECK(reply.ok());
  CHECK(ids == std::vector<std::uint64_t>{5, 6, 7});
}

TEST_CASE("a follower hears of its service alone", "[control][followers]") {
  DaemonWorld world(two_services(), patient(), kSmall);
  RawClient client(world.path());
  client.send(follow(std::nullopt, {"WEB"}));
  CHECK(client.lines(1).find("\"daemon\"") != std::string::npos);
  happen(world, 50);
  for (int i = 0; i < 3; ++i) world.cycle(1);  // "web" fails at the third
  const std::vector<Json> items = items_of(client.lines(1));
  REQUIRE(items.size() == 1);
  CHECK(items[0].at("service") == "web");
}

TEST_CASE("followers that do not read keep nothing from the others", "[control][followers]") {
  DaemonWorld world(two_services(), patient(), kSmall);
  std::vector<std::unique_ptr<RawClient>> deaf;
  for (int i = 0; i < 5; ++i) {
    deaf.push_back(std::make_unique<RawClient>(world.path()));
    deaf.back()->send(follow(0));
  }
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 30; ++i) {
    clients.push_back(std::make_unique<RawClient>(world.path()));
    clients.back()->send(follow(0));
    CHECK(clients.back()->lines(1).find("\"daemon\"") != std::string::npos);
  }
  for (int round = 0; round < 5; ++round) {
    const std::uint64_t before = newest(world);
    if (round == 0)
      for (const auto& client : clients) read_on(*client, 0, before);
    happen(world, 10);
    for (const auto& client : clients) read_on(*client, before, newest(world));
  }
}

}  // namespace followers_test
