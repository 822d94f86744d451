// SPDX-License-Identifier: MIT
#include "control/commands.hpp"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "control/client.hpp"
#include "control/daemon_world.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/rounds.hpp"

namespace commands_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;

namespace {

Client connected(DaemonWorld& world) {
  auto client = Client::connect(world.path(), kPatience);
  if (auto* failure = std::get_if<Failure>(&client)) throw std::runtime_error(failure->message);
  return std::get<Client>(std::move(client));
}

struct Received {
  std::vector<Json> items;
  Reply reply;

  /// "NAME STATE: TEXT" of each item, one a line.
  [[nodiscard]] std::string states() const {
    std::string text;
    for (const Json& item : items)
      text += item.at("name").get<std::string>() + " " + item.at("state").get<std::string>() +
              (item.contains("text") ? ": " + item.at("text").get<std::string>() : "") + "\n";
    return text;
  }
  [[nodiscard]] std::string failure() const {
    return reply.failure ? reply.failure->code + ": " + reply.failure->message + " | " + reply.failure->remedy : "none";
  }
};

Received ask(DaemonWorld& world, const Request& request) {
  Received received;
  Client client = connected(world);
  received.reply = client.call(request, [&](const Json& item) { received.items.push_back(item); });
  return received;
}

RuleSet many_services(std::size_t count) {
  std::vector<std::shared_ptr<ServiceBlock>> services;
  for (std::size_t i = 0; i < count; ++i)
    services.push_back(service("service_" + std::to_string(i), {status_rule(Comparison::NotEqual, 0)}));
  return rule_set(std::move(services), hours{1});
}

}  // namespace

TEST_CASE("a summary tells the state of each service in the order of the files", "[control]") {
  DaemonWorld world(two_services());
  const Request summary{.verb = Verb::Summary};
  CHECK(ask(world, summary).states() == "web initialising: \ndb initialising: \n");
  world.cycle(0, "fine\n");
  CHECK(ask(world, summary).states() ==
        "web running: exit status 0 in 5 ms: fine\ndb running: exit status 0 in 5 ms: fine\n");
  world.cycle(1, "no route\n");
  const Received received = ask(world, summary);
  CHECK(
      received.states() ==
      "web failing: status != 0: exit status 1 in 5 ms: no route (1 of the last 3 runs failed, 3 in a row are needed)\n"
      "db failed: status != 0: exit status 1 in 5 ms: no route\n");
  CHECK(
      to_line(received.reply.end) ==
      R"({"services":2,"running":0,"failing":1,"failed":1,"initialising":0,"unknown":0,"unmonitored":0,"given_up":0})");
  CHECK(to_line(received.items[1]) ==
        R"({"name":"db","kind":"program","state":"failed","text":"status != 0: exit status 1 in 5 ms: no route",)"
        R"("since":"2026-11-21T04:24:01.000Z","next_run_ms":1000,"dying":false,)"
        R"("rule":"if status != 0 then exec \"/bin/heal\"","rule_place":"test.rules:11"})");
  const Json daemon = received.reply.header.at("daemon");
  CHECK(daemon.at("version") == "1.2.3");
  CHECK(daemon.at("pid") == getpid());
  CHECK(daemon.at("up_ms") == 1000);
  CHECK(daemon.at("cycle_ms") == 1000);
  world.cycle(1);
  world.cycle(1);
  CHECK(ask(world, summary).states() ==
        "web failed: status != 0: exit status 1 in 5 ms\ndb failed: status != 0: exit status 1 in 5 ms\n");
}

