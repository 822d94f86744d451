// SPDX-License-Identifier: MIT
// The approval of a healing: one request for one plan, whatever brakes do meanwhile.
#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "engine/healing/plan_text.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"
#include "support/healing_view.hpp"

namespace healing_approval_test {

using namespace healer;
using namespace healer::test;
using Kind = event::Command::Kind;
using Stage = Healing::Stage;

namespace {

const Fleet kFleet{.targets = 6, .approval = Approval{.within = minutes{10}}};

RuleSet changed(const Fleet& fleet, const std::function<void(Workflow&)>& change) {
  RuleSet rules = fleet_rules(fleet);
  Workflow plan = *rules.workflows.front();
  change(plan);
  plan.key = hash128("rebuild changed " + hash_of_plan(Healing{
                                              .cause = std::make_shared<const effect::Cause>(),
                                              .plan = std::make_shared<const Workflow>(plan),
                                          }));
  rules.workflows.front() = std::make_shared<const Workflow>(std::move(plan));
  return rules;
}

effect::Reply answer(FleetWorld& world, Kind kind, HealingId healing, const std::string& plan = {}) {
  world.handle(event::Command{.id = CommandId{77},
                              .kind = kind,
                              .services = {},
                              .by = ByPerson{"anna"},
                              .job = JobId{healing.number()},
                              .plan = plan});
  return world.replies.back();
}

void say(FleetWorld& world, Kind kind, const std::string& name = "n0") {
  world.handle(event::Command{.id = CommandId{78}, .kind = kind, .services = {world.id(name)}, .by = ByPerson{"anna"}});
}

void reload(FleetWorld& world, RuleSet rules) {
  world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(rules))});
}

/// The healing of n0, which waits for approval.
HealingId asked(FleetWorld& world) {
  world.fail(0);
  world.advance(seconds{5});
  REQUIRE(healing_of(world, "n0").stage() == Stage::Approval);
  return healing_of(world, "n0").id;
}

std::size_t mails(const FleetWorld& world) { return world.alerts_of("Healing needs approval"); }

std::string last_mail(const FleetWorld& world) {
  for (auto alert = world.alerts.rbegin(); alert != world.alerts.rend(); ++alert)
    if (alert->cause->event_text == "Healing needs approval") return alert->cause->description;
  return {};
}

}  // namespace

TEST_CASE("a request for approval outlives a brake that closes before anybody has answered", "[healing]") {
  FleetWorld world(kFleet);
  const HealingId id = asked(world);
  const Deadline deadline = *healing_of(world, "n0").not_before();
  say(world, Kind::Pause);
  world.advance(minutes{2});
  CHECK(healing_of(world, "n0").stage() == Stage::Approval);
  CHECK(healing_of(world, "n0").reason() == "approval: asked for; pause: n0 was paused by anna");
  say(world, Kind::Resume);
  world.advance(minutes{2});
  CHECK(healing_of(world, "n0").id == id);
  CHECK(healing_of(world, "n0").not_before()->wall == deadline.wall);
  CHECK(healing_of(world, "n0").reason() == "approval: asked for");
  CHECK(mails(world) == 1);
  SECTION("it can be answered") {
    CHECK(answer(world, Kind::Approve, id).ok);
    CHECK(world.wait_for("guard") == "n0");
  }
  SECTION("its time passes") {
    world.advance(minutes{7});
    CHECK(world.engine->healings().idle());
    CHECK(world.alerts_of("Healing not approved") == 1);
  }
}

TEST_CASE("a request is answered while a brake holds it, and begins when that lets it go", "[healing]") {
  FleetWorld world(kFleet);
  const HealingId id = asked(world);
  say(world, Kind::Pause);
  world.advance(minutes{1});
  CHECK(answer(world, Kind::Approve, id).text ==
        "healing of n0 with rebuild approved by anna; it begins when nothing holds it back any more (pause: n0 was "
        "paused by anna)");
  world.advance(minutes{30});
  CHECK(healing_of(world, "n0").approved_by == "anna");
  const bool restart = GENERATE(true, false);
  if (restart) {
    FleetWorld next(make_graph(fleet_rules(kFleet)), world.saved, world.failed, world.now);
    next.advance(minutes{1});
    say(next, Kind::Resume);
    CHECK(next.wait_for("guard") == "n0");
    CHECK(std::ranges::none_of(next.records, [](const Record& record) {
      return record.text.find(" waits for approval") != std::string::npos;
    }));
    return;
  }
  say(world, Kind::Resume);
  CHECK(world.wait_for("guard") == "n0");
  CHECK(mails(world) == 1);
}

TEST_CASE("the time of a request passes while a brake holds it", "[healing]") {
  const bool runs = GENERATE(true, false);
  FleetWorld world(Fleet{.targets = 6, .approval = Approval{.within = minutes{10}, .else_run = runs}});
  asked(world);
  say(world, Kind::Pause);
  world.advance(minutes{11});
  CHECK(world.programs("guard") == 0);
  CHECK(world.engine->healings().idle() != runs);
  CHECK(world.alerts_of("Healing not approved") == (runs ? 0 : 1));
  say(world, Kind::Resume);
  if (runs) CHECK(world.wait_for("guard") == "n0");  // `else run` waits for the brake
  CHECK(mails(world) == 1);
}

