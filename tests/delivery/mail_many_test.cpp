// SPDX-License-Identifier: MIT
// Digests and limits: several mails to one person that become one. The wall clock is the test's.
#include <fcntl.h>

#include <atomic>
#include <map>

#include <spdlog/fmt/fmt.h>
#include <catch2/catch.hpp>

#include "delivery/contacts/mail_digest.hpp"
#include "delivery/mailer_world.hpp"
#include "delivery/outbox/mail_queue.hpp"
#include "util/hash.hpp"

namespace mail_many_test {

using namespace healer;
using namespace healer::delivery;
using namespace healer::test;

namespace {

constexpr WallTime kStart{seconds{1'795'234'764}};  // 2026-11-21 04:19:24

struct ManyWorld : MailWorld {
  explicit ManyWorld(std::vector<engine::MailServer> servers) : MailWorld(std::move(servers)) {
    options.wall = [this] { return WallTime{milliseconds{clock.load()}}; };
    cycle = seconds{30};
  }
  std::atomic<std::int64_t> clock{kStart.time_since_epoch() / milliseconds{1}};

  /// Time passes; the mailer is told.
  void pass(Mailer& mailer, Duration span) {
    clock += span.count();
    mailer.configure(settings, cycle, options.host);
  }
};

engine::effect::Alert digest(std::uint64_t number, std::vector<std::string> addresses = {"night@x.org"}) {
  engine::effect::Alert result = alert(number, std::move(addresses));
  for (engine::Recipient& recipient : result.recipients) recipient.digest = true;
  return result;
}

std::string subject(const std::string& mail) {
  const std::size_t start = mail.find("Subject: ") + 9;
  return mail.substr(start, mail.find("\r\n", start) - start);
}

std::vector<std::string> subjects(const SmtpSink& sink) {
  std::vector<std::string> result;
  for (const std::string& mail : sink.mails()) result.push_back(subject(mail));
  return result;
}

/// Whether the mailer, having had every reason to, has sent no more than that.
bool stays(const SmtpSink& sink, std::size_t count, Mailer& mailer, ManyWorld& world) {
  if (!eventually([&] { return world.mail_events.count(Kinds::Sent) == count; })) return false;
  const std::size_t before = world.mail_events.taken().size();
  engine::effect::Alert other = alert(900'000 + before, {"witness@x.org"});
  const std::size_t sent = world.mail_events.count(Kinds::Sent);
  mailer.submit(std::move(other));  // mails go in order: what may go has gone before this one
  return eventually([&] { return world.mail_events.count(Kinds::Sent) == sent + 1; }) && sink.count() == count + 1;
}

const std::string kOne = "monit alert --  Status failed service-";

}  // namespace

TEST_CASE("All alerts of a cycle go in one mail to who wants it so, and a single one as it is") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  const auto mailer = world.start();
  mailer->submit(digest(1));
  CHECK(eventually([&] { return world.mail_events.taken().size() == 1; }));
  world.pass(*mailer, seconds{20});
  mailer->submit(digest(2, {"night@x.org", "other@x.org"}));
  mailer->submit(alert(3, {"day@x.org"}));
  CHECK(eventually([&] { return world.mail_events.taken().size() == 3; }));  // safe, though held
  CHECK(eventually([&] { return sink.count() == 1; }));
  CHECK(eventually([&] { return mailer->waiting() == 3; }));
  world.pass(*mailer, seconds{10});  // the cycle of the first is over, that of the other person is not
  CHECK(eventually([&] { return sink.count() == 2; }));
  CHECK(subjects(sink)[1] == "healer: 2 alerts on vm: service-1, service-2 failed");
  CHECK(contains(sink.envelopes()[1], "\"to\": [\"night@x.org\"]"));
  for (const std::string number : {"1", "2"})
    CHECK(contains(sink.mails()[1], "Status failed Service service-" + number + " \r\n"));
  CHECK(stays(sink, 2, *mailer, world));
  CHECK(eventually([&] { return mailer->waiting() == 1; }));
  world.pass(*mailer, seconds{20});
  CHECK(eventually([&] { return sink.count() == 4; }));
  CHECK(subjects(sink)[3] == kOne + "2");
  CHECK(contains(sink.envelopes()[3], "\"to\": [\"other@x.org\"]"));
  CHECK(eventually([&] { return mailer->waiting() == 0; }));

  mailer->submit(digest(1));  // over, also when it is handed over again
  mailer->submit(digest(2));
  mailer->submit(digest(4));
  CHECK(eventually([&] { return world.mail_events.taken().size() == 7; }));
  world.pass(*mailer, seconds{30});
  CHECK(eventually([&] { return sink.count() == 5; }));
  CHECK(subjects(sink)[4] == kOne + "4");
  CHECK(world.mail_events.count(Kinds::Dropped) == 0);
}

TEST_CASE("A digest is not held longer than five minutes, whatever the cycle and the clock") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  world.cycle = hours{24};
  const auto mailer = world.start();
  mailer->submit(digest(1));
  mailer->submit(digest(2));
  CHECK(eventually([&] { return world.mail_events.taken().size() == 2; }));
  SECTION("a long cycle") {
    world.pass(*mailer, minutes{4});
    CHECK(stays(sink, 0, *mailer, world));
    world.pass(*mailer, minutes{1});
    CHECK(eventually([&] { return sink.count() == 2; }));
  }
  SECTION("a clock that is set back") {
    world.pass(*mailer, -hours{5});
    CHECK(eventually([&] { return sink.count() == 1; }));
  }
  CHECK(subjects(sink).back() == "healer: 2 alerts on vm: service-1, service-2 failed");
}

TEST_CASE("When healer stops, what is held for a digest goes at once") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 3; ++i) mailer->submit(digest(i));
  CHECK(eventually([&] { return world.mail_events.taken().size() == 3; }));
  CHECK(sink.count() == 0);
  CHECK(world.stops(*mailer, sink, 1));
  CHECK(subjects(sink) == std::vector<std::string>{"healer: 3 alerts on vm: service-1, service-2, service-3 failed"});
}

