// SPDX-License-Identifier: MIT
#include <atomic>
#include <filesystem>
#include <mutex>

#include <catch2/catch.hpp>

#include "delivery/mailer_world.hpp"

namespace mailer_test {

using namespace healer;
using namespace healer::delivery;
using namespace healer::test;

TEST_CASE("Alerts are accepted, mailed in order and reported") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 20; ++i) mailer->submit(alert(i));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 20; }));
  std::vector<int> all(20);
  for (int i = 0; i < 20; ++i) all[static_cast<std::size_t>(i)] = i + 1;
  CHECK(received(sink) == all);
  CHECK(world.mail_events.taken().size() == 20);
  CHECK(mailer->waiting() == 0);
  CHECK(contains(sink.mails()[0], "Subject: monit alert --  Status failed service-1\r\n"));
  CHECK(contains(sink.envelopes()[0], "\"ehlo\": \"vm\""));
  CHECK(contains(sink.envelopes()[0], "\"from\": \"monit@vm\""));
  CHECK(contains(world.mail_events.everything(), "mail to root@localhost sent through 127.0.0.1:"));
}

TEST_CASE("Waiting mails go over one connection, which ends with QUIT") {
  test::SmtpSink sink;
  sink.stop();
  MailWorld world({server(sink)});
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 5; ++i) mailer->submit(alert(i));
  CHECK(test::eventually([&] { return world.mail_events.taken().size() == 5; }));
  sink.restart();
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 5; }));
  CHECK(occurrences(sink.commands(), "EHLO") == 1);
  CHECK(occurrences(sink.commands(), "QUIT") == 1);
}

TEST_CASE("A dead server delays mails, in order, and is told once") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  sink.stop();
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 10; ++i) mailer->submit(alert(i));
  CHECK(test::eventually([&] { return world.mail_events.taken().size() == 10; }));  // safe, though not sent
  CHECK(test::eventually([&] { return occurrences(world.mail_events.everything(), "still does not work") >= 3; }));
  CHECK(mailer->waiting() == 10);
  CHECK(world.mail_events.count(Kinds::Failed) == 1);
  CHECK(occurrences(world.mail_events.everything(), " does not work:") -
            occurrences(world.mail_events.everything(), "still") ==
        1);
  sink.restart();
  CHECK(test::eventually([&] { return sink.count() == 10; }));
  CHECK(received(sink) == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(test::eventually([&] { return contains(world.mail_events.everything(), "works again"); }));
}

TEST_CASE("Mails outlive the mailer") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  sink.stop();
  {
    const auto mailer = world.start();
    for (std::uint64_t i = 1; i <= 3; ++i) mailer->submit(alert(i, {"a@x.org", "b@x.org"}));
    mailer->stop();
    CHECK(world.mail_events.taken() == std::vector<std::uint64_t>{1, 2, 3});  // what was submitted is safe after stop()
  }
  sink.restart();
  const auto mailer = world.start();
  mailer->submit(alert(4));
  CHECK(test::eventually([&] { return sink.count() == 7; }));
  CHECK(received(sink) == std::vector<int>{1, 1, 2, 2, 3, 3, 4});
}

TEST_CASE("What waits in a queue goes with the queue to another place, and what was sent is not sent again there") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  const auto place = [&](const std::string& name) { return (world.directory.path() / name).string(); };
  world.options.former = place("usual");
  world.options.places = place("places");
  const auto run = [&](const std::string& name, std::uint64_t number) {
    world.options.directory = place(name);
    const auto mailer = world.start();
    mailer->submit(alert(number));
    mailer->stop();
  };
  sink.stop();
  run("first", 1);
  run("second", 2);
  run("usual", 3);
  CHECK_FALSE(std::filesystem::exists(place("places")));
  run("first", 4);
  CHECK(std::filesystem::exists(place("places")));
  sink.restart();
  {
    const auto mailer = world.start();
    CHECK(test::eventually([&] { return sink.count() == 4; }));
  }
  for (const char* const name : {"second", "first"}) run(name, 1);
  const auto mailer = world.start();
  mailer->submit(alert(5));
  CHECK(test::eventually([&] { return sink.count() == 5; }));
  CHECK(received(sink) == std::vector<int>{1, 2, 3, 4, 5});
}

