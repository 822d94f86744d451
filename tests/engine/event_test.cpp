// SPDX-License-Identifier: MIT
// Checks of events: what is taken, what is the same again, what each does, and for how long it stands.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/events/commit.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/json_test.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "support/engine_world.hpp"
#include "support/workflow_rules.hpp"

namespace event_test {

using namespace healer;
using namespace healer::test;

namespace {

const std::string kWorkflow = R"(
workflow rebuild {
  guard program "/bin/may-go ${TARGET}" timeout 10 seconds
  step "rebuild" program "/bin/rebuild ${EVENT.vm}" timeout 20 minutes
  tries 2
}
)";

const std::string kAlarms = R"(
check event alarms with hook "/hooks/aodh" within 10 minutes valid 1 hour
  if json '.current' = "alarm" then heal "${EVENT.vm}" with rebuild any target
  if json '.current' = "test" then exec "/bin/note ${EVENT.vm}"
)";

/// A world that answers what filters are asked of documents.
struct Events {
  explicit Events(const std::string& text, SavedState left = {}, std::optional<Instant> at = std::nullopt)
      : world(make_graph(rules(text)), std::move(left), at.value_or(World::kStart)) {
    world.start();
  }

  /// An event of which the filters of its check are asked at once.
  void tell(const std::string& key, const std::string& state, const std::string& vm,
            std::string_view check = "alarms") {
    EventFields fields{{"EVENT.current", state}};
    if (!vm.empty()) fields.emplace_back("EVENT.vm", vm);
    tell(key, state, "{\"current\":\"" + state + "\",\"vm\":\"" + vm + "\"}", fields, check);
  }
  void tell(const std::string& key, const std::string& state, const std::string& document, const EventFields& fields,
            std::string_view check = "alarms", std::uint64_t again = 0) {
    auto arrived = event::occurred(world.id(check), key, state, document, fields, CommandId{++commands});
    arrived.again = again;
    world.handle(arrived);
    judge();
  }
  /// What a filter finds; a filter takes milliseconds to compile, so each is asked once of the same.
  std::optional<std::string> found(const std::string& document, const std::string& filter) {
    const auto [at, is_new] = values.try_emplace(std::pair(document, filter));
    if (is_new) at->second = value_in(document, filter);
    return at->second;
  }
  /// Answers the runs that wait.
  void judge() {
    while (!world.open.empty()) {
      const effect::Measure run = world.open.front();
      if (run.document == nullptr) return;
      world.open.erase(world.open.begin());
      auto facts = std::make_shared<Facts>();
      for (const std::string& filter : world.engine->graph()->at(run.service).other->event.filters)
        facts->further.edit().values.push_back({.filter = filter, .value = found(*run.document, filter)});
      Evidence seen;
      seen.output = std::make_shared<const std::string>();
      seen.facts = std::move(facts);
      world.handle(event::measured(run.service, run.run, std::move(seen)));
    }
  }
  void advance(Duration span) {
    world.advance(span);
    judge();
  }
  [[nodiscard]] std::uint16_t status() const { return world.replies.back().status; }
  [[nodiscard]] const Occurrence& last() const { return world.engine->arrivals().events().all().rbegin()->second; }
  [[nodiscard]] const std::map<HealingId, Healing>& healings() const { return world.engine->healings().all(); }
  [[nodiscard]] std::vector<std::string> programs() const {
    std::vector<std::string> all;
    for (const effect::Exec& exec : world.execs) all.push_back(exec.command.arguments.back());
    return all;
  }
  [[nodiscard]] bool alerted(const std::string& part) const {
    return std::ranges::any_of(world.records,
                               [&](const Record& record) { return record.text.find(part) != std::string::npos; });
  }
  void end_program() {
    world.handle(
        event::ActionEnded{.action = world.execs.back().action, .outcome = Outcome::Exited, .elapsed = seconds{1}});
    judge();
  }
  void command(event::Command::Kind kind, std::string_view service = "alarms") {
    event::Command command{.id = CommandId{++commands}, .kind = kind};
    command.services = {world.id(service)};
    command.by = ByPerson{.name = "anna"};
    world.handle(command);
    judge();
  }
  Events restarted(const std::string& text, Duration away = seconds{1}) {
    Instant later = world.now;
    later.mono += away;
    later.wall += away;
    Events next(text, world.saved, later);
    next.judge();
    return next;
  }

