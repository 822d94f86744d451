// SPDX-License-Identifier: MIT
// What is under way, and the commands that begin and end it, over the socket. Jobs are put into the engine as they are.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "control/client.hpp"
#include "control/daemon_world.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/job_view.hpp"
#include "support/process_world.hpp"

namespace jobs_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;

namespace {

struct Received {
  std::vector<Json> items;
  Reply reply;

  [[nodiscard]] std::string failure() const {
    return reply.failure ? reply.failure->code + ": " + reply.failure->message + " | " + reply.failure->remedy : "none";
  }
};

Received ask(DaemonWorld& world, const Request& request) {
  auto client = Client::connect(world.path(), kPatience);
  if (auto* failure = std::get_if<Failure>(&client)) throw std::runtime_error(failure->message);
  Received received;
  received.reply = std::get<Client>(client).call(request, [&](const Json& item) { received.items.push_back(item); });
  return received;
}

RuleSet kinds() {
  auto process = service("nginx", {});
  process->kind = kind_named("process");
  process->process->pattern = "nginx";
  process->depends = {"web"};
  auto system = service("host", {});
  system->kind = kind_named("system");
  return rule_set({service("web", {status_rule(Comparison::NotEqual, 0)}), process, system});
}

void check(World& world, std::string_view name, const std::shared_ptr<const Facts>& facts, const std::string& output) {
  ServiceState& state = state_of(world, name);
  state.last = std::make_shared<const Evidence>(Evidence{
      .answer = facts->process || facts->metrics != Metrics{} ? engine::Answer::Present : engine::Answer::Absent,
      .elapsed = milliseconds{2},
      .output = std::make_shared<const std::string>(output),
      .facts = facts});
  state.last_when = world.now.wall;
  state.initialising = false;
  state.presence.on(facts->process ? engine::PresenceEvent::Found : engine::PresenceEvent::Missing);
}

}  // namespace

TEST_CASE("nothing under way is an empty list", "[control][jobs]") {
  DaemonWorld world(two_services());
  const Received received = ask(world, {.verb = Verb::Jobs});
  CHECK(received.failure() == "none");
  CHECK(received.items.empty());
}

TEST_CASE("the jobs and the programs of rules are what is under way", "[control][jobs]") {
  DaemonWorld world(two_services());
  const ActionId action = running_action(world);
  world.act([](World& engine) { add_restart(engine); });
  const Received received = ask(world, {.verb = Verb::Jobs});
  REQUIRE(received.items.size() == 2);
  CHECK(received.items[0].dump(1) == R"({
 "id": 70,
 "kind": "restart",
 "service": "web",
 "step": 2,
 "steps": 3,
 "doing": "start db",
 "waits_for": "its program to end",
 "age_ms": 3000,
 "left_ms": 30000,
 "by": "root",
 "by_kind": "person",
 "rule": "",
 "action": 71,
 "pid": 0
})");
  const std::string id = std::to_string(action.number());
  CHECK(received.items[1].dump() ==
        R"({"id":)" + id +
            R"(,"kind":"exec","service":"db","step":1,"steps":1,"doing":"exec /bin/heal",)"
            R"("waits_for":"its program to end","age_ms":500,"left_ms":null,"by":"rule","by_kind":"rule",)"
            R"("rule":"if status != 0 then exec \"/bin/heal\"","action":)" +
            id + R"(,"pid":4242})");
}

TEST_CASE("a job says what its step waits for", "[control][jobs]") {
  DaemonWorld world(two_services());
  const auto waits = [&](const std::function<void(Job&)>& change) {
    world.act([&](World& engine) {
      Job& job = add_restart(engine);
      change(job);
    });
    return ask(world, {.verb = Verb::Jobs}).items.at(0).at("waits_for").get<std::string>();
  };
  CHECK(waits([](Job&) {}) == "its program to end");
  CHECK(waits(let_look) == "a check of db");
  CHECK(waits(let_end) == "the process of db to appear");
  const auto stops = [](Job& job) {
    job.position = 0;
    let_follow(job);
  };
  CHECK(waits(stops) == "the process of web to end");
  CHECK(waits([&](Job& job) {
          stops(job);
          let_signal(job);
        }) == "the process of web to end (SIGTERM was sent)");
  CHECK(waits([&](Job& job) {
          stops(job);
          let_signal(job, true);
        }) == "the process of web to end (SIGKILL was sent)");
}