TEST_CASE("an approval that was given is void when a brake closes, and is asked for anew", "[healing]") {
  FleetWorld world(kFleet);
  const HealingId id = asked(world);
  world.answer = nullptr;  // the look takes its time
  REQUIRE(answer(world, Kind::Approve, id).ok);
  REQUIRE(healing_of(world, "n0").stage() == Stage::Confirming);
  say(world, Kind::Pause);
  world.answer = [](ServiceId service) { return service.number() == 0 ? 1 : 0; };
  for (const effect::Measure& run : std::exchange(world.open, {}))
    world.observe(run.service, run.service == world.id("n0") ? 1 : 0);
  world.advance(seconds{5});
  CHECK(healing_of(world, "n0").approved_by.empty());
  CHECK(std::ranges::any_of(world.records, [](const Record& record) {
    return record.text == "healing of n0 with rebuild: the approval by anna is void: pause: n0 was paused by anna";
  }));
  say(world, Kind::Resume);
  world.advance(seconds{5});
  CHECK(healing_of(world, "n0").stage() == Stage::Approval);
  CHECK(healing_of(world, "n0").id == id);
  CHECK(mails(world) == 2);
}

TEST_CASE("a plan that has changed ends its request, and is asked for as another healing in the same place",
          "[healing]") {
  FleetWorld world(kFleet);
  const HealingId former = asked(world);
  const std::string hash = hash_of_plan(healing_of(world, "n0"));
  world.fail(1);
  world.advance(seconds{5});
  const HealingId younger = healing_of(world, "n1").id;
  say(world, Kind::Pause, "n2");
  world.advance(minutes{5});
  reload(world, changed(kFleet, [](Workflow& plan) { plan.steps.front().timeout = minutes{1}; }));
  world.advance(seconds{1});
  const Healing& now = healing_of(world, "n0");
  CHECK(now.id.number() > younger.number());
  CHECK(now.place_in_queue() == former.number());
  CHECK(hash_of_plan(now) != hash);
  CHECK(now.stage() == Stage::Approval);
  CHECK(now.not_before()->left(world.now) > minutes{9});
  CHECK(mails(world) == 4);
  CHECK(world.alerts_of("Healing dropped") == 0);
  CHECK_FALSE(answer(world, Kind::Approve, former).ok);
  // It goes first.
  world.answer = nullptr;
  REQUIRE(answer(world, Kind::Approve, healing_of(world, "n1").id).ok);
  REQUIRE(answer(world, Kind::Approve, now.id).ok);
  CHECK(healing_of(world, "n0").place_in_queue() < healing_of(world, "n1").place_in_queue());
}

TEST_CASE("what is no part of a plan changes nothing of its request", "[healing]") {
  FleetWorld world(kFleet);
  const HealingId id = asked(world);
  const std::string hash = hash_of_plan(healing_of(world, "n0"));
  reload(world, changed(kFleet, [](Workflow& plan) { plan.cooldown = minutes{3}; }));
  world.advance(minutes{1});
  CHECK(healing_of(world, "n0").id == id);
  CHECK(healing_of(world, "n0").stage() == Stage::Approval);
  CHECK(healing_of(world, "n0").plan->cooldown == minutes{3});
  CHECK(hash_of_plan(healing_of(world, "n0")) == hash);
  CHECK(mails(world) == 1);
}

TEST_CASE("an approval names the plan that was shown", "[healing]") {
  FleetWorld world(kFleet);
  const HealingId id = asked(world);
  const std::string hash = hash_of_plan(healing_of(world, "n0")).substr(0, kHashShown);
  const effect::Reply refused = answer(world, Kind::Approve, id, "00000000");
  CHECK_FALSE(refused.ok);
  CHECK(refused.text == "nothing was approved: the plan of healing " + std::to_string(id.number()) + " is " + hash +
                            ", not 00000000; `healerctl healing status` shows it");
  CHECK(healing_of(world, "n0").stage() == Stage::Approval);
  CHECK(answer(world, Kind::Approve, id, hash).ok);
  CHECK(world.wait_for("guard") == "n0");
}

TEST_CASE("the mail that asks for an approval has the line to type, and the steps", "[healing]") {
  FleetWorld world(kFleet);
  const HealingId id = asked(world);
  const std::string line = "healerctl approve " + std::to_string(id.number()) + " --plan " +
                           hash_of_plan(healing_of(world, "n0")).substr(0, kHashShown);
  CHECK(last_mail(world) == "healing of n0 with rebuild waits for approval, for 10 m: `" + line +
                                "` or `healerctl reject " + std::to_string(id.number()) +
                                "`\nwhat it is to do:"
                                "\n  guard program /bin/guard n0, timeout 10 s"
                                "\n  step \"shutdown\": program /bin/shutdown n0, timeout 20 m, retry 2 times"
                                "\n  step \"rebuild\": program /bin/rebuild n0, timeout 20 m"
                                "\n  step \"verify\": recovered within 5 m"
                                "\n  up to 2 tries"
                                "\n  on cancel:"
                                "\n    step \"undo\": program /bin/undo n0, timeout 20 m");
}

