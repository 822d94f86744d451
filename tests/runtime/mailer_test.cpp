// SPDX-License-Identifier: MIT
#include "runtime/mailer.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <random>

#include <catch2/catch.hpp>

#include "support/smtp_sink.hpp"

using namespace healer;
using namespace healer::runtime;
using engine::event::MailOutcome;
using Kind = MailOutcome::Kind;

namespace {

/// What a mailer said, from its thread.
class Heard {
 public:
  [[nodiscard]] MailerCallbacks callbacks() {
    return {[this](engine::Event event) {
              const std::lock_guard lock(mutex_);
              if (const auto* taken = std::get_if<engine::event::AlertTaken>(&event))
                taken_.push_back(taken->alert.number());
              if (const auto* outcome = std::get_if<MailOutcome>(&event)) outcomes_.push_back(*outcome);
            },
            [this](engine::Severity, std::string text) {
              const std::lock_guard lock(mutex_);
              log_ += text + "\n";
            }};
  }
  [[nodiscard]] std::vector<std::uint64_t> taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  [[nodiscard]] std::size_t count(Kind kind) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(outcomes_, [kind](const MailOutcome& outcome) { return outcome.kind == kind; }));
  }
  /// All that was said, as a log would have it.
  [[nodiscard]] std::string everything() const {
    const std::lock_guard lock(mutex_);
    std::string text = log_;
    for (const MailOutcome& outcome : outcomes_) text += outcome.text + "\n";
    return text;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> taken_;
  std::vector<MailOutcome> outcomes_;
  std::string log_;
};

engine::effect::Alert alert(std::uint64_t number, std::vector<std::string> addresses = {"root@localhost"}) {
  auto cause = std::make_shared<engine::effect::Cause>();
  cause->service = "service-" + std::to_string(number);
  cause->event_text = "Status failed";
  cause->action_text = "alert";
  cause->description = "status failed (1) -- no output";
  cause->when = WallTime{seconds{1'795'234'764}};
  engine::effect::Alert result;
  result.alert = engine::AlertId{number};
  for (std::string& address : addresses) result.recipients.push_back({.address = std::move(address), .format = {}});
  result.cause = std::move(cause);
  return result;
}

engine::MailServer server(const test::SmtpSink& sink) {
  engine::MailServer result;
  result.host = "127.0.0.1";
  result.port = sink.port();
  return result;
}

struct World {
  test::TemporaryDirectory directory;
  Heard heard;
  MailerOptions options{.directory = (directory.path() / "mail").string(),
                        .host = "vm",
                        .version = "1",
                        .civil = utc_civil,
                        .limits = {},
                        .first_rest = Duration{20},
                        .last_rest = Duration{100},
                        .disk_rest = Duration{50}};
  engine::MailSettings settings;

  explicit World(std::vector<engine::MailServer> servers) { settings.servers = std::move(servers); }
  std::unique_ptr<Mailer> start() { return std::make_unique<Mailer>(options, settings, heard.callbacks()); }
};

/// The service numbers of the mails, in the order in which they were taken.
std::vector<int> received(const test::SmtpSink& sink) {
  std::vector<int> result;
  for (const std::string& mail : sink.mails()) {
    const std::size_t at = mail.find("service-");
    result.push_back(at == std::string::npos ? -1 : std::stoi(mail.substr(at + 8)));
  }
  return result;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

}  // namespace

TEST_CASE("Alerts are taken, mailed in order and told") {
  test::SmtpSink sink;
  World world({server(sink)});
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 20; ++i) mailer->submit(alert(i));
  CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 20; }));
  std::vector<int> all(20);
  for (int i = 0; i < 20; ++i) all[static_cast<std::size_t>(i)] = i + 1;
  CHECK(received(sink) == all);
  CHECK(world.heard.taken().size() == 20);
  CHECK(mailer->waiting() == 0);
  CHECK(contains(sink.mails()[0], "Subject: monit alert --  Status failed service-1\r\n"));
  CHECK(contains(sink.envelopes()[0], "\"ehlo\": \"vm\""));
  CHECK(contains(sink.envelopes()[0], "\"from\": \"monit@vm\""));
  CHECK(contains(world.heard.everything(), "mail to root@localhost sent through 127.0.0.1:"));
}

