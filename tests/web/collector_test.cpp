// SPDX-License-Identifier: MIT
// What collectors of M/Monit are told, and in which order.
#include "web/monit/collector.hpp"

#include "web/monit/collector_queue.hpp"
#include "web/monit_world.hpp"

using namespace healer;
using namespace healer::test;
using namespace healer::web::monit;

namespace {

using End = CollectorQueue::End;

CollectorQueue::Event event_of(const std::string& message) {
  return std::make_shared<const CollectorEvent>(CollectorEvent{.message = message});
}

/// What a queue gives next: the message of an event, "status", or nothing.
std::string next_of(CollectorQueue& queue) {
  const auto message = queue.next();
  return !message ? "" : message->event == nullptr ? "status" : message->event->message;
}

}  // namespace

TEST_CASE("a collector gets events in their order, then the status", "[web][collector]") {
  CollectorQueue queue;
  queue.cycle(1);
  queue.add(2, event_of("a"));
  queue.add(3, event_of("b"));
  CHECK(next_of(queue) == "a");
  CHECK(next_of(queue).empty());  // one at a time
  CHECK(queue.has_more());
  queue.ended(End::Taken);
  CHECK(next_of(queue) == "b");
  CHECK_FALSE(queue.has_more());
  queue.ended(End::Taken);
  CHECK(next_of(queue) == "status");
  queue.ended(End::Taken);
  CHECK(next_of(queue).empty());
  CHECK(queue.waiting() == 0);
}

TEST_CASE("an event that was not taken comes again in the next cycle, before all others", "[web][collector]") {
  const End how = GENERATE(End::Refused, End::Lost);
  CollectorQueue queue;
  queue.cycle(1);
  queue.add(2, event_of("a"));
  CHECK(next_of(queue) == "a");
  queue.ended(how);
  queue.add(3, event_of("b"));
  CHECK(next_of(queue) == "status");
  queue.ended(End::Taken);
  CHECK(next_of(queue).empty());
  queue.cycle(4);
  CHECK(next_of(queue) == "a");
  queue.ended(End::Taken);
  CHECK(next_of(queue) == "b");
}

TEST_CASE("of many events the oldest is dropped and counted, but not one that is under way", "[web][collector]") {
  CollectorQueue queue(2);
  queue.add(1, event_of("a"));
  CHECK(next_of(queue) == "a");
  queue.add(2, event_of("b"));
  queue.add(3, event_of("c"));
  CHECK(queue.dropped() == 1);
  queue.ended(End::Taken);
  CHECK(next_of(queue) == "c");
  queue.ended(End::Lost);
  queue.add(4, event_of("d"));
  queue.add(5, event_of("e"));
  CHECK(queue.dropped() == 2);
  queue.cycle(6);
  CHECK(next_of(queue) == "d");
}

TEST_CASE("an event that is refused while statuses are taken does not hold up the others for ever",
          "[web][collector]") {
  CollectorQueue queue;
  queue.add(1, event_of("bad"));
  queue.add(2, event_of("good"));
  for (std::uint64_t i = 0; i < CollectorQueue::kMostRefusals; ++i) {
    queue.cycle(3 + i);
    CHECK(next_of(queue) == "bad");
    queue.ended(End::Refused);
    CHECK(next_of(queue) == "status");
    queue.ended(End::Taken);
  }
  CHECK(queue.dropped() == 1);
  queue.cycle(100);
  CHECK(next_of(queue) == "good");
}

TEST_CASE("a collector that takes nothing loses no event by refusals", "[web][collector]") {
  CollectorQueue queue;
  queue.add(1, event_of("a"));
  for (std::uint64_t i = 0; i < 2 * CollectorQueue::kMostRefusals; ++i) {
    queue.cycle(2 + i);
    CHECK(next_of(queue) == "a");
    queue.ended(End::Refused);
    CHECK(next_of(queue) == "status");
    queue.ended(End::Refused);
  }
  CHECK(queue.waiting() == 1);
}

TEST_CASE("the URL of a collector is taken apart as by Monit", "[web][collector]") {
  const CollectorUrl plain = collector_url("https://host:8080/collector");
  CHECK(plain.bare == "https://host:8080/collector");
  CHECK_FALSE(plain.user);
  CHECK(plain.whole("x") == plain.bare);
  const CollectorUrl login = collector_url("http://us%40er:p/w:x@[::1]:8080/c");
  CHECK(login.bare == "http://[::1]:8080/c");
  CHECK(login.user == "us%40er");
  CHECK(login.password == "p/w:x");
  CHECK(login.whole("a@b") == "http://us%2540er:a%40b@[::1]:8080/c");
  CHECK(collector_url("http://user@host/a@b").bare == "http://host/a@b");
  CHECK(collector_url("http://host/a@b").bare == "http://host/a@b");
}