TEST_CASE("every answer says what mails wait, where that is known", "[control]") {
  DaemonWorld world(two_services());
  const Request status{.verb = Verb::Status};
  CHECK(ask(world, status).reply.header.at("daemon").at("mail").is_null());
  world.set_mail(MailView{3, World::kStart.wall, "mx:25: 421 not now", World::kStart.wall + seconds{1}});
  for (const Verb verb : {Verb::Status, Verb::Jobs, Verb::History, Verb::Explain, Verb::Summary})
    CHECK(to_line(ask(world, {.verb = verb}).reply.header.at("daemon").at("mail")) ==
          R"({"waiting":3,"since":"2026-11-21T04:24:00.000Z","error":"mx:25: 421 not now",)"
          R"("error_since":"2026-11-21T04:24:01.000Z","held":0,"held_until":null,"limit":"","gathered":0,)"
          R"("digest_until":null})");
}

TEST_CASE("services are chosen by name, group or state", "[control]") {
  DaemonWorld world(two_services());
  world.cycle(1);
  const auto names = [&](Request request) {
    request.verb = Verb::Summary;
    const Received received = ask(world, request);
    std::string text;
    for (const Json& item : received.items) text += item.at("name").get<std::string>() + " ";
    return received.reply.ok() ? text : received.failure();
  };
  CHECK(names({}) == "web db ");
  CHECK(names({.all = true}) == "web db ");
  CHECK(names({.names = {"DB", "web", "db"}}) == "db web ");
  CHECK(names({.groups = {"Databases"}}) == "db ");
  CHECK(names({.names = {"web"}, .groups = {"databases"}}) == "web db ");
  CHECK(names({.failed = true}) == "db ");
  CHECK(names({.names = {"wbe"}}) == "unknown-service: there is no service \"wbe\" | did you mean \"web\"?");
  CHECK(names({.names = {"\x1b[2J"}}) ==
        "unknown-service: there is no service \"\\x1b[2J\" | `healerctl summary` lists them");
  CHECK(names({.names = {"Databases"}}) ==
        "unknown-service: there is no service \"Databases\" | it is a group, which is named by -g: -g Databases");
  CHECK(names({.groups = {"webboxes"}}) ==
        "unknown-group: no service is in a group \"webboxes\" | `healerctl status` names the groups of each service");
}

TEST_CASE("a status tells everything about a service", "[control]") {
  DaemonWorld world(two_services());
  world.cycle(1, "no route");
  const Received received = ask(world, {.verb = Verb::Status, .names = {"db"}});
  REQUIRE(received.items.size() == 1);
  CHECK(received.items[0].dump(1) == R"({
 "name": "db",
 "kind": "program",
 "state": "failed",
 "text": "status != 0: exit status 1 in 5 ms: no route",
 "since": "2026-11-21T04:24:00.000Z",
 "next_run_ms": 1000,
 "dying": false,
 "rule": "if status != 0 then exec \"/bin/heal\"",
 "rule_place": "test.rules:11",
 "monitored": true,
 "passive": false,
 "groups": [
  "databases"
 ],
 "depends": [],
 "place": "test.rules:10",
 "schedule": "",
 "last": {
  "outcome": "exited",
  "status": 1,
  "when": "2026-11-21T04:24:00.000Z",
  "elapsed_ms": 5,
  "output": "no route"
 },
 "running_ms": null,
 "run_waits": "",
 "runs": 1,
 "overruns": 0,
 "process": null,
 "measured": [],
 "connections": [],
 "job": null,
 "waits": "",
 "left": "",
 "pause": null,
 "acknowledged": null,
 "taken_out": null,
 "starts": null,
 "rules": [
  {
   "text": "if status != 0 then exec \"/bin/heal\"",
   "place": "test.rules:11",
   "state": "failed",
   "failed": 1,
   "count": 1,
   "window": 1,
   "held_ms": null,
   "hold_ms": null,
   "since": "2026-11-21T04:24:00.000Z",
   "held_back": "",
   "restarts": false
  }
 ],
 "action_failure": "",
 "action_failed_at": null,
 "actions": [
  {
   "id": 1795235040000,
   "rule": "if status != 0 then exec \"/bin/heal\"",
   "pid": 0,
   "started": false,
   "age_ms": 0,
   "again": false,
   "waits": ""
  }
 ],
 "healing": null
})");
}

