// SPDX-License-Identifier: MIT
// Alerts to contacts, with real files and servers of the test's own.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "delivery/mailer_world.hpp"
#include "delivery/outbox.hpp"
#include "engine/events/event.hpp"
#include "runtime/clock.hpp"
#include "support/processes.hpp"
#include "support/servers.hpp"

using namespace healer;
using namespace healer::delivery;
using namespace healer::test;
using engine::event::MailOutcome;
using Kinds = MailOutcome::Kind;

namespace {

/// A contact's server: answers each request by a function of its body, and keeps what it was sent.
class Wall {
 public:
  using AnswerTo = std::function<std::string(const std::string& body)>;
  explicit Wall(AnswerTo to) : listener_([this, to = std::move(to)](Peer& peer) { serve(peer, to); }) {}

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(listener_.port()) + "/"; }
  [[nodiscard]] std::vector<std::string> bodies() {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }
  [[nodiscard]] std::vector<std::string> keys() {
    const std::lock_guard lock(mutex_);
    return keys_;
  }

 private:
  void serve(Peer& peer, const AnswerTo& to) {
    std::string text;
    while (text.find("\r\n\r\n") == std::string::npos) {
      const std::string more = peer.receive();
      if (more.empty()) return;
      text += more;
    }
    const std::size_t end = text.find("\r\n\r\n");
    const std::size_t length = std::stoul(text.substr(text.find("Content-Length: ") + 16));
    while (text.size() < end + 4 + length) text += peer.receive();
    const std::string body = text.substr(end + 4);
    {
      const std::lock_guard lock(mutex_);
      bodies_.push_back(body);
      keys_.push_back(text.substr(text.find("Idempotency-Key: ") + 17, 32));
    }
    const std::string answer = to(body);
    if (answer == "silent") return peer.be_silent();
    if (!answer.empty()) peer.say(answer);
  }

  std::mutex mutex_;
  std::vector<std::string> bodies_, keys_;
  Listener listener_;
};

std::string status(int code, const std::string& headers = {}, const std::string& body = {}) {
  return "HTTP/1.1 " + std::to_string(code) +
         " x\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
}

struct OutboxWorld {
  runtime::Loop loop;
  TemporaryDirectory directory;
  CourierOptions options{.directory = (directory.path() / "contacts").string(),
                         .rhythm = Rhythm{.first = Duration{20}, .longest = Duration{50}},
                         .disk_rest = Duration{30}};
  std::optional<MailerOptions> mail;
  engine::Settings settings;
  std::vector<std::uint64_t> taken;
  std::vector<MailOutcome> outcomes;
  std::string reported;
  std::unique_ptr<Outbox> outbox;

  void contact(const std::string& name, const std::string& url) {
    settings.contacts.push_back(
        {.name = name, .kind = "url", .place = url, .method = "", .headers = {}, .body = R"({"n": "${SERVICE}"})"});
  }
  void start() {
    outbox.reset();
    outbox = std::make_unique<Outbox>(
        loop, OutboxOptions{options, mail},
        OutboxCallbacks{[this](const engine::Event& event) {
                          if (const auto* one = std::get_if<engine::event::AlertTaken>(&event))
                            taken.push_back(one->alert.number());
                          if (const auto* one = std::get_if<MailOutcome>(&event)) outcomes.push_back(*one);
                        },
                        [this](engine::Severity, const std::string& text) { reported += text + "\n"; }});
    outbox->configure(settings, "vm");
  }
  /// `contacts`: names of contacts, or addresses.
  void submit(std::uint64_t number, const std::vector<std::string>& contacts) {
    engine::effect::Cause cause{.service = "s" + std::to_string(number), .event_text = "Status failed"};
    cause.when = WallTime{milliseconds{1'795'000'000'000}};
    engine::effect::Alert alert{
        engine::AlertId{number}, {}, std::make_shared<const engine::effect::Cause>(std::move(cause)), "incident"};
    for (const std::string& name : contacts)
      alert.recipients.push_back({.address = name, .format = {}, .contact = name.find('@') == std::string::npos});
    outbox->submit(alert);
  }
  /// The file of a letter, as it is called while it waits, or with another suffix.
  std::string file(const std::string& contact, std::uint64_t number, const std::string& suffix = ".letter") const {
    return options.directory + "/" + contact + "/" + file_name(LetterKey{number, 1'795'000'000'000}) + suffix;
  }
  bool until_idle() {
    auto idle = std::make_shared<bool>(false);
    outbox->when_idle([idle] { *idle = true; });
    return until([&] { return *idle; });
  }
  /// Runs the loop until that is so.
  bool until(const std::function<bool()>& met) { return run_until(loop, met); }
  std::size_t count(Kinds kind) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(outcomes, [kind](const MailOutcome& one) { return one.kind == kind; }));
  }
  bool is_there(const std::string& path) const { return ::access(path.c_str(), F_OK) == 0; }
  static bool run_until(runtime::Loop& loop, const std::function<bool()>& met) {
    const Duration limit = runtime::mono_now() + seconds{60};
    runtime::Loop::Timer timer;
    timer = loop.timer([&] {
      if (met() || runtime::mono_now() > limit) return loop.stop();
      timer.set_deadline(runtime::mono_now() + Duration{2});
    });
    timer.set_deadline(runtime::mono_now());
    loop.run();
    return met();
  }
};

}  // namespace

