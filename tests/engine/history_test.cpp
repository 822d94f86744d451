// SPDX-License-Identifier: MIT
// Laws that hold in any history. Each history is random: rules, answers late, lost, twice or never, commands, reloads,
// steps of the clock, commits that take their time, and crashes between any two of them.
#include <deque>
#include <map>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "engine/granting.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/effect_text.hpp"
#include "support/engine_world.hpp"
#include "support/rounds.hpp"

namespace history_test {

using namespace healer;
using namespace healer::test;

namespace {

class History final : public EffectSink {
 public:
  explicit History(std::uint32_t seed) : random_(seed), now_(World::kStart) {
    rules_ = random_rules();
    begin();
  }

  void play(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }

  /// One life of a daemon: enough to live it again.
  struct Life {
    std::shared_ptr<const Graph> graph;
    SavedState saved;
    Instant begun;
    std::vector<std::pair<Event, Instant>> events;
    std::string effects;
  };
  [[nodiscard]] const std::vector<Life>& lives() const { return lives_; }
  [[nodiscard]] std::size_t execs() const { return emitted_.size(); }
  [[nodiscard]] std::size_t held() const { return held_; }

  void emit(Effect effect) override {
    lives_.back().effects += to_text(effect) + "\n";
    inbox_.push_back(std::move(effect));
  }

 private:
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_()) % below; }

