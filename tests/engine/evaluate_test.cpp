// SPDX-License-Identifier: MIT
#include "engine/judging/evaluate.hpp"
#include "engine/judging/clear.hpp"
#include "engine/rules/service.hpp"

#include <catch2/catch.hpp>

namespace evaluate_test {

using namespace healer;
using namespace healer::engine;

namespace {

constexpr std::optional<bool> kUnknown;

/// A look that has found a process.
Evidence check(ProcessFacts process, std::initializer_list<std::pair<Metric, double>> metrics = {}) {
  const Answer answer = process.zombie ? Answer::Absent : Answer::Present;
  Facts facts{.process = std::move(process), .metrics = {}};
  for (const auto& [metric, value] : metrics) facts.metrics.set(metric, value);
  return {.answer = answer,
          .output = std::make_shared<const std::string>(),
          .facts = std::make_shared<const Facts>(std::move(facts))};
}

/// A look that has found none.
Evidence nothing() {
  return {.answer = Answer::Absent,
          .output = std::make_shared<const std::string>(),
          .facts = std::make_shared<const Facts>()};
}

Evidence program(std::int64_t status) { return {.status = status, .output = std::make_shared<const std::string>()}; }

std::optional<bool> result_of(Test test, const Evidence& run, const Memory& memory = {}) {
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
  const Evidence alive = check({.pid = 7});
  const Evidence zombie = check({.pid = 7, .zombie = true});
  CHECK(result_of(Present{true}, alive) == true);
  CHECK(result_of(Present{false}, alive) == false);
  for (const Evidence& gone : {zombie, nothing()}) {
    CHECK(result_of(Present{true}, gone) == false);
    CHECK(result_of(Present{false}, gone) == true);
  }
}

TEST_CASE("What a process that is not there would have cannot be told") {
  const Memory memory{{{Attribute::Pid, 7}, {Attribute::Parent, 1}}};
  for (const Evidence& gone : {check({.pid = 7, .zombie = true}, {{Metric::Cpu, 0.0}}), nothing()}) {
    CHECK(result_of(Compare{Metric::Cpu, Comparison::Less, 5}, gone) == kUnknown);
    CHECK(result_of(Differs{Attribute::Uid, 0}, gone) == kUnknown);
    CHECK(result_of(Changed{Attribute::Pid}, gone, memory) == kUnknown);
    CHECK(result_of(Differs{Attribute::Security, std::string("x")}, gone) == kUnknown);
    CHECK(result_of(Restarts{}, gone) == false);
  }
}

TEST_CASE("A quantity is compared where it is known") {
  const Evidence seen = check({.pid = 7}, {{Metric::Cpu, 90.0}, {Metric::Children, 3}});
  CHECK(result_of(Compare{Metric::Cpu, Comparison::Greater, 80}, seen) == true);
  CHECK(result_of(Compare{Metric::Cpu, Comparison::Greater, 90}, seen) == false);
  CHECK(result_of(Compare{Metric::Children, Comparison::Equal, 3}, seen) == true);
  CHECK(result_of(Compare{Metric::ReadRate, Comparison::GreaterEqual, 0}, seen) == kUnknown);
  // `if uptime for 90 seconds` asks for a second, not for a moment.
  const Evidence ninety = check({.pid = 7}, {{Metric::Uptime, 90.7}});
  CHECK(result_of(Compare{Metric::Uptime, Comparison::Equal, 90}, ninety) == true);
  CHECK(result_of(Compare{Metric::Uptime, Comparison::Greater, 90}, ninety) == false);
  // The system has quantities without a process; a program has none at all.
  Facts system;
  system.metrics.set(Metric::Load1, 2.5);
  const Evidence me{.output = {}, .facts = std::make_shared<const Facts>(system)};
  CHECK(result_of(Compare{Metric::Load1, Comparison::Greater, 2}, me) == true);
  CHECK(result_of(Compare{Metric::Load1, Comparison::Greater, 2}, program(0)) == kUnknown);
}

TEST_CASE("Owners and attributes fail where they are others") {
  const Evidence seen = check({.pid = 7, .uid = 1, .euid = 2, .gid = 3, .attribute = "confined"});
  CHECK(result_of(Differs{Attribute::Uid, 1}, seen) == false);
  CHECK(result_of(Differs{Attribute::Uid, 2}, seen) == true);
  CHECK(result_of(Differs{Attribute::Euid, 2}, seen) == false);
  CHECK(result_of(Differs{Attribute::Euid, 1}, seen) == true);
  CHECK(result_of(Differs{Attribute::Gid, 3}, seen) == false);
  CHECK(result_of(Differs{Attribute::Gid, 1}, seen) == true);
  CHECK(result_of(Differs{Attribute::Security, std::string("confined")}, seen) == false);
  CHECK(result_of(Differs{Attribute::Security, std::string("")}, seen) == true);
}

TEST_CASE("A process has changed where another one was seen before") {
  const Evidence seen = check({.pid = 7, .parent = 1});
  CHECK(result_of(Changed{Attribute::Pid}, seen) == false);  // nobody remembers
  CHECK(result_of(Changed{Attribute::Pid}, seen, Memory{{{Attribute::Pid}, {Attribute::Parent}}}) == false);
  CHECK(result_of(Changed{Attribute::Parent}, seen, Memory{{{Attribute::Pid}, {Attribute::Parent}}}) == false);
  const Memory same{{{Attribute::Pid, 7}, {Attribute::Parent, 1}}};
  CHECK(result_of(Changed{Attribute::Pid}, seen, same) == false);
  CHECK(result_of(Changed{Attribute::Parent}, seen, same) == false);
  CHECK(result_of(Changed{Attribute::Pid}, seen, Memory{{{Attribute::Pid, 6}, {Attribute::Parent, 1}}}) == true);
  CHECK(result_of(Changed{Attribute::Parent}, seen, Memory{{{Attribute::Pid, 6}, {Attribute::Parent, 1}}}) == false);
  CHECK(result_of(Changed{Attribute::Parent}, seen, Memory{{{Attribute::Pid, 7}, {Attribute::Parent, 2}}}) == true);
}

TEST_CASE("Restarts are told by the history of the starts") {
  const Evidence run = nothing();
  const Memory memory;
  CHECK(holds(Test(Restarts{}), Seen{run, memory, true}) == true);
  CHECK(holds(Test(Restarts{}), Seen{run, memory, false}) == false);
}

TEST_CASE("What decides a condition decides it, whatever cannot be told beside it") {
  // T, F and ? are tests that hold, do not hold, and cannot be told.
  const Evidence run = check({.pid = 7});
  const Memory memory;
  const auto of = [&](std::string_view text) {
    RuleCondition condition;
    for (const char c : text) {
      constexpr std::string_view kOps = "!&|";
      if (const std::size_t op = kOps.find(c); op != std::string_view::npos) {
        condition.postfix.push_back(std::array{Op::Not, Op::And, Op::Or}[op]);
        continue;
      }
      Test test = Present{c == 'T'};
      if (c == '?') test = Compare{Metric::Cpu};
      condition.tests.push_back(std::move(test));
      condition.postfix.push_back(Op::Leaf);
    }
    if (condition.postfix.back() == Op::Leaf) condition.postfix.clear();
    REQUIRE(is_sound(condition.postfix, condition.tests.size()));
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
  CHECK(of("TF|") == true);
  CHECK(of("FT|") == true);
  CHECK(of("FF|") == false);
  CHECK(of("?T|") == true);
  CHECK(of("T?|") == true);
  CHECK(of("?F|") == kUnknown);
  CHECK(of("F?|") == kUnknown);
  CHECK(of("F?&F|") == false);
  CHECK(of("TF&?T&|TT&|") == true);
  CHECK(of("TF&?T&|FT&|") == kUnknown);
  CHECK(of("F?F&|TT&|") == true);
  CHECK(of("TF|?F|&") == kUnknown);  // (T or F) and (? or F)
  CHECK(of("TF|FF|&") == false);
  CHECK(of("?T|T&") == true);  // (? or T) and T
  CHECK(of("T!") == false);
  CHECK(of("F!") == true);
  CHECK(of("?!") == kUnknown);
  CHECK(of("F?&!") == true);  // not (F and ?)
  CHECK(of("T?&!") == kUnknown);
  CHECK(of("T?|!") == false);
  CHECK(of("F?|!T|") == true);
}

TEST_CASE("A postfix that joins other tests than there are, or too many at once, is none") {
  CHECK(is_sound({}, 1));
  CHECK(is_sound({}, 3));
  CHECK_FALSE(is_sound({}, 0));
  const auto sound = [](std::vector<Op> postfix, std::size_t tests) { return is_sound(postfix, tests); };
  using enum Op;
  CHECK(sound({Leaf, Leaf, Or}, 2));
  CHECK_FALSE(sound({Leaf, Leaf, Or}, 3));
  CHECK_FALSE(sound({Leaf, Leaf}, 2));
  CHECK_FALSE(sound({Leaf, Or, Leaf}, 2));
  CHECK_FALSE(sound({Not}, 0));
  std::vector<Op> deep(kDeepestCondition, Leaf);
  deep.insert(deep.end(), kDeepestCondition - 1, And);
  CHECK(is_sound(deep, kDeepestCondition));
  deep.insert(deep.begin(), Leaf);
  deep.push_back(Or);
  CHECK_FALSE(is_sound(deep, kDeepestCondition + 1));
}

TEST_CASE("A link is up, down or not there, and one with errors fails those that want it up") {
  const auto link = [](std::vector<std::pair<Attribute, Value>> attributes) {
    Facts facts;
    facts.attributes = std::move(attributes);
    return Evidence{.facts = std::make_shared<const Facts>(std::move(facts))};
  };
  const Test up = Linked{.up = true};
  const Test down = Linked{.up = false};
  struct Case {
    Evidence run;
    bool up;
    bool down;
  };
  for (const Case& one :
       {Case{link({{Attribute::Link, std::string("up")}}), true, false}, Case{link({}), true, false},
        Case{link({{Attribute::Link, std::string("down")}}), false, true}, Case{nothing(), false, true},
        Case{link({{Attribute::LinkErrors, std::string("2 upload errors detected")}}), true, true}}) {
    CHECK(result_of(up, one.run) == one.up);
    CHECK(result_of(down, one.run) == one.down);
  }
  CHECK(result_of(up, Evidence{.answer = Answer::Unknown}) == kUnknown);
  CHECK(result_of(down, Evidence{.answer = Answer::Unknown}) == kUnknown);
}

TEST_CASE("A test of several quantities holds where it does of one that is known") {
  const auto seen = [](std::initializer_list<std::pair<Metric, double>> metrics) {
    Facts facts;
    for (const auto& [metric, value] : metrics) facts.metrics.set(metric, value);
    return Evidence{.facts = std::make_shared<const Facts>(std::move(facts))};
  };
  const Test test = Compare{.what = Metric::Saturation,
                            .comparison = Comparison::Greater,
                            .value = 50,
                            .also = std::vector{Metric::UploadSaturation, Metric::DownloadSaturation}};
  CHECK(result_of(test, seen({{Metric::UploadSaturation, 10}, {Metric::DownloadSaturation, 60}})) == true);
  CHECK(result_of(test, seen({{Metric::UploadSaturation, 60}, {Metric::DownloadSaturation, 10}})) == true);
  CHECK(result_of(test, seen({{Metric::UploadSaturation, 10}, {Metric::DownloadSaturation, 10}})) == false);
  CHECK(result_of(test, seen({{Metric::Saturation, 60}})) == true);
  CHECK(result_of(test, seen({{Metric::Saturation, 10}})) == false);
  CHECK(result_of(test, seen({})) == kUnknown);
  CHECK(result_of(test, nothing()) == kUnknown);
}

TEST_CASE("A total is that of its own time") {
  Facts facts;
  facts.further.edit().totals = {{Metric::TotalUpload, hours{1}, 100}, {Metric::TotalUpload, hours{2}, 200}};
  const Evidence run{.facts = std::make_shared<const Facts>(std::move(facts))};
  const auto more = [&](Duration span, double value) {
    return result_of(
        Total{.what = Metric::TotalUpload, .comparison = Comparison::Greater, .value = value, .span = span}, run);
  };
  CHECK(more(hours{1}, 99) == true);
  CHECK(more(hours{1}, 100) == false);
  CHECK(more(hours{2}, 100) == true);
  CHECK(more(hours{3}, 0) == kUnknown);
}

TEST_CASE("What a link can carry has changed where its speed has or its mode") {
  const auto link = [](std::string mode, std::int64_t speed) {
    Facts facts;
    facts.attributes = {{Attribute::LinkMode, std::move(mode)}, {Attribute::LinkSpeed, speed}};
    return Evidence{.facts = std::make_shared<const Facts>(std::move(facts))};
  };
  const Test test = Changed{.what = Attribute::LinkMode, .also = Attribute::LinkSpeed};
  ServiceBlock block;
  block.kind = kind_named("network");
  block.other.edit().interface.name = "a";
  block.rules.emplace_back()->condition->tests.push_back(test);
  Memory memory = fresh_memory(block);
  CHECK(result_of(test, link("full", 100), memory) == false);
  CHECK(remember(memory, link("full", 100)) ==
        std::vector<Baseline>{{Attribute::LinkMode, std::string("full")}, {Attribute::LinkSpeed, 100}});
  CHECK(result_of(test, link("full", 100), memory) == false);
  CHECK(result_of(test, link("half", 100), memory) == true);
  CHECK(result_of(test, link("full", 10), memory) == true);
  CHECK(remember(memory, nothing()).empty());  // of a link that is down nothing is known
  CHECK(result_of(test, nothing(), memory) == kUnknown);
  CHECK(result_of(test, link("full", 10), restored(fresh_memory(block), memory)) == true);
  block.other.edit().interface.name = "b";  // another interface
  CHECK(result_of(test, link("full", 10), restored(fresh_memory(block), memory)) == false);
}

TEST_CASE("A checksum is held against what it was at first, which stays remembered") {
  const auto file = [](std::string sum) {
    Facts facts;
    facts.attributes = {{Attribute::Sha256, std::move(sum)}};
    return Evidence{.facts = std::make_shared<const Facts>(std::move(facts))};
  };
  const Test test = Differs{.what = Attribute::Sha256, .wanted = {}};
  ServiceBlock block;
  block.rules.emplace_back()->condition->tests.push_back(test);
  Memory memory = fresh_memory(block);
  REQUIRE(memory.baselines.size() == 1);
  CHECK(result_of(test, file("aa"), memory) == false);
  CHECK(remember(memory, Evidence{.answer = Answer::Unknown}).empty());
  CHECK_FALSE(remember(memory, file("aa")).empty());
  CHECK(result_of(test, file("aa"), memory) == false);
  CHECK(result_of(test, file("bb"), memory) == true);
  CHECK(remember(memory, file("bb")).empty());
  CHECK(result_of(test, file("bb"), memory) == true);
  CHECK(result_of(test, file("aa"), memory) == false);
  CHECK(result_of(test, nothing(), memory) == kUnknown);
  // It outlives a restart.
  CHECK(result_of(test, file("bb"), restored(fresh_memory(block), memory)) == true);
}

TEST_CASE("Nothing is remembered of another path") {
  ServiceBlock block;
  block.kind = kind_named("file");
  block.path = "/a";
  block.rules.emplace_back()->condition->tests.push_back(Changed{Attribute::Size});
  Memory memory = fresh_memory(block);
  Facts facts;
  facts.attributes = {{Attribute::Size, std::int64_t{5}}};
  CHECK_FALSE(remember(memory, Evidence{.facts = std::make_shared<const Facts>(facts)}).empty());
  CHECK(restored(fresh_memory(block), memory) == memory);
  block.path = "/b";
  CHECK(restored(fresh_memory(block), memory) == fresh_memory(block));
}

TEST_CASE("Only what a rule asks for is remembered") {
  const auto memory_of = [](Test test) {
    ServiceBlock block;
    block.rules.resize(2);
    block.rules[0]->condition = RuleCondition{{Compare{}}};
    block.rules[1]->condition = RuleCondition{{Present{}, std::move(test)}, {Op::Leaf, Op::Leaf, Op::Or}};
    return fresh_memory(block);
  };
  CHECK(memory_of(Compare{}) == Memory{});
  CHECK(memory_of(Changed{Attribute::Status}) == Memory{{{Attribute::Status}}});
  CHECK(memory_of(Changed{Attribute::Pid}) == Memory{{{Attribute::Pid}}});
  CHECK(memory_of(Changed{Attribute::Parent}) == Memory{{{Attribute::Parent}}});

  Memory none;
  CHECK(remember(none, program(3)).empty());
  CHECK(remember(none, check({.pid = 7})).empty());
  CHECK(none == Memory{});
}

TEST_CASE("A run is remembered, and what it changes is told") {
  Memory status{{{Attribute::Status}}};
  CHECK_FALSE(remember(status, program(3)).empty());
  CHECK(remember(status, program(3)).empty());
  CHECK_FALSE(remember(status, program(0)).empty());
  CHECK(status == Memory{{{Attribute::Status, 0}}});

  Memory process{{{Attribute::Pid}, {Attribute::Parent}}};
  CHECK_FALSE(remember(process, check({.pid = 7, .parent = 1})).empty());
  CHECK(remember(process, check({.pid = 7, .parent = 1})).empty());
  CHECK(remember(process, nothing()).empty());
  CHECK(remember(process, check({.pid = 8, .parent = 2, .zombie = true})).empty());
  CHECK(process == Memory{{{Attribute::Pid, 7}, {Attribute::Parent, 1}}});
  CHECK_FALSE(remember(process, check({.pid = 7, .parent = 2})).empty());
  CHECK_FALSE(remember(process, check({.pid = 8, .parent = 2})).empty());
  CHECK(process == Memory{{{Attribute::Pid, 8}, {Attribute::Parent, 2}}});
}

TEST_CASE("A connection is told where it was tried, and only then") {
  const auto run = [](std::initializer_list<Reach> reaches, Answer answer = Answer::Present) {
    Facts facts;
    for (const Reach reach : reaches) facts.further.edit().connections.push_back({.reach = reach});
    return Evidence{.answer = answer,
                    .output = std::make_shared<const std::string>(),
                    .facts = std::make_shared<const Facts>(std::move(facts))};
  };
  const Reached failed{.probe = 0, .wanted = false};
  const Reached succeeded{.probe = 0, .wanted = true};
  CHECK(result_of(failed, run({Reach::Failed})) == true);
  CHECK(result_of(failed, run({Reach::Passed})) == false);
  CHECK(result_of(succeeded, run({Reach::Passed})) == true);
  CHECK(result_of(succeeded, run({Reach::Failed})) == false);
  for (const Reach reach : {Reach::Untried, Reach::Unknown}) {
    CHECK(result_of(failed, run({reach})) == kUnknown);
    CHECK(result_of(succeeded, run({reach})) == kUnknown);
  }
  CHECK(result_of(Reached{.probe = 1, .wanted = false}, run({Reach::Failed, Reach::Passed})) == false);
  CHECK(result_of(Reached{.probe = 2, .wanted = false}, run({Reach::Failed})) == kUnknown);
  CHECK(result_of(failed, run({Reach::Failed}, Answer::Unknown)) == kUnknown);
  CHECK(result_of(failed, run({Reach::Failed}, Answer::Absent)) == kUnknown);
  CHECK(result_of(failed, program(0)) == kUnknown);
}

TEST_CASE("a security attribute is, or is not, a text, and matches an expression or does not") {
  const Evidence seen = check({.pid = 7, .attribute = "unconfined (enforce)"});
  const auto of = [&](std::string text, bool is_pattern, bool negated) {
    return result_of(
        Worded{.what = Attribute::Security, .is_pattern = is_pattern, .negated = negated, .text = std::move(text)},
        seen);
  };
  CHECK(of("unconfined (enforce)", false, false) == true);
  CHECK(of("unconfined", false, false) == false);
  CHECK(of("unconfined", false, true) == true);
  CHECK(of("^unconf.*\\(e", true, false) == true);
  CHECK(of("^conf", true, false) == false);
  CHECK(of("^conf", true, true) == true);
  CHECK(of("(", true, false) == kUnknown);
  CHECK(result_of(Worded{.what = Attribute::Security, .text = ""}, nothing()) == kUnknown);
}

TEST_CASE("an output is compared with that of the run before, and the first run is no change") {
  const auto run = [](std::string output) {
    Facts facts;
    facts.attributes.push_back({Attribute::Output, output_value(output)});
    return Evidence{.output = std::make_shared<const std::string>(output),
                    .facts = std::make_shared<const Facts>(std::move(facts))};
  };
  Memory memory;
  memory.add({.what = Attribute::Output, .value = {}});
  const auto both = [&](const Evidence& seen) {
    const std::pair results{result_of(OutputChanged{}, seen, memory),
                            result_of(OutputChanged{.negated = true}, seen, memory)};
    remember(memory, seen);
    return results;
  };
  using Results = std::pair<std::optional<bool>, std::optional<bool>>;
  CHECK(both(run("a")) == Results{false, false});
  CHECK(both(run("a")) == Results{false, true});
  CHECK(both(run("b")) == Results{true, false});
  CHECK(both(program(9)) == Results{kUnknown, kUnknown});  // it has timed out: nobody knows
  CHECK(both(run("b")) == Results{false, true});
  // Behind what is kept of a long one, too.
  const std::string much(100'000, 'x');
  CHECK(both(run(much + "1")).first == true);
  CHECK(both(run(much + "2")).first == true);
  CHECK(both(run(much + "2")).first == false);
  CHECK(text_in(*memory.find(Attribute::Output))->size() < 5000);
}

TEST_CASE("hard links are counted where a look has told of them") {
  Facts facts;
  facts.path = PathFacts{.links = 2};
  const Evidence seen{.output = std::make_shared<const std::string>(), .facts = std::make_shared<const Facts>(facts)};
  CHECK(result_of(Compare{Metric::HardLinks, Comparison::Greater, 1}, seen) == true);
  Memory memory;
  memory.add({.what = Attribute::HardLinks, .value = Value{1}});
  CHECK(result_of(Changed{Attribute::HardLinks}, seen, memory) == true);
  facts.path->links = 0;
  const Evidence unreadable{.output = std::make_shared<const std::string>(),
                            .facts = std::make_shared<const Facts>(facts)};
  CHECK(result_of(Compare{Metric::HardLinks, Comparison::Greater, 1}, unreadable) == kUnknown);
}

}  // namespace evaluate_test

// ---- what keeps a target from having recovered

namespace clear_test {

using namespace healer;
using namespace healer::engine;

namespace {

constexpr std::optional<bool> kUnknown;

Evidence evidence_of(std::initializer_list<std::pair<Metric, double>> metrics) {
  Facts facts;
  for (const auto& [metric, value] : metrics) facts.metrics.set(metric, value);
  return {.output = std::make_shared<const std::string>(), .facts = std::make_shared<const Facts>(std::move(facts))};
}

Test above(Metric metric, double value) {
  return Compare{.what = metric, .comparison = Comparison::Greater, .value = value};
}

struct Case {
  std::vector<Test> tests;
  std::vector<Op> postfix{};
  bool stands_failed = false;

  [[nodiscard]] std::optional<bool> clear(const Evidence& run, const Evidence* before) const {
    Rule rule;
    rule->condition = RuleCondition{.tests = tests, .postfix = postfix};
    const Memory memory;
    return is_clear(rule, stands_failed, Seen{run, memory}, before);
  }
};

const Test kInodes = above(Metric::InodeUsage, 90);
const Test kSpace = above(Metric::SpaceUsage, 90);

}  // namespace

TEST_CASE("a rule about inodes blocks no recovery of a filesystem that counts none", "[engine]") {
  const Evidence run = evidence_of({{Metric::SpaceUsage, 70}});
  CHECK(Case{{kInodes}}.clear(run, nullptr) == true);
  CHECK(Case{{kInodes}, {}, true}.clear(run, nullptr) ==
        kUnknown);  // it stands failed, and nothing tells that it is over
  CHECK(Case{{kInodes}}.clear(evidence_of({{Metric::SpaceUsage, 70}, {Metric::InodeUsage, 95}}), nullptr) == false);
}

TEST_CASE("what else a condition asks for decides", "[engine]") {
  const std::vector<Op> either{Op::Leaf, Op::Leaf, Op::Or};
  CHECK(Case{{kSpace, kInodes}, either, true}.clear(evidence_of({{Metric::SpaceUsage, 70}}), nullptr) == true);
  CHECK(Case{{kSpace, kInodes}, either, true}.clear(evidence_of({{Metric::SpaceUsage, 95}}), nullptr) == false);
  const std::vector<Op> negated{Op::Leaf, Op::Not};
  CHECK(Case{{kInodes}, negated}.clear(evidence_of({{Metric::SpaceUsage, 70}}), nullptr) == true);
}

TEST_CASE("a value that is missing blocks until a second check misses it too", "[engine]") {
  const Case rate{{above(Metric::ReadRate, 1e6)}};
  const Evidence without = evidence_of({{Metric::SpaceUsage, 70}});
  const Evidence with = evidence_of({{Metric::SpaceUsage, 70}, {Metric::ReadRate, 5}});
  CHECK(rate.clear(without, nullptr) == kUnknown);
  CHECK(rate.clear(without, &with) == kUnknown);
  CHECK(rate.clear(without, &without) == true);
  CHECK(rate.clear(with, &without) == true);
  Evidence absent = without;
  absent.answer = Answer::Absent;
  CHECK(rate.clear(absent, &without) == kUnknown);
  CHECK(rate.clear(without, &absent) == kUnknown);
}

TEST_CASE("A condition that needs a missing value cannot hold", "[engine]") {
  const std::vector<Op> both{Op::Leaf, Op::Leaf, Op::And};
  CHECK(Case{{kSpace, kInodes}, both}.clear(evidence_of({{Metric::SpaceUsage, 95}}), nullptr) == true);
  CHECK(Case{{kSpace, kInodes}, both, true}.clear(evidence_of({{Metric::SpaceUsage, 95}}), nullptr) == kUnknown);
  CHECK(Case{{kSpace, kInodes}, both, true}.clear(evidence_of({{Metric::SpaceUsage, 70}}), nullptr) == true);
}

TEST_CASE("a process that is another at each check has no rate yet, and is not without one", "[engine]") {
  const auto of_process = [](std::int64_t pid) {
    Facts facts{.process = ProcessFacts{.pid = pid}, .metrics = {}};
    facts.metrics.set(Metric::MemoryBytes, 5);
    return Evidence{.output = std::make_shared<const std::string>(),
                    .facts = std::make_shared<const Facts>(std::move(facts))};
  };
  const Evidence first = of_process(7);
  const Evidence second = of_process(8);
  const Case either{{above(Metric::Cpu, 90), above(Metric::MemoryBytes, 1e9)}, {Op::Leaf, Op::Leaf, Op::Or}, true};
  CHECK(either.clear(second, &first) == kUnknown);
  CHECK(either.clear(first, &first) == true);
}

TEST_CASE("an attribute that is missing blocks as little; a checksum that cannot be read does", "[engine]") {
  const Evidence run = evidence_of({});
  CHECK(Case{{Changed{.what = Attribute::LinkMode, .also = Attribute::LinkSpeed}}}.clear(run, &run) == true);
  CHECK(Case{{Changed{.what = Attribute::FsFlags}}}.clear(run, &run) == true);
  CHECK(Case{{Differs{.what = Attribute::Sha256, .wanted = {}}}}.clear(run, &run) == kUnknown);
}

TEST_CASE("how a foreground process ended blocks nothing while it is there", "[engine]") {
  Facts facts{.process = ProcessFacts{.pid = 7}, .metrics = {}};
  const Evidence run{.output = std::make_shared<const std::string>(), .facts = std::make_shared<const Facts>(facts)};
  CHECK(Case{{Compare{.what = Metric::ExitStatus, .comparison = Comparison::Equal, .value = 78}}}.clear(run, nullptr) ==
        true);
}

}  // namespace clear_test