TEST_CASE("the hash of a plan is that of all that its steps say, and of the target", "[healing]") {
  const auto hash = [](const Fleet& fleet, const std::function<void(Healing&, Workflow&)>& change) {
    Workflow plan = *fleet_rules(fleet).workflows.front();
    Healing healing{.target = "n0"};
    change(healing, plan);
    healing.plan = std::make_shared<const Workflow>(plan);
    return hash_of_plan(healing);
  };
  const Fleet programs{.targets = 1};
  const Fleet calls{.targets = 1, .calls = true};
  const auto nothing = [](Healing&, Workflow&) {};
  CHECK(hash(programs, nothing) == hash(programs, [](Healing& healing, Workflow& plan) {
          healing.target = "N0";
          plan.limits.clear();
          plan.cooldown = seconds{1};
          plan.place.line = 7;
        }));
  std::set<std::string> all{hash(programs, nothing), hash(calls, nothing)};
  const auto differs = [&](const Fleet& fleet, const std::function<void(Healing&, Workflow&)>& change) {
    CHECK(all.insert(hash(fleet, change)).second);
  };
  differs(programs, [](Healing& healing, Workflow&) { healing.target = "n1"; });
  differs(programs, [](Healing& healing, Workflow&) { healing.row = {{"NODE.ip", "10.0.0.1"}}; });
  differs(programs, [](Healing&, Workflow& plan) { plan.steps.pop_back(); });
  differs(programs, [](Healing&, Workflow& plan) { std::swap(plan.steps[0], plan.steps[1]); });
  differs(programs, [](Healing&, Workflow& plan) { plan.guard.reset(); });
  differs(programs, [](Healing&, Workflow& plan) { plan.on_cancel.clear(); });
  differs(programs, [](Healing&, Workflow& plan) { plan.tries = 9; });
  differs(programs, [](Healing&, Workflow& plan) { plan.steps[0].retries = 9; });
  differs(programs, [](Healing&, Workflow& plan) {
    std::get<step::Program>(plan.steps[0].what).command.identity.edit().uid = 0;
  });
  differs(programs, [](Healing&, Workflow& plan) {
    std::get<step::Program>(plan.steps[0].what).environment = {{"A", "b"}};
  });
  differs(calls, [](Healing&, Workflow& plan) { std::get<step::Http>(plan.steps[1].what).request.body += " "; });
  differs(calls, [](Healing&, Workflow& plan) { std::get<step::Http>(plan.steps[1].what).request.insecure = true; });
  differs(calls, [](Healing&, Workflow& plan) { std::get<step::Http>(plan.steps[2].what).until->met.clear(); });
}

TEST_CASE("what people approve shows as whom its programs run, by the names that are looked up", "[healing]") {
  const auto line = [](const Identity& identity) {
    Workflow plan;
    plan.steps = {{.name = "fix", .what = step::Program{.command = {{"/bin/fix"}, identity}}}};
    const Healing healing{.cause = std::make_shared<const effect::Cause>(),
                          .plan = std::make_shared<const Workflow>(std::move(plan))};
    return std::pair(lines_of_plan(healing, "here").at(0), hash_of_plan(healing));
  };
  const auto shown = [&](const Identity& identity) { return line(identity).first; };
  CHECK(shown({}) == "step \"fix\": program /bin/fix");
  CHECK(shown({.user = "deploy", .group = "www"}) == "step \"fix\": program /bin/fix as deploy and group www");
  CHECK(shown({.uid = 33, .gid = 34}) == "step \"fix\": program /bin/fix as uid 33 and gid 34");
  CHECK(shown({.group = "www"}) == "step \"fix\": program /bin/fix as group www");
  std::set<std::string> hashes;
  for (const Identity& one :
       {Identity{}, Identity{.user = "deploy"}, Identity{.group = "deploy"},
        Identity{.user = "deploy", .group = "deploy"}, Identity{.user = "deploy", .home = "deploy"}})
    CHECK(hashes.insert(line(one).second).second);
}

TEST_CASE("what people approve shows no login of an address", "[healing]") {
  Workflow plan;
  plan.steps = {
      {.name = "call",
       .what = step::Http{.request = {.method = "POST", .url = "https://${secret:a[1]}:sesame@h.example/x"}}}};
  const Healing healing{.cause = std::make_shared<const effect::Cause>(),
                        .plan = std::make_shared<const Workflow>(std::move(plan))};
  const std::vector<std::string> lines = lines_of_plan(healing, "here");
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().find("POST https://*****@h.example/x") != std::string::npos);
  CHECK(lines.front().find("sesame") == std::string::npos);
}

}  // namespace healing_approval_test
