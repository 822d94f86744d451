// SPDX-License-Identifier: MIT
// Runs that are left out because the one before has not finished, and what is said of them.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/engine_world.hpp"

namespace overrun_test {

using namespace healer;
using namespace healer::test;

namespace {

const Rule kOne = status_rule(Comparison::NotEqual, 0);

}  // namespace

TEST_CASE("a run that has not finished is not started again, and that is recorded once", "[engine]") {
  World world(rule_set({service("s", {kOne})}));
  world.start();
  world.advance(seconds{10});
  CHECK(world.open.size() == 1);
  CHECK(world.count(RecordKind::RunOverrun) == 1);
  world.observe(world.id("s"), 0);
  world.advance(seconds{1});
  CHECK(world.open.size() == 1);
}

TEST_CASE("services that are late at every cycle are told of once, and summed up each minute", "[engine]") {
  std::vector<std::shared_ptr<ServiceBlock>> blocks;
  for (int i = 0; i < 50; ++i) blocks.push_back(service("s" + std::to_string(i), {kOne}));
  World world(rule_set(blocks));
  world.start();
  const auto run = [&](int cycles) {  // each run takes two cycles: every other is left out
    for (int i = 0; i < cycles; ++i) {
      world.advance(milliseconds{1500});
      for (const ServiceId id : world.engine->graph()->order)
        if (world.engine->service(id).flight) world.observe(id, 0);
      world.advance(milliseconds{500});
    }
  };
  run(90);
  const auto sums = [&] {
    std::vector<std::string> texts;
    for (const Record& record : world.records)
      if (record.kind == RecordKind::RunOverrun && record.service.empty()) texts.push_back(record.text);
    return texts;
  };
  CHECK(world.count(RecordKind::RunOverrun) == 50 + 2);
  REQUIRE(sums().size() == 2);
  CHECK(sums().back() == "in the last 1 m 1500 runs of 50 services were skipped: the previous runs had not finished");
  // In time for more than a minute, and late again: that is told again.
  world.answer = [](ServiceId) { return 0; };
  for (const ServiceId id : world.engine->graph()->order)
    if (world.engine->service(id).flight) world.observe(id, 0);
  world.advance(seconds{150});
  const std::size_t before = world.count(RecordKind::RunOverrun);
  CHECK(before <= 50 + 4);
  world.answer = nullptr;
  run(2);
  CHECK(world.count(RecordKind::RunOverrun) == before + 50);
}

}  // namespace overrun_test
