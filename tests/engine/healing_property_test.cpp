// SPDX-License-Identifier: MIT
// Random fleets, failures, programs, people, lists, reloads and deaths of the daemon, in virtual time: what must hold
// whatever happens. What may be done is asked of HealingModel, which keeps an account of its own beside the engine.
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/healing/request.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"
#include "support/healing_model.hpp"
#include "support/rounds.hpp"

using namespace healer;
using namespace healer::test;

namespace {

using Stage = Healing::Stage;

/// Where a healing can be after a turn, by where it was before: what the table of stage.hpp leads to, through stages in
/// which it does not rest. From waiting to a place there is no way but a claim.
const std::map<Stage, std::set<Stage>> kTurns{
    {Stage::Held, {Stage::Approval, Stage::Confirming, Stage::Claiming}},
    {Stage::Approval, {Stage::Held, Stage::Between, Stage::Confirming, Stage::Claiming}},
    {Stage::Confirming, {Stage::Held, Stage::Approval, Stage::Claiming}},
    {Stage::Claiming,
     {Stage::Guarding, Stage::Stepping, Stage::Failing, Stage::Cancelling, Stage::Held, Stage::Between}},
    {Stage::Guarding, {Stage::Stepping, Stage::Held, Stage::Between, Stage::Cancelling}},
    {Stage::Stepping, {Stage::Between, Stage::Failing, Stage::Cancelling, Stage::Approval, Stage::Claiming}},
    {Stage::Between, {Stage::Approval, Stage::Claiming}},
    {Stage::Failing, {Stage::Between, Stage::Cancelling, Stage::Approval, Stage::Claiming}},
    {Stage::Cancelling, {}}};

/// The turns of all healings from stage to stage.
using Turns = std::set<std::pair<Stage, Stage>>;

/// What the world does to a fleet, and what it knows of it.
class Storm {
 public:
  /// `shared`: others have the same targets, so that what healings claim is granted late, or denied.
  Storm(std::uint32_t seed, bool shared, Turns& turns)
      : random_(seed), shared_(shared), turns_(turns), fleet_(some_fleet()), model_(fleet_) {
    take(world_of({}, std::vector<bool>(static_cast<std::size_t>(fleet_.targets)), World::kStart));
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      receive();
      check();
      if (!shared_) continue;
      answer_claims(60, 15);
      receive();
      check();
    }
    settle();
    fail_once_more();
  }

 private:
  struct Program {
    std::string name;
    std::string target;
    HealingId healing;
  };

  [[nodiscard]] std::unique_ptr<FleetWorld> world_of(SavedState left, std::vector<bool> failed, Instant at) const {
    return std::make_unique<FleetWorld>(make_graph(fleet_rules(fleet_)), std::move(left), std::move(failed), at,
                                        !shared_);
  }

  int pick(int most) { return static_cast<int>(random_() % static_cast<std::uint32_t>(most)); }
  bool chance(int percent) { return pick(100) < percent; }

  Fleet some_fleet() {
    Fleet fleet;
    fleet.targets = 1 + pick(8);
    fleet.tries = 1 + static_cast<std::uint32_t>(pick(3));
    fleet.limits = {{.number = 1 + static_cast<std::uint32_t>(pick(3))}};
    if (chance(50)) fleet.limits.push_back({.number = 1 + static_cast<std::uint32_t>(pick(4)), .within = hours{1}});
    if (chance(40)) fleet.breaker = Breaker{.failed = 2, .within = hours{1}};
    if (chance(40)) fleet.probation = minutes{30};
    fleet.escalate = chance(50);
    fleet.calls = chance(50);
    if (chance(25)) fleet.approval = Approval{.within = minutes{10}};
    fleet.listed = chance(40);
    fleet.written = chance(30);
    fleet.sentinel = chance(30);
    fleet.maintenance = chance(30);
    return fleet;
  }

