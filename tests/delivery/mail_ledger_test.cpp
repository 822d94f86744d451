// SPDX-License-Identifier: MIT
#include "delivery/outbox/mail_ledger.hpp"

#include <catch2/catch.hpp>

#include "support/child.hpp"

namespace mail_ledger_test {

using namespace healer;
using namespace healer::delivery;

namespace {

const std::string kYou = "you@example.org";

WallTime at(std::int64_t s) { return WallTime{seconds{1'795'234'764 + s}}; }
bool all(const MailKey&) { return true; }

struct Disk {
  test::TemporaryDirectory directory;
  std::string path = (directory.path() / "ledger").string();

  MailLedger open(std::uint32_t mails, Duration within) const {
    MailLedger ledger;
    ledger.set_limit(engine::MailLimit{mails, within});
    REQUIRE(ledger.open(path, all));
    return ledger;
  }
};

}  // namespace

TEST_CASE("A person gets so many mails in any span of the limit's length") {
  MailLedger ledger;
  CHECK_FALSE(ledger.full_until(kYou, at(0)));
  ledger.set_limit(engine::MailLimit{3, minutes{10}});
  ledger.sent(kYou, at(0));
  ledger.sent(kYou, at(100));
  CHECK_FALSE(ledger.full_until(kYou, at(100)));
  CHECK(ledger.full_until(kYou, at(100), 1) == at(600));
  CHECK(ledger.full_until(kYou, at(100), 3) == at(700));
  CHECK(ledger.full_until("other@example.org", at(100), 3) == at(700));
  CHECK_FALSE(ledger.full_until("other@example.org", at(100), 2));
  ledger.sent(kYou, at(200));
  CHECK(ledger.full_until(kYou, at(200)) == at(600));
  CHECK_FALSE(ledger.full_until("other@example.org", at(200)));
  CHECK(ledger.full_until(kYou, at(599)) == at(600));
  CHECK_FALSE(ledger.full_until(kYou, at(600)));  // the first is over
  ledger.sent(kYou, at(600));
  CHECK(ledger.full_until(kYou, at(600)) == at(700));
  SECTION("a limit that is changed counts what was sent") {
    ledger.set_limit(engine::MailLimit{1, minutes{10}});
    CHECK(ledger.full_until(kYou, at(700)) == at(1200));
    ledger.set_limit(engine::MailLimit{4, minutes{10}});
    CHECK_FALSE(ledger.full_until(kYou, at(600)));
    ledger.set_limit(std::nullopt);
    CHECK_FALSE(ledger.full_until(kYou, at(600)));
  }
  SECTION("a clock that is set back makes nobody wait longer than the limit says") {
    CHECK(ledger.full_until(kYou, at(-50'000)) == at(-50'000 + 600));
    CHECK_FALSE(ledger.full_until(kYou, at(-50'000 + 600)));
  }
}

TEST_CASE("What was sent and what is held is known over restarts") {
  const Disk disk;
  const MailKey first{1, 0, 5}, second{2, 500'000, -7};
  {
    MailLedger ledger = disk.open(2, hours{1});
    ledger.sent(kYou, at(0));
    ledger.sent(kYou, at(1));
    ledger.hold(first);
    ledger.hold(second);
    ledger.hold(second);
    ledger.begin(second);
  }
  SECTION("as it was") {
    MailLedger ledger = disk.open(2, hours{1});
    CHECK(ledger.full_until(kYou, at(2)) == at(3600));
    CHECK(ledger.held(first));
    CHECK(ledger.held(second));
    CHECK_FALSE(ledger.begun(first));
    CHECK(ledger.begun(second));
    ledger.release(first);
    CHECK_FALSE(ledger.held(first));
    ledger.forget(second);
    CHECK_FALSE(ledger.held(second));
    CHECK_FALSE(ledger.begun(second));
  }
  SECTION("a mail that waits no more is not held") {
    MailLedger ledger;
    ledger.set_limit(engine::MailLimit{2, hours{1}});
    REQUIRE(ledger.open(disk.path, [&](const MailKey& key) { return key == second; }));
    CHECK_FALSE(ledger.held(first));
    CHECK(ledger.held(second));
  }
  SECTION("a line that was cut short, and what is none, is passed over") {
    test::write_file(disk.path, "held 1 0\nwhat\n" + test::read_file(disk.path) + "\nsent 17952\nsent x y\nhel");
    MailLedger ledger = disk.open(2, hours{1});
    CHECK(ledger.full_until(kYou, at(2)) == at(3600));
    CHECK(ledger.held(first));
  }
}

TEST_CASE("What was dropped is known over restarts until a mail that tells of it waits") {
  const Disk disk;
  const auto mail = [](std::uint64_t number, std::size_t items) {
    Mail message;
    message.alert = engine::AlertId{number};
    message.number = 1;
    message.when = at(0);
    message.from = "monit@vm";
    message.to = kYou;
    message.subject = "not kept";
    message.text = "not kept";
    for (std::size_t i = 0; i < items; ++i) message.items.push_back({at(1), "failed", "a b", "Status failed"});
    return message;
  };
  const auto none = [](const MailKey&) { return false; };
  const auto again = [&](const std::function<bool(const MailKey&)>& waits) {
    MailLedger ledger;
    REQUIRE(ledger.open(disk.path, waits));
    return ledger;
  };
  MailLedger ledger = again(none);
  ledger.drop(mail(1, 2));
  ledger.drop(mail(2, 1));
  REQUIRE(ledger.dropped().size() == 1);
  Mail wanted = mail(1, 3);
  wanted.text.clear();
  CHECK(ledger.dropped().at(kYou) == wanted);
  wanted.subject.clear();
  SECTION("as it was, also twice") {
    (void)again(none);
    CHECK(again(none).dropped().at(kYou).items == wanted.items);
    CHECK(key_of(again(none).dropped().at(kYou)) == key_of(wanted));
    CHECK(again(none).dropped().at(kYou).from == "monit@vm");
  }
  SECTION("but for what still waits, so that it was not dropped after all") {
    const MailLedger other = again([](const MailKey& key) { return key.alert == 1; });
    CHECK(other.dropped().at(kYou).items.size() == 1);
    CHECK(other.dropped().at(kYou).alert == engine::AlertId{2});
  }
  SECTION("with so many lines, and the number of those beyond") {
    ledger.drop(mail(3, 498));
    CHECK(ledger.dropped().at(kYou).items.size() == 500);
    CHECK(ledger.dropped().at(kYou).unlisted == 1);
    ledger.drop(mail(4, 1));
    const MailLedger other = again(none);
    CHECK(other.dropped().at(kYou).items.size() == 500);
    CHECK(other.dropped().at(kYou).unlisted == 2);
  }
  SECTION("a mail is to tell of it, and does not wait yet") {
    ledger.telling(kYou, {9, 0, 0});
    CHECK(again(none).dropped().at(kYou).items.size() == 3);
  }
  SECTION("a mail that tells of it waits already") {
    ledger.telling(kYou, {9, 0, 0});
    CHECK(again([](const MailKey& key) { return key.alert == 9; }).dropped().empty());
    CHECK(again(none).dropped().empty());
  }
  SECTION("it is told") {
    ledger.mark_notified(kYou);
    CHECK(ledger.dropped().empty());
    CHECK(again(none).dropped().empty());
  }
  SECTION("a line that was cut short") {
    std::string text = test::read_file(disk.path);
    text.resize(text.find("item"));
    test::write_file(disk.path, text);
    CHECK(again(none).dropped().empty());
  }
}

TEST_CASE("The ledger's file stays small, however much is mailed") {
  const Disk disk;
  MailLedger ledger = disk.open(5, minutes{1});
  for (int i = 0; i < 20'000; ++i) ledger.sent(kYou, at(i * 60));
  CHECK(std::filesystem::file_size(disk.path) < 64 * 1024);
  CHECK_FALSE(std::filesystem::exists(disk.path + ".new"));
  MailLedger again = disk.open(1, minutes{1});
  CHECK(again.full_until(kYou, at(20'000 * 60 - 60)) == at(20'000 * 60));
}

TEST_CASE("Where the ledger cannot be written, the limit holds all the same") {
  const Disk disk;
  std::filesystem::create_directory(disk.path);
  MailLedger ledger;
  ledger.set_limit(engine::MailLimit{1, minutes{1}});
  const auto opened = ledger.open(disk.path, all);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().what.find(disk.path) != std::string::npos);
  ledger.sent(kYou, at(0));
  ledger.hold({1, 0, 0});
  CHECK(ledger.full_until(kYou, at(1)) == at(60));
  CHECK(ledger.held({1, 0, 0}));
}

}  // namespace mail_ledger_test