TEST_CASE("what the machine lacks for a program is told wherever that is shown", "[control][jobs]") {
  const auto one = [](DaemonWorld& world, Verb verb, const std::string& name) {
    return ask(world, {.verb = verb, .names = {name}}).items.at(0);
  };
  const std::string full = "cannot write /x: No space left on device";
  const std::string none = "cannot make a pipe: Too many open files";
  const std::string waits = "its program to be started (" + full + "; tried again)";
  DaemonWorld world(rule_set({service("web", {}), foreground("db")}));
  world.act([&](World& engine) {
    engine.advance(milliseconds{0});
    REQUIRE(engine.execs.size() == 1);
    engine.handle(event::ActionWaits{engine.execs[0].action, full});
    engine.handle(event::RunWaits{engine.id("web"), engine.engine->service(engine.id("web")).flight.value().run, none});
  });
  CHECK(ask(world, {.verb = Verb::Jobs}).items.at(0).at("waits_for") == waits);
  CHECK(one(world, Verb::Status, "db").at("job").at("waits_for") == waits);
  CHECK(one(world, Verb::Explain, "db").at("notes").at(0).get<std::string>().find("it waits for " + waits) !=
        std::string::npos);
  CHECK(
      one(world, Verb::Summary, "db").at("text").get<std::string>().ends_with(", start db, for 0 ms, waits: " + full));
  CHECK(one(world, Verb::Summary, "web").at("text") == "(its run waits: " + none + ")");
  CHECK(one(world, Verb::Status, "web").at("run_waits") == none);
  CHECK(one(world, Verb::Explain, "web").at("notes").dump().find("(" + none + "; trying again") != std::string::npos);
  world.act([&](World& engine) { engine.observe(engine.id("web"), 0); });
  CHECK(one(world, Verb::Summary, "web").at("text") == "exit status 0 in 5 ms");
  CHECK(one(world, Verb::Status, "web").at("run_waits") == "");

  DaemonWorld heals(two_services());
  heals.cycle(1);
  heals.act([&](World& engine) { engine.handle(event::ActionWaits{engine.execs.back().action, none}); });
  CHECK(one(heals, Verb::Status, "db").at("actions").at(0).at("waits") == none);
  CHECK(ask(heals, {.verb = Verb::Jobs}).items.at(0).at("waits_for") ==
        "its program to be started (" + none + "; tried again)");
}

TEST_CASE("the start of a foreground process waits until that is ready", "[control][jobs]") {
  DaemonWorld world(rule_set({service("web", {}), foreground("db")}));
  world.act([](World& engine) { add_restart(engine); });
  CHECK(ask(world, {.verb = Verb::Jobs}).items.at(0).at("waits_for") == "db to be ready");
  CHECK(ask(world, {.verb = Verb::Explain, .names = {"db"}}).items.at(0).at("notes").at(0) ==
        "Under way: restart web: step 2 of 3, start db, for 3 s; it waits for db to be ready, at most 30 s more. root "
        "requested it; runs are not counted meanwhile.");
  world.act([](World& engine) {
    Job& stops = add_restart(engine);
    stops.steps[1].kind = Bringing::Stop;
    let_follow(stops);
  });
  CHECK(ask(world, {.verb = Verb::Jobs}).items.at(0).at("waits_for") == "the process of db to end");
}