TEST_CASE("alerts go to their contacts in order, each once, and are taken when they are on disk", "[outbox]") {
  Wall wall([](const std::string&) { return status(204); });
  OutboxWorld world;
  world.contact("Team", wall.url());
  world.start();
  for (std::uint64_t number = 1; number <= 5; ++number) world.submit(number, {"team", "TEAM"});
  CHECK(world.until([&] { return world.count(Kinds::Sent) == 5 && world.taken.size() == 5; }));
  CHECK(wall.bodies() == std::vector<std::string>{R"({"n": "s1"})", R"({"n": "s2"})", R"({"n": "s3"})",
                                                  R"({"n": "s4"})", R"({"n": "s5"})"});
  CHECK(world.outcomes[0].text == "alert to contact Team sent: Status failed s1");
  CHECK(world.outbox->contacts().empty());
  world.submit(3, {"team"});  // by an engine that was not told
  CHECK(world.until([&] { return world.taken.size() == 6; }));
  CHECK(wall.bodies().size() == 5);
  CHECK(world.until_idle());  // a crash before that may send again
  world.start();
  world.submit(3, {"team"});
  CHECK(world.until([&] { return world.taken.size() == 7; }));
  CHECK(wall.bodies().size() == 5);
}

TEST_CASE("what a server does not take now is tried again with the same key, and holds up no other", "[outbox]") {
  int tries = 0;
  Wall wall([&](const std::string&) { return ++tries <= 3 ? tries == 2 ? "" : status(503) : status(200); });
  Wall dead([](const std::string&) { return "silent"; });
  Wall other([](const std::string&) { return status(200, {}, "<html>what?"); });
  OutboxWorld world;
  world.contact("team", wall.url());
  world.contact("dead", dead.url());
  world.contact("other", other.url());
  world.start();
  world.submit(1, {"dead", "team", "other"});
  world.submit(2, {"dead", "team", "other"});
  CHECK(world.until([&] { return world.count(Kinds::Sent) == 4; }));
  CHECK(world.count(Kinds::Failed) == 1);  // told once
  CHECK(other.bodies().size() == 2);
  REQUIRE(wall.keys().size() == 5);
  for (int i = 0; i < 4; ++i) CHECK(wall.keys()[static_cast<std::size_t>(i)] == wall.keys()[0]);
  CHECK(wall.keys()[4] != wall.keys()[0]);
  const auto figures = world.outbox->contacts();
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].contact == "dead");
  CHECK(figures[0].waiting == 2);
}

TEST_CASE("a letter that has vanished is told, and holds up none behind it", "[outbox]") {
  std::atomic<bool> is_up = false;
  Wall wall([&](const std::string&) { return status(is_up ? 200 : 503); });
  OutboxWorld world;
  world.contact("team", wall.url());
  world.start();
  world.submit(1, {"team"});
  world.submit(2, {"team"});
  CHECK(world.until([&] { return world.taken.size() == 2 && world.count(Kinds::Failed) == 1; }));
  REQUIRE(::unlink(world.file("team", 1).c_str()) == 0);
  CHECK(world.until([&] { return world.count(Kinds::Dropped) == 1; }));
  is_up = true;
  CHECK(world.until([&] { return world.count(Kinds::Sent) == 1; }));
  CHECK(world.outbox->contacts().empty());
  CHECK(wall.bodies().back() == R"({"n": "s2"})");
}

