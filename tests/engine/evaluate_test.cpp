// SPDX-License-Identifier: MIT
#include "engine/evaluate.hpp"
#include "engine/service.hpp"

#include <catch2/catch.hpp>

namespace evaluate_test {

using namespace healer;
using namespace healer::engine;

namespace {

constexpr std::optional<bool> kUnknown;

/// A look that has found a process.
Observation look(ProcessFacts process, std::initializer_list<std::pair<Metric, double>> metrics = {}) {
  Facts facts{.process = std::move(process), .metrics = {}};
  for (const auto& [metric, value] : metrics) facts.metrics.set(metric, value);
  return {.output = std::make_shared<const std::string>(), .facts = std::make_shared<const Facts>(std::move(facts))};
}

/// A look that has found none.
Observation nothing() {
  return {.output = std::make_shared<const std::string>(), .facts = std::make_shared<const Facts>()};
}

Observation program(std::int64_t status) { return {.status = status, .output = std::make_shared<const std::string>()}; }

std::optional<bool> told(Test test, const Observation& run, const Memory& memory = {}) {
  return holds(test, Seen{run, memory});
}

}  // namespace

TEST_CASE("Every comparison compares") {
  const auto of = [](double left, double right) {
    std::string held;
    for (const auto& [comparison, mark] : {std::pair{Comparison::Equal, '='},
                                           {Comparison::NotEqual, '!'},
                                           {Comparison::Less, '<'},
                                           {Comparison::LessEqual, 'l'},
                                           {Comparison::Greater, '>'},
                                           {Comparison::GreaterEqual, 'g'}})
      if (compare(comparison, left, right)) held += mark;
    return held;
  };
  CHECK(of(1, 2) == "!<l");
  CHECK(of(2, 2) == "=lg");
  CHECK(of(3, 2) == "!>g");
}

TEST_CASE("Existence is always told, and a zombie is not there") {
  const Observation alive = look({.pid = 7});
  const Observation zombie = look({.pid = 7, .zombie = true});
  CHECK(told(ExistTest{true}, alive) == true);
  CHECK(told(ExistTest{false}, alive) == false);
  for (const Observation& gone : {zombie, nothing()}) {
    CHECK(told(ExistTest{true}, gone) == false);
    CHECK(told(ExistTest{false}, gone) == true);
  }
}

TEST_CASE("What a process that is not there would have cannot be told") {
  const ProcessMemory memory{.pid = 7, .parent = 1};
  for (const Observation& gone : {look({.pid = 7, .zombie = true}, {{Metric::Cpu, 0.0}}), nothing()}) {
    CHECK(told(ResourceTest{Metric::Cpu, Comparison::Less, 5}, gone) == kUnknown);
    CHECK(told(OwnerTest{OwnerTest::Which::Uid, 0}, gone) == kUnknown);
    CHECK(told(PidChanged{}, gone, memory) == kUnknown);
    CHECK(told(AttributeTest{"x"}, gone) == kUnknown);
    CHECK(told(RestartsTest{}, gone) == false);
  }
}

TEST_CASE("A quantity is compared where it is known") {
  const Observation seen = look({.pid = 7}, {{Metric::Cpu, 90.0}, {Metric::Children, 3}});
  CHECK(told(ResourceTest{Metric::Cpu, Comparison::Greater, 80}, seen) == true);
  CHECK(told(ResourceTest{Metric::Cpu, Comparison::Greater, 90}, seen) == false);
  CHECK(told(ResourceTest{Metric::Children, Comparison::Equal, 3}, seen) == true);
  CHECK(told(ResourceTest{Metric::ReadRate, Comparison::GreaterEqual, 0}, seen) == kUnknown);
  // `if uptime for 90 seconds` asks for a second, not for a moment.
  const Observation ninety = look({.pid = 7}, {{Metric::Uptime, 90.7}});
  CHECK(told(ResourceTest{Metric::Uptime, Comparison::Equal, 90}, ninety) == true);
  CHECK(told(ResourceTest{Metric::Uptime, Comparison::Greater, 90}, ninety) == false);
  // The system has quantities without a process; a program has none at all.
  Facts system;
  system.metrics.set(Metric::Load1, 2.5);
  const Observation me{.output = {}, .facts = std::make_shared<const Facts>(system)};
  CHECK(told(ResourceTest{Metric::Load1, Comparison::Greater, 2}, me) == true);
  CHECK(told(ResourceTest{Metric::Load1, Comparison::Greater, 2}, program(0)) == kUnknown);
}

TEST_CASE("Owners and attributes fail where they are others") {
  using Which = OwnerTest::Which;
  const Observation seen = look({.pid = 7, .uid = 1, .euid = 2, .gid = 3, .attribute = "confined"});
  CHECK(told(OwnerTest{Which::Uid, 1}, seen) == false);
  CHECK(told(OwnerTest{Which::Uid, 2}, seen) == true);
  CHECK(told(OwnerTest{Which::Euid, 2}, seen) == false);
  CHECK(told(OwnerTest{Which::Euid, 1}, seen) == true);
  CHECK(told(OwnerTest{Which::Gid, 3}, seen) == false);
  CHECK(told(OwnerTest{Which::Gid, 1}, seen) == true);
  CHECK(told(AttributeTest{"confined"}, seen) == false);
  CHECK(told(AttributeTest{""}, seen) == true);
}

TEST_CASE("A process has changed where another one was seen before") {
  const Observation seen = look({.pid = 7, .parent = 1});
  CHECK(told(PidChanged{}, seen) == false);  // nobody remembers
  CHECK(told(PidChanged{}, seen, ProcessMemory{}) == false);
  CHECK(told(PidChanged{true}, seen, ProcessMemory{}) == false);
  const ProcessMemory same{.pid = 7, .parent = 1};
  CHECK(told(PidChanged{}, seen, same) == false);
  CHECK(told(PidChanged{true}, seen, same) == false);
  CHECK(told(PidChanged{}, seen, ProcessMemory{.pid = 6, .parent = 1}) == true);
  CHECK(told(PidChanged{true}, seen, ProcessMemory{.pid = 6, .parent = 1}) == false);
  CHECK(told(PidChanged{true}, seen, ProcessMemory{.pid = 7, .parent = 2}) == true);
}

TEST_CASE("Restarts are told by the history of the starts") {
  const Observation run = nothing();
  const Memory memory;
  CHECK(holds(Test(RestartsTest{}), Seen{run, memory, true}) == true);
  CHECK(holds(Test(RestartsTest{}), Seen{run, memory, false}) == false);
}

TEST_CASE("What decides a condition decides it, whatever cannot be told beside it") {
  // T, F and ? are tests that hold, do not hold, and cannot be told.
  const Observation run = look({.pid = 7});
  const Memory memory;
  const auto of = [&](std::string_view text) {
    std::vector<Term> condition;
    bool alternative = false;
    for (const char c : text) {
      if (c == '|') {
        alternative = true;
        continue;
      }
      Test test = ExistTest{c == 'T'};
      if (c == '?') test = ResourceTest{};
      condition.push_back({std::move(test), std::exchange(alternative, false)});
    }
    return holds(condition, Seen{run, memory});
  };
  CHECK(of("T") == true);
  CHECK(of("F") == false);
  CHECK(of("?") == kUnknown);
  CHECK(of("TT") == true);
  CHECK(of("TF") == false);
  CHECK(of("T?") == kUnknown);
  CHECK(of("?T") == kUnknown);
  CHECK(of("?F") == false);
  CHECK(of("F?") == false);
  CHECK(of("??") == kUnknown);
  CHECK(of("T|F") == true);
  CHECK(of("F|T") == true);
  CHECK(of("F|F") == false);
  CHECK(of("?|T") == true);
  CHECK(of("T|?") == true);
  CHECK(of("?|F") == kUnknown);
  CHECK(of("F|?") == kUnknown);
  CHECK(of("F?|F") == false);
  CHECK(of("TF|?T|TT") == true);
  CHECK(of("TF|?T|FT") == kUnknown);
  CHECK(of("F|?F|TT") == true);
}

TEST_CASE("Only what a rule asks for is remembered") {
  const auto memory_of = [](Test test) {
    ServiceBlock block;
    block.rules.resize(2);
    block.rules[0].condition = {{StatusTest{}, false}};
    block.rules[1].condition = {{ExistTest{}, false}, {std::move(test), true}};
    return fresh_memory(block);
  };
  CHECK(memory_of(StatusTest{}) == Memory{});
  CHECK(memory_of(StatusChanged{}) == Memory{ProgramMemory{}});
  CHECK(memory_of(PidChanged{}) == Memory{ProcessMemory{}});
  CHECK(memory_of(PidChanged{true}) == Memory{ProcessMemory{}});

  Memory none;
  CHECK_FALSE(remember(none, program(3)));
  CHECK_FALSE(remember(none, look({.pid = 7})));
  CHECK(none == Memory{});
}

TEST_CASE("A run is remembered, and what it changes is told") {
  Memory status = ProgramMemory{};
  CHECK(remember(status, program(3)));
  CHECK_FALSE(remember(status, program(3)));
  CHECK(remember(status, program(0)));
  CHECK(status == Memory{ProgramMemory{0}});

  Memory process = ProcessMemory{};
  CHECK(remember(process, look({.pid = 7, .parent = 1})));
  CHECK_FALSE(remember(process, look({.pid = 7, .parent = 1})));
  CHECK_FALSE(remember(process, nothing()));
  CHECK_FALSE(remember(process, look({.pid = 8, .parent = 2, .zombie = true})));
  CHECK(process == Memory{ProcessMemory{7, 1}});
  CHECK(remember(process, look({.pid = 7, .parent = 2})));
  CHECK(remember(process, look({.pid = 8, .parent = 2})));
  CHECK(process == Memory{ProcessMemory{8, 2}});
}

}  // namespace evaluate_test