  World world;
  std::uint64_t commands = 0;
  std::map<std::pair<std::string, std::string>, std::optional<std::string>> values;
};

}  // namespace

TEST_CASE("an event heals what it names through the workflow, and programs know its values", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.tell("a1", "alarm", "vm-7");
  CHECK(events.status() == 202);
  CHECK(events.last().stage == OccurrenceStage::Judged);
  REQUIRE(events.healings().size() == 1);
  CHECK(events.healings().begin()->second.target == "vm-7");
  events.advance(minutes{1});
  REQUIRE(events.programs() == std::vector<std::string>{"vm-7"});  // its guard
  const auto& environment = events.world.execs.back().place->environment;
  const auto told = std::ranges::find(environment, "HEALER_EVENT_VM",
                                      &std::pair<std::string, std::vector<effect::Place::Part>>::first);
  REQUIRE(told != environment.end());
  CHECK(told->second.front().text == "vm-7");
  events.end_program();
  CHECK(events.world.execs.back().command.arguments == std::vector<std::string>{"/bin/rebuild", "vm-7"});
}

TEST_CASE("the same event again is counted and answered, and nothing is done twice", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.tell("a1", "test", "vm-7");
  events.tell("a1", "test", "vm-7");
  CHECK(events.status() == 202);
  CHECK(events.last().count == 2);
  CHECK(events.world.execs.size() == 1);
  events.end_program();
  events.advance(minutes{10} - seconds{1});
  events.tell("a1", "test", "vm-7");  // the window is not prolonged
  CHECK(events.world.execs.size() == 1);
  events.advance(seconds{1});
  events.tell("a1", "test", "vm-7");
  CHECK(events.world.execs.size() == 2);
  CHECK(events.last().count == 1);
}

TEST_CASE("a new state ends the window", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.tell("a1", "test", "vm-7");
  events.end_program();
  events.tell("a1", "ok", "vm-7");
  events.tell("a1", "test", "vm-7");
  CHECK(events.world.execs.size() == 2);
}

TEST_CASE("what is known of events is known after a restart", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.tell("a1", "test", "vm-7");
  events.end_program();
  Events next = events.restarted(kWorkflow + kAlarms);
  next.tell("a1", "test", "vm-7");
  CHECK(next.status() == 202);
  CHECK(next.world.execs.empty());
  CHECK(next.last().count == 2);
  next.advance(minutes{10});
  next.tell("a1", "test", "vm-7");
  CHECK(next.world.execs.size() == 1);
}

TEST_CASE("an event that was taken and not judged is judged after a crash, once", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.world.handle(event::occurred(events.world.id("alarms"), "a1", "test", R"({"current":"test","vm":"vm-7"})",
                                      {{"EVENT.current", "test"}, {"EVENT.vm", "vm-7"}}, CommandId{9}));
  CHECK(events.status() == 202);
  CHECK(events.world.execs.empty());
  Events next = events.restarted(kWorkflow + kAlarms);
  CHECK(next.world.execs.size() == 1);
  CHECK(next.programs() == std::vector<std::string>{"vm-7"});
  Events third = next.restarted(kWorkflow + kAlarms);
  CHECK(third.last().stage == OccurrenceStage::Judged);
  CHECK(std::ranges::none_of(third.world.saved.occurrences,
                             [](const Occurrence& one) { return one.stage == OccurrenceStage::Waiting; }));
}

