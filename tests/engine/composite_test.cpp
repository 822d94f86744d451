// SPDX-License-Identifier: MIT
// Services made of others.
#include <catch2/catch.hpp>

#include "engine/health.hpp"
#include "engine/service.hpp"
#include "support/engine_world.hpp"

namespace composite_test {

using namespace healer;
using namespace healer::test;

TEST_CASE("the health of a service", "[engine][composite]") {
  World world(rule_set({service("s", {status_rule(Comparison::NotEqual, 0, {2, 2, Duration{0}})})}));
  const ServiceId s = world.id("s");
  const auto command = [&](event::Command::Kind kind) {
    world.handle(event::Command{CommandId{1}, kind, {s}, "root"});
  };
  CHECK(world.engine.health(s) == Health::Unjudged);
  world.start();
  world.advance(Duration{0});
  CHECK(world.engine.health(s) == Health::Unjudged);  // its first run is under way
  world.observe(s, 1);
  CHECK(world.engine.health(s) == Health::Ok);  // no rule stands failed yet
  world.advance(seconds{1});
  world.observe(s, 1);
  CHECK(world.engine.health(s) == Health::Failed);
  command(event::Command::Kind::Pause);
  CHECK(world.engine.health(s) == Health::Failed);

  World same_boot(world.engine.graph(), world.saved, world.now);
  CHECK(same_boot.engine.health(s) == Health::Failed);
  Instant later = world.now;
  ++later.boot;
  World other_boot(world.engine.graph(), world.saved, later);
  CHECK(other_boot.engine.health(s) == Health::Unjudged);

  command(event::Command::Kind::Unmonitor);
  CHECK(world.engine.health(s) == Health::Unmonitored);
  command(event::Command::Kind::Monitor);
  CHECK(world.engine.health(s) == Health::Unjudged);
}

}  // namespace composite_test