TEST_CASE("A queue whose place cannot be had is remembered until it can, and no other's is believed") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  const auto place = [&](const std::string& name) { return (world.directory.path() / name).string(); };
  world.options.places = place("places");
  world.options.directory = place("first");
  sink.stop();
  {
    const auto mailer = world.start();
    mailer->submit(alert(1));
    mailer->stop();
  }
  std::filesystem::rename(place("first"), place("away"));
  world.options.directory = place("second");
  world.start()->stop();
  std::filesystem::rename(place("away"), place("first"));
  sink.restart();
  SECTION("it is back") {
    const auto mailer = world.start();
    CHECK(test::eventually([&] { return sink.count() == 1; }));
  }
  SECTION("what names it is damaged") {
    test::write_file(place("places"), "first\n");
    const auto mailer = world.start();
    CHECK(test::eventually(
        [&] { return contains(world.mail_events.everything(), "is damaged; mails that wait elsewhere"); }));
  }
  SECTION("a link names it") {
    std::filesystem::rename(place("places"), place("real"));
    std::filesystem::create_symlink(place("real"), place("places"));
    const auto mailer = world.start();
    CHECK(test::eventually([&] { return contains(world.mail_events.everything(), "mails that wait elsewhere"); }));
    mailer->stop();
    CHECK(sink.count() == 0);
  }
}

TEST_CASE("The next server is used where the first is dead, refuses connections or never greets") {
  test::SmtpSink bad, good;
  MailWorld world({server(bad), server(good)});
  SECTION("dead") { bad.stop(); }
  SECTION("refuses") { bad.mode("refuse"); }
  SECTION("drops the text") { bad.mode("drop data"); }
  SECTION("never greets, or never answers the text") {
    bad.mode(GENERATE("silent", "hang data"));
    world.settings.timeout = seconds{2};  // short for this one, and long enough for the good one on a busy machine
  }
  SECTION("refuses for now") { bad.mode("rcpt 451 *"); }
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 3; ++i) mailer->submit(alert(i));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 3; }));
  CHECK(received(good) == std::vector<int>{1, 2, 3});
  CHECK(bad.count() == 0);
}

TEST_CASE("The first server is used again once it works") {
  test::SmtpSink first, second;
  MailWorld world({server(first), server(second)});
  first.stop();
  const auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(test::eventually([&] { return second.count() == 1; }));
  first.restart();
  std::uint64_t number = 1;
  CHECK(test::eventually([&] {
    mailer->submit(alert(++number));
    test::eventually([&] { return first.count() + second.count() == number; });
    return first.count() > 0;
  }));
}

TEST_CASE("Alerts are taken while a server never answers") {
  test::SmtpSink sink;
  sink.mode("silent");
  MailWorld world({server(sink)});
  world.settings.timeout = minutes{10};
  const auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(test::eventually([&] { return contains(sink.commands(), "(silent)"); }));
  mailer->submit(alert(2));
  CHECK(test::eventually([&] { return world.mail_events.taken() == std::vector<std::uint64_t>{1, 2}; }));
  mailer->stop();  // and it can be stopped: this test would last ten minutes
  CHECK(mailer->waiting() == 2);
}

TEST_CASE("The mailer can be stopped while it sends; nothing is lost") {
  test::SmtpSink sink;
  sink.mode("hang data");
  MailWorld world({server(sink)});
  world.settings.timeout = minutes{10};
  {
    const auto mailer = world.start();
    mailer->submit(alert(1));
    CHECK(test::eventually([&] { return contains(sink.commands(), "DATA"); }));
    mailer->stop();
  }
  sink.mode("");
  const auto mailer = world.start();
  mailer->submit(alert(2));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 2; }));
  CHECK(received(sink) == std::vector<int>{1, 2});
}