TEST_CASE("a condition stands until an event of the same target fails the test", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.command(event::Command::Kind::Pause, "alarms");
  events.command(event::Command::Kind::Resume, "alarms");
  events.tell("a1", "alarm", "vm-7");
  events.tell("a2", "alarm", "vm-8");
  CHECK(events.healings().size() == 2);
  events.tell("a3", "ok", "VM-7");
  REQUIRE(events.healings().size() == 1);
  CHECK(events.healings().begin()->second.target == "vm-8");
  CHECK(events.alerted("healing of vm-7 with rebuild dropped: an event has said that all is well"));
}

TEST_CASE("what is held when 'valid' is over is dropped, and people are told", "[engine][event]") {
  Events events("set healing mode approval\nset alert anna@example.com\n" + kWorkflow + kAlarms);
  events.tell("a1", "alarm", "vm-7");
  events.advance(minutes{59});
  REQUIRE(events.healings().size() == 1);
  events.world.alerts.clear();
  events.advance(minutes{1} + seconds{1});
  CHECK(events.healings().empty());
  CHECK(std::ranges::any_of(events.world.alerts,
                            [](const effect::Alert& alert) { return alert.cause->event_text == "Healing dropped"; }));
  CHECK(events.world.engine->arrivals().events().standing(events.world.id("alarms")).empty());
}

TEST_CASE("an event with another state that comes while a healing is under way lets no further try begin",
          "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.tell("a1", "alarm", "vm-7");
  events.advance(minutes{1});
  events.end_program();  // the guard
  events.tell("a1", "ok", "vm-7");
  events.world.handle(event::ActionEnded{
      .action = events.world.execs.back().action, .outcome = Outcome::Exited, .status = 1, .elapsed = seconds{1}});
  events.advance(minutes{15});
  CHECK(events.healings().empty());
  CHECK(events.world.execs.size() == 2);
}

TEST_CASE("execs come one after the other, each event once", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  for (const char* vm : {"vm-1", "vm-2", "vm-3"}) events.tell(vm, "test", vm);
  CHECK(events.programs() == std::vector<std::string>{"vm-1"});
  events.end_program();
  CHECK(events.programs() == std::vector<std::string>{"vm-1", "vm-2"});
  Events next = events.restarted(kWorkflow + kAlarms);
  REQUIRE(next.programs() == std::vector<std::string>{"vm-2"});  // released again: adopted, or started
  next.end_program();
  CHECK(next.programs() == std::vector<std::string>{"vm-2", "vm-3"});
  next.end_program();
  next.advance(minutes{1});
  CHECK(next.programs().size() == 2);
}

TEST_CASE("while its check is paused an event is accepted and held", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.command(event::Command::Kind::Pause);
  events.tell("a1", "test", "vm-7");
  CHECK(events.status() == 202);
  CHECK(events.world.execs.empty());
  CHECK(events.last().stage == OccurrenceStage::Waiting);
  CHECK(events.world.engine->arrivals().events().waiting() == 1);
  events.advance(minutes{5});
  CHECK(events.world.execs.empty());
  events.command(event::Command::Kind::Resume);
  CHECK(events.programs() == std::vector<std::string>{"vm-7"});
}

TEST_CASE("what waits for longer than 'valid' is dropped, and people are told", "[engine][event]") {
  Events events("set alert anna@example.com\n" + kWorkflow + kAlarms);
  events.command(event::Command::Kind::Pause);
  events.tell("a1", "test", "vm-7");
  events.advance(hours{1} + seconds{1});
  CHECK(events.last().stage == OccurrenceStage::Dropped);
  CHECK(events.last().outcome == "it was not judged within 1 h: paused");
  CHECK(std::ranges::any_of(events.world.alerts,
                            [](const effect::Alert& alert) { return alert.cause->event_text == "Event refused"; }));
  events.command(event::Command::Kind::Resume);
  CHECK(events.world.execs.empty());
}