TEST_CASE("a service under a job, paused or waiting says so", "[control][jobs]") {
  DaemonWorld world(two_services());
  world.cycle(0);
  world.act([](World& engine) {
    ServiceState& db = state_of(engine, "db");
    pause(engine, "db", engine.now.wall + hours{2}, "new disks");
    db.trouble.edit().waits = "web is being restarted";
    db.starts = {.quick = 3, .last = engine.now.wall - minutes{1}, .not_before = engine.now.wall + seconds{40}};
  });
  const auto text = [&](const std::string& name) {
    return ask(world, {.verb = Verb::Summary, .names = {name}}).items.at(0).at("text").get<std::string>();
  };
  CHECK(text("db") == "exit status 0 in 5 ms (paused)");
  Json status = ask(world, {.verb = Verb::Status, .names = {"db"}}).items.at(0);
  CHECK(status.at("job").is_null());
  CHECK(status.at("waits") == "web is being restarted");
  CHECK(status.at("pause").dump() ==
        R"({"until":"2026-11-21T06:24:00.000Z","by":"root","by_kind":"person","reason":"new disks","scope":""})");
  CHECK(status.at("starts").dump() ==
        R"({"quick":3,"last":"2026-11-21T04:23:00.000Z","not_before":"2026-11-21T04:24:40.000Z"})");
  Json notes = ask(world, {.verb = Verb::Explain, .names = {"db"}}).items.at(0).at("notes");
  CHECK(notes.at(0) == "A start or restart that its rules want is on hold: web is being restarted.");
  CHECK(notes.at(1) ==
        "It is paused for 2 h more by root (new disks): checks and alerts continue, nothing else is done; `healerctl "
        "resume "
        "db` ends it.");
  CHECK(notes.at(2) ==
        "Rules start it again in 40 s at the earliest: its last 3 starts failed, or it died soon after.");

  world.act([](World& engine) { pause(engine, "db", engine.now.wall); });  // it is over
  CHECK(text("db") == "exit status 0 in 5 ms");
  CHECK(ask(world, {.verb = Verb::Status, .names = {"db"}}).items.at(0).at("pause").is_null());

  world.act([](World& engine) { add_restart(engine); });
  CHECK(text("db") == "restart web: step 2 of 3, start db, for 3 s");
  CHECK(text("web") == "restart web: step 2 of 3, start db, for 3 s");
  status = ask(world, {.verb = Verb::Status, .names = {"db"}}).items.at(0);
  CHECK(status.at("job").at("id") == 70);
  notes = ask(world, {.verb = Verb::Explain, .names = {"web"}}).items.at(0).at("notes");
  CHECK(notes.at(0) ==
        "Under way: restart web: step 2 of 3, start db, for 3 s; it waits for its program to end, at most 30 s more. "
        "root requested it; runs are not counted meanwhile.");
}