TEST_CASE("A server that never says goodbye holds nothing up and gets no mail twice") {
  test::SmtpSink sink;
  sink.mode("hang quit");
  MailWorld world({server(sink)});
  world.settings.timeout = minutes{10};
  {
    const auto mailer = world.start();
    mailer->submit(alert(1));
    CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 1; }));
    mailer->submit(alert(2));
    CHECK(test::eventually([&] { return sink.count() == 2; }));
    mailer->stop();
    CHECK(world.mail_events.count(Kinds::Sent) == 2);
  }
  const auto mailer = world.start();
  mailer->submit(alert(3));
  CHECK(test::eventually([&] { return sink.count() == 3; }));
  CHECK(received(sink) == std::vector<int>{1, 2, 3});
}

TEST_CASE("A mail that is refused for good is dropped and told, the others go") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  sink.mode("rcpt 550 gone@x.org");
  const auto mailer = world.start();
  mailer->submit(alert(1, {"gone@x.org", "here@x.org"}));
  mailer->submit(alert(2));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 2; }));
  CHECK(world.mail_events.count(Kinds::Dropped) == 1);
  CHECK(contains(world.mail_events.everything(),
                 "mail to gone@x.org refused by 127.0.0.1:" + std::to_string(sink.port()) +
                     ": 550 recipient refused: monit alert --  Status failed service-1\n"));
  CHECK(mailer->waiting() == 0);
  sink.mode("data 554");
  mailer->submit(alert(3));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Dropped) == 2; }));
  CHECK(contains(world.mail_events.everything(), "554 text refused: monit alert --  Status failed service-3\n"));
  CHECK(contains(mailer->figures().error, "554 text refused"));
  sink.mode("");
  mailer->submit(alert(4));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 3; }));
  CHECK(mailer->figures().error.empty());
}

TEST_CASE("A mail that one server refuses for good goes to the next, and is dropped only where none takes it") {
  test::SmtpSink strict, other;
  MailWorld world({server(strict), server(other)});
  strict.mode(GENERATE("rcpt 554 *", "data 554"));
  const auto mailer = world.start();
  SECTION("the next takes it") {
    mailer->submit(alert(1));
    CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 1; }));
    CHECK(received(other) == std::vector<int>{1});
    CHECK(world.mail_events.count(Kinds::Dropped) == 0);
  }
  SECTION("the next refuses it, too") {
    other.mode("rcpt 550 *");
    mailer->submit(alert(1));
    CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Dropped) == 1; }));
    CHECK(contains(world.mail_events.everything(), "; by 127.0.0.1:" + std::to_string(other.port()) + ": 550"));
  }
  SECTION("the next is not there yet") {
    other.stop();
    mailer->submit(alert(1));
    CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Failed) == 1; }));
    CHECK(world.mail_events.count(Kinds::Dropped) == 0);
    other.restart();
    CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 1; }));
    CHECK(received(other) == std::vector<int>{1});
  }
}

TEST_CASE("A mail that is refused for now is tried again, holds back only its person's mails and keeps their order") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  // The rest is long enough that the others' mails do not wait for it by chance.
  world.options.rhythm.first = Duration{200};
  sink.mode("rcpt 451 full@x.org");
  const auto mailer = world.start();
  mailer->submit(alert(1, {"full@x.org"}));
  mailer->submit(alert(2, {"full@x.org"}));
  mailer->submit(alert(3, {"other@x.org"}));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 1; }));
  CHECK(received(sink) == std::vector<int>{3});
  CHECK(mailer->waiting() == 2);
  CHECK(test::eventually([&] { return occurrences(sink.commands(), "RCPT TO:<full@x.org>") >= 3; }));
  sink.mode("");
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 3; }));
  CHECK(received(sink) == std::vector<int>{3, 1, 2});
  CHECK(world.mail_events.count(Kinds::Dropped) == 0);
}