TEST_CASE("events wait while many programs wait that others before them have asked for", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  for (int i = 0; i < 150; ++i) events.tell("k" + std::to_string(i), "test", "vm-" + std::to_string(i));
  CHECK(events.status() == 202);
  events.advance(minutes{1});
  CHECK(events.world.engine->arrivals().events().waiting() == 49);  // one program runs, and a hundred wait
  CHECK(events.world.engine->arrivals().events().held(events.world.id("alarms"), events.world.now) ==
        "100 programs wait for their turn");
  for (int i = 0; i < 150; ++i) {
    events.end_program();
    if (i % 30 == 0) events.advance(minutes{1});
  }
  CHECK(events.programs().size() == 150);
  CHECK(events.world.engine->arrivals().events().waiting() == 0);
}

TEST_CASE("an exec that a pause holds goes on when that ends by itself, or is dropped when it is too old",
          "[engine][event]") {
  for (const Duration span : {Duration{minutes{10}}, Duration{hours{2}}}) {
    Events events("set alert anna@example.com\n" + kWorkflow + kAlarms);
    events.tell("a1", "test", "vm-1");
    events.tell("a2", "test", "vm-2");
    event::Command pause{.id = CommandId{++events.commands}, .kind = event::Command::Kind::Pause};
    pause.services = {events.world.id("alarms")};
    pause.by = ByPerson{.name = "anna"};
    pause.until = events.world.now.wall + span;
    events.world.handle(pause);
    events.end_program();
    CHECK(events.programs() == std::vector<std::string>{"vm-1"});
    events.advance(span + minutes{1});
    CHECK(events.programs().size() == (span < hours{1} ? 2U : 1U));
    CHECK(events.alerted("is dropped: it was held back for longer than its event is valid") == (span > hours{1}));
  }
}

TEST_CASE("an event that was refused is judged anew when it comes mended", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.tell("a1", "test", "");
  CHECK(events.status() == 422);
  events.tell("a1", "test", "");
  CHECK(events.status() == 422);
  CHECK(events.world.engine->arrivals().events().all().size() == 1);
  events.tell("a1", "test", "vm-1");
  CHECK(events.status() == 202);
  CHECK(events.programs() == std::vector<std::string>{"vm-1"});
}

TEST_CASE("a person heals no target that only an event would name", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  event::Command heal{.id = CommandId{++events.commands}, .kind = event::Command::Kind::Heal};
  heal.services = {events.world.id("alarms")};
  heal.by = ByPerson{.name = "anna"};
  events.world.handle(heal);
  CHECK(events.healings().empty());
  CHECK(events.world.execs.empty());
  CHECK(events.alerted("heal with rebuild: it is for the target that an event names (${EVENT.vm})"));
}

TEST_CASE("what is too old at once is told of at once", "[engine][event]") {
  Events events("set alert anna@example.com\n" + kWorkflow + kAlarms);
  events.command(event::Command::Kind::Pause);
  for (const char* vm : {"vm-1", "vm-2", "vm-3"}) events.tell(vm, "test", vm);
  events.advance(hours{1} + seconds{2});
  CHECK(events.world.engine->arrivals().events().waiting() == 0);
  CHECK(events.world.count(RecordKind::EventRefused) == 1);
  CHECK(events.alerted("and 2 more are dropped: it was not judged within 1 h: paused"));
}

TEST_CASE("an event whose filters could not be asked is judged later, and at last people are told", "[engine][event]") {
  for (const int times : {9, 10}) {
    Events events("set alert anna@example.com\n" + kWorkflow + kAlarms);
    events.world.handle(event::occurred(events.world.id("alarms"), "a1", "test", R"({"current":"test","vm":"vm-1"})",
                                        {{"EVENT.vm", "vm-1"}}, CommandId{++events.commands}));
    for (int i = 0; i < times; ++i) {
      REQUIRE(events.world.open.size() == 1);
      const effect::Measure run = events.world.open.front();
      events.world.open.clear();
      Evidence unknown;
      unknown.answer = Answer::Unknown;
      unknown.output = std::make_shared<const std::string>("the helper has died");
      events.world.handle(event::measured(run.service, run.run, std::move(unknown)));
      if (i < 9) CHECK(events.last().stage == OccurrenceStage::Waiting);
      events.world.advance(minutes{1});
    }
    events.judge();
    CHECK(events.programs().size() == (times < 10 ? 1U : 0U));
    CHECK(events.last().stage == (times < 10 ? OccurrenceStage::Judged : OccurrenceStage::Dropped));
    CHECK(events.alerted("is dropped: it could not be judged: the helper has died") == (times == 10));
  }
}