TEST_CASE("What waits goes over one connection, which ends with QUIT") {
  test::SmtpSink sink;
  sink.stop();
  World world({server(sink)});
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 5; ++i) mailer->submit(alert(i));
  CHECK(test::eventually([&] { return world.heard.taken().size() == 5; }));
  sink.restart();
  CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 5; }));
  CHECK(occurrences(sink.commands(), "EHLO") == 1);
  CHECK(occurrences(sink.commands(), "QUIT") == 1);
}

TEST_CASE("A dead server delays mails, in order, and is told once") {
  test::SmtpSink sink;
  World world({server(sink)});
  sink.stop();
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 10; ++i) mailer->submit(alert(i));
  CHECK(test::eventually([&] { return world.heard.taken().size() == 10; }));  // safe, though not sent
  CHECK(test::eventually([&] { return occurrences(world.heard.everything(), "still does not work") >= 3; }));
  CHECK(mailer->waiting() == 10);
  CHECK(world.heard.count(Kind::Failed) == 1);
  CHECK(occurrences(world.heard.everything(), " does not work:") - occurrences(world.heard.everything(), "still") == 1);
  sink.restart();
  CHECK(test::eventually([&] { return sink.count() == 10; }));
  CHECK(received(sink) == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(test::eventually([&] { return contains(world.heard.everything(), "works again"); }));
}

TEST_CASE("Mails outlive the mailer") {
  test::SmtpSink sink;
  World world({server(sink)});
  sink.stop();
  {
    const auto mailer = world.start();
    for (std::uint64_t i = 1; i <= 3; ++i) mailer->submit(alert(i, {"a@x.org", "b@x.org"}));
    mailer->stop();
    CHECK(world.heard.taken() == std::vector<std::uint64_t>{1, 2, 3});  // what was submitted is safe after stop()
  }
  sink.restart();
  const auto mailer = world.start();
  mailer->submit(alert(4));
  CHECK(test::eventually([&] { return sink.count() == 7; }));
  CHECK(received(sink) == std::vector<int>{1, 1, 2, 2, 3, 3, 4});
}

TEST_CASE("The next server is used where the first is dead, refuses connections or never greets") {
  test::SmtpSink bad, good;
  World world({server(bad), server(good)});
  world.settings.timeout = Duration{300};
  SECTION("dead") { bad.stop(); }
  SECTION("refuses") { bad.mode("refuse"); }
  SECTION("never greets") { bad.mode("silent"); }
  SECTION("drops the text") { bad.mode("drop data"); }
  SECTION("never answers the text") { bad.mode("hang data"); }
  SECTION("refuses for now") { bad.mode("rcpt 451 *"); }
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 3; ++i) mailer->submit(alert(i));
  CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 3; }));
  CHECK(received(good) == std::vector<int>{1, 2, 3});
  CHECK(bad.count() == 0);
}

TEST_CASE("The first server is used again once it works") {
  test::SmtpSink first, second;
  World world({server(first), server(second)});
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
  World world({server(sink)});
  world.settings.timeout = minutes{10};
  const auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(test::eventually([&] { return contains(sink.commands(), "(silent)"); }));
  mailer->submit(alert(2));
  CHECK(test::eventually([&] { return world.heard.taken() == std::vector<std::uint64_t>{1, 2}; }));
  mailer->stop();  // and it can be stopped: this test would last ten minutes
  CHECK(mailer->waiting() == 2);
}

TEST_CASE("The mailer can be stopped while it sends; nothing is lost") {
  test::SmtpSink sink;
  sink.mode("hang data");
  World world({server(sink)});
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
  CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 2; }));
  CHECK(received(sink) == std::vector<int>{1, 2});
}

TEST_CASE("A server that never says goodbye holds nothing up and gets no mail twice") {
  test::SmtpSink sink;
  sink.mode("hang quit");
  World world({server(sink)});
  world.settings.timeout = minutes{10};
  {
    const auto mailer = world.start();
    mailer->submit(alert(1));
    CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 1; }));
    mailer->submit(alert(2));
    CHECK(test::eventually([&] { return sink.count() == 2; }));
    mailer->stop();
    CHECK(world.heard.count(Kind::Sent) == 2);
  }
  const auto mailer = world.start();
  mailer->submit(alert(3));
  CHECK(test::eventually([&] { return sink.count() == 3; }));
  CHECK(received(sink) == std::vector<int>{1, 2, 3});
}