TEST_CASE("processes and the system are told in their own words", "[control][jobs]") {
  DaemonWorld world(kinds());
  const auto description_of = [&](const std::string& name) {
    const Json summary = ask(world, {.verb = Verb::Summary, .names = {name}}).items.at(0);
    return summary.at("kind").get<std::string>() + ": " + summary.at("text").get<std::string>();
  };
  CHECK(description_of("web") == "program: ");
  CHECK(description_of("nginx") == "process: ");
  world.act([](World& engine) {
    Facts facts;
    facts.process = ProcessFacts{.pid = 4242, .parent = 1, .uid = 33, .euid = 34, .gid = 35};
    facts.metrics.set(Metric::Uptime, 10'920);
    facts.metrics.set(Metric::Cpu, 1.25);
    facts.metrics.set(Metric::MemoryBytes, 12.5 * 1024 * 1024);
    facts.metrics.set(Metric::Threads, 4);
    check(engine, "nginx", std::make_shared<const Facts>(facts), "");
    Facts machine;
    machine.metrics.set(Metric::Load1, 0.5);
    machine.metrics.set(Metric::SystemCpu, 12);
    machine.metrics.set(Metric::SystemMemory, 40);
    check(engine, "host", std::make_shared<const Facts>(machine), "");
  });
  CHECK(description_of("nginx") == "process: pid 4242, up 3 h 2 m, cpu 1.2%, memory 12.5 MB");
  CHECK(description_of("host") == "system: loadavg(1min) 0.50, cpu 12.0%, memory 40.0%");
  const Json status = ask(world, {.verb = Verb::Status, .names = {"nginx"}}).items.at(0);
  CHECK(status.at("depends").dump() == R"(["web"])");
  CHECK(status.at("last").at("outcome") == "looked");
  CHECK(status.at("process").dump() ==
        R"({"pid":4242,"parent":1,"uid":33,"euid":34,"gid":35,"zombie":false,"doubt":""})");
  CHECK(status.at("measured").dump() == R"([{"name":"cpu","unit":"percent","value":1.25,"text":"1.2%"},)"
                                        R"({"name":"memory","unit":"bytes","value":13107200.0,"text":"12.5 MB"},)"
                                        R"({"name":"threads","unit":"number","value":4.0,"text":"4"},)"
                                        R"({"name":"uptime","unit":"seconds","value":10920.0,"text":"3 h 2 m"}])");
  CHECK(ask(world, {.verb = Verb::Explain, .names = {"nginx"}})
            .items.at(0)
            .at("notes")
            .dump()
            .find("The last check: pid 4242, up 3 h 2 m, cpu 1.2%, memory 12.5 MB.") != std::string::npos);
  CHECK(ask(world, {.verb = Verb::Summary, .names = {"nginx"}}).items.at(0).at("dying") == false);
  // Nor is what was measured before looks had no answer any more.
  world.act([](World& engine) {
    state_of(engine, "nginx").trouble.edit().unknown =
        Unknown{.since = engine.now.wall - seconds{90}, .why = "the disk fails"};
  });
  CHECK(description_of("nginx") == "process: not known: the disk fails");
  const Json unknown = ask(world, {.verb = Verb::Status, .names = {"nginx"}}).items.at(0);
  CHECK(unknown.at("state") == "unknown");
  CHECK(unknown.at("since").is_string());
  CHECK(unknown.at("measured").empty());
  CHECK(ask(world, {.verb = Verb::Report}).reply.end.at("unknown") == 1);
  CHECK(ask(world, {.verb = Verb::Explain, .names = {"nginx"}})
            .items.at(0)
            .at("notes")
            .dump()
            .find("The last check that had an answer: pid 4242") != std::string::npos);
  world.act([](World& engine) { state_of(engine, "nginx").trouble.set(&Trouble::unknown, {}); });
  world.act([](World& engine) {
    state_of(engine, "web").flight =
        engine::Flight{.run = engine::RunId{1}, .started = engine.now.mono - milliseconds{61'700}};
  });
  CHECK(description_of("web") == "program: its first run is under way for 1 m 1 s");
  // What was measured before it died is no news of it.
  world.act([](World& engine) {
    engine.handle(event::ProcessDied{engine.id("nginx"), 4242, 0, ProcessEnd{Outcome::Signalled, 9}});
  });
  CHECK(description_of("nginx") == "process: process 4242 has died: killed by signal 9 (SIGKILL)");
  const Json dead = ask(world, {.verb = Verb::Status, .names = {"nginx"}}).items.at(0);
  CHECK(dead.at("dying") == true);
  CHECK(dead.at("process").is_null());
  CHECK(dead.at("measured").empty());
  world.act([](World& engine) { check(engine, "nginx", std::make_shared<const Facts>(), "no process matches nginx"); });
  CHECK(description_of("nginx") == "process: no process matches nginx");
  CHECK(ask(world, {.verb = Verb::Status, .names = {"nginx"}}).items.at(0).at("process").is_null());
}

TEST_CASE("what people ask of services reaches the engine whole", "[control][jobs]") {
  DaemonWorld world(two_services());
  std::vector<event::Command> taken;
  world.server().thread().run([&] {
    world.on_submit = [&](const event::Command& command) {
      taken.push_back(command);
      const bool fails = command.kind == event::Command::Kind::Restart;
      world.reply({command.id, !fails, fails ? "web: the stop program exited with status 1" : "done"});
      return true;
    };
  });
  using Kind = event::Command::Kind;
  const auto given = [&](const Request& request) {
    const Received received = ask(world, request);
    CHECK(received.failure() == "none");
    CHECK(received.reply.end.at("text") ==
          (request.verb == Verb::Restart ? "web: the stop program exited with status 1" : "done"));
    CHECK(received.reply.end.at("ok") == (request.verb != Verb::Restart));
    event::Command last;
    world.server().thread().run([&] { last = taken.back(); });  // they are the loop's
    return last;
  };
  const auto count_taken = [&] {
    std::size_t count = 0;
    world.server().thread().run([&] { count = taken.size(); });
    return count;
  };
  const std::string who = geteuid() == 0 ? "root" : "uid " + std::to_string(geteuid());
  event::Command command = given({.verb = Verb::Start, .names = {"db", "web"}});
  CHECK(command.kind == Kind::Start);
  CHECK(command.services.size() == 2);
  CHECK(words_of(command.by) == who);
  CHECK(given({.verb = Verb::Stop, .all = true}).kind == Kind::Stop);
  command = given({.verb = Verb::Restart, .groups = {"databases"}});
  CHECK(command.kind == Kind::Restart);
  CHECK(command.services.size() == 1);
  command = given({.verb = Verb::Pause, .all = true, .span = hours{2}, .reason = "new disks"});
  CHECK(command.kind == Kind::Pause);
  CHECK(command.until == World::kStart.wall + hours{2});
  CHECK(command.reason == "new disks");
  CHECK_FALSE(given({.verb = Verb::Pause, .all = true}).until);
  CHECK(given({.verb = Verb::Pause, .all = true, .span = hours{900'000'000'000}}).until ==
        World::kStart.wall + days{36'500});
  CHECK(given({.verb = Verb::Resume, .names = {"db"}}).kind == Kind::Resume);
  world.act([](World& engine) { add_restart(engine); });
  command = given({.verb = Verb::Cancel, .id = 70});
  CHECK(command.kind == Kind::Cancel);
  CHECK(command.job == JobId{70});
  CHECK(command.services.empty());

  const std::size_t count = count_taken();
  CHECK(ask(world, {.verb = Verb::Start}).failure() ==
        "nothing-selected: start which services? | name services or groups, or say \"all\"");
  CHECK(ask(world, {.verb = Verb::Stop, .names = {"dbb"}}).failure() ==
        "unknown-service: there is no service \"dbb\" | did you mean \"db\"?");
  CHECK(ask(world, {.verb = Verb::Pause, .all = true, .reason = std::string(501, 'x')}).failure() ==
        "bad-request: a reason has at most 500 bytes | ");
  CHECK(ask(world, {.verb = Verb::Cancel, .id = 7}).failure() ==
        "unknown-job: nothing with the number 7 is under way | `healerctl jobs` lists them");
  CHECK(count_taken() == count);
}

TEST_CASE("a group that no service is in any more can be resumed by its name", "[control][jobs]") {
  DaemonWorld world(two_services());
  CHECK(ask(world, {.verb = Verb::Pause, .groups = {"databases"}}).reply.end.at("text") == "group databases paused");
  world.act([](World& engine) {
    const RuleSet without = rule_set({service("web", {status_rule(Comparison::NotEqual, 0)})});
    engine.handle(event::Swap{plan_swap(*engine.engine->graph(), without)});
  });
  CHECK(ask(world, {.verb = Verb::Pause, .groups = {"databases"}}).failure().starts_with("unknown-group"));
  CHECK(ask(world, {.verb = Verb::Resume, .groups = {"Databases"}}).reply.end.at("text") == "group databases resumed");
  CHECK(ask(world, {.verb = Verb::Resume, .groups = {"databases"}}).failure().starts_with("unknown-group"));
}

TEST_CASE("who gives a command is told that it will be forgotten where the state cannot be written",
          "[control][jobs]") {
  DaemonWorld world(two_services());
  const std::string forgotten = "; the state cannot be written: if healerd ends before it can, this is forgotten";
  world.act([](World& engine) { engine.unjournalled = true; });
  CHECK(ask(world, {.verb = Verb::Pause, .names = {"db"}}).reply.end.at("text") == "db paused" + forgotten);
  world.act([](World& engine) { engine.unjournalled = false; });
  CHECK(ask(world, {.verb = Verb::Resume, .names = {"db"}}).reply.end.at("text") == "db resumed");
}

TEST_CASE("the output of a program is followed to its end", "[control][jobs]") {
  DaemonWorld world(two_services());
  CHECK(ask(world, {.verb = Verb::Follow, .id = 7}).failure() ==
        "unknown-job: nothing with the number 7 is under way | `healerctl jobs` lists them");
  const ActionId action = running_action(world);
  RawClient client(world.path());
  client.send(to_line(Request{.verb = Verb::Follow, .id = action.number()}) + "\n");
  CHECK(client.lines(1).starts_with("{\"version\":1,\"command\":\"follow\",\"daemon\":{"));
  const auto write = [&](const std::string& text) { std::ofstream(world.output_path(action), std::ios::app) << text; };
  write("one\n");
  CHECK(client.lines(1) == item_line(OutputView{action.number(), "db", "exec /bin/heal", "one\n"}));
  write("two\n");
  CHECK(Json::parse(client.lines(1)).at("item").at("text") == "two\n");
  // What it writes before its end is told, however long it is.
  std::string all;
  for (int i = 0; i < 20'000; ++i) all += std::to_string(i) + "\n";
  write(all);
  world.act(
      [&](World& engine) { engine.handle(event::ActionEnded{.action = action, .elapsed = seconds{1}, .output = {}}); });
  std::string collected;
  for (std::string line; (line = client.lines(1)).starts_with("{\"item\"");)
    collected += Json::parse(line).at("item").at("text").get<std::string>();
  CHECK(collected == all);
  CHECK(world.server().wait_for_clients(1));
  CHECK(ask(world, {.verb = Verb::Jobs}).items.empty());
}

TEST_CASE("nobody is shown what a program writes that is a secret", "[control][jobs]") {
  DaemonWorld world(two_services());
  const ActionId action = running_action(world);
  world.hidden = action.number();
  std::ofstream(world.output_path(action)) << "hunter2\n";
  CHECK(ask(world, {.verb = Verb::Output, .names = {"db"}})
            .failure()
            .starts_with("secret-output: its output holds a secret: exec /bin/heal | "));
  CHECK(ask(world, {.verb = Verb::Output, .id = action.number()}).failure().starts_with("secret-output: "));
  const std::string line =
      item_line(OutputView{action.number(), "db", "exec /bin/heal", "[its output holds a secret, and is not shown]\n"});
  RawClient jobs(world.path()), output(world.path());
  jobs.send(to_line(Request{.verb = Verb::Follow, .id = action.number()}) + "\n");
  CHECK(jobs.lines(2).ends_with("\n" + line));
  output.send(to_line(Request{.verb = Verb::Output, .names = {"db"}, .follow = true}) + "\n");
  CHECK(output.lines(2).ends_with("\n" + line));
  world.act(
      [&](World& engine) { engine.handle(event::ActionEnded{.action = action, .elapsed = seconds{1}, .output = {}}); });
  const std::string rest = jobs.lines(1);
  CHECK(rest.find("hunter2") == std::string::npos);
  CHECK(rest.starts_with("{\"end\""));
}

TEST_CASE("the output of a service is that of its program that runs, or ran last", "[control][jobs]") {
  DaemonWorld world(two_services());
  const auto output = [&](const std::string& name, std::uint64_t id = 0) {
    Request request{.verb = Verb::Output, .id = id};
    if (!name.empty()) request.names = {name};
    const Received received = ask(world, request);
    std::string text;
    for (const Json& item : received.items)
      text += item.at("doing").get<std::string>() + "|" + item.at("text").get<std::string>();
    return received.reply.ok() ? text : received.failure();
  };
  CHECK(output("dbb") == "unknown-service: there is no service \"dbb\" | did you mean \"db\"?");
  CHECK(output("db").starts_with("no-output: no program of db has run yet | "));
  CHECK(output("").starts_with("bad-request: "));
  const ActionId action = running_action(world);
  CHECK(output("web") == "the last check, which wrote nothing|");  // a check program, which is all that it has
  world.cycle(1, "no route\n");
  CHECK(output("web") == "the last check|no route\n");
  std::ofstream(world.output_path(action)) << "healing\n";
  CHECK(output("DB") == "exec /bin/heal|healing\n");
  const std::string id = std::to_string(action.number());
  CHECK(output("", action.number()) == "exec /bin/heal|healing\n");
  CHECK(output(id) == "exec /bin/heal|healing\n");
  world.act(
      [&](World& engine) { engine.handle(event::ActionEnded{.action = action, .elapsed = seconds{1}, .output = {}}); });
  CHECK(output("db") == "exec /bin/heal exited with status 0 after 1 s|healing\n");
  CHECK(output(id) == "|healing\n");
  CHECK(output("999").starts_with("unknown-job: there is no output of a number 999 | "));
  REQUIRE(std::remove(world.output_path(action).c_str()) == 0);
  CHECK(output("db").starts_with("no-output: the output of db is no longer kept | "));
}

TEST_CASE("who follows a service of which no program has run is told so, and then of the first", "[control][jobs]") {
  DaemonWorld world(two_services());
  RawClient db(world.path());
  db.send(to_line(Request{.verb = Verb::Output, .names = {"db"}, .follow = true}) + "\n");
  CHECK(db.lines(2).ends_with("\n" + item_line(OutputView{0, "db", "no program of db has run yet", ""})));
  const ActionId action = running_action(world);
  std::ofstream(world.output_path(action)) << "healing\n";
  CHECK(db.lines(1) == item_line(OutputView{action.number(), "db", "exec /bin/heal", "healing\n"}));

  world.cycle(1, "no route\n");
  RawClient web(world.path());
  web.send(to_line(Request{.verb = Verb::Output, .names = {"web"}, .follow = true}) + "\n");
  CHECK(web.lines(2).ends_with("\n" + item_line(OutputView{0, "web", "the last check", "no route\n"})));
}

TEST_CASE("the output of a foreground process comes before that of its rules' programs", "[control][jobs]") {
  DaemonWorld world(rule_set({foreground("db", {status_rule(Comparison::NotEqual, 0)})}));
  const auto begin = [&](const std::string& text) {
    const effect::Exec* exec = nullptr;
    world.act([&](World& engine) {
      exec = &engine.execs.back();
      engine.handle(event::ActionStarted{exec->action, 100, 100});
      engine.advance(seconds{2});
    });
    std::ofstream(world.output_path(exec->action)) << text;
    return exec->action;
  };
  const auto start = [&](const std::string& text) {
    world.act([](World& engine) {
      engine.handle(event::Command{.id = CommandId{1},
                                   .kind = event::Command::Kind::Start,
                                   .services = {engine.id("db")},
                                   .by = ByPerson{"root"}});
      engine.advance(seconds{0});
    });
    return begin(text);
  };
  const auto end = [&](ActionId action) {
    world.act(
        [&](World& engine) { engine.handle(event::ActionEnded{.action = action, .elapsed = hours{1}, .output = {}}); });
  };
  const auto output = [&] {
    std::string text;
    for (const Json& item : ask(world, {.verb = Verb::Output, .names = {"db"}}).items) text += item.at("text");
    return text;
  };
  const ActionId process = start("serving\n");
  world.act([](World& engine) {
    engine.advance(seconds{1});
    Facts facts;
    facts.process = ProcessFacts{.pid = 100, .start_ticks = 100};
    const effect::Measure run = engine.open.back();
    engine.handle(event::measured(
        run.service, run.run,
        {.status = 1, .output = std::make_shared<const std::string>(), .facts = std::make_shared<const Facts>(facts)}));
  });
  const ActionId heal = begin("healing\n");
  REQUIRE(heal.number() > process.number());
  CHECK(output() == "serving\n");
  RawClient client(world.path());
  client.send(to_line(Request{.verb = Verb::Output, .names = {"db"}, .follow = true}) + "\n");
  CHECK(client.lines(2).ends_with(item_line(OutputView{process.number(), "db", "/run db", "serving\n"})));
  end(process);
  CHECK(output() == "healing\n");
  const ActionId next = start("serving again\n");
  REQUIRE(next.number() > heal.number());
  CHECK(output() == "serving again\n");
  CHECK(client.lines(1).find("again") != std::string::npos);
}

TEST_CASE("the output of a service is followed from program to program, to an orderly end", "[control][jobs]") {
  DaemonWorld world(two_services());
  const ActionId action = running_action(world);
  std::ofstream(world.output_path(action)) << "one\n";
  RawClient client(world.path());
  client.send(to_line(Request{.verb = Verb::Output, .names = {"db"}, .follow = true}) + "\n");
  CHECK(client.lines(2).ends_with(item_line(OutputView{action.number(), "db", "exec /bin/heal", "one\n"})));
  world.act(
      [&](World& engine) { engine.handle(event::ActionEnded{.action = action, .elapsed = seconds{1}, .output = {}}); });
  world.cycle(0);
  const ActionId next = running_action(world);
  REQUIRE(next != action);
  std::ofstream(world.output_path(next)) << "two\n";
  CHECK(client.lines(1) == item_line(OutputView{next.number(), "db", "exec /bin/heal", "two\n"}));
  std::atomic<bool> ended{false};
  world.server().thread().run([&] { world.commands().end_followers([&ended] { ended = true; }); });
  CHECK(client.lines(1) == "{\"end\":{\"ok\":true,\"text\":\"healerd has ended\"}}\n");
  world.server().stop();
  CHECK(ended);
}

TEST_CASE("a followed job is followed from program to program", "[control][jobs]") {
  DaemonWorld world(two_services());
  world.act([](World& engine) { let_look(add_restart(engine)); });
  world.act([](World& engine) { let_follow(add_restart(engine)); });
  RawClient client(world.path());
  client.send(to_line(Request{.verb = Verb::Follow, .id = 70}) + "\n");
  CHECK(client.lines(1).find("\"follow\"") != std::string::npos);
  const auto stage = [&] {
    const Json item = Json::parse(client.lines(1)).at("item");
    CHECK(item.at("text") == "");
    CHECK(item.at("left_ms") > 0);
    return item.at("doing").get<std::string>() + ": " + item.at("waits_for").get<std::string>();
  };
  CHECK(stage() == "start db: the process of db to appear");
  std::ofstream(world.output_path(ActionId{71})) << "db comes up\n";
  world.act([](World& engine) { add_restart(engine); });
  CHECK(stage() == "start db: its program to end");
  CHECK(client.lines(1) == item_line(OutputView{71, "web", "start db", "db comes up\n"}));
  std::ofstream(world.output_path(ActionId{72})) << "web comes up\n";
  world.act([](World& engine) {
    Job& job = add_restart(engine);
    job.position = 2;
    let_run(job, ActionId{72});
  });
  CHECK(stage() == "start web: its program to end");
  CHECK(client.lines(1) == item_line(OutputView{72, "web", "start web", "web comes up\n"}));
  world.act([](World& engine) { const_cast<std::map<std::uint64_t, Job>&>(engine.engine->jobs()).clear(); });
  CHECK(client.lines(1) == "{\"end\":{\"ok\":true,\"text\":\"\"}}\n");
}

TEST_CASE("whoever follows a program and leaves holds nothing", "[control][jobs]") {
  DaemonWorld world(two_services());
  const ActionId action = running_action(world);
  const std::string follow = to_line(Request{.verb = Verb::Follow, .id = action.number()}) + "\n";
  for (int round = 0; round < 2; ++round) {
    std::vector<RawClient> followers;
    for (int i = 0; i < 64; ++i) {
      followers.emplace_back(world.path());
      followers.back().send(follow);
      CHECK(followers.back().lines(1).starts_with("{\"version\":1,\"command\""));
    }
    RawClient late(world.path());
    late.send(follow);
    CHECK(late.lines(1).find("64 clients follow the history or a program already") != std::string::npos);
    followers.clear();
    REQUIRE(world.server().wait_for_clients(1));
  }
}

TEST_CASE("a report counts, and names are cheap", "[control][jobs]") {
  DaemonWorld world(two_services());
  world.cycle(1);
  Received received = ask(world, {.verb = Verb::Report});
  CHECK(received.items.empty());
  CHECK(
      to_line(received.reply.end) ==
      R"({"services":2,"running":0,"failing":1,"failed":1,"initialising":0,"unknown":0,"unmonitored":0,"given_up":0})");
  received = ask(world, {.verb = Verb::Names});
  REQUIRE(received.items.size() == 2);
  CHECK(received.items[0].dump() == R"({"name":"web","groups":[]})");
  CHECK(received.items[1].dump() == R"({"name":"db","groups":["databases"]})");
}

TEST_CASE("a summary says which rule has given a service up", "[control]") {
  Rule limit = status_rule(Comparison::NotEqual, 0);
  limit->action = {.kind = ActionKind::Unmonitor, .command = {}};
  limit->text = "if status != 0 then unmonitor";
  DaemonWorld world(rule_set({service("web", {limit})}));
  world.cycle(1);
  const Received received = ask(world, Request{.verb = Verb::Summary});
  REQUIRE(received.items.size() == 1);
  CHECK(received.items[0]["state"] == "given up");
  CHECK(received.items[0]["text"] == "if status != 0 then unmonitor");
}

}  // namespace jobs_test