TEST_CASE("Every refusal for now, of sender, recipient or text, is tried again") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  const std::string mode = GENERATE(as<std::string>{}, "from 451", "rcpt 452 *", "data 451", "from 530", "refuse");
  CAPTURE(mode);
  sink.mode(mode);
  const auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Failed) == 1; }));
  sink.mode("");
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 1; }));
  CHECK(world.mail_events.count(Kinds::Dropped) == 0);
  CHECK(received(sink) == std::vector<int>{1});
}

TEST_CASE("A connection that the server closes between two mails is no fault") {
  test::SmtpSink sink;
  sink.stop();
  MailWorld world({server(sink)});
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 6; ++i) mailer->submit(alert(i));
  CHECK(test::eventually([&] { return world.mail_events.taken().size() == 6; }));
  sink.mode("drop after 2");
  sink.restart();
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 6; }));
  CHECK(received(sink) == std::vector<int>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("The same alert is mailed once, now and after a restart") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  {
    const auto mailer = world.start();
    mailer->submit(alert(1));
    mailer->submit(alert(1));
    CHECK(test::eventually(
        [&] { return world.mail_events.count(Kinds::Sent) == 1 && world.mail_events.taken().size() == 2; }));
    mailer->submit(alert(1));
    CHECK(test::eventually([&] { return world.mail_events.taken().size() == 3; }));
  }
  const auto mailer = world.start();
  mailer->submit(alert(1));
  mailer->submit(alert(2));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 2; }));
  CHECK(received(sink) == std::vector<int>{1, 2});
}

TEST_CASE("Alerts are accepted without a mail server, which is logged once") {
  MailWorld world({});
  const auto mailer = world.start();
  mailer->submit(alert(1));
  mailer->submit(alert(2));
  CHECK(test::eventually([&] { return world.mail_events.taken().size() == 2; }));
  CHECK(world.mail_events.count(Kinds::Dropped) == 1);
  CHECK(mailer->waiting() == 0);
}

TEST_CASE("New settings are used for what waits") {
  test::SmtpSink old_sink, new_sink;
  old_sink.stop();
  MailWorld world({server(old_sink)});
  world.options.rhythm.first = world.options.rhythm.longest = minutes{10};
  const auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Failed) == 1; }));
  engine::MailSettings settings;
  settings.servers = {server(new_sink)};
  settings.hostname = "mx.example.org";
  mailer->configure(settings, seconds{1}, world.options.host);
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 1; }));
  CHECK(contains(new_sink.envelopes()[0], "\"ehlo\": \"mx.example.org\""));
}

TEST_CASE("A new name of the machine is used as soon as it is known") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  const auto mailer = world.start();
  mailer->configure(world.settings, world.cycle, "db01 prod.example");
  mailer->submit(alert(1));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 1; }));
  const std::string mail = sink.envelopes()[0];
  CHECK(contains(mail, "\"ehlo\": \"db01prod.example\""));  // no server would take a blank there
  CHECK(contains(mail, "monit@db01prod.example"));
  CHECK(contains(sink.mails()[0], "From: monit@db01prod.example\r\n"));
  CHECK(contains(sink.mails()[0], "@db01prod.example>\r\n"));
  CHECK(contains(sink.mails()[0], "db01 prod.example"));
}