TEST_CASE("A mail that is refused for good is dropped and told, the others go") {
  test::SmtpSink sink;
  World world({server(sink)});
  sink.mode("rcpt 550 gone@x.org");
  const auto mailer = world.start();
  mailer->submit(alert(1, {"gone@x.org", "here@x.org"}));
  mailer->submit(alert(2));
  CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 2; }));
  CHECK(world.heard.count(Kind::Dropped) == 1);
  CHECK(contains(world.heard.everything(),
                 "mail to gone@x.org refused by 127.0.0.1:" + std::to_string(sink.port()) + ": 550 recipient refused"));
  CHECK(mailer->waiting() == 0);
  sink.mode("data 554");
  mailer->submit(alert(3));
  CHECK(test::eventually([&] { return world.heard.count(Kind::Dropped) == 2; }));
  CHECK(contains(world.heard.everything(), "554 text refused"));
}

TEST_CASE("A mail that is refused for now is tried again, holds back only its person's mails and keeps their order") {
  test::SmtpSink sink;
  World world({server(sink)});
  // The rest is long enough that the others' mails do not wait for it by chance.
  world.options.first_rest = Duration{200};
  sink.mode("rcpt 451 full@x.org");
  const auto mailer = world.start();
  mailer->submit(alert(1, {"full@x.org"}));
  mailer->submit(alert(2, {"full@x.org"}));
  mailer->submit(alert(3, {"other@x.org"}));
  CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 1; }));
  CHECK(received(sink) == std::vector<int>{3});
  CHECK(mailer->waiting() == 2);
  CHECK(test::eventually([&] { return occurrences(sink.commands(), "RCPT TO:<full@x.org>") >= 3; }));
  sink.mode("");
  CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 3; }));
  CHECK(received(sink) == std::vector<int>{3, 1, 2});
  CHECK(world.heard.count(Kind::Dropped) == 0);
}

TEST_CASE("Every refusal for now, of sender, recipient or text, is tried again") {
  test::SmtpSink sink;
  World world({server(sink)});
  const std::string mode = GENERATE(as<std::string>{}, "from 451", "rcpt 452 *", "data 451", "from 530", "refuse");
  CAPTURE(mode);
  sink.mode(mode);
  const auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(test::eventually([&] { return world.heard.count(Kind::Failed) == 1; }));
  sink.mode("");
  CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 1; }));
  CHECK(world.heard.count(Kind::Dropped) == 0);
  CHECK(received(sink) == std::vector<int>{1});
}

TEST_CASE("A connection that the server closes between two mails is no fault") {
  test::SmtpSink sink;
  sink.stop();
  World world({server(sink)});
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 6; ++i) mailer->submit(alert(i));
  CHECK(test::eventually([&] { return world.heard.taken().size() == 6; }));
  sink.mode("drop after 2");
  sink.restart();
  CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 6; }));
  CHECK(received(sink) == std::vector<int>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("The same alert is mailed once, now and after a restart") {
  test::SmtpSink sink;
  World world({server(sink)});
  {
    const auto mailer = world.start();
    mailer->submit(alert(1));
    mailer->submit(alert(1));
    CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 1 && world.heard.taken().size() == 2; }));
    mailer->submit(alert(1));
    CHECK(test::eventually([&] { return world.heard.taken().size() == 3; }));
  }
  const auto mailer = world.start();
  mailer->submit(alert(1));
  mailer->submit(alert(2));
  CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 2; }));
  CHECK(received(sink) == std::vector<int>{1, 2});
}

TEST_CASE("Without a mail server alerts are taken, and that is said once") {
  World world({});
  const auto mailer = world.start();
  mailer->submit(alert(1));
  mailer->submit(alert(2));
  CHECK(test::eventually([&] { return world.heard.taken().size() == 2; }));
  CHECK(world.heard.count(Kind::Dropped) == 1);
  CHECK(mailer->waiting() == 0);
}

TEST_CASE("New settings are used for what waits") {
  test::SmtpSink old_sink, new_sink;
  old_sink.stop();
  World world({server(old_sink)});
  world.options.first_rest = world.options.last_rest = minutes{10};
  const auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(test::eventually([&] { return world.heard.count(Kind::Failed) == 1; }));
  engine::MailSettings settings;
  settings.servers = {server(new_sink)};
  settings.hostname = "mx.example.org";
  mailer->configure(settings);
  CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 1; }));
  CHECK(contains(new_sink.envelopes()[0], "\"ehlo\": \"mx.example.org\""));
}