TEST_CASE("a command is answered when it has happened, with the name of who gave it", "[control]") {
  DaemonWorld world(two_services());
  world.cycle(0);
  Received received = ask(world, {.verb = Verb::Unmonitor, .names = {"db"}});
  CHECK(received.failure() == "none");
  CHECK(to_line(received.reply.end) == R"({"ok":true,"text":"db unmonitored"})");
  CHECK(ask(world, {.verb = Verb::Summary}).states() == "web running: exit status 0 in 5 ms\ndb unmonitored: \n");
  received = ask(world, {.verb = Verb::Monitor, .all = true});
  CHECK(received.reply.end.at("text") == "web, db monitored");
  CHECK(ask(world, {.verb = Verb::Summary, .names = {"db"}}).states() == "db initialising: exit status 0 in 5 ms\n");
  const Received history = ask(world, {.verb = Verb::History, .names = {"db"}});
  REQUIRE(history.items.size() == 2);
  const std::string who = geteuid() == 0 ? "root" : "uid " + std::to_string(geteuid());
  CHECK(history.items[0].at("text") == "unmonitored by " + who);
  CHECK(history.items[1].at("text") == "monitored by " + who);
}

TEST_CASE("a command that waits for the disk is answered after it", "[control]") {
  DaemonWorld world(two_services());
  world.act([](World& engine) { engine.commits = false; });
  std::atomic<bool> answered{false};
  Received received;
  std::thread client([&] {
    received = ask(world, {.verb = Verb::Unmonitor, .names = {"db"}});
    answered = true;
  });
  REQUIRE(world.server().wait_for_clients(1));
  Sequence sequence = 0;
  while (sequence == 0) {
    world.act([&](World& engine) {
      for (const Record& record : engine.records)
        if (record.kind == RecordKind::Unmonitored) sequence = record.sequence;
    });
  }
  CHECK_FALSE(answered);
  world.act([&](World& engine) { engine.handle(event::Committed{.up_to = sequence}); });
  client.join();
  CHECK(received.reply.end.at("text") == "db unmonitored");
}

TEST_CASE("validate is answered when the last service has been judged", "[control]") {
  DaemonWorld world(two_services());
  world.cycle(0);
  std::atomic<bool> answered{false};
  Received received;
  std::thread client([&] {
    received = ask(world, {.verb = Verb::Validate, .all = true});
    answered = true;
  });
  std::size_t open = 0;
  while (open < 2) world.act([&](World& engine) { open = engine.open.size(); });
  world.act([](World& engine) { engine.observe(engine.id("web"), 0); });
  CHECK_FALSE(answered);
  world.act([](World& engine) { engine.observe(engine.id("db"), 1); });
  client.join();
  CHECK(to_line(received.reply.end) == R"({"ok":false,"text":"1 of 2 services failed: db"})");
}

TEST_CASE("commands that act want to know on what", "[control]") {
  DaemonWorld world(two_services());
  CHECK(ask(world, {.verb = Verb::Monitor}).failure() ==
        "nothing-selected: monitor which services? | name services or groups, or say \"all\"");
  CHECK(ask(world, {.verb = Verb::Accept, .names = {"dbb"}}).failure() ==
        "unknown-service: there is no service \"dbb\" | did you mean \"db\"?");
}