TEST_CASE("An alert that comes after new settings is written by them, also while a mail is being sent") {
  test::SmtpSink sink;
  sink.mode("hang data");
  MailWorld world({server(sink)});
  world.settings.timeout = minutes{10};
  const auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(test::eventually([&] { return contains(sink.commands(), "DATA"); }));
  mailer->configure(world.settings, world.cycle, "db02");
  mailer->submit(alert(2));
  sink.mode("");
  sink.stop();  // ends what hangs
  sink.restart();
  mailer->configure(world.settings, world.cycle, "db02");  // tries it at once
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 2; }));
  CHECK(received(sink) == std::vector<int>{1, 2});
  CHECK(contains(sink.mails()[0], "From: monit@" + world.options.host));
  CHECK(contains(sink.mails()[1], "From: monit@db02\r\n"));
}

TEST_CASE("A full queue drops the oldest mails for new ones and says which") {
  test::SmtpSink sink;
  sink.stop();
  MailWorld world({server(sink)});
  world.options.limits.letters = 3;
  world.options.rhythm.first = world.options.rhythm.longest = minutes{10};  // none is just being sent
  const auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Failed) == 1; }));
  for (std::uint64_t i = 2; i <= 5; ++i) mailer->submit(alert(i));
  CHECK(test::eventually([&] { return world.mail_events.taken().size() == 5; }));
  CHECK(world.mail_events.count(Kinds::Dropped) == 2);
  const std::string logged = world.mail_events.everything();
  CHECK(occurrences(logged, "full with 3 mails") == 1);
  for (const std::string number : {"1", "2"})
    CHECK(contains(logged,
                   "mail to root@localhost dropped: the mail queue is full, and newer ones came: monit alert --  "
                   "Status failed service-" +
                       number));
  sink.restart();
  mailer->configure(world.settings, world.cycle, world.options.host);
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 4; }));
  CHECK(received(sink) == std::vector<int>{3, 1, 4, 5});  // the second tells of 1 and 2
  mailer->submit(alert(1));                               // it is over, also when it is handed over again
  mailer->submit(alert(6));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 5; }));
  CHECK(received(sink) == std::vector<int>{3, 1, 4, 5, 6});
}

TEST_CASE("Where there is room for one mail, an alert to several goes to the first, and the others are told of it") {
  test::SmtpSink sink;
  sink.stop();
  MailWorld world({server(sink)});
  world.options.limits.letters = 1;
  const auto mailer = world.start();
  mailer->submit(alert(1, {"a@x.org", "b@x.org"}));
  CHECK(test::eventually([&] { return world.mail_events.taken().size() == 1; }));
  CHECK(contains(world.mail_events.everything(), "mail to b@x.org dropped: the mail queue is full"));
  sink.restart();
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 2; }));
  CHECK(contains(sink.envelopes()[0], "a@x.org"));
  CHECK(contains(sink.envelopes()[1], "b@x.org"));
  CHECK(contains(sink.mails()[1], "Subject: healer: 1 alert dropped on vm: service-1 failed\r\n"));
}

