// SPDX-License-Identifier: MIT
// The slots of `set eventqueue`: what they drop, what they never drop, and how people learn of it.
#include <atomic>
#include <map>

#include <spdlog/fmt/fmt.h>
#include <catch2/catch.hpp>

#include "delivery/mailer_world.hpp"

namespace mail_slots_test {

using namespace healer;
using namespace healer::delivery;
using namespace healer::test;

namespace {

struct SlotsWorld : MailWorld {
  SlotsWorld(const SmtpSink& sink, std::uint32_t slots) : MailWorld({server(sink)}) {
    settings.queue_slots = slots;
    options.wall = [this] { return WallTime{milliseconds{clock.load()}}; };
  }
  std::atomic<std::int64_t> clock{1'795'234'764'000};  // no time passes but where a test says so
  [[nodiscard]] bool drops(std::size_t count) const {
    return eventually([&] { return mail_events.count(Kinds::Dropped) == count; });
  }
  [[nodiscard]] bool sends(std::size_t count) const {
    return eventually([&] { return mail_events.count(Kinds::Sent) == count; });
  }
};

engine::effect::Alert digest(std::uint64_t number, std::vector<std::string> addresses) {
  engine::effect::Alert result = alert(number, std::move(addresses));
  result.recipients.back().digest = true;
  return result;
}

const std::string kLine = "  2026-11-21 04:19:24  service-";

}  // namespace

TEST_CASE("While a server works, slots drop nothing, however many alerts come at once") {
  SmtpSink sink;
  SlotsWorld world(sink, 4);
  const auto mailer = world.start();
  SECTION("one by one") {
    for (std::uint64_t i = 1; i <= 10; ++i) mailer->submit(alert(i));
    CHECK(world.sends(10));
    CHECK(received(sink) == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  }
  SECTION("to two people, one of whom has them in one mail") {
    for (std::uint64_t i = 1; i <= 60; ++i) mailer->submit(digest(i, {"a@x.org", "b@x.org"}));
    CHECK(world.sends(60));
    REQUIRE(world.stops(*mailer, sink, 61));  // the cycle is over
    CHECK(contains(sink.mails()[60], "Subject: healer: 60 alerts on vm: "));
    for (int i = 1; i <= 60; ++i) CHECK(contains(sink.mails()[60], kLine + std::to_string(i) + ": Status failed\r\n"));
  }
  CHECK(world.mail_events.count(Kinds::Dropped) == 0);
}

TEST_CASE("As many undelivered mails wait as there are slots, and dropped ones are reported") {
  SmtpSink sink;
  SlotsWorld world(sink, 4);
  const std::string mode = GENERATE(as<std::string>{}, "refuse", "rcpt 451 *");
  CAPTURE(mode);
  sink.mode(mode);
  auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 10; ++i) mailer->submit(alert(i, {"you@x.org"}));
  CHECK(world.drops(6));
  CHECK(eventually([&] { return mailer->waiting() == 4; }));
  CHECK(world.mail_events.taken().size() == 10);
  const std::string logged = world.mail_events.everything();
  CHECK(occurrences(logged, "full with 4 mails") == 1);
  for (int i = 1; i <= 6; ++i)
    CHECK(contains(logged, fmt::format("mail to you@x.org dropped: the mail queue is full, and newer ones came: monit "
                                       "alert --  Status failed service-{}\n",
                                       i)));
  bool anew = false;
  SECTION("at once") {}
  SECTION("by a mailer that is started anew") {
    anew = true;
    mailer->stop();
    mailer.reset();
    mailer = world.start();
  }
  CAPTURE(anew);
  sink.mode("");
  REQUIRE(world.sends(5));
  CHECK(received(sink) == std::vector<int>{7, 1, 8, 9, 10});
  const std::string word = sink.mails()[1];
  CHECK(
      contains(word, "Subject: healer: 6 alerts dropped on vm: service-1, service-2, service-3, service-4 and 2 more"));
  CHECK(contains(word, "From: monit@vm\r\n"));
  CHECK(
      contains(word, "The mail queue on vm was full. 6 alerts to you@x.org were dropped, from 2026-11-21 04:19:24 to"));
  for (int i = 1; i <= 6; ++i) CHECK(contains(word, kLine + std::to_string(i) + ": Status failed\r\n"));
  CHECK_FALSE(contains(word, kLine + "7"));
  CHECK(contains(sink.envelopes()[1], "\"to\": [\"you@x.org\"]"));
  CHECK(eventually([&] { return mailer->waiting() == 0; }));

  mailer->submit(alert(11, {"you@x.org"}));  // told once
  CHECK(world.sends(6));
  mailer->stop();
  mailer = world.start();
  mailer->submit(alert(12, {"you@x.org"}));
  CHECK(world.sends(7));
  CHECK(received(sink) == std::vector<int>{7, 1, 8, 9, 10, 11, 12});
}

TEST_CASE("What comes while the servers rest has not been tried, and is not dropped when they work again") {
  SmtpSink sink;
  sink.mode("refuse");
  SlotsWorld world(sink, 2);
  world.options.rhythm.first = world.options.rhythm.longest = minutes{10};
  const auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(eventually([&] { return world.mail_events.count(Kinds::Failed) == 1; }));
  for (std::uint64_t i = 2; i <= 10; ++i) mailer->submit(alert(i));
  CHECK(eventually([&] { return mailer->waiting() == 10; }));
  sink.mode("");
  mailer->configure(world.settings, world.cycle, world.options.host);  // the rest is over
  CHECK(world.sends(10));
  CHECK(world.mail_events.count(Kinds::Dropped) == 0);
}

TEST_CASE("What is held for a digest does not count for the slots") {
  SmtpSink sink;
  sink.mode("refuse");
  SlotsWorld world(sink, 2);
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 5; ++i) mailer->submit(digest(i, {"a@x.org", "b@x.org"}));
  CHECK(world.drops(3));
  CHECK(eventually([&] { return mailer->waiting() == 7; }));
  sink.mode("");
  CHECK(world.sends(3));
  REQUIRE(world.stops(*mailer, sink, 4));
  CHECK(contains(sink.envelopes()[3], "\"to\": [\"b@x.org\"]"));
  CHECK(contains(sink.mails()[3], "Subject: healer: 5 alerts on vm: "));
  CHECK(world.mail_events.count(Kinds::Dropped) == 3);
}

