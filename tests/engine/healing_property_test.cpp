// SPDX-License-Identifier: MIT
// Random fleets, failures, programs, people, reloads and deaths of the daemon, in virtual time: what must hold whatever
// happens. An own account of what programs run and what guards said is kept beside the engine.
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "engine/diff.hpp"
#include "engine/healing/request.hpp"
#include "support/fleet_world.hpp"
#include "support/rounds.hpp"

using namespace healer;
using namespace healer::test;

namespace {

/// What the world does to a fleet, and what it knows of it.
class Storm {
 public:
  explicit Storm(std::uint32_t seed) : random_(seed) {
    fleet_.targets = 1 + pick(8);
    fleet_.tries = 1 + static_cast<std::uint32_t>(pick(3));
    fleet_.limits = {{.number = 1 + static_cast<std::uint32_t>(pick(3))}};
    if (chance(50)) fleet_.limits.push_back({.number = 1 + static_cast<std::uint32_t>(pick(4)), .within = hours{1}});
    if (chance(40)) fleet_.breaker = Breaker{.failed = 2, .within = hours{1}};
    if (chance(40)) fleet_.probation = minutes{30};
    fleet_.escalate = chance(50);
    fleet_.calls = chance(50);
    world_ = std::make_unique<FleetWorld>(fleet_);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      hear();
      check();
    }
    settle();
  }

 private:
  struct Program {
    std::string name;
    std::string target;
    HealingId healing;
  };

  int pick(int most) { return static_cast<int>(random_() % static_cast<std::uint32_t>(most)); }
  bool chance(int percent) { return pick(100) < percent; }
  ServiceId service() { return ServiceId{static_cast<std::uint32_t>(pick(fleet_.targets))}; }

  void command(event::Command::Kind kind, JobId job = {}) {
    world_->handle(event::Command{.id = CommandId{++commands_},
                                  .kind = kind,
                                  .services = {service()},
                                  .by = "anna",
                                  .job = job,
                                  .workflow = "rebuild"});
  }
  JobId some_healing() {
    const auto& all = world_->engine.healings().all();
    if (all.empty()) return JobId{1};
    return JobId{std::next(all.begin(), pick(static_cast<int>(all.size())))->first.number()};
  }

