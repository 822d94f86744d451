// SPDX-License-Identifier: MIT
#include "runtime/net/reacher.hpp"

#include <catch2/catch.hpp>
#include <optional>

#include "config/text/probe_text.hpp"
#include "engine/rules/service.hpp"
#include "runtime/probes.hpp"

namespace healer::test {

using namespace healer::runtime;
using engine::Answer;
using engine::Reach;

namespace {

struct ReachWorld {
  Loop loop;
  Connector connector{loop};
  std::optional<engine::event::Measured> reported;
  Reacher reacher{loop, connector, [this](engine::Event event) {
                    reported = std::get<engine::event::Measured>(std::move(event));
                    loop.stop();
                  }};
  std::shared_ptr<engine::ServiceBlock> block = std::make_shared<engine::ServiceBlock>();
  engine::effect::Measure measure{.service = engine::ServiceId{0}, .run = engine::RunId{7}};

  explicit ReachWorld(std::string_view kind) { block->kind = engine::kind_named(kind); }

  void add(const std::string& text, const std::string& host = "127.0.0.1") {
    block->probes.push_back(plan_of(host, text));
  }
  const std::vector<engine::ConnectionSeen>& connections() {
    REQUIRE(reported);
    return reported->evidence->facts->further->connections;
  }
  const std::vector<engine::ConnectionSeen>& connect() {
    reacher.connect(measure, block);
    REQUIRE_FALSE(reported);
    loop.run();
    return connections();
  }
  /// What a look answers that has found a process which runs for so many seconds; none: it has found none.
  engine::event::Measured check(std::optional<double> uptime) const {
    engine::Facts facts;
    if (uptime) {
      facts.process = engine::ProcessFacts{.pid = 42};
      facts.metrics.set(engine::Metric::Uptime, *uptime);
    }
    return engine::event::measured(measure.service, measure.run,
                                   {.answer = uptime ? Answer::Present : Answer::Absent,
                                    .output = std::make_shared<const std::string>(),
                                    .facts = std::make_shared<const engine::Facts>(facts)});
  }
};

std::string port_of(const Listener& listener) { return "port " + std::to_string(listener.port()); }

std::string closed_port() {
  const Listener gone([](Peer&) {});
  return port_of(gone);
}

}  // namespace

TEST_CASE("All connections of a host are tested and reported") {
  const Listener open([](Peer&) {});
  ReachWorld world("host");
  world.add(port_of(open));
  world.add(closed_port());
  const auto& seen = world.connect();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].reach == Reach::Passed);
  CHECK(seen[0].address == "127.0.0.1:" + std::to_string(open.port()));
  CHECK(seen[0].sentence == "connection succeeded to [127.0.0.1]:" + std::to_string(open.port()) + " [TCP/IP]");
  CHECK(seen[0].response);
  CHECK(seen[1].reach == Reach::Failed);
  CHECK(seen[1].sentence.ends_with("[TCP/IP] -- Connection refused"));
  CHECK(world.reported->evidence->answer == Answer::Present);
}

TEST_CASE("A host that does not answer pings is spared the rest") {
  ReachWorld world("host");
  world.add(closed_port());
  world.add("ping count 1 timeout 1 second", "240.0.0.1");
  const auto& seen = world.connect();
  CHECK(seen[1].reach == Reach::Failed);
  CHECK(seen[1].sentence == "ping test failed");
  CHECK(seen[0].reach == Reach::Untried);
  CHECK(seen[0].text == "not tried: the host does not answer pings");
}

TEST_CASE("The connections of a process are made once it is found") {
  const Listener open([](Peer&) {});
  ReachWorld world("process");
  world.add(port_of(open));
  world.reacher.connect_after_inspection(world.measure, {}, world.block);
  CHECK(world.reacher.checked(world.check(3)));
  world.loop.run();
  CHECK(world.connections()[0].reach == Reach::Passed);
  CHECK(world.reported->evidence->facts->process->pid == 42);
}

TEST_CASE("No connection is tested for a process that is absent") {
  ReachWorld world("process");
  world.add(closed_port());
  world.reacher.connect_after_inspection(world.measure, {}, world.block);
  CHECK_FALSE(world.reacher.checked(world.check({})));
  CHECK_FALSE(world.reacher.checked(world.check(3)));  // the run is over
}

TEST_CASE("Connections rest until the process has run longer than its start may take") {
  const auto reach_after = [](double uptime) {
    ReachWorld world("process");
    world.add(closed_port());
    world.reacher.connect_after_inspection(world.measure, {.rest = seconds{6}}, world.block);
    CHECK(world.reacher.checked(world.check(uptime)));
    if (!world.reported) world.loop.run();
    return world.connections()[0].reach;
  };
  CHECK(reach_after(0) == Reach::Untried);
  CHECK(reach_after(6.9) == Reach::Untried);
  CHECK(reach_after(7) == Reach::Failed);
}

TEST_CASE("A run that is cancelled is not answered") {
  const Listener open([](Peer&) {});
  ReachWorld world("host");
  world.add(port_of(open));
  world.reacher.connect(world.measure, world.block);
  world.reacher.cancel(world.measure.run);
  world.measure.run = engine::RunId{8};
  world.connect();
  CHECK(world.reported->run == engine::RunId{8});
  CHECK(world.connector.in_flight() == 0);
}

}  // namespace healer::test