TEST_CASE("A digest of which the server knows nothing yet goes once, wherever the mailer before was cut short") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  std::vector<Mail> parts;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    parts.push_back(compose_mails(digest(i), world.settings, {"vm", "1", utc_civil}).front());
    parts.back().hold_until = kStart + seconds{30};
  }
  const Mail merged = compose_digest(parts, {"vm", "1", utc_civil}, kStart);
  const int cut = GENERATE(0, 1, 2, 3, 4);
  CAPTURE(cut);
  {
    auto queue = MailQueue::open(world.options.directory, {}, [](const std::string&) {});
    REQUIRE(queue);
    for (const Mail& part : parts) REQUIRE(queue->put(part).value() == MailQueue::Taken::Queued);
    if (cut > 0) REQUIRE(queue->put(merged).value() == MailQueue::Taken::Queued);
    for (int i = 1; i < cut; ++i) REQUIRE(queue->finish(key_of(parts[static_cast<std::size_t>(i - 1)])));
  }
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 3; ++i) mailer->submit(digest(i));  // as an engine that does not know of them
  CHECK(eventually([&] { return world.mail_events.taken().size() == 3; }));
  if (cut == 0) CHECK(stays(sink, 0, *mailer, world));  // the cycle goes on where it was
  world.pass(*mailer, seconds{30});
  CHECK(eventually([&] { return mailer->waiting() == 0; }));
  std::vector<std::string> found = subjects(sink);
  std::erase_if(found, [](const std::string& text) { return text.starts_with("monit alert"); });
  CHECK(found == std::vector<std::string>{merged.subject});
  CHECK(sink.count() == (cut == 0 ? 2 : 1));
}