TEST_CASE("The mailer's figures say how many mails wait, since when, and what the server last said") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  sink.mode("refuse");
  const auto mailer = world.start();
  CHECK(mailer->figures().waiting == 0);
  CHECK_FALSE(mailer->figures().since);
  CHECK(mailer->figures().error.empty());
  mailer->submit(alert(1));
  mailer->submit(alert(2));
  CHECK(test::eventually([&] { return mailer->figures().waiting == 2 && !mailer->figures().error.empty(); }));
  CHECK(mailer->figures().since == WallTime{seconds{1'795'234'764}});
  CHECK(contains(mailer->figures().error, "127.0.0.1:" + std::to_string(sink.port()) + ": "));
  CHECK(contains(mailer->figures().error, "421 not now"));
  CHECK(mailer->figures().error_since);
  sink.mode("");
  CHECK(test::eventually([&] { return mailer->figures().waiting == 0; }));
  CHECK(mailer->figures().error.empty());
  CHECK_FALSE(mailer->figures().error_since);
}

TEST_CASE("Whoever hears that an alert was taken finds its mails among those that wait") {
  test::SmtpSink sink;
  sink.stop();
  MailWorld world({server(sink)});
  std::atomic<const Mailer*> asked{nullptr};
  std::mutex mutex;
  std::vector<std::size_t> counted;
  MailerCallbacks callbacks = world.mail_events.callbacks();
  callbacks.report = [&, report = callbacks.report](engine::Event event) {
    if (std::holds_alternative<engine::event::AlertTaken>(event)) {
      const std::lock_guard lock(mutex);
      counted.push_back(asked.load()->waiting());
    }
    report(std::move(event));
  };
  Mailer mailer(world.options, world.settings, world.cycle, callbacks);
  asked = &mailer;
  for (std::uint64_t i = 1; i <= 3; ++i) mailer.submit(alert(i, {"a@x.org", "b@x.org"}));
  CHECK(test::eventually([&] { return world.mail_events.taken().size() == 3; }));
  mailer.stop();
  CHECK(counted == std::vector<std::size_t>{2, 4, 6});
}

TEST_CASE("The mailer's figures say what the server said of mails that it refused for now, while these wait") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  sink.mode("rcpt 451 full@x.org");
  const auto mailer = world.start();
  mailer->submit(alert(1, {"full@x.org"}));
  mailer->submit(alert(2, {"full@x.org"}));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Failed) == 1; }));
  const std::string expected = "127.0.0.1:" + std::to_string(sink.port()) + ": 451 recipient refused";
  CHECK(test::eventually([&] { return mailer->figures().waiting == 2 && mailer->figures().error == expected; }));
  CHECK(mailer->figures().error_since);
  mailer->submit(alert(3, {"other@x.org"}));
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 1; }));
  CHECK(mailer->figures().error == expected);
  sink.mode("");
  CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 3; }));
  CHECK(test::eventually([&] { return mailer->figures().error.empty(); }));
}

TEST_CASE("Where the disk cannot be written, mails are sent from memory and not said to be safe before") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  test::write_file(world.options.directory, "in the way");
  SECTION("the server works") {
    const auto mailer = world.start();
    mailer->submit(alert(1, {"a@x.org", "b@x.org"}));
    CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 2; }));
    CHECK(test::eventually([&] { return world.mail_events.taken().size() == 1; }));
  }
  SECTION("the disk works again first") {
    sink.stop();
    const auto mailer = world.start();
    mailer->submit(alert(1));
    CHECK(test::eventually([&] { return mailer->waiting() == 1; }));
    CHECK(world.mail_events.taken().empty());
    std::filesystem::remove(world.options.directory);
    CHECK(test::eventually([&] { return world.mail_events.taken().size() == 1; }));
    sink.restart();
    CHECK(test::eventually([&] { return world.mail_events.count(Kinds::Sent) == 1; }));
  }
  CHECK(occurrences(world.mail_events.everything(), "are kept in memory") == 1);
}

TEST_CASE("Killed at any point while it sends, the mailer loses nothing and keeps the order") {
  test::SmtpSink sink;
  MailWorld world({server(sink)});
  KilledMailers killed;
  killed.run(
      world, [](std::uint64_t i) { return alert(i); }, 7);
  const std::uint64_t total = killed.total;
  const auto mailer = world.start();
  for (std::uint64_t i = killed.taken + 1; i <= total; ++i) mailer->submit(alert(i));
  mailer->submit(alert(total + 1));
  CHECK(test::eventually([&] { return contains(world.mail_events.everything(), "service-61"); }));
  const std::vector<int> all = received(sink);
  // A mail that the server took just when the mailer was killed comes twice, in a row and with the same Message-Id.
  std::vector<int> once = all;
  once.erase(std::unique(once.begin(), once.end()), once.end());
  std::vector<int> wanted;
  for (int i = 1; i <= static_cast<int>(total) + 1; ++i) wanted.push_back(i);
  CHECK(once == wanted);
  CHECK(static_cast<int>(all.size() - once.size()) <= killed.kills);
  CHECK(killed.kills > 5);
}

}  // namespace mailer_test