TEST_CASE("a field that programs would take for one that the rules name is left out", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.tell("a1", "test", R"({"current":"test","vm":"vm-1","VM":"x; y"})",
              {{"EVENT.current", "test"}, {"EVENT.VM", "x; y"}, {"EVENT.vm", "vm-1"}});
  REQUIRE(events.world.execs.size() == 1);
  CHECK(events.world.execs[0].cause->fields == EventFields{{"EVENT.current", "test"}, {"EVENT.vm", "vm-1"}});
}

TEST_CASE("events that lack a field, or name no target that could be, are refused", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.tell("a1", "alarm", "");
  CHECK(events.status() == 422);
  CHECK(events.world.replies.back().text == "it has no plain value ${EVENT.vm}");
  CHECK(events.last().stage == OccurrenceStage::Refused);
  events.tell("a2", "alarm", "vm 7; rm");
  CHECK(events.status() == 422);
  CHECK(events.world.replies.back().text.starts_with("'vm 7; rm' is not a name of a target"));
  events.tell("a3", "alarm", "vm\n7");
  CHECK(events.world.replies.back().text == "the value of ${EVENT.vm} has control characters");
  CHECK(events.world.count(RecordKind::EventRefused) == 3);
  events.tell("a1", "alarm", "");  // the same one is no more news
  CHECK(events.status() == 422);
  CHECK(events.world.count(RecordKind::EventRefused) == 3);
  CHECK(events.healings().empty());
}

TEST_CASE("a target that no rule knows is refused unless any may be healed", "[engine][event]") {
  const std::string text = kWorkflow + R"(
check program vm-1 with path "/bin/ping" if status != 0 then alert
check event alarms with hook "/hooks/aodh"
  if json '.current' = "alarm" then heal "${EVENT.vm}" with rebuild
)";
  Events events(text);
  events.tell("a1", "alarm", "vm-2");
  CHECK(events.status() == 422);
  CHECK(events.world.replies.back().text == "no rule knows the target vm-2 ('any target' would let it be healed)");
  events.tell("a2", "alarm", "VM-1");
  CHECK(events.status() == 202);
  CHECK(events.healings().size() == 1);
}

TEST_CASE("'recovered' fails the step where no rule watches the target", "[engine][event]") {
  Events events(R"(
workflow rebuild {
  step "rebuild" program "/bin/rebuild ${TARGET}"
  step "verify" recovered within 5 minutes
}
)" + kAlarms);
  events.tell("a1", "alarm", "vm-7");
  events.advance(minutes{1});
  events.end_program();
  CHECK(events.healings().empty());
  CHECK(events.alerted("not recovered: no rule watches vm-7"));
}

TEST_CASE("events are counted, each distinct one once", "[engine][event]") {
  Events events(R"(
check event alarms with hook "/hooks/aodh"
  if more than 2 events within 1 minute then exec "/bin/many" else exec "/bin/few"
)");
  for (const char* key : {"a", "a", "a", "b"}) events.tell(key, "x", "vm");
  CHECK(events.world.execs.empty());
  events.advance(seconds{30});
  events.tell("c", "x", "vm");
  REQUIRE(events.world.execs.size() == 1);
  CHECK(events.world.execs.back().cause->description == "3 events within 1 m (limit 2)");
  events.tell("d", "x", "vm");  // it stands
  CHECK(events.world.execs.size() == 1);
  events.end_program();
  events.advance(seconds{30});
  CHECK(events.world.execs.back().command.arguments.front() == "/bin/few");
}

