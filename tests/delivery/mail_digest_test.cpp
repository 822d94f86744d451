// SPDX-License-Identifier: MIT
#include "delivery/contacts/mail_digest.hpp"

#include <spdlog/fmt/fmt.h>
#include <catch2/catch.hpp>

#include "delivery/contacts/mail_text.hpp"

namespace mail_digest_test {

using namespace healer;
using namespace healer::delivery;
using State = engine::effect::Cause::State;

namespace {

const MailWriter kWorld{"vm.example.org", "1.2", utc_civil};
const WallTime kStart{seconds{1'795'234'764}};  // 2026-11-21 04:19:24

/// The mail of one alert to one person.
Mail mail(std::uint64_t number, const std::string& service, State state, const std::string& event,
          engine::EventKind kind = engine::EventKind::Status, engine::MailFormat format = {},
          const std::string& description = "what it said") {
  auto cause = std::make_shared<engine::effect::Cause>();
  cause->service = service;
  cause->event = kind;
  cause->state = state;
  cause->event_text = event;
  cause->action_text = "alert";
  cause->description = description;
  cause->when = kStart + seconds{number};
  engine::Recipient recipient{.address = "ops@example.org", .digest = true, .format = std::move(format)};
  return compose_mails({engine::AlertId{number}, {recipient}, cause}, {}, kWorld).front();
}

std::vector<Mail> three() {
  return {mail(1, "web", State::Failed, "Status failed"),
          mail(2, "cache", State::Succeeded, "Exists", engine::EventKind::NonExist),
          mail(3, "db", State::Failed, "Does not exist", engine::EventKind::NonExist)};
}

}  // namespace

TEST_CASE("A digest tells who failed in its subject, all in lines, and each in full") {
  const std::vector<Mail> mails = three();
  const Mail digest = compose_digest(mails, kWorld, kStart + minutes{1});
  CHECK(digest.to == "ops@example.org");
  CHECK(digest.from == "monit@vm.example.org");
  CHECK(digest.subject == "healer: 3 alerts on vm.example.org: web, db failed; cache recovered");
  CHECK(header_of(digest.text, "Subject") == digest.subject);
  CHECK(header_of(digest.text, "To") == "ops@example.org");
  CHECK(header_of(digest.text, "Date") == "Sat, 21 Nov 2026 04:20:24 +0000");
  CHECK(header_of(digest.text, "X-Mailer") == "healer 1.2");
  CHECK(header_of(digest.text, "Message-Id") != header_of(mails[0].text, "Message-Id"));
  CHECK(body_of(digest.text) ==
        "3 alerts on vm.example.org, from 2026-11-21 04:19:25 to 2026-11-21 04:19:27:\n"
        "\n"
        "  2026-11-21 04:19:25  web: Status failed\n"
        "  2026-11-21 04:19:26  cache: Exists\n"
        "  2026-11-21 04:19:27  db: Does not exist\n"
        "\n---- 1 of 3: monit alert --  Status failed web ----\n\n" +
            body_of(mails[0].text) + "\n---- 2 of 3: monit alert --  Exists cache ----\n\n" + body_of(mails[1].text) +
            "\n---- 3 of 3: monit alert --  Does not exist db ----\n\n" + body_of(mails[2].text));
  CHECK(digest.covers == std::vector<MailKey>{key_of(mails[0]), key_of(mails[1]), key_of(mails[2])});
  CHECK(digest.items.size() == 3);
  CHECK_FALSE(digest.digest);
  CHECK(key_of(digest) != key_of(mails[0]));
  CHECK(key_of(digest) > key_of(mails[0]));  // its turn is that of the first
  CHECK(key_of(digest) < key_of(mails[1]));
  CHECK(compose_digest(mails, kWorld, kStart + minutes{1}) == digest);
}

TEST_CASE("A digest names each service once, by what has happened to it last, and not too many") {
  const auto subject = [](const std::vector<Mail>& mails) {
    const std::string whole = compose_digest(mails, kWorld, kStart).subject;
    return whole.substr(whole.find(": ", 8) + 2);
  };
  CHECK(subject({mail(1, "web", State::Failed, "Status failed"), mail(2, "web", State::Succeeded, "Status succeeded"),
                 mail(3, "db", State::Failed, "Status failed"), mail(4, "db", State::Failed, "Timeout")}) ==
        "db failed; web recovered");
  CHECK(subject({mail(1, "healer", State::Changed, "Monit instance changed", engine::EventKind::Instance, {},
                      "rules reloaded: 1 added\nand more"),
                 mail(2, "log", State::Changed, "Content match", engine::EventKind::Content),
                 mail(3, "web", State::Succeeded, "Action done", engine::EventKind::Action),
                 mail(4, "db", State::Failed, "Execution failed", engine::EventKind::Exec)}) ==
        "db failed; log matched; web handled; healer: rules reloaded: 1 added");
  std::vector<Mail> many;
  for (std::uint64_t i = 1; i <= 7; ++i) many.push_back(mail(i, "s" + std::to_string(i), State::Failed, "Timeout"));
  CHECK(subject(many) == "s1, s2, s3, s4 and 3 more failed");
}

TEST_CASE("A digest is from whom the person's own format says, and has each alert as that says") {
  engine::MailFormat format;
  format.from =
      "\"Gr\xc3\xbc\xc3\x9f\x65 von $HOST, der Wacht \xc3\xbc\x62\x65r alles und jedes, bei Tag und Nacht\" "
      "<ops@$HOST>";
  format.reply_to = "duty@example.org";
  format.subject = "$SERVICE!";
  format.message = "$SERVICE: $DESCRIPTION\n";
  const std::string line(1500, 'x');  // too long for 8bit
  const std::vector<Mail> mails = {
      mail(1, "a", State::Failed, "Timeout", engine::EventKind::Timeout, format, line + " = 100% \xe2\x82\xac"),
      mail(2, "b", State::Failed, "Timeout", engine::EventKind::Timeout, format, "short")};
  REQUIRE(header_of(mails[0].text, "Content-Transfer-Encoding") == "quoted-printable");
  REQUIRE(header_of(mails[0].text, "From").find("\r\n ") != std::string::npos);
  CHECK(body_of(mails[0].text) == "a: " + line + " = 100% \xe2\x82\xac\n");
  const Mail digest = compose_digest(mails, kWorld, kStart);
  CHECK(digest.from == "ops@vm.example.org");
  CHECK(header_of(digest.text, "From") == header_of(mails[0].text, "From"));
  CHECK(header_of(digest.text, "Reply-To") == "duty@example.org");
  const std::string body = body_of(digest.text);
  CHECK(body.find("---- 1 of 2: a! ----\n\na: " + line + " = 100% \xe2\x82\xac\n") != std::string::npos);
  CHECK(body.find("---- 2 of 2: b! ----\n\nb: short\n") != std::string::npos);
}

TEST_CASE("A digest of very many alerts is bounded and says what is not in it") {
  std::vector<Mail> mails;
  std::size_t wanted = 0;
  std::string rest;
  SECTION("by their number") {
    for (std::uint64_t i = 1; i <= 700; ++i)
      mails.push_back(mail(i, "s" + std::to_string(i), State::Failed, "Timeout"));
    wanted = kMaxFull;
    rest = "\n---- 600 more alerts are not shown in full here: healerctl history has them ----\n";
  }
  SECTION("by their size") {
    for (std::uint64_t i = 1; i <= 700; ++i)
      mails.push_back(mail(i, "s" + std::to_string(i), State::Failed, "Timeout", engine::EventKind::Timeout, {},
                           std::string(i <= 10 ? 50'000 : 1000, 'x')));
    wanted = 3;
    rest = "\n---- 697 more alerts are not shown in full here: healerctl history has them ----\n";
  }
  const Mail digest = compose_digest(mails, kWorld, kStart);
  const std::string body = body_of(digest.text);
  CHECK(digest.subject == "healer: 700 alerts on vm.example.org: s1, s2, s3, s4 and 696 more failed");
  CHECK(body.size() < kMaxBody);
  CHECK(body.find("[cut]") == std::string::npos);
  CHECK(body.find(" s500: Timeout\n  and 200 more that are not listed here\n") != std::string::npos);
  CHECK(body.find(fmt::format("---- {} of 700", wanted)) != std::string::npos);
  CHECK(body.find(fmt::format("---- {} of 700", wanted + 1)) == std::string::npos);
  CHECK(body.ends_with(rest));
  CHECK(digest.items.size() == kMaxLines);
  CHECK(digest.unlisted == 200);
  CHECK(digest.covers.size() == 700);
}

TEST_CASE("What a limit held back is told with how many, from when to when, and a line for each") {
  std::vector<Mail> mails = three();
  mails.push_back(compose_digest(three(), kWorld, kStart));  // a digest may be held back, too
  mails.back().alert = engine::AlertId{9};
  const engine::MailLimit limit{20, hours{1}};
  CHECK(describe(limit) == "20 mails within 1 h");
  CHECK(describe({1, minutes{2}}) == "1 mail within 2 m");
  const Mail summary = compose_held_back(mails, limit, kWorld, kStart + hours{1});
  CHECK(summary.subject == "healer: 6 alerts held back on vm.example.org: web, db failed; cache recovered");
  CHECK(body_of(summary.text) ==
        "The limit of 20 mails within 1 h to ops@example.org was reached on vm.example.org. 6 alerts were held back, "
        "from 2026-11-21 04:19:25 to 2026-11-21 04:19:27:\n"
        "\n"
        "  2026-11-21 04:19:25  web: Status failed\n"
        "  2026-11-21 04:19:26  cache: Exists\n"
        "  2026-11-21 04:19:27  db: Does not exist\n"
        "  2026-11-21 04:19:25  web: Status failed\n"
        "  2026-11-21 04:19:26  cache: Exists\n"
        "  2026-11-21 04:19:27  db: Does not exist\n"
        "\n"
        "Their descriptions are in the history: healerctl history\n");
  CHECK(summary.covers.size() == 4);
}

TEST_CASE("The word of what was dropped says what it was, by the sender of the first") {
  Mail dropped;
  dropped.alert = engine::AlertId{7};
  dropped.number = 1;
  dropped.when = kStart;
  dropped.from = "monit@vm.example.org";
  dropped.to = "ops@example.org";
  dropped.items = {{kStart, "failed", "web", "Status failed"}};
  const Mail one = compose_dropped(dropped, kWorld, kStart + hours{1});
  CHECK(one.subject == "healer: 1 alert dropped on vm.example.org: web failed");
  CHECK(header_of(one.text, "From") == "monit@vm.example.org");
  CHECK(header_of(one.text, "Message-Id").ends_with("@vm.example.org>"));
  CHECK(one.from == dropped.from);
  CHECK(one.to == dropped.to);
  CHECK(one.alert == dropped.alert);
  CHECK(one.covers.empty());
  CHECK(body_of(one.text) ==
        "The mail queue on vm.example.org was full. 1 alert to ops@example.org was dropped, from 2026-11-21 04:19:24 "
        "to 2026-11-21 04:19:24:\n"
        "\n"
        "  2026-11-21 04:19:24  web: Status failed\n"
        "\n"
        "Their descriptions are in the history: healerctl history\n");
  dropped.items.push_back({kStart + seconds{1}, "recovered", "cache", "Exists"});
  dropped.unlisted = 40;
  const Mail many = compose_dropped(dropped, kWorld, kStart + hours{1});
  CHECK(many.subject == "healer: 42 alerts dropped on vm.example.org: web failed; cache recovered");
  CHECK(many.unlisted == 40);
  CHECK(body_of(many.text).find("42 alerts to ops@example.org were dropped, from 2026-11-21 04:19:24 to 2026-11-21 "
                                "04:19:25:\n") != std::string::npos);
  CHECK(body_of(many.text).find("  and 40 more that are not listed here\n") != std::string::npos);
}

TEST_CASE("A digest keeps the subject of the person's mail-format, by which his filters go") {
  const engine::MailFormat format{.subject = "[vm] $SERVICE $EVENT"};
  std::vector<Mail> mails = three();
  mails[1] = mail(2, "cache", State::Succeeded, "Exists", engine::EventKind::NonExist, format);
  mails[2] = mail(3, "db", State::Failed, "Does not exist", engine::EventKind::NonExist, format);
  CHECK(compose_digest(mails, kWorld, kStart).subject ==
        "[vm] db Does not exist (3 alerts: web, db failed; cache recovered)");
  CHECK(compose_held_back(mails, std::nullopt, kWorld, kStart).subject ==
        "[vm] db Does not exist (3 alerts held back: web, db failed; cache recovered)");
}

}  // namespace mail_digest_test