  RuleSet random_rules() {
    std::vector<std::shared_ptr<ServiceBlock>> services;
    const std::uint32_t count = 1 + pick(4);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::vector<Rule> rules;
      for (std::uint32_t k = pick(4); k > 0; --k) rules.push_back(random_rule(k));
      auto block = service("s" + std::to_string(i), std::move(rules));
      for (Rule& rule : block->rules) rule.key = hash128(rule->text);  // the same text in other services
      if (pick(3) == 0) *block->recipients = {{.address = "a@b"}, {.address = "c@d", .reminder = 2}};
      if (pick(4) == 0) block->schedule->cycles = 1 + pick(3);
      if (pick(6) == 0) {
        block->schedule->kind = Schedule::Kind::Interval;
        block->schedule->interval = milliseconds{700};
      }
      if (pick(5) == 0) block->program->command.arguments.push_back("again");
      std::string all = block->program->command.arguments.back() + std::to_string(block->schedule->cycles) +
                        std::to_string(block->schedule->interval.count()) + std::to_string(block->recipients->size());
      for (const Rule& rule : block->rules) all += rule->text;
      block->key = hash128(all);
      services.push_back(std::move(block));
    }
    RuleSet set = rule_set(std::move(services), seconds{1 + pick(2)});
    set.settings.dry_run = pick(12) == 0;
    set.settings.shadow = pick(20) == 0;
    set.settings.mail.recipients = {{.address = "root@here"}};
    return set;
  }

  Rule random_rule(std::uint32_t number) {
    // A kind has one text, and a text one meaning, as the language's.
    const std::uint32_t kind = pick(6);
    Rule rule = status_rule(Comparison::NotEqual, 0, {1, 1, Duration{0}}, static_cast<std::uint16_t>(kind % 3));
    if (kind >= 2) rule->tolerance = {2, static_cast<std::uint8_t>(kind), Duration{0}};
    if (kind == 3) rule->tolerance = {1, 1, seconds{3}};
    if (kind == 4)
      rule->recovery->action = {.kind = ActionKind::Exec, .command = Command{.arguments = {"/bin/recovered"}}};
    if (kind == 1) rule->action.overlapping = true;
    if (kind == 5) {
      rule->condition = RuleCondition{{Changed{Attribute::Status}}};
      rule->condition->hash = hash128("changed status");
      rule->mode = Mode::EachChange;
    }
    rule->text = "rule " + std::to_string(kind) + " " + std::to_string(number);
    return rule;
  }

  // ---- one life after the other ---------------------------------------------------------------------------------

  void begin() {
    const auto graph = make_graph(rules_);
    lives_.push_back({graph, disk_, now_, {}, {}});
    engine_ = std::make_unique<Engine>(graph, utc_civil, disk_, now_);
    last_record_ = disk_.last_record;
    adopted_.clear();
    for (const PendingExec& pending : disk_.execs) may_emit_.insert(pending.exec.action.number());
    tell(event::Started{"test"});
  }

  void crash() {
    // What was submitted and not answered is on disk up to a point.
    for (std::uint32_t written = pick(static_cast<std::uint32_t>(submitted_.size()) + 1); written > 0; --written) {
      keep(disk_, submitted_.front());
      submitted_.pop_front();
    }
    submitted_.clear();
    open_.clear();
    late_.clear();  // what an earlier process started is told to no other
    inbox_.clear();
    may_emit_.clear();
    if (pick(3) == 0) {
      now_.boot += 1;
      for (const auto& [id, branch] : active_) over_.insert(id);
      active_.clear();
    }
    pass(milliseconds{pick(3) == 0 ? 20'000 : 10});
    if (pick(3) == 0) rules_ = random_rules();
    begin();
  }

  void pass(Duration time) {
    now_.mono += time;
    now_.wall += time;
  }

  void tell(const Event& event) {
    lives_.back().events.emplace_back(event, now_);
    engine::handle(*engine_, event, now_, *this);
    while (!inbox_.empty()) {
      const Effect effect = std::move(inbox_.front());
      inbox_.pop_front();
      std::visit([this](const auto& known) { take(known); }, effect);
    }
  }

  // ---- what the engine asks for ---------------------------------------------------------------------------------

  void take(const effect::Measure& run) {
    REQUIRE(runs_.insert({lives_.size(), run.run.number()}).second);
    for (const auto& other : open_) REQUIRE(other.service != run.service);
    open_.push_back(run);
  }
  void take(const effect::CancelRun& run) {
    std::erase_if(open_, [&](const auto& other) { return other.run == run.run; });
    late_.push_back({run.service, run.run});
  }
  void take(const effect::Exec& exec) {
    INFO("action " << exec.action.number());
    REQUIRE(may_emit_.contains(exec.action.number()));  // named by a durable commit
    may_emit_.erase(exec.action.number());              // and only once in a life
    // The next life may be asked for it again; it is the same act then.
    const std::string act = to_text(*exec.cause) + to_string(exec.rule) + (exec.recovery ? "c" : "r");
    REQUIRE(emitted_.try_emplace(exec.action.number(), act).first->second == act);
    // It is started at most once, ever: asked for again, it is looked for.
    const std::uint64_t number = exec.action.number();
    if (active_.contains(number)) return;
    const bool starts = !over_.contains(number);
    const Branch branch{exec.cause->service, exec.rule, exec.recovery};
    if (starts && !overlapping_.contains(number))
      for (const auto& [id, other] : active_) REQUIRE(other != branch);
    active_[number] = starts ? branch : kNothing;
  }
  void take(const effect::Adopt& adopt) {
    REQUIRE(adopted_.insert(adopt.action.number()).second);
    active_.try_emplace(adopt.action.number(), kNothing);
  }
  /// Whether the rule of an exec lets it overlap now.
  [[nodiscard]] bool may_overlap(const effect::Exec& exec) const {
    const Graph& graph = *engine_->graph();
    const std::optional<ServiceId> id = graph.find(exec.cause->service);
    if (!id || exec.recovery) return false;
    const auto rule = std::ranges::find(graph.at(*id).rules, exec.rule, &Rule::key);
    return rule != graph.at(*id).rules.end() && (*rule)->action.overlapping;
  }
  void take(const effect::Alert& alert) { REQUIRE((alerts_.insert(alert.alert.number()).second || lives_.size() > 1)); }
  void take(const effect::Commit& commit) {
    // What is forgotten does not run.
    for (const ActionId id : commit.ended) REQUIRE(!active_.contains(id.number()));
    for (const auto& act : commit.pending)
      if (const auto* exec = std::get_if<effect::Exec>(&act); exec != nullptr && may_overlap(*exec))
        overlapping_.insert(exec->action.number());
    for (const Record& record : commit.records) {
      held_ += record.kind == RecordKind::ActionHeld ? 1U : 0U;
      REQUIRE(record.id == ++last_record_);
    }
    submitted_.push_back(commit);
  }
  void take(const effect::Note&) {}
  void take(const effect::Request&) { FAIL("no healing, no request"); }
  void take(const effect::EndRequest&) { FAIL("no healing, no request"); }
  void take(const effect::Claim&) { FAIL("no healing, no claim"); }
  void take(const effect::EndAction& end) { REQUIRE(cancelled_.erase({lives_.size(), end.action.number()}) == 1); }
  void take(const effect::Watch&) {}
  void take(const effect::Signal&) { FAIL("no job, no signal"); }
  void take(const effect::Reply& reply) { REQUIRE(replies_.insert({lives_.size(), reply.command.number()}).second); }

  // ---- what happens ---------------------------------------------------------------------------------------------

  void write(std::size_t count) {
    for (; count > 0 && !submitted_.empty(); --count) {
      const effect::Commit commit = std::move(submitted_.front());
      submitted_.pop_front();
      keep(disk_, commit);
      for (const auto& act : commit.pending)
        if (const auto* exec = std::get_if<effect::Exec>(&act)) may_emit_.insert(exec->action.number());
      durable_ = commit.sequence;
      if (pick(4) != 0 || submitted_.empty()) tell(event::Committed{.up_to = commit.sequence});
    }
  }

  void observe(effect::Measure run) {
    Evidence seen{.outcome = pick(9) == 0 ? Outcome::TimedOut : Outcome::Exited,
                  .status = pick(2),
                  .elapsed = milliseconds{3},
                  .output = std::make_shared<const std::string>("out")};
    tell(event::measured(run.service, run.run, std::move(seen)));
  }

  void step() {
    switch (pick(20)) {
      case 0:
      case 1:
      case 2:
      case 3:
        pass(milliseconds{pick(1500)});
        tell(event::Wake{});
        break;
      case 4:
        if (const auto due = engine_->next_deadline(); due && *due > now_.mono) pass(*due - now_.mono);
        tell(event::Wake{});
        break;
      case 5:
      case 6:
      case 7:
      case 8:
      case 9: {
        if (open_.empty()) break;
        const auto at = open_.begin() + pick(static_cast<std::uint32_t>(open_.size()));
        const effect::Measure run = *at;
        open_.erase(at);
        if (pick(4) == 0) late_.push_back({run.service, run.run});
        observe(run);
        break;
      }
      case 10:
      case 11:
      case 12: write(1 + pick(4)); break;
      case 13: {
        if (active_.empty()) break;
        const auto at = std::next(active_.begin(), pick(static_cast<std::uint32_t>(active_.size())));
        const ActionId id{at->first};
        const bool ran = at->second != kNothing;
        if (ran && pick(2) == 0) return tell(event::ActionStarted{id, 5});
        active_.erase(at);
        over_.insert(id.number());
        ended_.push_back(id);
        tell(event::ActionEnded{.action = id, .status = ran ? pick(2) : 0, .unseen = !ran});
        break;
      }
      case 14: {
        event::Command command{.id = CommandId{++commands_}, .by = ByPerson{"somebody"}};
        if (pick(4) == 0 && !active_.empty()) {
          const auto at = std::next(active_.begin(), pick(static_cast<std::uint32_t>(active_.size())));
          command.kind = event::Command::Kind::Cancel;
          command.job = JobId{at->first};
          cancelled_.insert({lives_.size(), at->first});
          tell(command);
          break;
        }
        command.kind = static_cast<event::Command::Kind>(pick(4));
        for (std::uint32_t i = pick(3); i > 0; --i) command.services.push_back(ServiceId{pick(6)});
        tell(command);
        break;
      }
      case 15: {
        const std::size_t before = lives_.back().effects.size();
        const bool equal = pick(2) == 0;
        if (!equal) rules_ = random_rules();
        tell(event::Swap{plan_swap(*engine_->graph(), rules_)});
        if (equal) REQUIRE(lives_.back().effects.size() == before);
        break;
      }
      case 16: tell(event::Committed{.up_to = durable_}); break;  // once more
      case 17:
        if (!late_.empty()) observe(late_[pick(static_cast<std::uint32_t>(late_.size()))]);
        if (!ended_.empty()) {
          const ActionId id = ended_[pick(static_cast<std::uint32_t>(ended_.size()))];
          active_.erase(id.number());  // a life that had not heard of its end has asked for it again
          tell(event::ActionEnded{.action = id});
        }
        break;
      case 18:
        now_.wall += minutes{static_cast<int>(pick(400)) - 200};
        tell(event::Wake{});
        break;
      default:
        if (pick(3) == 0) crash();
        break;
    }
  }

  using Branch = std::tuple<std::string, Hash128, bool>;
  inline static const Branch kNothing{};  // of one that is looked for, and does not run
  std::mt19937 random_;
  Instant now_;
  RuleSet rules_;
  std::unique_ptr<Engine> engine_;
  std::vector<Life> lives_;
  std::deque<Effect> inbox_;
  SavedState disk_;
  RecordNumber last_record_ = 0;
  std::deque<effect::Commit> submitted_;
  Sequence durable_ = 0;
  std::vector<effect::Measure> open_;
  std::vector<effect::Measure> late_;
  std::set<std::pair<std::size_t, std::uint64_t>> runs_;
  std::set<std::pair<std::size_t, std::uint64_t>> replies_;
  std::set<std::uint64_t> may_emit_;
  std::map<std::uint64_t, std::string> emitted_;
  std::set<std::uint64_t> adopted_;
  std::set<std::uint64_t> alerts_;
  std::map<std::uint64_t, Branch> active_;
  std::set<std::uint64_t> over_;                               // those of them that have run
  std::set<std::uint64_t> overlapping_;                        // that may run beside others of their rule
  std::set<std::pair<std::size_t, std::uint64_t>> cancelled_;  // in which life, which
  std::vector<ActionId> ended_;
  std::uint64_t commands_ = 0;
  std::size_t held_ = 0;
};

/// A sink that only writes down.
class Scribe final : public EffectSink {
 public:
  void emit(Effect effect) override { text += to_text(effect) + "\n"; }
  std::string text;
};

}  // namespace