  /// From now on this is the daemon.
  void take(std::unique_ptr<FleetWorld> world) {
    world_ = std::move(world);
    model_.daemon_started(world_->now);
    // What it did while it started is told first.
    for (const Effect& effect : std::vector(world_->effects)) {
      if (const auto* const commit = std::get_if<effect::Commit>(&effect))
        for (const Record& record : commit->records) model_.recorded(record);
      if (const auto* const exec = std::get_if<effect::Exec>(&effect)) begins(*exec);
      if (const auto* const request = std::get_if<effect::Request>(&effect)) asks(*request);
    }
    world_->judged = [this](const std::string& service, bool well) { model_.judged(service, well, world_->now); };
    world_->recorded = [this](const Record& record) {
      if (record.kind == RecordKind::HealingBegun && record.text.find(" begins") != std::string::npos) {
        const std::string why = model_.try_begins(HealingId{record.subject}, world_->now);
        if (!why.empty()) FAIL_CHECK("a try of healing " << record.subject << " begins, but " << why);
      }
      model_.recorded(record);
    };
    stages_.clear();
    noted_claims_ = 0;
    if (shared_) {
      note_claims();
      world_->received = [this](const Event&) {
        follow_stages();
        note_claims();
      };
    }
    world_->begins = [this](const effect::Exec& exec) { begins(exec); };
    world_->asks = [this](const effect::Request& request) { asks(request); };
  }

  /// After each turn.
  void follow_stages() {
    std::map<HealingId, Stage> now;
    for (const auto& [id, healing] : world_->engine->healings().all()) {
      now[id] = healing.stage();
      const auto before = stages_.find(id);
      if (before == stages_.end() || before->second == healing.stage()) continue;
      INFO(to_string(before->second) << " -> " << to_string(healing.stage()));
      CHECK(kTurns.at(before->second).contains(healing.stage()));
      turns_.emplace(before->second, healing.stage());
    }
    stages_ = std::move(now);
  }

  /// Nothing: it has ended.
  [[nodiscard]] std::optional<Stage> stage_of(HealingId id) const {
    const auto& all = world_->engine->healings().all();
    const auto healing = all.find(id);
    return healing == all.end() ? std::nullopt : std::optional(healing->second.stage());
  }

  void note_claims() {
    for (; noted_claims_ < world_->claims.size(); ++noted_claims_) {
      const HealingId id = world_->claims[noted_claims_].healing;
      if (stage_of(id) != Stage::Claiming) continue;
      const std::string wrong = model_.claims(id);
      if (!wrong.empty()) FAIL_CHECK(wrong);
    }
  }

  static Program program_of(const effect::Exec& exec) {
    return {exec.command.arguments.front().substr(5), exec.command.arguments.back(), exec.healing};
  }

  void begins(const effect::Exec& exec) {
    const Program program = program_of(exec);
    const std::string wrong = model_.begins(program.healing, exec.action, program.name, program.target, world_->now);
    if (!wrong.empty()) FAIL_CHECK(wrong);
    // No program of a step is `repeatable`; a guard only asks.
    if (!program.name.ends_with("guard")) CHECK_FALSE(in_doubt_.contains(try_of(program)));
  }

  /// A step of a try, by its program.
  using Tried = std::tuple<HealingId, std::string, std::uint32_t, std::string>;
  [[nodiscard]] Tried try_of(const Program& program) const {
    const auto& all = world_->engine->healings().all();
    const auto healing = all.find(program.healing);
    if (healing == all.end()) return {program.healing, {}, 0, program.name};
    return {program.healing, healing->second.plan->name, healing->second.round, program.name};
  }

  /// The name of a target that the rules have.
  std::string some_target() {
    int chosen = pick(fleet_.targets);
    while (fleet_.absent.contains(chosen)) chosen = (chosen + 1) % fleet_.targets;
    return "n" + std::to_string(chosen);
  }