TEST_CASE("a server is left alone as long as it says", "[outbox]") {
  Wall wall([](const std::string&) { return status(429, "Retry-After: 3600\r\n"); });
  OutboxWorld world;
  world.contact("team", wall.url());
  world.start();
  world.submit(1, {"team"});
  CHECK(world.until([&] { return world.count(Kinds::Failed) == 1; }));
  const auto figures = world.outbox->contacts();
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].error == "it answered 429");
  REQUIRE(figures[0].next);
  CHECK(*figures[0].next - *figures[0].error_since > minutes{59});
  bool idle = false;
  world.outbox->when_idle([&] { idle = true; });
  CHECK(world.until([&] { return idle; }));
}

TEST_CASE("what is refused for good, or waits too long, is dropped and told, and blocks nothing", "[outbox]") {
  Wall wall([](const std::string& body) { return body.find("s1") != std::string::npos ? status(404) : status(200); });
  Wall moved([](const std::string&) { return status(302, "Location: http://127.0.0.1:1/\r\n"); });
  OutboxWorld world;
  world.contact("team", wall.url());
  world.contact("moved", moved.url());
  world.contact("late", "http://127.0.0.1:1/");
  world.options.rhythm->deadline = Duration{400};
  world.start();
  world.submit(1, {"team", "moved", "late"});
  world.submit(2, {"team", "moved"});
  CHECK(world.until([&] { return world.count(Kinds::Dropped) == 4 && world.count(Kinds::Sent) == 1; }));
  const auto figures = world.outbox->contacts();  // "team" has taken the last one
  REQUIRE(figures.size() == 2);
  CHECK((figures[1].contact == "moved" && figures[1].waiting == 0 && !figures[1].since));
  CHECK(figures[1].error == "it answered 302, a redirect, which is not followed");
  std::string texts;
  std::vector<std::string> notified;
  for (const MailOutcome& one : world.outcomes) {
    texts += one.text + "\n";
    if (one.tells_others) notified.push_back(one.contact);
  }
  CHECK(texts.find("alert to contact team dropped, it answered 404: Status failed s1") != std::string::npos);
  CHECK(texts.find("alert to contact moved dropped, it answered 302, a redirect, which is not followed") !=
        std::string::npos);
  CHECK(texts.find("alert to contact late dropped, not delivered within 400 ms; the last try: could not connect") !=
        std::string::npos);
  // Each once an hour.
  CHECK(std::multiset<std::string>(notified.begin(), notified.end()) ==
        std::multiset<std::string>{"late", "moved", "team"});
  CHECK(moved.bodies().size() == 2);
}

TEST_CASE("what waits goes on waiting over a restart, and when its contact has gone from the rules", "[outbox]") {
  OutboxWorld world;
  world.contact("team", "http://127.0.0.1:1/");
  world.start();
  world.submit(1, {"team"});
  world.submit(2, {"team"});
  CHECK(world.until([&] { return world.taken.size() == 2; }));
  world.settings.contacts.clear();
  world.start();
  CHECK(world.until([&] { return !world.outbox->contacts().empty() && !world.outbox->contacts()[0].error.empty(); }));
  CHECK(world.outbox->contacts()[0].waiting == 2);
  CHECK(world.outbox->contacts()[0].error == "the rules have no contact of that name any more");
  Wall wall([](const std::string&) { return status(200); });
  world.contact("TEAM", wall.url());
  world.outbox->configure(world.settings, "vm");
  CHECK(world.until([&] { return wall.bodies().size() == 2 && world.count(Kinds::Sent) == 2; }));
  CHECK(world.outbox->contacts().empty());
}

TEST_CASE("the oldest of too many are dropped", "[outbox]") {
  OutboxWorld world;
  world.options.limits = delivery::Limits{.letters = 3};
  world.contact("team", "http://127.0.0.1:1/");
  world.start();
  for (std::uint64_t number = 1; number <= 6; ++number) world.submit(number, {"team"});
  CHECK(world.until([&] { return world.count(Kinds::Dropped) == 3 && world.taken.size() == 6; }));
  CHECK(world.outbox->contacts()[0].waiting == 3);
}

TEST_CASE("alerts wait in memory for a disk that cannot be written, and are not taken meanwhile", "[outbox]") {
  Wall wall([](const std::string& body) { return body.find("s1") != std::string::npos ? status(200) : status(503); });
  OutboxWorld world;
  world.contact("team", wall.url());
  ::symlink("/tmp", world.options.directory.c_str());
  world.start();
  world.submit(1, {"team"});
  CHECK(world.until([&] { return world.count(Kinds::Sent) == 1 && world.taken.size() == 1; }));  // it is over
  world.submit(2, {"team"});
  CHECK(world.until([&] { return world.count(Kinds::Failed) == 1; }));
  CHECK(world.taken.size() == 1);
  ::unlink(world.options.directory.c_str());
  CHECK(world.until([&] { return world.taken.size() == 2; }));
  CHECK(world.reported.find("alerts of contacts are written again") != std::string::npos);
}