TEST_CASE(
    "in any history: acts are named by a durable commit, ids are unique, execs of a rule never overlap, equal "
    "graphs are invisible",
    "[engine][property]") {
  std::size_t execs = 0;
  std::size_t held = 0;
  std::size_t lives = 0;
  const auto histories = static_cast<std::uint32_t>(rounds(2000));
  for (std::uint32_t seed = 1; seed <= histories; ++seed) {
    INFO("seed " << seed);
    History history(seed);
    history.play(200);
    execs += history.execs();
    held += history.held();
    lives += history.lives().size();
  }
  // The histories say something.
  CHECK(execs > 5 * histories);
  CHECK(held > histories / 2);
  CHECK(lives > 2 * histories);
}

TEST_CASE("the same events at the same instants have the same effects, byte for byte", "[engine][property]") {
  for (std::uint32_t seed = 5001; seed <= 5000 + static_cast<std::uint32_t>(rounds(500)); ++seed) {
    INFO("seed " << seed);
    History history(seed);
    history.play(200);
    for (const History::Life& life : history.lives()) {
      Engine engine(life.graph, utc_civil, life.saved, life.begun);
      Scribe scribe;
      for (const auto& [event, at] : life.events) engine::handle(engine, event, at, scribe);
      REQUIRE(scribe.text == life.effects);
    }
  }
}

}  // namespace history_test