  event::Command command(event::Command::Kind kind, std::vector<std::string> names = {}) {
    event::Command command{
        .id = CommandId{++commands_}, .kind = kind, .services = {}, .by = ByPerson{"anna"}, .workflow = "rebuild"};
    for (const std::string& name : names) command.services.push_back(world_->id(name));
    return command;
  }
  void pause(bool on) {
    const std::string name = some_target();
    const auto kind = on ? event::Command::Kind::Pause : event::Command::Kind::Resume;
    if (on)
      model_.pause(name);
    else
      model_.resume(name);
    world_->handle(command(kind, {name}));
  }
  void watch(bool on) {
    using Kind = event::Command::Kind;
    const std::string name = some_target();
    if (on)
      model_.monitor(name);
    else
      model_.unmonitor(name);
    world_->handle(command(on ? Kind::Monitor : chance(50) ? Kind::Unmonitor : Kind::Stop, {name}));
    receive();
    check_taken();
  }
  /// What lost its target while it was under way is known to be abandoned, and only that.
  void check_taken() const {
    for (const auto& [id, healing] : world_->engine->healings().all())
      CHECK(healing.is_abandoned() == model_.is_taken(id));
  }
  void pause_everything(bool on) {
    event::Command given = command(on ? event::Command::Kind::Pause : event::Command::Kind::Resume);
    given.everything = true;
    for (const ServiceId id : world_->engine->graph()->order) given.services.push_back(id);
    model_.pause_everything(on);
    world_->handle(given);
  }
  void want() {
    const std::string name = some_target();
    event::Command given = command(event::Command::Kind::Heal, {name});
    if (chance(50)) given.overrides = {.limit = chance(50), .cooldown = chance(50), .pause = chance(50)};
    for (const auto& [id, healing] : world_->engine->healings().all())
      if (healing.target == name && healing.cancelled_by.empty()) model_.wanted(id, given.overrides);
    model_.wants(name, given.overrides);
    world_->handle(given);
  }
  void say_of_some(event::Command::Kind kind) {
    event::Command given = command(kind);
    const auto& all = world_->engine->healings().all();
    const auto healing = all.empty() ? all.end() : std::next(all.begin(), pick(static_cast<int>(all.size())));
    given.job = JobId{healing == all.end() ? 1 : healing->first.number()};
    if (kind == event::Command::Kind::Approve && healing != all.end() &&
        healing->second.stage() == Healing::Stage::Approval)
      model_.approved(healing->first);
    world_->handle(given);
  }
  void change_lists() {
    event::ListsDoubted doubted;
    std::set<std::string> missing;
    if (chance(30)) doubted.names = {"node"};
    for (int i = 0; i < fleet_.targets; ++i)
      if (chance(10)) missing.insert("n" + std::to_string(i));
    for (const std::string& name : missing) doubted.missing.push_back({"node", name});
    model_.lists(!doubted.names.empty(), missing);
    world_->handle(doubted);
  }

  void step() {
    using Kind = event::Command::Kind;
    const int what = pick(116);
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
      pause(true);
    else if (what < 90)
      pause(false);
    else if (what < 92)
      want();
    else if (what < 93)
      say_of_some(Kind::Cancel);
    else if (what < 94)
      reset();
    else if (what < 96)
      die();
    else if (what < 98)
      reload_equal();
    else if (what < 100)
      reload_changed();
    else if (what < 102)
      change_lists();
    else if (what < 103)
      pause_everything(chance(30));
    else if (what < 105)
      world_->sentinel_failed = chance(30);
    else if (what < 109)
      say_of_some(Kind::Approve);
    else if (what < 110)
      say_of_some(Kind::Reject);
    else if (what < 112)
      watch(false);
    else
      watch(true);
  }

  void reset() {
    model_.breaker_reset();
    world_->handle(command(event::Command::Kind::ResetHealing));
  }