TEST_CASE("A digest is one mail at whatever moment its cycle ends, also while the mailer looks what is to go") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  std::vector<Mail> parts;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    parts.push_back(compose_mails(digest(i), world.settings, {"vm", "1", utc_civil}).front());
    parts.back().hold_until = kStart + seconds{30};
  }
  {
    auto queue = MailQueue::open(world.options.directory, {}, [](const std::string&) {});
    REQUIRE(queue);
    for (const Mail& part : parts) REQUIRE(queue->put(part).value() == MailQueue::Taken::Queued);
  }
  const int checks = GENERATE(0, 1, 2, 3, 4, 5);  // at the clock, before the cycle is over
  CAPTURE(checks);
  std::atomic<int> checked{0};
  world.options.wall = [&] { return checked++ < checks ? kStart : kStart + seconds{30}; };
  const auto mailer = world.start();
  CHECK(eventually([&] {
    mailer->configure(world.settings, world.cycle, world.options.host);  // wakes it
    return checked > checks && mailer->waiting() == 0;
  }));
  CHECK(subjects(sink) == std::vector<std::string>{"healer: 3 alerts on vm: service-1, service-2, service-3 failed"});
}

TEST_CASE("Killed at any point, the mailer tells of each alert in one mail, and in one alone") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  world.options.wall = {};
  world.cycle = milliseconds{15};
  world.settings.limit = GENERATE(std::optional<engine::MailLimit>{}, engine::MailLimit{2, milliseconds{60}});
  KilledMailers killed{.handed = 6, .longest = 40'000};
  killed.run(
      world, [](std::uint64_t i) { return digest(i); }, 11);
  const std::uint64_t total = killed.total;
  const auto mailer = world.start();
  for (std::uint64_t i = killed.taken + 1; i <= total; ++i) mailer->submit(digest(i));
  mailer->submit(digest(total + 1));
  const auto last = [&] {
    return std::ranges::any_of(sink.mails(), [](const std::string& mail) { return contains(mail, "service-61"); });
  };
  CHECK(eventually([&] { return last() && mailer->waiting() == 0; }));
  // What the server took just when the mailer was killed comes twice, with the same Message-Id.
  std::map<std::string, std::string> once;
  for (const std::string& mail : sink.mails()) {
    const std::size_t id = mail.find("Message-Id: ");
    once.emplace(mail.substr(id, mail.find("\r\n", id) - id), mail);
  }
  std::map<std::uint64_t, std::size_t> delivered;
  for (const auto& [id, mail] : once) {
    for (std::uint64_t i = 1; i <= total; ++i) {
      const std::string name = "service-" + std::to_string(i);
      const bool line = contains(mail, "  " + name + ": Status failed\r\n");  // of a digest, or of what was held back
      delivered[i] += line || subject(mail) == "monit alert --  Status failed " + name ? 1 : 0;
    }
  }
  for (std::uint64_t i = 1; i <= total; ++i) CHECK(delivered[i] == 1);
  CHECK(killed.kills > 5);
}

TEST_CASE("Where the disk cannot be written, a digest goes from memory, and its alerts are safe when it has gone") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  write_file(world.options.directory, "in the way");
  const auto mailer = world.start();
  mailer->submit(digest(1));
  mailer->submit(digest(2));
  CHECK(eventually([&] { return mailer->waiting() == 2; }));
  CHECK(world.mail_events.taken().empty());
  SECTION("the server works") {
    world.pass(*mailer, seconds{30});
    CHECK(eventually([&] { return world.mail_events.taken().size() == 2; }));
  }
  SECTION("the disk works again first") {
    sink.stop();
    world.pass(*mailer, seconds{30});
    CHECK(eventually([&] { return world.mail_events.count(Kinds::Failed) == 1; }));
    CHECK(world.mail_events.taken().empty());
    std::filesystem::remove(world.options.directory);
    CHECK(eventually([&] { return world.mail_events.taken().size() == 2; }));
    CHECK(eventually([&] { return mailer->waiting() == 1; }));  // the digest alone
    sink.restart();
  }
  CHECK(eventually([&] { return mailer->waiting() == 0; }));
  CHECK(subjects(sink) == std::vector<std::string>{"healer: 2 alerts on vm: service-1, service-2 failed"});
}