TEST_CASE("a secret is read when it is needed, and one that cannot be read is waited for", "[outbox]") {
  Wall wall([](const std::string&) { return status(200); });
  OutboxWorld world;
  const std::string folder = (world.directory.path() / "secrets").string();
  ::mkdir(folder.c_str(), 0700);
  world.settings.secrets = folder;
  world.contact("team", "${secret:hook}");
  world.start();
  world.submit(1, {"team"});
  CHECK(world.until([&] { return world.count(Kinds::Failed) == 1 && world.taken.size() == 1; }));
  CHECK(world.outcomes[0].text.find("secret hook") != std::string::npos);
  {
    const auto before = ::umask(077);
    std::ofstream(folder + "/hook") << wall.url() << "\n";
    ::umask(before);
  }
  CHECK(world.until([&] { return world.count(Kinds::Sent) == 1; }));
  CHECK(wall.bodies() == std::vector<std::string>{R"({"n": "s1"})"});
}

TEST_CASE("what was sent while its folder failed is not sent again, though it was written", "[outbox]") {
  std::atomic<bool> open = false;
  Wall wall([&](const std::string&) { return status(open ? 200 : 503); });
  OutboxWorld world;
  world.options.disk_rest = hours{1};
  world.contact("team", wall.url());
  world.start();
  world.submit(9, {"team"});
  CHECK(world.until([&] { return world.taken.size() == 1; }));
  ::mkdir(world.file("team", 3, ".new").c_str(), 0700);  // the third cannot be written, and fails the second with it
  for (std::uint64_t number = 1; number <= 3; ++number) world.submit(number, {"team"});
  CHECK(world.until([&] { return world.reported.find("are kept in memory") != std::string::npos; }));
  CHECK(world.is_there(world.file("team", 2)));
  open = true;
  CHECK(world.until([&] { return world.count(Kinds::Sent) == 4; }));
  CHECK(world.until_idle());
  CHECK(world.is_there(world.file("team", 2, ".sent")));
  const std::size_t tries = wall.bodies().size();
  world.start();
  CHECK(world.until_idle());
  CHECK(world.outbox->contacts().empty());
  CHECK(wall.bodies().size() == tries);
}

TEST_CASE("a contact whose folder cannot be written keeps no other off the disk", "[outbox]") {
  OutboxWorld world;
  world.contact("bad", "http://127.0.0.1:1/");
  world.contact("team", "http://127.0.0.1:1/");
  ::mkdir(world.options.directory.c_str(), 0700);
  const std::string bad = world.options.directory + "/bad";
  std::ofstream(bad) << "no folder";
  world.start();
  world.submit(1, {"bad"});
  world.submit(2, {"team"});
  world.submit(3, {"bad", "team"});
  world.submit(4, {"team"});
  CHECK(world.until([&] { return world.taken.size() == 2; }));
  CHECK(world.taken == std::vector<std::uint64_t>{2, 4});
  CHECK(world.reported.find("are kept in memory: cannot open " + bad) != std::string::npos);
  ::unlink(bad.c_str());
  CHECK(world.until([&] { return world.taken.size() == 4; }));
  CHECK(world.until([&] { return world.reported.find("are written again") != std::string::npos; }));
}

TEST_CASE("a clock that is set makes nothing late; over a restart only the clock tells", "[outbox]") {
  Wall wall([](const std::string&) { return status(503); });
  OutboxWorld world;
  WallTime now = WallTime{milliseconds{1'795'000'000'000}};
  world.options.wall = [&now] { return now; };
  world.contact("team", wall.url());
  world.start();
  world.submit(1, {"team"});
  CHECK(world.until([&] { return world.taken.size() == 1 && !wall.bodies().empty(); }));
  for (const Duration step : {Duration{hours{48}}, Duration{hours{-96}}}) {
    now += step;
    const std::size_t tries = wall.bodies().size();
    CHECK(world.until([&] { return wall.bodies().size() >= tries + 3; }));
    CHECK(world.count(Kinds::Dropped) == 0);
  }
  const std::size_t tries = wall.bodies().size();
  world.start();  // it waits since a time to come
  CHECK(world.until([&] { return wall.bodies().size() > tries; }));
  now += hours{96};
  world.start();
  CHECK(world.until([&] { return world.count(Kinds::Dropped) == 1; }));
}