TEST_CASE("A digest whose cycle ends while a server lets the mailer wait is one mail for the slots") {
  SmtpSink sink;
  sink.mode("silent");
  SlotsWorld world(sink, 2);
  world.settings.timeout = Duration{400};
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 5; ++i) mailer->submit(digest(i, {"b@x.org"}));
  mailer->submit(alert(6, {"a@x.org"}));
  CHECK(eventually([&] { return contains(sink.commands(), "(silent)"); }));
  world.clock += 2'000;
  CHECK(eventually([&] { return world.mail_events.count(Kinds::Failed) >= 1; }));
  sink.mode("");
  CHECK(world.sends(2));
  CHECK(contains(sink.mails()[0], "Subject: healer: 5 alerts on vm: "));
  CHECK(world.mail_events.count(Kinds::Dropped) == 0);
}

TEST_CASE("What a limit holds back does not count for the slots, and the word of what was dropped waits for room") {
  SmtpSink sink;
  SlotsWorld world(sink, 2);
  world.settings.limit = engine::MailLimit{1, hours{1}};
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 10; ++i) mailer->submit(alert(i, {"a@x.org"}));
  CHECK(world.sends(1));
  sink.mode("refuse");
  for (std::uint64_t i = 11; i <= 15; ++i) mailer->submit(alert(i, {"b@x.org"}));
  CHECK(world.drops(3));
  CHECK(eventually([&] { return mailer->waiting() == 11; }));
  CHECK_FALSE(contains(world.mail_events.everything(), "mail to a@x.org dropped"));
  sink.mode("");
  CHECK(world.sends(2));
  CHECK(eventually([&] { return contains(world.mail_events.everything(), "mail to b@x.org held back"); }));
  CHECK(received(sink) == std::vector<int>{1, 14});
  const auto hour = [&] {
    world.clock += milliseconds{hours{1}}.count();
    mailer->configure(world.settings, world.cycle, world.options.host);
  };
  hour();
  CHECK(world.sends(4));
  CHECK(received(sink) == std::vector<int>{1, 14, 2, 11});
  CHECK(contains(sink.mails()[2], "Subject: healer: 9 alerts held back on vm: "));
  CHECK(
      contains(sink.mails()[3], "Subject: healer: 3 alerts dropped on vm: service-11, service-12, service-13 failed"));
  hour();
  CHECK(world.sends(5));
  CHECK(received(sink).back() == 15);
  CHECK(mailer->waiting() == 0);
}