TEST_CASE("where the queue is full events are refused, and nothing that was taken is lost", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.command(event::Command::Kind::Pause);
  for (std::size_t i = 0; i < kMostWaiting; ++i) events.tell("k" + std::to_string(i), "ok", "vm");
  CHECK(events.status() == 202);
  events.tell("more", "ok", "vm");
  CHECK(events.status() == 429);
  events.tell("more", "ok", "vm");
  CHECK(events.world.count(RecordKind::EventRefused) == 1);  // people are told once
  events.tell("k5", "ok", "vm");                             // one that is known is counted all the same
  CHECK(events.status() == 202);
  CHECK(events.world.engine->arrivals().events().waiting() == kMostWaiting);
  events.command(event::Command::Kind::Resume);
  for (int i = 0; i < 1000 && events.world.engine->arrivals().events().waiting() > 0; ++i) events.advance(seconds{1});
  CHECK(events.world.engine->arrivals().events().waiting() == 0);
}

TEST_CASE("the last thousand are kept, and more only within their windows", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  for (int i = 0; i < 3000; ++i) events.tell("k" + std::to_string(i), "ok", "vm");
  CHECK(events.world.engine->arrivals().events().all().size() >= 3000);
  events.advance(minutes{11});
  for (int i = 3000; i < 6000; ++i) {
    events.tell("k" + std::to_string(i), "ok", "vm");
    events.advance(seconds{1});
  }
  CHECK(events.world.engine->arrivals().events().all().size() < 1500);
  CHECK(events.world.saved.occurrences.size() == events.world.engine->arrivals().events().all().size());
}

TEST_CASE("an event is played once more, whatever is known of it", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.tell("a1", "test", "vm-7");
  events.end_program();
  const Occurrence first = events.last();
  events.tell(first.key, first.state, *first.document, {{"EVENT.current", "test"}, {"EVENT.vm", "vm-7"}}, "alarms",
              first.number);
  CHECK(events.world.execs.size() == 2);
  CHECK(events.last().again == first.number);
}

TEST_CASE("what comes while its check is not monitored is known and not judged", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.command(event::Command::Kind::Unmonitor);
  events.tell("a1", "test", "vm-7");
  CHECK(events.status() == 202);
  CHECK(events.last().outcome == "not judged: alarms is not monitored");
  events.command(event::Command::Kind::Monitor);
  events.tell("a1", "test", "vm-7");  // it is known
  CHECK(events.world.execs.empty());
  events.tell("a2", "test", "vm-7");
  CHECK(events.world.execs.size() == 1);
}

TEST_CASE("a test that has no value neither holds nor clears", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.tell("a1", "alarm", "vm-7");
  REQUIRE(events.healings().size() == 1);
  events.tell("a2", "x", "[]", {{"EVENT.vm", "vm-7"}});
  CHECK(events.healings().size() == 1);
  CHECK(events.last().outcome.starts_with("json .current is not known"));
}

TEST_CASE("an edit of other rules keeps what waits and what stands", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.tell("a1", "alarm", "vm-7");
  const std::string edited = kWorkflow + kAlarms + "  if more than 5 events within 1 minute then alert\n";
  events.world.handle(event::Swap{plan_swap(*events.world.engine->graph(), rules(edited))});
  CHECK(events.world.engine->arrivals().events().standing(events.world.id("alarms")).size() == 1);
  events.advance(seconds{5});
  CHECK(events.healings().size() == 1);
}

TEST_CASE("explain tells what came, and for whom its condition stands", "[engine][event]") {
  Events events(kWorkflow + kAlarms);
  events.tell("a1", "alarm", "vm-7");
  const Explanation explained = explain(*events.world.engine, events.world.id("alarms"), events.world.now);
  const auto says = [&](const std::string& part) {
    return std::ranges::any_of(explained.notes,
                               [&](const std::string& note) { return note.find(part) != std::string::npos; });
  };
  CHECK(says("ago: a1: alarm."));
  CHECK(says("Its condition stands for vm-7, for another 1 h at most."));
}

}  // namespace event_test