TEST_CASE("a reload leaves a server alone as long as it has said, unless its contact was changed", "[outbox]") {
  std::atomic<bool> open = false;
  Wall wall([&](const std::string&) { return open ? status(200) : status(429, "Retry-After: 3600\r\n"); });
  OutboxWorld world;
  world.contact("team", wall.url());
  world.start();
  world.submit(1, {"team"});
  CHECK(world.until([&] { return world.count(Kinds::Failed) == 1 && world.taken.size() == 1; }));
  world.contact("other", "http://127.0.0.1:1/");
  world.outbox->configure(world.settings, "vm");
  REQUIRE(world.outbox->contacts().size() == 1);
  CHECK(world.outbox->contacts()[0].next);
  CHECK(world.until_idle());
  CHECK(wall.bodies().size() == 1);
  world.settings.contacts[0].timeout = seconds{9};
  world.outbox->configure(world.settings, "vm");
  CHECK(world.until([&] { return wall.bodies().size() == 2 && world.outbox->contacts()[0].next; }));
  open = true;
  world.settings.secrets = "/elsewhere";
  world.outbox->configure(world.settings, "vm");
  CHECK(world.until([&] { return world.count(Kinds::Sent) == 1; }));
}

TEST_CASE("a server that wants to be left alone for long is tried after an hour, and others are told once",
          "[outbox]") {
  int tries = 0;
  Wall wall([&](const std::string&) { return ++tries == 1 ? status(503) : status(429, "Retry-After: 172800\r\n"); });
  OutboxWorld world;
  world.contact("team", wall.url());
  world.start();
  world.submit(1, {"team"});
  CHECK(world.until([&] { return world.count(Kinds::Failed) == 2; }));
  CHECK_FALSE(world.outcomes[0].tells_others);
  CHECK(world.outcomes[1].tells_others);
  CHECK(world.outcomes[1].text ==
        "alert to contact team not sent yet, trying again in 1 h, not in 2 d as it asks: it answered 429");
  const auto figures = world.outbox->contacts();
  REQUIRE(figures.size() == 1);
  REQUIRE(figures[0].next);
  CHECK(*figures[0].next - *figures[0].error_since > minutes{59});
  CHECK(*figures[0].next - *figures[0].error_since < minutes{61});
}

TEST_CASE("secrets that hang hold up neither disks nor contacts without any", "[outbox]") {
  Wall wall([](const std::string&) { return status(200); });
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  OutboxWorld world;
  world.options.read_secret = [ended](const std::string&, const std::string&) {
    ended.wait();
    return Result<std::string>(std::string("never used: it is too late"));
  };
  world.options.rhythm = Rhythm{.first = hours{1}, .longest = hours{1}};
  std::vector<std::string> names{"team"};
  for (int i = 0; i < 6; ++i) {  // more than there are threads
    names.push_back("hangs" + std::to_string(i));
    world.contact(names.back(), "${secret:hook}");
    world.settings.contacts.back().timeout = Duration{50};
  }
  world.contact("team", wall.url());
  world.start();
  for (std::uint64_t number = 1; number <= 3; ++number) world.submit(number, names);
  CHECK(world.until(
      [&] { return world.count(Kinds::Failed) == 6 && world.count(Kinds::Sent) == 3 && world.taken.size() == 3; }));
  CHECK(world.outbox->contacts()[0].error == "the disk of its alerts or secrets does not answer");
  CHECK(wall.bodies().size() == 3);
  end.set_value();
  world.submit(4, {"team"});
  CHECK(world.until([&] { return world.count(Kinds::Sent) == 4; }));
  CHECK(world.count(Kinds::Failed) == 6);
}