  void step() {
    using Kind = event::Command::Kind;
    const int what = pick(100);
    if (what < 40)
      world_->advance(milliseconds{100 + pick(60'000)});
    else if (what < 50)
      world_->fail(pick(fleet_.targets));
    else if (what < 60)
      world_->heal(pick(fleet_.targets));
    else if (what < 75)
      end_some();
    else if (what < 85)
      answer_some();
    else if (what < 87)
      command(Kind::Pause);
    else if (what < 90)
      command(Kind::Resume);
    else if (what < 92)
      command(Kind::Heal);
    else if (what < 93)
      command(Kind::Cancel, some_healing());
    else if (what < 94)
      command(Kind::ResetHealing);
    else if (what < 96)
      die();
    else
      reload();
  }

  /// Programs that were set free begin; no number twice.
  void hear() {
    for (; heard_ < world_->execs.size(); ++heard_) {
      const effect::Exec exec = world_->execs[heard_];
      const Program program{exec.command.arguments.front().substr(5), exec.command.arguments.back(), exec.healing};
      CHECK(exec.healing != HealingId{});
      if (!issued_.insert(exec.action).second) {  // the daemon after a death: what runs is found again
        if (!running_.contains(exec.action) && !over_.contains(exec.action)) running_.emplace(exec.action, program);
        continue;
      }
      const bool is_guard = program.name.ends_with("guard");
      if (!is_guard && program.name != "undo")
        CHECK(let_go_.contains({program.healing, program.name == "redeploy" ? "redeploy-guard" : "guard"}));
      if (is_guard) {
        let_go_.erase({program.healing, program.name});
        CHECK(world_->engine.hold(world_->id(program.target), rule_of(program.target), {}, ActionKind::Restart,
                                  world_->now) != Hold::None);
      }
      running_.emplace(exec.action, program);
      world_->handle(event::ActionStarted{.action = exec.action, .pid = 100, .start_ticks = 1});
    }
    hear_requests();
  }

  const Rule& rule_of(const std::string& target) { return world_->engine.graph()->at(world_->id(target)).rules[0]; }

  void end_some() {
    if (running_.empty()) return;
    const auto chosen = std::next(running_.begin(), pick(static_cast<int>(running_.size())));
    end(chosen->first, chance(75) ? 0 : 1);
  }

  /// Requests that were set free: each but a question only once in a try, unless it may be repeated.
  void hear_requests() {
    for (; requests_heard_ < world_->requests.size(); ++requests_heard_) {
      const effect::Request request = world_->requests[requests_heard_];
      const Healing& healing = world_->engine.healings().all().at(request.healing);
      CHECK(let_go_.contains({request.healing, "guard"}));
      if (!request.safe) CHECK(made_.insert({request.healing, healing.round}).second);
      for (const Healing& saved : world_->saved.healings)  // the journal knows of it
        if (saved.id == request.healing) CHECK(saved.under_way.size() == healing.under_way.size());
      for (const auto& header : request.headers)
        for (const auto& part : header) CHECK(part.text.find("${") == std::string::npos);
      asked_.push_back(request);
    }
    for (const ActionId ended : world_->ended_requests)
      std::erase_if(asked_, [&](const effect::Request& request) { return request.request == ended; });
  }

  void answer_some() {
    if (asked_.empty()) return;
    const auto chosen = asked_.begin() + pick(static_cast<int>(asked_.size()));
    const effect::Request request = *chosen;
    asked_.erase(chosen);
    answer(request, pick(100));
  }

  void answer(const effect::Request& request, int how) {
    event::Answered answer = expected_answer(request);
    if (how < 10)
      answer.kind = event::Answered::Kind::Failed;
    else if (how < 20)
      answer.kind = event::Answered::Kind::InDoubt;
    else if (how < 25)
      answer.status = 502;
    else if (how < 40)
      for (auto& value : answer.values) value = "\"UPDATE_IN_PROGRESS\"";
    else if (how < 45)
      for (auto& value : answer.values) value = "\"UPDATE_FAILED\"";
    else if (how < 50)
      answer.values.clear();
    const bool is_question = request.method == "GET";
    const auto& all = world_->engine.healings().all();
    if (const auto healing = all.find(request.healing); is_question && how >= 50 && healing != all.end())
      world_->heal(std::stoi(healing->second.target.substr(1)));
    world_->handle(answer);
  }

  void end(ActionId action, int status) {
    const Program program = running_.at(action);
    running_.erase(action);
    over_.emplace(action, status);
    if (status == 0 && program.name.ends_with("guard")) let_go_.insert({program.healing, program.name});
    if (status == 0 && program.name.starts_with("re"))
      world_->heal(std::stoi(program.target.substr(1)));  // it does good
    world_->handle(event::ActionEnded{.action = action, .status = status, .elapsed = seconds{1}});
  }

  /// The daemon is killed, and started again: of what ran it is told how that ended, or nobody has seen it.
  void die() {
    const SavedState saved = world_->saved;
    const auto failed = world_->failed;
    const Instant now = world_->now;
    auto graph = world_->engine.graph();
    world_ = std::make_unique<FleetWorld>(make_graph(fleet_rules(fleet_)), saved, failed, now);
    heard_ = requests_heard_ = 0;
    asked_.clear();
    for (const Effect& effect : world_->effects)
      if (const auto* adopt = std::get_if<effect::Adopt>(&effect))
        if (const auto known = over_.find(adopt->action); known != over_.end() && !running_.contains(adopt->action))
          world_->handle(event::ActionEnded{
              .action = adopt->action, .status = known->second, .unseen = chance(50), .elapsed = seconds{1}});
    hear();
  }

  void reload() { world_->handle(event::Swap{plan_swap(*world_->engine.graph(), fleet_rules(fleet_))}); }

  void check() {
    std::map<std::string, int> locks;
    std::map<std::string, std::size_t> places;
    for (const auto& [id, healing] : world_->engine.healings().all()) {
      if (healing.locks()) ++locks[healing.target];
      if (healing.has_place()) ++places[healing.plan->name];
    }
    for (const auto& [target, count] : locks) CHECK(count == 1);
    CHECK(places["rebuild"] <= fleet_.limits.front().number);
    CHECK(places["redeploy"] <= 1);
    if (fleet_.limits.size() > 1)
      for (const WorkflowMemory& memory : world_->engine.healings().memory().workflows)
        if (memory.workflow == "rebuild")
          CHECK(std::ranges::count_if(memory.tries, [&](const auto& begun) {
                  return begun.when > world_->now.wall - fleet_.limits[1].within;
                }) <= fleet_.limits[1].number);
    // What is saved is what lives.
    CHECK(world_->saved.healings.size() == world_->engine.healings().all().size());
  }

  /// Everything is well, and no program hangs: every healing comes to its end.
  void settle() {
    for (int i = 0; i < fleet_.targets; ++i) {
      world_->heal(i);
      world_->handle(event::Command{.id = CommandId{++commands_},
                                    .kind = event::Command::Kind::Resume,
                                    .services = {ServiceId{static_cast<std::uint32_t>(i)}},
                                    .by = "anna"});
    }
    for (int i = 0; i < 500 && !world_->engine.healings().idle(); ++i) {
      command(event::Command::Kind::ResetHealing);  // a breaker may be open
      hear();
      while (!running_.empty() || !asked_.empty()) {
        if (!running_.empty()) end(running_.begin()->first, 0);
        for (const effect::Request& request : std::exchange(asked_, {})) answer(request, 99);
        hear();
      }
      world_->advance(minutes{1});
    }
    for (const auto& [id, healing] : world_->engine.healings().all())
      UNSCOPED_INFO(healing.target << " " << to_string(healing.stage) << " " << healing.reason);
    CHECK(world_->engine.healings().idle());
    CHECK(world_->saved.healings.empty());
  }

  std::mt19937 random_;
  Fleet fleet_;
  std::unique_ptr<FleetWorld> world_;
  std::size_t heard_ = 0;
  std::uint64_t commands_ = 0;
  std::set<ActionId> issued_;
  std::map<ActionId, Program> running_;
  std::map<ActionId, int> over_;
  std::set<std::pair<HealingId, std::string>> let_go_;
  std::size_t requests_heard_ = 0;
  std::vector<effect::Request> asked_;
  std::set<std::pair<HealingId, std::uint32_t>> made_;
};

}  // namespace

TEST_CASE("whatever happens, healing keeps its promises", "[healing][property]") {
  const int fleets = rounds(60);
  for (int i = 0; i < fleets; ++i) {
    const std::uint32_t seed = 1 + static_cast<std::uint32_t>(i);
    INFO("seed " << seed);
    Storm(seed).run(400);
  }
}
