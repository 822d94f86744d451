// SPDX-License-Identifier: MIT
// A day that is recorded and replayed: the same rules do exactly what was done, whatever happened; others differ where
// they must.
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>

#include <spdlog/fmt/fmt.h>
#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "readings/item_code.hpp"
#include "replay/replay.hpp"
#include "support/recorded_shell.hpp"
#include "support/rounds.hpp"
#include "support/workflow_rules.hpp"

using namespace healer;
using namespace healer::engine;
using namespace healer::test;

namespace {

/// A recording in memory; all of it goes through bytes.
class Tape final : public recorded::Source {
 public:
  bool is_old = false;    ///< of a version that did not record which services there are
  bool has_texts = true;  ///< of the rules: each life and each reload has the next

  void take(recorded::Item item) {
    if (auto* reloaded = std::get_if<recorded::Reloaded>(&item.what)) reloaded->number = texts_++;
    if (auto* begun = std::get_if<recorded::Begun>(&item.what)) {
      begun->number = texts_++;
      chunks_.push_back({begun->state, {}});
      writer_.emplace(begun->rules);
    }
    writer_->write(item, chunks_.back().bytes);
  }

  std::optional<recorded::Item> next() override {
    while (given_ == items_.size()) {
      if (chunk_ == chunks_.size()) return std::nullopt;
      items_.clear();
      given_ = 0;
      readings::ChunkReader reader(services_);
      REQUIRE(reader.read(chunks_[chunk_].bytes, items_));
      std::get<recorded::Begun>(items_.front().what).state = chunks_[chunk_].state;
      ++chunk_;
    }
    recorded::Item item = items_[given_++];
    if (auto* begun = std::get_if<recorded::Begun>(&item.what); begun != nullptr && is_old) begun->services.reset();
    if (auto* reloaded = std::get_if<recorded::Reloaded>(&item.what); reloaded != nullptr && is_old)
      reloaded->services.reset();
    if (auto* begun = std::get_if<recorded::Begun>(&item.what); begun != nullptr && !has_texts) begun->number.reset();
    if (auto* reloaded = std::get_if<recorded::Reloaded>(&item.what); reloaded != nullptr && !has_texts)
      reloaded->number.reset();
    return item;
  }
  const recorded::Service& service(recorded::Number number) const override { return services_[number]; }

  void rewind() override {
    chunk_ = given_ = 0;
    items_.clear();
    services_.clear();
  }