  /// Programs that were released begin; no number twice.
  void receive() {
    for (; received_ < world_->execs.size(); ++received_) {
      const effect::Exec exec = world_->execs[received_];
      const Program program = program_of(exec);
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
        if (const auto service = world_->engine->graph()->find(program.target))
          CHECK(world_->engine->held_back().of(*service, world_->engine->graph()->at(*service).rules[0], {},
                                               ActionKind::Restart, world_->now) != Hold::None);
      }
      running_.emplace(exec.action, program);
      world_->handle(event::ActionStarted{.action = exec.action, .pid = 100, .start_ticks = 1});
    }
    receive_requests();
  }

  /// Of a hundred claims so many are granted and denied; the others wait on. Late answers to earlier ones do nothing.
  void answer_claims(int granted, int denied) {
    for (; answered_ < world_->claims.size(); ++answered_) open_claims_.push_back(world_->claims[answered_]);
    for (const effect::Claim& claim : std::exchange(open_claims_, {})) {
      const int what = pick(100);
      if (what < granted)
        world_->handle(event::Claimed{claim.healing, claim.claim});
      else if (what < granted + denied)
        deny(claim);
      else
        open_claims_.push_back(claim);
      if (chance(10)) old_claims_.push_back(claim);
    }
    if (!old_claims_.empty() && chance(20)) {
      const effect::Claim old = old_claims_[static_cast<std::size_t>(pick(static_cast<int>(old_claims_.size())))];
      const bool is_wanted = std::ranges::any_of(open_claims_, [&](const effect::Claim& open) {
        return open.healing == old.healing && open.claim == old.claim;
      });
      const std::optional<Stage> before = stage_of(old.healing);
      world_->handle(event::Claimed{old.healing, old.claim});
      if (before && !is_wanted) CHECK(stage_of(old.healing) == before);
    }
  }

  void deny(const effect::Claim& claim) {
    world_->handle(
        event::Denied{claim.healing, claim.claim, chance(50) ? Brake::Limit : Brake::OneAtATime, "web2 has taken it"});
    if (stage_of(claim.healing) != Stage::Claiming) model_.denied(claim.healing);
  }

  void end_some() {
    if (running_.empty()) return;
    const auto chosen = std::next(running_.begin(), pick(static_cast<int>(running_.size())));
    end(chosen->first, chance(75) ? 0 : 1);
  }

  /// A request is released: each only once in a try, except for questions and those that may be repeated.
  void asks(const effect::Request& request) {
    const Healing& healing = world_->engine->healings().all().at(request.healing);
    CHECK(let_go_.contains({request.healing, "guard"}));
    if (!request.safe) CHECK(made_.insert({request.healing, healing.round}).second);
    for (const Healing& saved : world_->saved.healings)  // the journal knows of it
      if (saved.id == request.healing) CHECK(saved.under_way().size() == healing.under_way().size());
    for (const auto& header : request.headers)
      for (const auto& part : header) CHECK(part.text.find("${") == std::string::npos);
  }

  void receive_requests() {
    for (; requests_received_ < world_->requests.size(); ++requests_received_)
      asked_.push_back(world_->requests[requests_received_]);
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
    const auto& all = world_->engine->healings().all();
    if (const auto healing = all.find(request.healing); is_question && how >= 50 && healing != all.end())
      world_->heal(std::stoi(healing->second.target.substr(1)));
    world_->handle(answer);
  }

  void end(ActionId action, int status) {
    const Program program = running_.at(action);
    running_.erase(action);
    over_.emplace(action, status);
    model_.program_over(action);
    const bool is_guard = program.name.ends_with("guard");
    if (status == 0 && is_guard) let_go_.insert({program.healing, program.name});
    if (status != 0 && is_guard) model_.refused(program.healing);
    if (status == 0 && program.name.starts_with("re"))
      world_->heal(std::stoi(program.target.substr(1)));  // it does good
    world_->handle(event::ActionEnded{.action = action, .status = status, .elapsed = seconds{1}});
  }

  /// A program has ended, and nobody has seen how.
  void miss_end(ActionId action) {
    const Program program = running_.at(action);
    running_.erase(action);
    over_.emplace(action, 0);
    model_.program_over(action);
    if (!program.name.ends_with("guard")) in_doubt_.insert(try_of(program));
    world_->handle(event::ActionEnded{.action = action, .unseen = true, .elapsed = seconds{1}});
  }

  /// The daemon is killed, and started again: of what ran it is told how that ended, or nobody has seen it.
  void die() {
    const SavedState saved = world_->saved;
    const auto failed = world_->failed;
    const bool sentinel_failed = world_->sentinel_failed;
    const Instant now = world_->now;
    auto next = world_of(saved, failed, now);
    answered_ = 0;
    next->sentinel_failed = sentinel_failed;
    // Nobody but a person's word, and what the store has of the lists, comes from before.
    received_ = requests_received_ = 0;
    asked_.clear();
    open_claims_.clear();
    old_claims_.clear();  // they are answered within a life
    take(std::move(next));
    change_lists();
    for (const Effect& effect : std::vector(world_->effects)) {
      const auto* const adopt = std::get_if<effect::Adopt>(&effect);
      if (adopt == nullptr) continue;
      if (const auto runs = running_.find(adopt->action); runs != running_.end()) {
        if (chance(20)) miss_end(runs->first);
      } else if (const auto known = over_.find(adopt->action); known != over_.end()) {
        world_->handle(event::ActionEnded{
            .action = adopt->action, .status = known->second, .unseen = chance(50), .elapsed = seconds{1}});
      }
    }
    receive();
  }

  void reload_equal() {
    const std::size_t effects = world_->effects.size();
    world_->handle(event::Swap{plan_swap(*world_->engine->graph(), fleet_rules(fleet_))});
    CHECK(world_->effects.size() == effects);
  }
  void reload_changed() {
    if (fleet_.listed || chance(30))
      for (int i = 0; i < fleet_.targets; ++i)
        if (chance(20) && !fleet_.absent.erase(i) && static_cast<int>(fleet_.absent.size()) + 1 < fleet_.targets)
          fleet_.absent.insert(i);
    fleet_.over_all = chance(15) ? HealingMode::Approval : HealingMode::Automatic;
    model_.rules(fleet_);
    world_->handle(event::Swap{plan_swap(*world_->engine->graph(), fleet_rules(fleet_))});
    check_taken();
  }

  void check() {
    std::map<std::string, int> locks;
    for (const auto& [id, healing] : world_->engine->healings().all())
      if (healing.locks()) ++locks[healing.target];
    for (const auto& [target, count] : locks) CHECK(count == 1);
    // One that asks for its place has begun nothing.
    for (const auto& [id, healing] : world_->engine->healings().all())
      if (healing.stage() == Healing::Stage::Claiming)
        for (const auto& [action, program] : running_) CHECK(program.healing != id);
    // What is saved is what lives.
    CHECK(world_->saved.healings.size() == world_->engine->healings().all().size());
  }

  /// Everything is well, and no program hangs: every healing comes to its end.
  void settle() {
    fleet_.absent.clear();
    fleet_.over_all = HealingMode::Automatic;
    model_.rules(fleet_);
    world_->handle(event::Swap{plan_swap(*world_->engine->graph(), fleet_rules(fleet_))});
    for (int i = 0; i < fleet_.targets; ++i) {
      const std::string name = "n" + std::to_string(i);
      model_.monitor(name);
      world_->handle(command(event::Command::Kind::Monitor, {name}));
    }
    pause_everything(false);
    model_.lists(false, {});
    world_->handle(event::ListsDoubted{});
    world_->sentinel_failed = false;
    for (int i = 0; i < fleet_.targets; ++i) world_->heal(i);
    for (int i = 0; i < 500 && !world_->engine->healings().idle(); ++i) {
      reset();  // a breaker may be open
      if (shared_) answer_claims(100, 0);
      receive();
      while (!running_.empty() || !asked_.empty()) {
        if (!running_.empty()) end(running_.begin()->first, 0);
        for (const effect::Request& request : std::exchange(asked_, {})) answer(request, 99);
        if (shared_) answer_claims(100, 0);
        receive();
      }
      world_->advance(minutes{1});
    }
    for (const auto& [id, healing] : world_->engine->healings().all())
      UNSCOPED_INFO(healing.target << " " << to_string(healing.stage()) << " " << healing.reason());
    CHECK(world_->engine->healings().idle());
    CHECK(world_->saved.healings.empty());
  }

  /// What was well and fails again is healed by its rules, whatever came of healings before: nothing holds it for ever.
  void fail_once_more() {
    const int target = pick(fleet_.targets);
    world_->advance(seconds{3});
    const std::size_t before = world_->records.size();
    const auto begun = [&] {
      return std::any_of(world_->records.begin() + static_cast<std::ptrdiff_t>(before), world_->records.end(),
                         [](const Record& record) { return record.kind == RecordKind::HealingBegun; });
    };
    world_->fail(target);
    for (int i = 0; i < 300 && !begun(); ++i) {
      reset();
      for (int more = static_cast<int>(world_->engine->healings().all().size()); more > 0; --more)
        say_of_some(event::Command::Kind::Approve);
      if (shared_) answer_claims(100, 0);
      receive();
      while (!running_.empty()) {  // guards
        end(running_.begin()->first, 0);
        receive();
      }
      world_->advance(minutes{1});
    }
    for (const auto& [id, healing] : world_->engine->healings().all())
      UNSCOPED_INFO(healing.target << " " << to_string(healing.stage()) << " " << healing.reason());
    CHECK(begun());
  }

  std::mt19937 random_;
  bool shared_;
  Turns& turns_;
  std::map<HealingId, Stage> stages_;  // after the last turn
  Fleet fleet_;
  HealingModel model_;
  std::unique_ptr<FleetWorld> world_;
  std::size_t received_ = 0;
  std::uint64_t commands_ = 0;
  std::set<ActionId> issued_;
  std::map<ActionId, Program> running_;
  std::map<ActionId, int> over_;
  std::set<std::pair<HealingId, std::string>> let_go_;
  std::size_t requests_received_ = 0;
  std::vector<effect::Request> asked_;
  std::set<std::pair<HealingId, std::uint32_t>> made_;
  std::set<Tried> in_doubt_;
  std::size_t answered_ = 0;      // of the claims of this life
  std::size_t noted_claims_ = 0;  // likewise
  std::vector<effect::Claim> open_claims_;
  std::vector<effect::Claim> old_claims_;
};