TEST_CASE("Who has no mail left is told what was dropped when a server takes mail to others") {
  SmtpSink sink;
  sink.mode("refuse");
  SlotsWorld world(sink, 1);
  const auto mailer = world.start();
  mailer->submit(alert(1, {"a@x.org"}));
  mailer->submit(alert(2, {"b@x.org"}));
  CHECK(world.drops(1));
  sink.mode("");
  CHECK(world.sends(2));
  CHECK(contains(sink.envelopes()[0], "\"to\": [\"b@x.org\"]"));
  CHECK(contains(sink.envelopes()[1], "\"to\": [\"a@x.org\"]"));
  CHECK(contains(sink.mails()[1], "Subject: healer: 1 alert dropped on vm: service-1 failed\r\n"));
  CHECK(contains(sink.mails()[1], "1 alert to a@x.org was dropped, from "));
}

TEST_CASE("Where the disk cannot be written, slots hold, and what was dropped is told from memory") {
  SmtpSink sink;
  sink.mode("refuse");
  SlotsWorld world(sink, 2);
  write_file(world.options.directory, "in the way");
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 5; ++i) mailer->submit(alert(i));
  CHECK(world.drops(3));
  CHECK(eventually([&] { return mailer->waiting() == 2; }));
  sink.mode("");
  CHECK(world.sends(3));
  CHECK(received(sink) == std::vector<int>{4, 1, 5});
  CHECK(
      contains(sink.mails()[1], "Subject: healer: 3 alerts dropped on vm: service-1, service-2, service-3 failed\r\n"));
  CHECK(eventually([&] { return mailer->waiting() == 0 && world.mail_events.taken().size() == 5; }));
}

TEST_CASE("Killed at any point, the mailer sends each alert or tells that it was dropped, once") {
  SmtpSink sink;
  SlotsWorld world(sink, 4);
  const auto make = [](std::uint64_t i) { return alert(i, {"you@x.org"}); };
  sink.stop();
  KilledMailers killed{.total = 60, .handed = 6, .longest = 40'000};
  killed.run(world, make, 5);
  CHECK(killed.kills > 5);
  {  // however little those had time for, this one has tried, and dropped what the slots have no room for
    const auto mailer = world.start();
    CHECK(eventually([&] { return mailer->waiting() == 4; }));
  }
  sink.restart();
  killed.total = 90;
  killed.run(world, make, 6);
  const auto mailer = world.start();
  for (std::uint64_t i = killed.taken + 1; i <= 91; ++i) mailer->submit(make(i));
  CHECK(eventually([&] { return world.mail_events.taken().size() >= 91 - killed.taken && mailer->waiting() == 0; }));
  // What the server took just when the mailer was killed comes twice, with the same Message-Id.
  std::map<std::string, std::string> once;
  for (const std::string& mail : sink.mails()) {
    const std::size_t id = mail.find("Message-Id: ");
    once.emplace(mail.substr(id, mail.find("\r\n", id) - id), mail);
  }
  std::size_t dropped = 0;
  for (std::uint64_t i = 1; i <= 91; ++i) {
    const std::string name = "service-" + std::to_string(i);
    std::size_t sent = 0;
    std::size_t listed = 0;
    for (const auto& [id, mail] : once) {
      sent += contains(mail, "Subject: monit alert --  Status failed " + name + "\r\n") ? 1 : 0;
      listed += contains(mail, "  " + name + ": Status failed\r\n") ? 1 : 0;
    }
    CAPTURE(i, sent, listed);
    CHECK(sent + listed == 1);
    dropped += listed;
  }
  CHECK(dropped > 5);
}

}  // namespace mail_slots_test
