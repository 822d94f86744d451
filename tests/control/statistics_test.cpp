// SPDX-License-Identifier: MIT
// How long services stood failed, as it is counted from records.
#include "control/statistics.hpp"

#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "engine/rules/service.hpp"
#include "support/engine_world.hpp"

namespace statistics_test {

using namespace healer;
using namespace healer::control;
using namespace healer::engine;
using namespace healer::test;

namespace {

/// Tells statistics what a world's engine does.
struct Counted {
  explicit Counted(World& its) : world(its) {
    if (world.engine->cycle(world.now) == 0) world.start();
    note();
  }
  void note() {
    for (; taken < world.effects.size(); ++taken) statistics.note(world.effects[taken], *world.engine);
  }
  /// All runs of the next `count` cycles end so.
  void run(int count, std::int64_t status) {
    for (int i = 0; i < count; ++i) {
      world.advance(seconds{1});
      for (const ServiceId id : world.engine->graph()->order)
        if (world.engine->service(id).flight) world.observe(id, status);
      note();
    }
  }
  [[nodiscard]] std::uint64_t episodes() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : statistics.unhealthy().counts) sum += count;
    return sum;
  }

  World& world;
  Statistics statistics;
  std::size_t taken = 0;
};

RuleSet one_service() {
  Rule other = status_rule(Comparison::Greater, 4);
  return rule_set({service("web", {status_rule(Comparison::NotEqual, 0), other})});
}

}  // namespace

TEST_CASE("A time is counted at the lowest bound that it is not above", "[control][statistics]") {
  UnhealthyTimes times;
  times.add(seconds{30});
  times.add(milliseconds{30'001});
  times.add(hours{2});
  times.add(seconds{-5});
  CHECK(times.counts.front() == 2);
  CHECK(times.counts[1] == 1);
  CHECK(times.counts.back() == 1);
  CHECK(times.sum == milliseconds{7'260'001});
}

TEST_CASE("A service is unhealthy from its first rule that fails until the last has recovered",
          "[control][statistics]") {
  World world(one_service());
  Counted counted(world);
  counted.run(2, 0);
  counted.run(40, 1);
  counted.run(40, 5);  // the other rule, too
  counted.run(10, 1);  // which recovers
  CHECK(counted.episodes() == 0);
  counted.run(1, 0);
  CHECK(counted.episodes() == 1);
  CHECK(counted.statistics.unhealthy().sum == seconds{90});
  counted.run(5, 1);
  counted.run(1, 0);
  CHECK(counted.episodes() == 2);
}

TEST_CASE("What stood failed before the daemon was restarted is counted from then", "[control][statistics]") {
  World world(one_service());
  Counted counted(world);
  counted.run(20, 1);
  World later(world.engine->graph(), world.saved, {.boot = 7, .mono = world.now.mono, .wall = world.now.wall});
  Counted after(later);
  CHECK(after.statistics.loaded() == later.now.wall);
  after.run(1, 1);
  after.run(1, 0);
  CHECK(after.episodes() == 1);
  CHECK(after.statistics.unhealthy().sum >= seconds{20});
}

TEST_CASE("Nothing is counted of what is not monitored any more, or not asked", "[control][statistics]") {
  World world(one_service());
  Counted counted(world);
  counted.run(20, 1);
  const ServiceId web = world.id("web");
  world.handle(event::Command{
      .id = CommandId{1}, .kind = event::Command::Kind::Unmonitor, .services = {web}, .by = ByPerson{"root"}});
  counted.note();
  world.advance(seconds{30});
  world.handle(event::Command{
      .id = CommandId{2}, .kind = event::Command::Kind::Monitor, .services = {web}, .by = ByPerson{"root"}});
  counted.run(3, 0);
  CHECK(counted.episodes() == 0);
  counted.run(5, 1);
  world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({service("web", {})}))});
  counted.run(2, 0);
  world.handle(event::Swap{plan_swap(*world.engine->graph(), one_service())});
  counted.run(2, 1);
  counted.run(1, 0);
  CHECK(counted.statistics.unhealthy().sum == seconds{2});
}

}  // namespace statistics_test