TEST_CASE("what was sent before it was known what is on disk is not sent again", "[outbox]") {
  std::atomic<bool> open = false;
  Wall wall([&](const std::string&) { return status(open ? 200 : 503); });
  OutboxWorld world;
  world.contact("team", wall.url());
  world.start();
  world.submit(1, {"team"});
  CHECK(world.until([&] { return world.taken.size() == 1 && world.count(Kinds::Failed) == 1; }));
  world.outbox.reset();
  const std::string aside = (world.directory.path() / "aside").string();
  const auto hide = [&] {
    REQUIRE(::rename(world.options.directory.c_str(), aside.c_str()) == 0);
    ::symlink("/tmp", world.options.directory.c_str());
  };
  const auto show = [&] {
    ::unlink(world.options.directory.c_str());
    REQUIRE(::rename(aside.c_str(), world.options.directory.c_str()) == 0);
  };
  hide();
  open = true;
  world.start();
  world.submit(1, {"team"});  // by an engine that was not told
  CHECK(world.until([&] { return world.count(Kinds::Sent) == 1; }));
  const std::size_t tries = wall.bodies().size();
  show();
  CHECK(world.until([&] { return !world.is_there(world.file("team", 1)); }));
  CHECK(world.until_idle());
  CHECK(wall.bodies().size() == tries);
  CHECK(world.is_there(world.file("team", 1, ".sent")));
  // The same, where it was sent by the daemon before.
  world.outbox.reset();
  world.taken.clear();
  hide();
  open = false;
  world.start();
  world.submit(1, {"team"});
  CHECK(world.until([&] { return wall.bodies().size() > tries; }));
  CHECK(world.taken.empty());
  show();
  CHECK(world.until([&] { return world.taken.size() == 1; }));
  CHECK(world.until([&] { return world.outbox->contacts().empty(); }));
}

TEST_CASE("an end waits for the note that what was sent is over", "[outbox]") {
  Wall wall([](const std::string&) { return status(200); });
  OutboxWorld world;
  world.contact("team", wall.url());
  world.start();
  world.submit(1, {"team"});
  CHECK(world.until_idle());
  CHECK(wall.bodies().size() == 1);
  CHECK(world.is_there(world.file("team", 1, ".sent")));
}

TEST_CASE("an alert by mail and to a contact is taken when both have it on their disks", "[outbox]") {
  Wall wall([](const std::string&) { return status(503); });
  SmtpSink sink;
  sink.mode("refuse");
  OutboxWorld world;
  world.contact("team", wall.url());
  world.settings.mail.servers = {server(sink)};
  world.mail = MailerOptions{.directory = (world.directory.path() / "mail").string(),
                             .host = "",
                             .version = "1",
                             .civil = utc_civil,
                             .rhythm = quick(),
                             .disk_rest = Duration{30}};
  const std::string sick = GENERATE(as<std::string>{}, "contacts", "mail");
  const std::string folder = (world.directory.path() / sick).string();
  ::symlink("/tmp", folder.c_str());
  world.start();
  world.submit(1, {"team", "root@localhost"});
  world.submit(2, {"root@localhost"});
  world.submit(3, {"team"});
  world.submit(4, {});
  const std::vector<std::uint64_t> others{sick == "contacts" ? 2U : 3U, 4U};
  CHECK(world.until([&] { return world.taken.size() >= 2; }));
  // Both have been tried by now, and the sick disk was looked at.
  CHECK(world.until([&] { return world.count(Kinds::Failed) >= 2 && !world.reported.empty(); }));
  std::ranges::sort(world.taken);
  CHECK(world.taken == others);
  ::unlink(folder.c_str());
  CHECK(world.until([&] { return world.taken.size() == 4; }));
  CHECK(world.outbox->mail().waiting == 2);
  CHECK(world.outbox->contacts().at(0).waiting == 2);
  sink.mode("");
  CHECK(world.until([&] { return world.outbox->mail().waiting == 0; }));
  world.outbox->stop();
  CHECK(sink.count() == 2);
}

TEST_CASE("the next alert goes when the disk knows that the last was sent: a crash doubles one alone", "[outbox]") {
  OutboxWorld world;
  std::atomic<std::uint64_t> number{0};
  std::atomic<int> early{0};
  Wall wall([&](const std::string&) {
    if (number > 0 && !world.is_there(world.file("team", number, ".sent"))) ++early;
    ++number;
    return status(200);
  });
  world.contact("team", wall.url());
  world.start();
  for (std::uint64_t one = 1; one <= 30; ++one) world.submit(one, {"team"});
  CHECK(world.until([&] { return world.count(Kinds::Sent) == 30; }));
  CHECK(early == 0);
}

TEST_CASE("where nothing is mailed, what is for addresses is taken and forgotten", "[outbox]") {
  OutboxWorld world;
  world.start();
  world.submit(1, {"root@localhost"});
  CHECK(world.until([&] { return world.taken == std::vector<std::uint64_t>{1}; }));
}