TEST_CASE("a reload is answered with what became of it", "[control]") {
  DaemonWorld world(two_services());
  CHECK(ask(world, {.verb = Verb::Reload}).reply.end.at("text") == "rules reloaded");
  const auto confirmed = [&] {
    bool is = false;
    world.server().thread().run([&] { is = world.reload_confirmed; });
    return is;
  };
  CHECK_FALSE(confirmed());
  CHECK(ask(world, {.verb = Verb::Reload, .confirmed = true}).reply.end.at("text") == "rules reloaded");
  CHECK(confirmed());
  world.server().thread().run([&] {
    world.on_reload = [](const DaemonWorld::ReloadDone& done) {
      done({.ok = false, .text = "a:1:2: error: no\n  x\n  ^\n"});
    };
  });
  CHECK(ask(world, {.verb = Verb::Reload}).failure() ==
        "reload-failed: a:1:2: error: no\n  x\n  ^\n | still using the previous rules");
  // One that takes its time, and whose client leaves meanwhile.
  std::vector<DaemonWorld::ReloadDone> waiting;
  const auto asked = [&] {
    std::size_t count = 0;
    world.server().thread().run([&] { count = waiting.size(); });
    return count;
  };
  world.server().thread().run(
      [&] { world.on_reload = [&](DaemonWorld::ReloadDone done) { waiting.push_back(std::move(done)); }; });
  {
    RawClient client(world.path());
    client.send(to_line(Request{.verb = Verb::Reload}) + "\n");
    CHECK(client.lines(1).starts_with("{\"version\":1"));
  }
  CHECK(world.server().wait_for_clients(0));
  Received received;
  std::thread patient([&] { received = ask(world, {.verb = Verb::Reload}); });
  while (asked() < 2) std::this_thread::sleep_for(milliseconds{1});
  world.server().thread().run([&] {
    for (const auto& done : waiting) done({.text = "at last"});
  });
  patient.join();
  CHECK(received.reply.end.at("text") == "at last");
}

TEST_CASE("a reload tells its diagnostics and changes one by one, and so does what looks beforehand", "[control]") {
  DaemonWorld world(two_services());
  const DiagnosticView wrong{"error", "a.rules:1:2", "unexpected 'x'", "write y"};
  const ChangesView changes{{{.service = "web", .change = "added", .place = "a.rules:3"}}, 2, false};
  world.server().thread().run([&] {
    world.on_reload = [=](const DaemonWorld::ReloadDone& done) {
      done({.ok = false, .text = "a.rules:1:2: error: unexpected 'x' (write y)\n", .diagnostics = {wrong}});
    };
    world.on_diff = [=](const DaemonWorld::ReloadDone& done) { done({.text = "added web", .changes = changes}); };
  });
  const Received refused = ask(world, {.verb = Verb::Reload});
  CHECK(refused.reply.failure.value().diagnostics == std::vector{wrong});
  const Received compared = ask(world, {.verb = Verb::Diff});
  CHECK(to_line(compared.reply.end) ==
        R"({"ok":true,"text":"added web","changes":{"services":[{"service":"web","change":"added",)"
        R"("place":"a.rules:3"}],"kept":2,"settings":false}})");
}

TEST_CASE("every answer says that the rules in force are not those on disk, until they are", "[control]") {
  DaemonWorld world(two_services());
  const auto stale = [&] { return ask(world, {.verb = Verb::Ping}).reply.header.at("daemon").at("stale"); };
  CHECK(stale().is_null());
  world.set_stale(StaleView{World::kStart.wall, "a.rules:1:2: error: no"});
  CHECK(to_line(stale()) == R"({"since":"2026-11-21T04:24:00.000Z","error":"a.rules:1:2: error: no"})");
  world.set_stale(std::nullopt);
  CHECK(stale().is_null());
}