TEST_CASE("an event is written as by Monit", "[web][collector]") {
  const CollectorEvent event{.when = WallTime{Duration{1'795'852'626'530}},
                             .service = "a<b",
                             .type = 2,
                             .event = engine::EventKind::NonExist,
                             .state = CollectorEvent::State::Failed,
                             .message = "file ]]> doesn't exist"};
  CHECK(
      xml_of(event, MonitVersion::V5_33) ==
      "<event><collected_sec>1795852626</collected_sec><collected_usec>530000</collected_usec><service>a&lt;b</service>"
      "<type>2</type><id>512</id><state>1</state><action>1</action><message><![CDATA[file ]]&gt; doesn't exist]]>"
      "</message></event>");
  CHECK_THAT(xml_of(event, MonitVersion::V6), Catch::Contains("<service><![CDATA[a<b]]></service>"));
}

TEST_CASE("a document has the login and the event in their places, and grows bit by bit", "[web][collector]") {
  DaemonWorld world(rules_of(R"(
set mmonit http://127.0.0.1/collector hostgroups [Oslo, "a <b>"]
set httpd port 2812 address 127.0.0.1
  allow reader:r read-only
  allow admin:"p<w"
check program one with path /bin/true
  if status != 0 then alert
check program two with path /bin/true
  if status != 0 then alert
)"));
  world.act([&](World&) {
    const engine::Settings& settings = *world.supervisor().engine().graph()->settings;
    const auto* const login = told_login(settings);
    REQUIRE(login != nullptr);
    CHECK(login->who == "admin");
    CollectorDocument document(world.supervisor(), settings.mmonit->host_groups);
    CHECK(document.grow(1));
    CHECK_FALSE(document.grow(1));
    CHECK_FALSE(document.grow(1));
    const std::string status = document.text(nullptr, std::nullopt);
    CHECK_THAT(status, Catch::EndsWith("</servicegroups></monit>"));
    CHECK_THAT(status,
               Catch::Contains("</platform><hostgroups><name><![CDATA[Oslo]]></name><name><![CDATA[a <b>]]></name>"
                               "</hostgroups><services><service name=\"one\"><type>7</type>"));
    CHECK_THAT(status, !Catch::Contains("credentials"));
    const CollectorEvent event{.service = "Monit", .message = "started"};
    const std::string told = document.text(&event, std::pair<std::string, std::string>(login->who, login->password));
    CHECK_THAT(told, Catch::Contains("<credentials><username>admin</username><password>p&lt;w</password></credentials>"
                                     "</server><platform>"));
    CHECK_THAT(told, Catch::EndsWith("</servicegroups>" + xml_of(event, MonitVersion::V5_33) + "</monit>"));
  });
}

TEST_CASE("what people have asked for is told when it is done", "[web][collector]") {
  using engine::event::Command;
  DaemonWorld world(rules_of("check program one with path /bin/true\n  if status != 0 then alert\n"));
  world.act([&](World&) {
    const Scene scene(world.supervisor());
    CollectorEvents events;
    events.note(Command{.id = engine::CommandId{7},
                        .kind = Command::Kind::Unmonitor,
                        .services = {*scene.engine.graph()->find("one")},
                        .by = {}},
                scene);
    events.note(Command{.id = engine::CommandId{8}, .kind = Command::Kind::Validate, .services = {}, .by = {}}, scene);
    CHECK(events.of(engine::effect::Reply{engine::CommandId{8}, true, ""}, scene).empty());
    const auto told = events.of(engine::effect::Reply{engine::CommandId{7}, true, "done"}, scene);
    REQUIRE(told.size() == 1);
    CHECK(told[0].service == "one");
    CHECK(told[0].type == 7);
    CHECK(told[0].event == engine::EventKind::Action);
    CHECK(told[0].message == "unmonitor action done");
    CHECK(events.of(engine::effect::Reply{engine::CommandId{7}, true, "done"}, scene).empty());
  });
}

TEST_CASE("a start that fails is told once, and again when one has succeeded", "[web][collector]") {
  DaemonWorld world(rules_of("check program one with path /bin/true\n  if status != 0 then alert\n"));
  world.act([&](World&) {
    const Scene scene(world.supervisor());
    CollectorEvents events;
    const auto told = [&](engine::RecordKind kind, const std::string& text) {
      engine::effect::Commit commit;
      commit.records.push_back({.kind = kind, .service = "one", .rule = {}, .text = text, .output = {}});
      return events.of(commit, scene);
    };
    const auto first = told(engine::RecordKind::JobFailed, "start failed: failed to start -- no");
    REQUIRE(first.size() == 1);
    CHECK(first[0].message == "failed to start -- no");
    CHECK(first[0].event == engine::EventKind::Exec);
    CHECK(first[0].state == CollectorEvent::State::Failed);
    CHECK(told(engine::RecordKind::JobFailed, "start failed: no").empty());
    const auto well = told(engine::RecordKind::JobEnded, "start done after 1 s");
    REQUIRE(well.size() == 1);
    CHECK(well[0].message == "started");
    CHECK(told(engine::RecordKind::JobEnded, "start done after 1 s").empty());
  });
}