TEST_CASE("A full queue drops new mails, says so and keeps the old ones") {
  test::SmtpSink sink;
  sink.stop();
  World world({server(sink)});
  world.options.limits.messages = 3;
  const auto mailer = world.start();
  for (std::uint64_t i = 1; i <= 5; ++i) mailer->submit(alert(i));
  CHECK(test::eventually([&] { return world.heard.taken().size() == 5; }));
  CHECK(world.heard.count(Kind::Dropped) == 2);
  CHECK(occurrences(world.heard.everything(), "full with 3 mails") == 1);
  sink.restart();
  CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 3; }));
  CHECK(received(sink) == std::vector<int>{1, 2, 3});
}

TEST_CASE("Where the disk cannot be written, mails are sent from memory and not said to be safe before") {
  test::SmtpSink sink;
  World world({server(sink)});
  test::write_file(world.options.directory, "in the way");
  SECTION("the server works") {
    const auto mailer = world.start();
    mailer->submit(alert(1, {"a@x.org", "b@x.org"}));
    CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 2; }));
    CHECK(test::eventually([&] { return world.heard.taken().size() == 1; }));
  }
  SECTION("the disk works again first") {
    sink.stop();
    const auto mailer = world.start();
    mailer->submit(alert(1));
    CHECK(test::eventually([&] { return mailer->waiting() == 1; }));
    CHECK(world.heard.taken().empty());
    std::filesystem::remove(world.options.directory);
    CHECK(test::eventually([&] { return world.heard.taken().size() == 1; }));
    sink.restart();
    CHECK(test::eventually([&] { return world.heard.count(Kind::Sent) == 1; }));
  }
  CHECK(occurrences(world.heard.everything(), "are kept in memory") == 1);
}

TEST_CASE("Killed at any point while it sends, the mailer loses nothing and keeps the order") {
  test::SmtpSink sink;
  World world({server(sink)});
  std::mt19937 random(7);  // NOLINT: the same every time
  const std::uint64_t total = 60;
  constexpr std::uint64_t kHanded = 4;
  int kills = 0;
  std::uint64_t taken = 0;
  while (taken < total && kills < 200) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      MailerCallbacks callbacks{[&](const engine::Event& event) {
                                  if (const auto* it = std::get_if<engine::event::AlertTaken>(&event)) {
                                    const std::uint64_t word = it->alert.number();
                                    if (write(ends[1], &word, sizeof word) < 0) _exit(1);
                                  }
                                },
                                [](engine::Severity, const std::string&) {}};
      Mailer mailer(world.options, world.settings, callbacks);
      // As the engine: what was not said to be taken is handed over again. A few at a time, so that however quick the
      // machine is, many mailers are killed.
      for (std::uint64_t i = taken + 1; i <= std::min(taken + kHanded, total); ++i) mailer.submit(alert(i));
      for (;;) pause();
    }
    close(ends[1]);
    std::uint64_t word = 0;
    const std::uint64_t until = random() % (kHanded + 1);
    for (std::uint64_t i = 0; i < until && taken < total && read(ends[0], &word, sizeof word) == sizeof word; ++i)
      taken = std::max(taken, word);
    usleep(static_cast<useconds_t>(random() % 8'000));
    kill(child, SIGKILL);
    ++kills;
    while (read(ends[0], &word, sizeof word) == sizeof word) taken = std::max(taken, word);
    close(ends[0]);
    waitpid(child, nullptr, 0);
  }
  const auto mailer = world.start();
  for (std::uint64_t i = taken + 1; i <= total; ++i) mailer->submit(alert(i));
  mailer->submit(alert(total + 1));
  CHECK(test::eventually([&] { return contains(world.heard.everything(), "service-61"); }));
  const std::vector<int> all = received(sink);
  // A mail that the server took just when the mailer was killed comes twice, in a row and with the same Message-Id.
  std::vector<int> once = all;
  once.erase(std::unique(once.begin(), once.end()), once.end());
  std::vector<int> wanted;
  for (int i = 1; i <= static_cast<int>(total) + 1; ++i) wanted.push_back(i);
  CHECK(once == wanted);
  CHECK(static_cast<int>(all.size() - once.size()) <= kills);
  CHECK(kills > 5);
}