TEST_CASE("What is beyond the mail limit is held back, and told in one mail when there is room") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  world.settings.limit = engine::MailLimit{3, hours{1}};
  auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 10; ++i) {
    mailer->submit(alert(i, {"you@x.org"}));
    mailer->submit(alert(100 + i, {"few@x.org"}));
  }
  mailer->submit(alert(200, {"third@x.org"}));
  CHECK(eventually([&] { return sink.count() == 7; }));  // each person for himself
  CHECK(eventually([&] { return mailer->waiting() == 14; }));
  CHECK(world.mail_events.count(Kinds::Dropped) == 0);
  CHECK(world.mail_events.count(Kinds::Failed) == 2);  // it is recorded once for each person
  CHECK(contains(world.mail_events.everything(),
                 "mail to you@x.org held back: the limit of 3 mails within 1 h is reached; what is held back is summed "
                 "up in one mail at 2026-11-21 05:19:24\n"));
  SECTION("and the mailer is started anew meanwhile") {
    mailer->stop();
    CHECK(sink.count() == 7);  // also at the end
    mailer = world.start();
    world.pass(*mailer, minutes{59});
    CHECK(stays(sink, 7, *mailer, world));
    mailer->stop();
    world.clock += milliseconds{minutes{1}}.count();
    mailer = world.start();  // there is room at once
  }
  SECTION("and it goes on") {
    world.pass(*mailer, minutes{59});
    CHECK(stays(sink, 7, *mailer, world));
    world.pass(*mailer, minutes{1});
  }
  SECTION("and the limit goes in a reload") {
    CHECK(stays(sink, 7, *mailer, world));
    world.settings.limit.reset();
    mailer->configure(world.settings, world.cycle, world.options.host);
  }
  REQUIRE(eventually([&] { return sink.count() == 10; }));
  CHECK(eventually([&] { return mailer->waiting() == 0; }));
  const std::string summary = sink.mails()[8];
  CHECK(subject(summary) ==
        "healer: 7 alerts held back on vm: service-4, service-5, service-6, service-7 and 3 more failed");
  CHECK(contains(sink.envelopes()[8], "\"to\": [\"you@x.org\"]"));
  CHECK(contains(summary,
                 "The limit of 3 mails within 1 h to you@x.org was reached on vm. 7 alerts were held back, from "
                 "2026-11-21 04:19:24 to 2026-11-21 04:19:24:\r\n"));
  for (const int number : {4, 10})
    CHECK(contains(summary, "  2026-11-21 04:19:24  service-" + std::to_string(number) + ": Status failed\r\n"));
  CHECK(contains(world.mail_events.everything(), ": healer: 7 alerts held back on vm: service-4"));
}

TEST_CASE("A single mail that was held back goes as it is") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  world.settings.limit = engine::MailLimit{1, minutes{1}};
  const auto mailer = world.start();
  mailer->submit(alert(1));
  mailer->submit(alert(2));
  CHECK(eventually([&] { return world.mail_events.count(Kinds::Failed) == 1; }));
  CHECK(sink.count() == 1);
  world.pass(*mailer, minutes{1});
  CHECK(eventually([&] { return sink.count() == 2; }));
  CHECK(subjects(sink)[1] == kOne + "2");
}

TEST_CASE("A digest counts as one mail, and what is held back may be one, or such a word itself") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  world.settings.limit = engine::MailLimit{1, hours{1}};
  const auto mailer = world.start();
  const auto cycle = [&](std::uint64_t first) {
    mailer->submit(digest(first));
    mailer->submit(digest(first + 1));
    CHECK(eventually([&] { return world.mail_events.taken().size() == first + 1; }));
    world.pass(*mailer, seconds{30});
  };
  cycle(1);
  CHECK(eventually([&] { return sink.count() == 1; }));
  cycle(3);
  CHECK(eventually([&] { return world.mail_events.count(Kinds::Failed) == 1; }));
  cycle(5);
  CHECK(eventually([&] { return mailer->waiting() == 2; }));
  sink.mode("refuse");
  world.pass(*mailer, hours{1});  // two digests become one word, which cannot be sent
  CHECK(eventually([&] { return mailer->waiting() == 1 && world.mail_events.count(Kinds::Failed) == 2; }));
  sink.mode("");
  CHECK(eventually([&] { return sink.count() == 2; }));
  CHECK(subjects(sink)[1] == "healer: 4 alerts held back on vm: service-3, service-4, service-5, service-6 failed");
  cycle(7);
  CHECK(eventually([&] { return world.mail_events.count(Kinds::Failed) == 3; }));
  CHECK(sink.count() == 2);
  world.pass(*mailer, hours{1});
  CHECK(eventually([&] { return sink.count() == 3; }));
  CHECK(subjects(sink)[2] == "healer: 2 alerts on vm: service-7, service-8 failed");
}

