// SPDX-License-Identifier: MIT
// People, rules, deaths, reloads and crashes in any mix: what must hold whatever comes.
#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/job_view.hpp"
#include "support/process_world.hpp"
#include "support/rounds.hpp"

namespace mix_test {

using namespace healer;
using namespace healer::test;
using Kind = event::Command::Kind;

namespace {

constexpr unsigned kServices = 6;
constexpr unsigned kSteps = 60;

std::string name_of(unsigned i) { return "s" + std::to_string(i); }

/// Services of all kinds at random, which depend on each other at random.
class Rules {
 public:
  explicit Rules(std::mt19937& random) : random_(random) {
    for (unsigned i = 0; i < kServices; ++i) blocks_.push_back(make(i));
  }

  void change(unsigned i) { blocks_[i] = make(i); }
  [[nodiscard]] RuleSet get() const { return rule_set(blocks_, seconds{5}); }

 private:
  unsigned roll(unsigned sides) { return static_cast<unsigned>(random_() % sides); }

  std::shared_ptr<ServiceBlock> make(unsigned i) {
    std::vector<std::string> depends;
    for (unsigned k = 0; k < i; ++k)
      if (roll(4) == 0) depends.push_back(name_of(k));
    const Tolerance tolerance = roll(2) == 0 ? Tolerance{} : Tolerance{.count = 2, .window = 3};
    const Rule rule = missing_rule(roll(2) == 0 ? ActionKind::Start : ActionKind::Restart, tolerance);
    const bool own = roll(3) == 0;
    auto block = own ? foreground(name_of(i), {rule}, depends) : process(name_of(i), {rule}, depends);
    if (!own && roll(4) == 0) block->programs.edit().stop.reset();
    if (!own && roll(4) == 0)
      block->programs.edit().restart = Command{.arguments = {"/restart", block->name}, .timeout = seconds{30}};
    if (roll(8) == 0) block->schedule->cycles = 2;
    block->key = hash128(block->name + std::to_string(++made_));
    return block;
  }

  std::mt19937& random_;
  std::vector<std::shared_ptr<ServiceBlock>> blocks_;
  unsigned made_ = 0;
};

/// Whether the next daemon would find a job where it is.
bool is_saved(const ProcessWorld& world, const Job& job) {
  const Graph& graph = *world.engine->graph();
  const auto saved = std::ranges::find(world.saved.jobs, job.id, &effect::SavedJob::job);
  return saved != world.saved.jobs.end() && saved->position == job.position &&
         (saved->action == program_of_step(job) || program_of_step(job) == ActionId{}) &&
         std::ranges::equal(saved->steps, job.steps, [&](const effect::SavedStep& then, const JobStep& now) {
           return then.service == graph.at(now.service).name && then.kind == now.kind && then.named == now.named;
         });
}

/// Whether a crash now would lose nothing of what people and starts have made of the services, and no step of a job.
bool is_saved(const ProcessWorld& world) {
  return std::ranges::all_of(world.engine->graph()->order,
                             [&](ServiceId id) {
                               const SavedService now = world.engine->save(id, *world.engine->graph(), world.now);
                               const auto found = world.saved.services.find(world.engine->graph()->at(id).name);
                               const SavedService then =
                                   found == world.saved.services.end() ? SavedService{} : found->second;
                               return now.monitored == then.monitored && now.starts == then.starts &&
                                      now.pause == then.pause && now.known == then.known;
                             }) &&
         std::ranges::all_of(world.engine->jobs(), [&](const auto& job) { return is_saved(world, job.second); });
}

}  // namespace

TEST_CASE("any mix of commands, deaths, reloads and crashes: all is answered once, saved, and comes up again") {
  for (int seed = 1; seed <= rounds(100); ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto roll = [&](unsigned sides) { return static_cast<unsigned>(random() % sides); };
    Rules rules(random);
    ProcessWorld world(rules.get());
    std::size_t asked = 0;
    world.start();
    world.settle();
    for (unsigned step = 0; step < kSteps; ++step) {
      INFO("seed " << seed << ", step " << step);
      const std::string one = name_of(roll(kServices));
      constexpr Kind kKinds[] = {Kind::Start,  Kind::Stop,    Kind::Restart,   Kind::Pause,
                                 Kind::Resume, Kind::Monitor, Kind::Unmonitor, Kind::Validate};
      switch (roll(12)) {
        case 0:
        case 1:
          if (world.is_up(one)) world.die(one);
          break;
        case 2:
          for (const char* verb : {"start ", "stop ", "restart ", "run "})
            world.doings[verb + one] = {.takes = milliseconds{roll(3000)},
                                        .status = roll(3) == 0 ? 1 : 0,
                                        .works = roll(3) != 0,
                                        .hangs = roll(6) == 0};
          if (roll(3) == 0) world.doings["signal " + one] = {};
          break;
        case 3:
          world.doings.clear();
          world.stubborn = roll(2) == 0;
          break;
        case 4:
          rules.change(roll(kServices));
          world.handle(event::Swap{plan_swap(*world.engine->graph(), rules.get())});
          world.settle();
          break;
        case 5:
          world.commits = true;
          world.crash(milliseconds{roll(3000)}, roll(2) == 0 ? nullptr : make_graph(rules.get()));
          asked = world.replies.size();  // whoever waited has gone with the daemon
          break;
        case 6: world.commits = false; break;  // the disk is slow
        case 7:
          if (world.engine->jobs().empty()) break;
          ++asked;
          world.handle(event::Command{.id = CommandId{100'000 + asked},
                                      .kind = Kind::Cancel,
                                      .services = {},
                                      .by = ByPerson{"root"},
                                      .job = JobId{world.engine->jobs().begin()->first}});
          break;
        default:
          ++asked;
          world.command(kKinds[roll(std::size(kKinds))], {one});
          break;
      }
      world.run(milliseconds{roll(4000)});
      if (!world.commits && roll(2) == 0) {
        world.commits = true;
        world.handle(event::Committed{.up_to = 1'000'000});
        world.settle();
      }
      REQUIRE(is_saved(world));
    }
    INFO("seed " << seed);
    world.commits = true;
    world.handle(event::Committed{.up_to = 1'000'000});
    world.doings.clear();
    world.run(minutes{5});
    std::vector<std::string> all;
    for (unsigned i = 0; i < kServices; ++i) all.push_back(name_of(i));
    world.command(Kind::Resume, all);
    world.command(Kind::Monitor, all);
    world.run(minutes{5});
    for (const std::string& each : all) REQUIRE(world.is_up(each));
    REQUIRE(world.replies.size() == asked + 2);
    REQUIRE(world.engine->jobs().empty());
    REQUIRE(world.saved.jobs.empty());
    REQUIRE(world.saved.execs.size() == world.engine->programs().all().size());
  }
}

}  // namespace mix_test