TEST_CASE("a reply is taken part by part by who has more to wait for", "[control]") {
  DaemonWorld world(two_services());
  auto connected = Client::connect(world.path(), kPatience);
  auto& client = std::get<Client>(connected);
  std::size_t items = 0;
  const auto answered = [&](const Request& request) {
    Reply reply;
    REQUIRE_FALSE(client.begin(request));
    pollfd entry{client.descriptor(), POLLIN, 0};
    do REQUIRE(poll(&entry, 1, 60'000) == 1);
    while (!client.advance(reply, [&](const Json&) { ++items; }));
    return reply;
  };
  Reply reply;
  CHECK_FALSE(client.advance(reply));  // nothing has come
  CHECK(answered({.verb = Verb::Summary}).end.at("services") == 2);
  CHECK(items == 2);
  CHECK(answered({.verb = Verb::Names}).header.at("command") == "names");  // on the same connection
  CHECK(items == 4);
  CHECK(answered({.verb = Verb::Status, .names = {"dbb"}}).failure->code == "unknown-service");
  world.server().stop();
  CHECK(answered({.verb = Verb::Summary}).failure->code == "closed");
}

TEST_CASE("quit is answered by the end of the connection", "[control]") {
  DaemonWorld world(two_services());
  std::atomic<bool> asked{false};
  world.server().thread().run([&] {
    world.on_quit = [&] { asked = true; };
    world.awaited = {"waits, for 20 s at most, for the answer to POST http://heat/"};
  });
  std::thread daemon([&] {
    while (!asked) std::this_thread::sleep_for(milliseconds{1});
    world.server().stop();
  });
  const Received received = ask(world, {.verb = Verb::Quit});
  daemon.join();
  CHECK(received.failure() == "none");
  CHECK(received.reply.header.at("command") == "quit");
  REQUIRE(received.items.size() == 1);
  CHECK(received.items.front().at("text") == world.awaited.front());
  CHECK(received.reply.end.is_null());
}

TEST_CASE("the history is read by service, time and number", "[control]") {
  DaemonWorld world(two_services());
  for (int i = 0; i < 3; ++i) world.cycle(1);
  const auto kinds = [&](Request request) {
    request.verb = Verb::History;
    const Received received = ask(world, request);
    std::string text;
    for (const Json& item : received.items)
      text += item.at("service").get<std::string>() + " " + item.at("kind").get<std::string>() + "\n";
    return received.reply.ok() ? text : received.failure();
  };
  CHECK(kinds({}) == " daemon-started\ndb rule-failed\nweb rule-failed\n");
  CHECK(kinds({.names = {"WEB"}}) == "web rule-failed\n");
  CHECK(kinds({.limit = 1}) == "web rule-failed\n");
  CHECK(kinds({.since = seconds{1}}) == "web rule-failed\n");
  CHECK(kinds({.since = hours{900'000'000}}) == " daemon-started\ndb rule-failed\nweb rule-failed\n");
  CHECK(kinds({.names = {"wbe"}}) == "unknown-service: there is no service \"wbe\" | did you mean \"web\"?");
  CHECK(kinds({.names = {"web", "db"}}) ==
        "bad-request: the history is that of one service, of one group, or of all | ");
  CHECK(kinds({.names = {"db"}, .groups = {"databases"}}) ==
        "bad-request: the history is that of one service, of one group, or of all | ");
  CHECK(kinds({.names = {"databases"}}) == "db rule-failed\n");
  CHECK(kinds({.groups = {"databases"}}) == "db rule-failed\n");
  CHECK(kinds({.groups = {"webs"}}) ==
        "unknown-group: no service is in a group \"webs\" | `healerctl status` names the "
        "groups of each service");
}

TEST_CASE("whoever follows the history sees what happens, once", "[control]") {
  DaemonWorld world(two_services());
  RawClient client(world.path());
  client.send(to_line(Request{.verb = Verb::History, .follow = true}) + "\n");
  CHECK(client.lines(2).find("daemon-started") != std::string::npos);
  std::string followed;
  for (int i = 0; i < 20; ++i) {
    world.cycle(1);
    followed += client.lines(1);  // often in the middle of what a cycle has written
    world.cycle(0);
  }
  std::string all;
  for (const Json& item : ask(world, {.verb = Verb::History, .limit = 1000}).items)
    if (item.at("kind") != "daemon-started") all += item_line(item);
  followed +=
      client.lines(static_cast<std::size_t>(std::ranges::count(all, '\n') - std::ranges::count(followed, '\n')));
  CHECK(followed == all);
  CHECK(std::ranges::count(all, '\n') >= 40);
}

TEST_CASE("whoever follows the history is not cut off by an orderly end", "[control]") {
  DaemonWorld world(two_services());
  RawClient client(world.path());
  client.send(to_line(Request{.verb = Verb::History, .follow = true}) + "\n");
  CHECK(client.lines(2).find("daemon-started") != std::string::npos);
  RawClient gone(world.path());
  gone.send(to_line(Request{.verb = Verb::History, .follow = true}) + "\n");
  CHECK(gone.lines(2).find("daemon-started") != std::string::npos);
  gone.half_close();
  REQUIRE(world.server().wait_for_clients(1));
  std::atomic<int> ended{0};
  world.act([&](World& engine) { engine.handle(event::Stopping{}); });
  world.server().thread().run([&] { world.commands().end_followers([&ended] { ++ended; }); });
  const std::string last = client.lines(2);
  CHECK(last.find("daemon-stopped") != std::string::npos);
  CHECK(last.ends_with("{\"end\":{\"ok\":true,\"text\":\"healerd has ended\"}}\n"));
  world.server().stop();
  CHECK(ended == 1);
  CHECK(client.rest().empty());
}

TEST_CASE("where nobody follows the history, its end is done at once", "[control]") {
  DaemonWorld world(two_services());
  bool ended = false;
  world.server().thread().run([&] { world.commands().end_followers([&ended] { ended = true; }); });
  CHECK(ended);
}

TEST_CASE("a summary tells when a cron schedule matches next", "[control]") {
  auto nightly = service("nightly", {status_rule(Comparison::NotEqual, 0)});
  *nightly->schedule = {.kind = engine::Schedule::Kind::Cron,
                        .cron = {.minutes = 1, .hours = 1U << 3, .month_days = ~0U, .months = 0xFFFF, .weekdays = 0xFF},
                        .text = "every \"0 3 * * *\""};
  DaemonWorld world(rule_set({nightly}));
  world.act([](World& engine) { engine.advance(minutes{6}); });  // 04:30
  const Json item = ask(world, {.verb = Verb::Summary}).items.at(0);
  CHECK(item.at("next_run_ms") == milliseconds{hours{22} + minutes{30}}.count());
  const Json explained = ask(world, {.verb = Verb::Explain, .names = {"nightly"}}).items.at(0);
  CHECK(explained.at("notes").at(0) == "The next run is in 22 h 30 m (every \"0 3 * * *\").");
}

TEST_CASE("only so many may follow programs", "[control]") {
  DaemonWorld world(two_services());
  std::vector<RawClient> followers;
  const std::string follow = to_line(Request{.verb = Verb::Output, .names = {"web"}, .follow = true}) + "\n";
  for (int i = 0; i < 64; ++i) {
    followers.emplace_back(world.path());
    followers.back().send(follow);
    CHECK(followers.back().lines(1).starts_with("{\"version\":1,\"command\""));
  }
  RawClient late(world.path());
  late.send(follow);
  CHECK(late.lines(1).find("\"busy\"") != std::string::npos);
  followers.pop_back();
  REQUIRE(world.server().wait_for_clients(64));
  late.send(follow);
  CHECK(late.lines(1).starts_with("{\"version\":1,\"command\""));
}

TEST_CASE("explain tells where each rule stands and when it last fired", "[control]") {
  DaemonWorld world(two_services());
  world.cycle(1, "no route");
  world.cycle(0);
  const Received received = ask(world, {.verb = Verb::Explain, .names = {"web", "db"}});
  REQUIRE(received.items.size() == 2);
  CHECK(received.items[1].dump(1) == R"({
 "name": "db",
 "kind": "program",
 "state": "running",
 "place": "test.rules:10",
 "notes": [
  "The next run is in 1 s.",
  "The last run: exit status 0 in 5 ms."
 ],
 "rules": [
  {
   "text": "if status != 0 then exec \"/bin/heal\"",
   "place": "test.rules:11",
   "state": "ok",
   "now": "the last run passed",
   "if_failed": "fires: exec /bin/heal",
   "if_clear": "does nothing",
   "held_back": "its program is still running; it will be run once more when that has ended",
   "last_fired": {
    "id": 2,
    "sequence": 3,
    "when": "2026-11-21T04:24:00.000Z",
    "kind": "rule-failed",
    "severity": "error",
    "service": "db",
    "text": "status failed (1) -- no route",
    "output": ""
   }
  }
 ],
 "actions": [
  {
   "id": 1795235040000,
   "rule": "if status != 0 then exec \"/bin/heal\"",
   "pid": 0,
   "started": false,
   "age_ms": 1000,
   "again": false,
   "waits": ""
  }
 ]
})");
  CHECK(received.items[0].at("rules")[0].at("last_fired").is_null());
}

TEST_CASE("very many services are answered in pages, and the loop goes on between them", "[control]") {
  constexpr std::size_t kMany = kSanitized ? 4000 : 20'000;
  DaemonWorld world(many_services(kMany));
  RawClient slow(world.path());
  slow.send(to_line(Request{.verb = Verb::Status}) + "\n");
  CHECK(slow.lines(2).find("service_0") != std::string::npos);
  // It does not read on: others are served, and a reload may take services away.
  CHECK(ask(world, {.verb = Verb::Summary}).items.size() == kMany);
  world.act([](World& engine) { engine.handle(event::Swap{plan_swap(*engine.engine->graph(), many_services(3))}); });
  CHECK(ask(world, {.verb = Verb::Summary}).items.size() == 3);
  slow.half_close();
  const std::string rest = slow.rest();
  CHECK(rest.find("\"end\":{\"services\":") != std::string::npos);
  CHECK(rest.find("service_" + std::to_string(kMany - 1)) == std::string::npos);
}

TEST_CASE("the program of a rule's action is cancelled, others are not", "[control][jobs]") {
  DaemonWorld world(two_services());
  const ActionId action = running_action(world);
  const Received received = ask(world, {.verb = Verb::Cancel, .id = action.number()});
  CHECK(received.reply.ok());
  CHECK(received.reply.end == Json{{"ok", true}, {"text", "exec /bin/heal cancelled"}});
  std::vector<ActionId> ended;
  std::string by;
  world.act([&](World& engine) {
    for (const Effect& effect : engine.effects)
      if (const auto* end = std::get_if<effect::EndAction>(&effect)) ended.push_back(end->action);
    by = engine.engine->programs().all().at(action.number()).cancelled_by;
  });
  CHECK(ended == std::vector{action});
  CHECK_FALSE(by.empty());
  CHECK(ask(world, {.verb = Verb::Jobs}).items.at(0).at("waits_for") == "its program to end: cancelled by " + by);
  CHECK(ask(world, {.verb = Verb::Cancel, .id = action.number()}).reply.end ==
        Json{{"ok", false}, {"text", "exec /bin/heal is being ended: cancelled by " + by}});

  const auto refused = [&](JobId job, bool foreground) {
    world.act([&](World& engine) {
      auto& known = const_cast<RunningAction&>(engine.engine->programs().all().at(action.number()));
      known.exec.job = job;
      known.exec.foreground = foreground;
    });
    return ask(world, {.verb = Verb::Cancel, .id = action.number()}).failure();
  };
  world.act([](World& engine) { add_restart(engine); });
  const std::string id = std::to_string(action.number());
  CHECK(refused(JobId{70}, false) ==
        "no-job: " + id + " is a program of job 70 | `healerctl jobs cancel 70` ends both");
  CHECK(refused(JobId{69}, true) == "no-job: " + id + " is the process of db itself | `healerctl stop` ends it");
  CHECK(refused(JobId{69}, false) ==
        "no-job: " + id + " has started or stopped db, and that job has ended | end its process, if it must end");
}

TEST_CASE("a reason is short, whatever it is given for", "[control]") {
  DaemonWorld world(two_services());
  const auto verb = GENERATE(Verb::Pause, Verb::Cancel, Verb::Approve, Verb::Reject, Verb::HealingReset);
  CHECK(ask(world, {.verb = verb, .all = true, .id = 70, .reason = std::string(501, 'x')}).failure() ==
        "bad-request: a reason has at most 500 bytes | ");
}

}  // namespace commands_test