TEST_CASE("Mails that an older healer has left are sent, and may be held back") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  world.settings.limit = engine::MailLimit{1, hours{1}};
  std::filesystem::create_directory(world.options.directory);
  for (int i = 1; i <= 3; ++i) {
    const std::string payload =
        "monit@vm\nroot@localhost\nSubject " + std::to_string(i) + "\nSubject: left\r\n\r\nx\r\n";
    write_file(world.options.directory + fmt::format("/{:020}-000000-0000019c8d2f1a3b.mail", i),
               fmt::format("healer-mail 1 {} {}\n{}", to_string(hash128(payload)), payload.size(), payload));
  }
  const auto mailer = world.start();
  CHECK(eventually([&] { return world.mail_events.count(Kinds::Failed) == 1; }));
  CHECK(eventually([&] { return mailer->waiting() == 2; }));
  CHECK(subjects(sink) == std::vector<std::string>{"left"});
  world.pass(*mailer, hours{1});
  CHECK(eventually([&] { return sink.count() == 2; }));
  CHECK(subjects(sink)[1] == "healer: 2 alerts held back on vm: Subject 2, Subject 3 told");
  CHECK(world.mail_events.count(Kinds::Dropped) == 0);
}

TEST_CASE("Very many alerts of a cycle make one mail of a sane size") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 900; ++i) mailer->submit(digest(i));
  CHECK(eventually([&] { return world.mail_events.taken().size() == 900; }));
  CHECK(sink.count() == 0);
  world.pass(*mailer, seconds{30});
  CHECK(eventually([&] { return mailer->waiting() == 0; }));
  REQUIRE(sink.count() == 1);
  CHECK(subjects(sink)[0] ==
        "healer: 900 alerts on vm: service-1, service-2, service-3, service-4 and 896 more failed");
  CHECK(sink.mails()[0].size() < 100'000);
  CHECK(contains(sink.mails()[0], "  and 400 more that are not listed here\r\n"));
}

TEST_CASE("What needs a person goes at once: before what waits, in no digest, and beyond the limit") {
  SmtpSink sink;
  sink.stop();
  ManyWorld world({server(sink)});
  world.settings.limit = engine::MailLimit{1, hours{1}};
  auto mailer = world.start();
  const auto gives_up = [](std::uint64_t number) {
    engine::effect::Alert result = digest(number);
    auto& cause = const_cast<engine::effect::Cause&>(*result.cause);
    cause.action_text = "unmonitor";
    cause.rule = "if 5 restarts within 10 cycles then unmonitor";
    return result;
  };
  mailer->submit(alert(1, {"night@x.org"}));
  mailer->submit(alert(2, {"night@x.org"}));
  mailer->submit(gives_up(3));
  CHECK(eventually([&] { return world.mail_events.taken().size() == 3; }));
  SECTION("of the mailer that was told") {}
  SECTION("of the next one") {
    mailer->stop();
    mailer = world.start();
  }
  sink.restart();
  CHECK(eventually([&] { return sink.count() == 2; }));
  CHECK(received(sink) == std::vector<int>{3, 1});
  mailer->submit(gives_up(4));  // the limit is reached
  CHECK(eventually([&] { return sink.count() == 3; }));
  CHECK(received(sink).back() == 4);
  CHECK(eventually([&] {
    const MailFigures now = mailer->figures();
    return now.held == 1 && now.waiting == 1;
  }));
  const MailFigures figures = mailer->figures();
  CHECK(figures.limit == "1 mail within 1 h");
  CHECK(figures.held_until == kStart + hours{1});
}

TEST_CASE("The figures say how many mails wait for a digest, and until when") {
  SmtpSink sink;
  ManyWorld world({server(sink)});
  const auto mailer = world.start();
  mailer->submit(digest(1));
  CHECK(eventually([&] { return mailer->figures().gathered == 1; }));
  CHECK(mailer->figures().digest_until == kStart + seconds{30});
  CHECK(mailer->figures().held == 0);
}

}  // namespace mail_many_test