 private:
  struct Chunk {
    std::shared_ptr<const SavedState> state;
    std::string bytes;
  };
  std::vector<Chunk> chunks_;
  std::optional<readings::ChunkWriter> writer_;
  recorded::TextNumber texts_ = 0;
  std::size_t chunk_ = 0;
  std::vector<recorded::Service> services_;
  std::vector<recorded::Item> items_;
  std::size_t given_ = 0;
};

const Span kAlways{WallTime{}, WallTime{days{30'000}}};

Rule with_action(Rule rule, ActionKind kind) {
  rule->action.kind = kind;
  if (kind == ActionKind::Exec) rule->action.command->arguments = {"/bin/act"};
  return rule;
}

/// Services whose rules count runs, and time, act and give up.
RuleSet some_rules(int services, std::uint8_t failures = 2) {
  std::vector<std::shared_ptr<ServiceBlock>> blocks;
  for (int i = 0; i < services; ++i) {
    std::vector<Rule> rules{
        with_action(status_rule(Comparison::NotEqual, 0, {failures, 3, Duration{0}}), ActionKind::Exec),
        with_action(status_rule(Comparison::Equal, 2, {1, 1, Duration{4500}}), ActionKind::Exec),
        with_action(status_rule(Comparison::Equal, 3), i % 2 == 0 ? ActionKind::Unmonitor : ActionKind::Exec)};
    for (std::size_t rule = 0; rule < rules.size(); ++rule) {
      rules[rule]->text = "rule " + std::to_string(rule);
      rules[rule].key = hash128(rules[rule]->text);
    }
    blocks.push_back(service("s" + std::to_string(i), std::move(rules)));
  }
  return rule_set(std::move(blocks), seconds{2});
}

/// Statuses that stay a while.
class Statuses {
 public:
  explicit Statuses(std::uint32_t seed) : random_(seed) {}
  Evidence operator()(ServiceId id) {
    std::int64_t& status = now_[id];
    if (random_() % 4 == 0)
      status = random_() % 40 == 0 ? 3 : random_() % 2 == 0 ? 0 : static_cast<std::int64_t>(random_() % 3);
    return program_status(status);
  }

 private:
  std::mt19937 random_;
  std::map<ServiceId, std::int64_t> now_;
};

std::vector<std::string> texts(std::vector<ActionRecord> action_records) {
  std::vector<std::string> lines;
  for (const ActionRecord& action_record : action_records)
    lines.push_back(format_iso(action_record.when) + " " + action_record.service + " " + action_record.text);
  std::ranges::sort(lines);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

}  // namespace

TEST_CASE("the same rules do exactly what was done, whatever happened") {
  for (std::uint32_t seed = 1; seed <= static_cast<std::uint32_t>(rounds(30)); ++seed) {
    CAPTURE(seed);
    Tape tape;
    RecordedShell shell(
        some_rules(6), seed, [&](recorded::Item item) { tape.take(std::move(item)); }, Statuses(seed));
    for (int step = 0; step < 60; ++step) {
      shell.advance(shell.some(seconds{30}));
      const ServiceId id{static_cast<std::uint32_t>(shell.pick(6))};
      using Kind = event::Command::Kind;
      if (shell.chance(20)) shell.command(shell.chance(50) ? Kind::Validate : Kind::Monitor, id);
      if (shell.chance(4)) shell.command(Kind::Unmonitor, id);
      if (shell.chance(4)) shell.restart(shell.chance(50));
    }
    shell.advance(seconds{1});
    const Replay done = replay(some_rules(6), tape, kAlways);
    std::vector<ActionRecord> both;
    for (const ReplayLine& line : done.lines) {
      CAPTURE(line.action_record.service, line.action_record.text, format_iso(line.action_record.when),
              to_string(line.who));
      CHECK(line.who == ReplayLine::Who::Both);
      both.push_back(line.action_record);
    }
    // To the millisecond, and nothing is missing.
    REQUIRE((texts(both) == texts(shell.action_records)));
    REQUIRE(both.size() > 10);
    REQUIRE(done.unknown.empty());
    REQUIRE(done.unseen.empty());
  }
}

TEST_CASE("other rules differ where they must, and what comes after that may") {
  Tape tape;
  std::int64_t status = 0;
  RecordedShell shell(
      some_rules(2), 1, [&](recorded::Item item) { tape.take(std::move(item)); },
      [&](ServiceId id) { return program_status(id == ServiceId{0} ? status : 0); });
  const auto cycles = [&](int count, std::int64_t now) {
    status = now;
    shell.advance(seconds{2} * count);
  };
  cycles(4, 0);
  cycles(2, 1);
  cycles(6, 0);
  cycles(5, 1);
  cycles(6, 0);
  REQUIRE(shell.action_records.size() == 2);
  CHECK(replay(some_rules(2), tape, kAlways).count(ReplayLine::Who::Both) == 2);
  tape.rewind();
  const Replay other = replay(some_rules(2, 3), tape, kAlways);
  REQUIRE(other.lines.size() == 3);
  CHECK(other.lines[0].who == ReplayLine::Who::Then);
  CHECK_FALSE(other.lines[0].may_differ);
  CHECK(other.lines[1].who == ReplayLine::Who::Then);
  CHECK(other.lines[2].who == ReplayLine::Who::Now);
  CHECK(other.lines[2].action_record.when - other.lines[1].action_record.when >= seconds{1});
  CHECK(other.lines[2].may_differ);
}

TEST_CASE("rules that run more often see what was seen last") {
  Tape tape;
  std::int64_t status = 0;
  RecordedShell shell(
      some_rules(1), 1, [&](recorded::Item item) { tape.take(std::move(item)); },
      [&](ServiceId) { return program_status(status); });
  shell.advance(seconds{20});
  status = 1;
  shell.advance(seconds{20});
  RuleSet quicker = some_rules(1);
  quicker.settings.cycle = seconds{1};
  const Replay done = replay(quicker, tape, kAlways);
  CHECK(done.runs > 30);
  // Two runs in a row come sooner.
  REQUIRE(done.lines.size() == 2);
  CHECK(done.lines[0].who == ReplayLine::Who::Now);
  CHECK(done.lines[1].who == ReplayLine::Who::Then);
}

namespace {

/// Nodes of a group, a storm of which more than half fail; a healing of one waits until all were seen.
RuleSet farm(const std::string& names, const std::string& more = {}, const std::string& argument = {}) {
  return rules(R"(
workflow rebuild {
  guard program "/bin/may-go ${TARGET}" timeout 10 seconds
  step "rebuild" program "/bin/rebuild ${TARGET})" +
               argument + R"(" timeout 5 minutes
  step "verify" recovered within 5 minutes
  cooldown 2 minutes
}
for each NODE in )" +
               names + R"( {
  check program ping_${NODE} with path "/bin/ping ${NODE}"
    group nodes
    if status != 0 for 2 cycles then heal with rebuild
}
)" + more);
}

const std::string kCalm = "check program calm with path \"/bin/true\" if status != 0 then exec \"/bin/act\"\n";

/// Records hours in which nodes fail and are healed by their program; `reload` is called in the middle.
void record_hours(Tape& tape, RuleSet first, std::uint32_t seed, const std::function<void(RecordedShell&)>& reload) {
  std::mt19937 random(seed);
  std::map<std::string, int> failing;  // runs that still fail
  const RecordedShell* running = nullptr;
  RecordedShell shell(
      std::move(first), seed, [&](recorded::Item item) { tape.take(std::move(item)); },
      [&](ServiceId id) {
        if (!running->graph().slots[id.index()]) return program_status(0);  // it is gone
        int& left = failing[running->graph().at(id).name];
        if (left == 0 && random() % 60 == 0) left = 8;
        return program_status(left > 0 && left-- > 0 ? 1 : 0);
      });
  running = &shell;
  shell.advance(hours{4});
  reload(shell);
  shell.advance(hours{4});
}

}  // namespace

TEST_CASE("the same rules heal exactly as was healed, over a reload that adds a member of the group") {
  for (std::uint32_t seed = 1; seed <= static_cast<std::uint32_t>(rounds(5)); ++seed) {
    CAPTURE(seed);
    Tape tape;
    const std::string composite =
        "check composite web with members of group nodes if more than 40% members failed then alert\n";
    // What a program is started with is the same then and now, the identity of its healing, too.
    const auto before = [] { return farm(R"("n1" .. "n3")", {}, " ${HEALING}"); };
    const auto after = [&] { return farm(R"("n1" .. "n4")", kCalm + composite, " ${HEALING}"); };
    record_hours(tape, before(), seed, [&](RecordedShell& shell) { shell.reload(after()); });
    const std::vector<DayRules> day{{kAlways.since, before()}, {kAlways.since, after()}};
    const Replay done = replay(after(), tape, kAlways, utc_civil, day);
    std::map<std::string, int> healed;
    for (const ReplayLine& line : done.lines) {
      CAPTURE(line.action_record.service, line.action_record.text, format_iso(line.action_record.when),
              to_string(line.who));
      CHECK(line.who == ReplayLine::Who::Both);
      CHECK_FALSE(line.may_differ);
      if (line.action_record.kind == ActionRecord::Kind::Heal) ++healed[line.action_record.service];
    }
    CHECK(healed["ping_n1"] > 2);
    CHECK(healed["ping_n4"] > 0);
    CHECK(done.unseen.empty());
    REQUIRE(done.notes.size() == 1);
    CHECK(done.notes.front().text == "the rules were reloaded, with what was not there before: ping_n4, calm and web");
  }
}

TEST_CASE("rules that are slower or quicker to heal heal all the same, a run later or sooner") {
  Tape tape;
  record_hours(tape, farm(R"("n1" .. "n3")", kCalm), 7, [](RecordedShell&) {});
  const auto after = [](int runs) {
    RuleSet other = farm(R"("n1" .. "n3")", kCalm);
    for (auto& service : other.services) {
      auto block = std::make_shared<ServiceBlock>(*service);
      for (Rule& rule : block->rules)
        if (rule->action.heal) rule->tolerance.count = rule->tolerance.window = static_cast<std::uint8_t>(runs);
      service = std::move(block);
    }
    return other;
  };
  const auto healings = [](const Replay& done, std::initializer_list<ReplayLine::Who> whose) {
    std::vector<WallTime> when;
    for (const ReplayLine& line : done.lines)
      if (line.action_record.kind == ActionRecord::Kind::Heal && std::ranges::find(whose, line.who) != whose.end())
        when.push_back(line.action_record.when);
    std::ranges::sort(when);
    return when;
  };
  using Who = ReplayLine::Who;
  for (const int runs : {1, 3}) {
    CAPTURE(runs);
    tape.rewind();
    const Replay done = replay(after(runs), tape, kAlways);
    const std::vector<WallTime> then = healings(done, {Who::Then, Who::Both}),
                                now = healings(done, {Who::Now, Who::Both});
    REQUIRE(then.size() > 5);
    // Where brakes hold one back longer, its target may be well again before its turn.
    REQUIRE(now.size() * 10 >= then.size() * 9);
    if (runs == 3) CHECK(now.front() > then.front());
  }
}

TEST_CASE("a service that only changed rules have is left out, and what it could have touched may differ") {
  Tape tape;
  record_hours(tape, farm(R"("n1" .. "n3")", kCalm), 7, [](RecordedShell&) {});
  const auto healings = [](const Replay& done, ReplayLine::Who who) {
    return std::ranges::count_if(done.lines, [&](const ReplayLine& line) {
      return line.action_record.kind == ActionRecord::Kind::Heal && line.who == who;
    });
  };
  const Replay same = replay(farm(R"("n1" .. "n3")", kCalm), tape, kAlways);
  const auto all = healings(same, ReplayLine::Who::Both);
  REQUIRE(all > 5);
  // Three are half of six: as "not well" the new ones would close the brake for ever.
  tape.rewind();
  const Replay more = replay(farm(R"("n1" .. "n7")", kCalm), tape, kAlways);
  CHECK(more.unseen == std::vector<std::string>{"ping_n4", "ping_n5", "ping_n6", "ping_n7"});
  CHECK(healings(more, ReplayLine::Who::Both) == all);
  CHECK(more.count(ReplayLine::Who::Both) == more.lines.size());
  for (const ReplayLine& line : more.lines) {
    CAPTURE(line.action_record.service, line.action_record.text);
    if (line.action_record.kind == ActionRecord::Kind::Heal) CHECK(line.may_differ);
    if (line.action_record.service == "calm") CHECK_FALSE(line.may_differ);
  }
  // The same of a recording that does not say which services there were: its end does.
  tape.rewind();
  tape.is_old = true;
  const Replay old = replay(farm(R"("n1" .. "n7")", kCalm), tape, kAlways);
  CHECK(old.unseen == more.unseen);
  CHECK(healings(old, ReplayLine::Who::Both) == all);
  tape.is_old = false;
  // A composite needs no readings: it is judged by its members from the beginning.
  tape.rewind();
  const std::string composite =
      "check composite web with members of group nodes if any member failed then exec \"/bin/act\"\n";
  const Replay made = replay(farm(R"("n1" .. "n3")", kCalm + composite), tape, kAlways);
  CHECK(made.unseen.empty());
  CHECK(std::ranges::count_if(made.lines, [](const ReplayLine& line) {
          return line.action_record.service == "web" && line.who == ReplayLine::Who::Now;
        }) > 3);
  // One that has nothing to do with them touches nothing; what depends on one is doubtful in all that it does.
  tape.rewind();
  const std::string other = "check program new with path \"/bin/new\" if status != 0 then alert\n";
  for (const ReplayLine& line : replay(farm(R"("n1" .. "n3")", kCalm + other), tape, kAlways).lines)
    CHECK_FALSE(line.may_differ);
  tape.rewind();
  const std::string leaning =
      "check program calm with path \"/bin/true\" if status != 0 then exec \"/bin/act\" depends on new\n" + other;
  const Replay leans = replay(farm(R"("n1" .. "n3")", leaning), tape, kAlways);
  CHECK(std::ranges::count(leans.lines, true, &ReplayLine::may_differ) > 0);
  for (const ReplayLine& line : leans.lines) CHECK(line.may_differ == (line.action_record.service == "calm"));
}

namespace {

std::size_t marked(const Replay& done) {
  return static_cast<std::size_t>(std::ranges::count(done.lines, true, &ReplayLine::may_differ));
}

}  // namespace

TEST_CASE("a day on which a reload has edited rules is played by those of each time, and does what was done") {
  // Another rule, a workflow that rests longer, a service that goes, and other settings.
  const auto before = [] {
    return farm(R"("n1" .. "n3")",
                kCalm + "check program gone with path \"/bin/gone\" if status != 0 then exec \"/bin/bye\"\n");
  };
  const auto after = [](std::string_view cycles = "for 4 cycles") {
    return farm(R"("n1" .. "n3")",
                fmt::format("check program calm with path \"/bin/true\" if status != 0 {} then exec \"/bin/act\"\n"
                            "set mail-format {{ subject: other }}\n",
                            cycles));
  };
  for (std::uint32_t seed = 1; seed <= static_cast<std::uint32_t>(rounds(5)); ++seed) {
    CAPTURE(seed);
    Tape tape;
    record_hours(tape, before(), seed, [&](RecordedShell& shell) { shell.reload(after()); });
    const std::vector<DayRules> day{{kAlways.since, before()}, {kAlways.since, after()}};
    const Replay done = replay(after(), tape, kAlways, utc_civil, day);
    std::set<std::string> services;
    for (const ReplayLine& line : done.lines) {
      CAPTURE(line.action_record.service, line.action_record.text, format_iso(line.action_record.when),
              to_string(line.who));
      CHECK(line.who == ReplayLine::Who::Both);
      CHECK_FALSE(line.may_differ);
      services.insert(line.action_record.service);
    }
    CHECK(services.contains("gone"));
    CHECK(services.contains("calm"));
    CHECK(done.edited == std::vector<std::string>{"calm"});
    CHECK(done.unknown.empty());
    REQUIRE(done.notes.size() == 1);
    CHECK(done.notes.front().text == "the rules were reloaded, edited: calm");
    // What is played throughout, or says something else, is not what was done before the edit.
    tape.rewind();
    CHECK(replay(after(), tape, kAlways, utc_civil, day, true).count(ReplayLine::Who::Then) > 0);
    tape.rewind();
    const Replay other = replay(after("for 5 cycles"), tape, kAlways, utc_civil, day);
    CHECK(std::ranges::all_of(other.lines, [](const ReplayLine& line) {
      return line.who == ReplayLine::Who::Both || line.action_record.service == "calm";
    }));
    CHECK(other.count(ReplayLine::Who::Then) > 0);
    // A recording of an earlier version does not say what was edited.
    tape.rewind();
    tape.has_texts = false;
    const Replay old = replay(after(), tape, kAlways);
    REQUIRE(old.notes.size() == 1);
    CHECK(old.notes.front().text.ends_with(
        "the earlier rules are not recorded, and everything before the reload is marked"));
    CHECK(marked(old) > 0);
    for (const ReplayLine& line : old.lines)
      if (line.action_record.when < old.notes.front().when) CHECK(line.may_differ);
  }
}

TEST_CASE("a service that nobody has monitored is no service without readings") {
  Tape tape;
  bool armed = false;
  bool records = false;  // from the next start on
  RecordedShell shell(
      some_rules(2), 1,
      [&](recorded::Item item) {
        if (records = records || (armed && std::holds_alternative<recorded::Begun>(item.what)); records)
          tape.take(std::move(item));
      },
      [&](ServiceId) { return program_status(0); });
  shell.command(event::Command::Kind::Unmonitor, ServiceId{1});
  shell.advance(seconds{10});
  armed = true;
  shell.restart(true);
  shell.advance(minutes{5});
  const Replay done = replay(some_rules(2), tape, kAlways);
  CHECK(done.unseen.empty());
  CHECK(done.unmonitored == std::vector<std::string>{"s1"});
  tape.rewind();
  const Replay more = replay(some_rules(3), tape, kAlways);
  CHECK(more.unseen == std::vector<std::string>{"s2"});
  CHECK(more.unmonitored == std::vector<std::string>{"s1"});
}

TEST_CASE("Action records are compared by service, kind, text and time") {
  const WallTime t{days{20'000}};
  const ActionRecord restart{t, "Web", ActionRecord::Kind::Exec, "/act"};
  ActionRecord later = restart;
  later.when += milliseconds{200};
  CHECK(compare_actions({restart}, {later}).front().who == ReplayLine::Who::Both);
  later.when += milliseconds{100};
  const auto apart = compare_actions({restart}, {later});
  REQUIRE(apart.size() == 2);
  CHECK(apart[0].who == ReplayLine::Who::Then);
  CHECK(apart[1].who == ReplayLine::Who::Now);
  CHECK(apart[1].may_differ);
  CHECK(compare_actions({restart, restart}, {restart}).size() == 1);
  CHECK(compare_actions({restart}, {restart}, {.wholly = {"web"}, .healing = {}}).front().may_differ);
}
