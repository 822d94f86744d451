// SPDX-License-Identifier: MIT
// What a run means for its rules, by the judge alone.
#include <catch2/catch.hpp>

#include "engine/parts/judge.hpp"
#include "engine/rules/service.hpp"
#include "support/engine_world.hpp"

namespace judge_test {

using namespace healer;
using namespace healer::test;
using What = RuleDecision::What;

namespace {

/// A service whose runs are judged one after the other, a second apart.
struct Judged {
  explicit Judged(std::vector<Rule> rules) : block(service("web", std::move(rules))), states(block->rules.size()) {}

  Judgement run(std::int64_t status, bool counted = true, Reason reason = Reason::Schedule) {
    now.mono += seconds{1};
    now.wall += seconds{1};
    Evidence seen;
    seen.status = status;
    seen.output = std::make_shared<const std::string>();
    return judge({.block = *block,
                  .seen = {seen, memory},
                  .counted = counted,
                  .reason = reason,
                  .in_maintenance = in_maintenance,
                  .now = now},
                 states);
  }

  std::shared_ptr<ServiceBlock> block;
  std::vector<RuleState> states;
  Memory memory;
  bool in_maintenance = false;
  Instant now = World::kStart;
};

std::vector<What> whats(const Judgement& judgement) {
  std::vector<What> whats;
  for (const RuleDecision& decision : judgement.decisions) whats.push_back(decision.what);
  return whats;
}

using Whats = std::vector<What>;

}  // namespace

TEST_CASE("judge: a rule fires, is reminded of, and recovers, each with its cause") {
  Judged judged({status_rule(Comparison::NotEqual, 0, {}, 2)});
  CHECK(judged.run(0).decisions.empty());
  const Judgement fired = judged.run(1);
  CHECK(whats(fired) == Whats{What::Fire});
  CHECK(fired.failed);
  CHECK(fired.changed);
  CHECK(fired.decisions.front().cause->service == "web");
  CHECK(whats(judged.run(1)) == Whats{What::Repeat, What::Remind});
  const Judgement again = judged.run(1);
  CHECK(whats(again) == Whats{What::Remind});
  CHECK(again.decisions.front().count == 3);
  const Judgement recovered = judged.run(0);
  CHECK(whats(recovered) == Whats{What::Recover});
  CHECK_FALSE(recovered.failed);
  CHECK(judged.states.front().resting());
  CHECK_FALSE(judged.run(0).changed);
}

TEST_CASE("judge: a run that does not count moves no counter") {
  Judged judged({status_rule(Comparison::NotEqual, 0, {2, 2, Duration{0}}), status_rule(Comparison::NotEqual, 0)});
  const Judgement asked = judged.run(1, false, Reason::Asked);
  CHECK(whats(asked) == Whats{What::Fire});
  CHECK(asked.decisions.front().rule == 1);
  CHECK(asked.tolerated.empty());
  CHECK(judged.states.front() == RuleState{});
  CHECK(judged.run(1).tolerated.size() == 1);
  CHECK(whats(judged.run(1)) == Whats{What::Fire, What::Remind});
}

TEST_CASE("judge: what has fired in maintenance is told when that is over") {
  Judged judged({status_rule(Comparison::NotEqual, 0)});
  judged.in_maintenance = true;
  CHECK(whats(judged.run(1)) == Whats{What::Fire});
  CHECK(judged.states.front().notified == Notified::Kept);
  CHECK(whats(judged.run(1)) == Whats{What::Remind});
  judged.in_maintenance = false;
  CHECK(whats(judged.run(1)) == Whats{What::Tell, What::Remind});
  const Judgement recovered = judged.run(0);
  CHECK(recovered.decisions.front().notified == Notified::Kept);  // nobody has marked it as told
}

}  // namespace judge_test