void play(bool shared) {
  const char* const wanted = std::getenv("HEALER_SEED");
  const int first = wanted == nullptr ? 1 : std::atoi(wanted);
  const int usual = is_long() ? 250 : shared ? 30 : 60;
  const int fleets = wanted == nullptr ? rounds(usual) : 1;
  Turns turns;
  for (int seed = first; seed < first + fleets; ++seed) {
    INFO("seed " << seed);
    Storm(static_cast<std::uint32_t>(seed), shared, turns).run(400);
  }
  if (!shared || fleets < usual) return;  // a few storms do not go every way
  for (const auto& [from, to] : Turns{{Stage::Held, Stage::Confirming},
                                      {Stage::Confirming, Stage::Claiming},
                                      {Stage::Claiming, Stage::Guarding},
                                      {Stage::Claiming, Stage::Held},
                                      {Stage::Claiming, Stage::Between},
                                      {Stage::Guarding, Stage::Stepping},
                                      {Stage::Stepping, Stage::Between},
                                      {Stage::Between, Stage::Claiming}}) {
    INFO(to_string(from) << " -> " << to_string(to));
    CHECK(turns.contains({from, to}));  // the storms are worth their name
  }
}

}  // namespace

/// `HEALER_SEED=28` plays that one alone.
TEST_CASE("whatever happens, healing keeps its promises", "[healing][property]") { play(false); }

TEST_CASE("whatever happens, healing keeps its promises where claims are answered late or denied",
          "[healing][property][claims]") {
  play(true);
}
