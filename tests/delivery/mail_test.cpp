// SPDX-License-Identifier: MIT
#include "delivery/contacts/mail.hpp"

#include <catch2/catch.hpp>

#include "delivery/contacts/mail_text.hpp"
#include "engine/words/cause.hpp"

namespace mail_test {

using namespace healer;
using namespace healer::delivery;
using namespace std::string_literals;

namespace {

engine::effect::Alert alert(std::vector<std::string> addresses = {"root@localhost"}) {
  auto cause = std::make_shared<engine::effect::Cause>();
  cause->service = "execd";
  cause->event_text = "Status failed";
  cause->action_text = "exec";
  cause->description = "status failed (3) -- err line 2\nlast line";
  cause->when = WallTime{seconds{1'795'234'764}};
  engine::effect::Alert result;
  result.alert = engine::AlertId{7};
  for (std::string& address : addresses) result.recipients.push_back({.address = std::move(address), .format = {}});
  result.cause = std::move(cause);
  return result;
}

MailWriter world() { return {"vm", "1.2.3", utc_civil}; }

engine::effect::Cause& change(engine::effect::Alert& alert) { return const_cast<engine::effect::Cause&>(*alert.cause); }

std::string one(const engine::effect::Alert& alert, const engine::MailSettings& settings = {}) {
  const std::vector<Mail> messages = compose_mails(alert, settings, world());
  REQUIRE(messages.size() == 1);
  return messages.front().text;
}

std::string header(const std::string& text, const std::string& name) {
  const std::string head = "\r\n" + text.substr(0, text.find("\r\n\r\n") + 2);
  const std::size_t start = head.find("\r\n" + name + ": ");
  if (start == std::string::npos) return "(none)";
  std::size_t end = start;
  do end = head.find("\r\n", end + 2);
  while (head[end + 2] == ' ');
  return head.substr(start + name.size() + 4, end - start - name.size() - 4);
}

std::string body(const std::string& text) { return text.substr(text.find("\r\n\r\n") + 4); }

/// What every mail must be, whatever went into it.
void check_form(const std::string& text) {
  REQUIRE(text.find("\r\n\r\n") != std::string::npos);
  REQUIRE(text.ends_with("\r\n"));
  REQUIRE(text.find('\0') == std::string::npos);
  std::size_t start = 0;
  bool in_head = true;
  while (start < text.size()) {
    const std::size_t end = text.find("\r\n", start);
    REQUIRE(end != std::string::npos);
    const std::string line = text.substr(start, end - start);
    REQUIRE(line.size() <= 998);
    REQUIRE(line.find_first_of("\r\n") == std::string::npos);
    if (line.empty()) in_head = false;
    if (in_head && line[0] != ' ') {
      const std::string name = line.substr(0, line.find(':'));
      const std::vector<std::string> known{"Reply-To",     "From",          "To",
                                           "Subject",      "Date",          "X-Mailer",
                                           "MIME-Version", "Content-Type",  "Content-Transfer-Encoding",
                                           "Message-Id",   "Auto-Submitted"};
      CAPTURE(line);
      REQUIRE(std::find(known.begin(), known.end(), name) != known.end());
    }
    start = end + 2;
  }
}

}  // namespace

TEST_CASE("A mail of what Monit does not do is healer's own") {
  engine::effect::Cause cause = *alert().cause;
  cause.event = engine::EventKind::Action;
  cause.action_text = "heal";
  cause.event_text = "Healing begun";
  engine::effect::Alert heals = alert();
  heals.cause = std::make_shared<const engine::effect::Cause>(cause);
  CHECK(header(one(heals), "Subject") == "healer: Healing begun execd");
  cause.service = "healer";
  cause.event_text = "Healing paused";
  heals.cause = std::make_shared<const engine::effect::Cause>(cause);
  CHECK(header(one(heals), "Subject") == "healer: Healing paused");
}

TEST_CASE("A mail without a format of its own is Monit's") {
  const std::string text = one(alert());
  check_form(text);
  CHECK(header(text, "From") == "monit@vm");
  CHECK(header(text, "To") == "root@localhost");
  CHECK(header(text, "Subject") == "monit alert --  Status failed execd");
  CHECK(header(text, "Date") == "Sat, 21 Nov 2026 04:19:24 +0000");
  CHECK(header(text, "Content-Transfer-Encoding") == "8bit");
  CHECK(header(text, "Reply-To") == "(none)");
  CHECK(header(text, "X-Mailer") == "healer 1.2.3");
  CHECK(body(text) ==
        "Status failed Service execd \r\n\r\n"
        "\tDate:        Sat, 21 Nov 2026 04:19:24\r\n\tAction:      exec\r\n\tHost:        vm\r\n"
        "\tDescription: status failed (3) -- err line 2\r\nlast line\r\n\r\n"
        "Your faithful employee,\r\nhealer\r\n");
}

TEST_CASE("The date of a mail carries the local offset") {
  const MailWriter west{"vm", "1", [](WallTime when) {
                          CivilTime civil = utc_civil(when - minutes{210});
                          civil.offset = -minutes{210};
                          return civil;
                        }};
  const std::string text = compose_mails(alert(), {}, west).front().text;
  CHECK(header(text, "Date") == "Sat, 21 Nov 2026 00:49:24 -0330");
}

TEST_CASE("Each recipient gets a mail in his own format, the general one or the default, part by part") {
  engine::effect::Alert two = alert({"a@x.org", "b@x.org", "  "});
  two.recipients[1].format.subject = "own $SERVICE";
  engine::MailSettings settings;
  settings.format.subject = "general $EVENT";
  settings.format.from = "A B <ab@$HOST>";
  settings.format.reply_to = "\"C, D\" <cd@x.org>";
  const std::vector<Mail> messages = compose_mails(two, settings, world());
  REQUIRE(messages.size() == 2);  // nobody lives at an empty address
  CHECK(header(messages[0].text, "Subject") == "general Status failed");
  CHECK(header(messages[1].text, "Subject") == "own execd");
  CHECK(header(messages[1].text, "From") == "\"A B\" <ab@vm>");
  CHECK(header(messages[1].text, "Reply-To") == "\"C, D\" <cd@x.org>");
  CHECK(messages[1].from == "ab@vm");
  CHECK(messages[1].to == "b@x.org");
  CHECK(messages[1].number == 1);
  CHECK(body(messages[1].text).starts_with("Status failed Service execd"));
}

TEST_CASE("Variables are replaced as Monit does, once") {
  engine::effect::Alert it = alert();
  change(it).description = "costs $HOST";
  const engine::effect::Cause& cause = *it.cause;
  CHECK(expand_mail_variables("$SERVICES $$SERVICE $UNKNOWN $event 100$", cause, world()) ==
        "execdS $execd $UNKNOWN $event 100$");
  CHECK(expand_mail_variables("$DESCRIPTION|$ACTION|$DATE", cause, world()) ==
        "costs $HOST|exec|Sat, 21 Nov 2026 04:19:24");
  CHECK(expand_mail_variables("", cause, world()).empty());
}

TEST_CASE("Nothing that is put into a mail can begin a header of its own") {
  const std::string evil = "x\r\nBcc: victim@x.org\r\n\r\nbody\n.\nmore\r\r\nX-Evil: 1";
  engine::effect::Alert it = alert({"root@localhost>\r\nRCPT TO:<victim@x.org"});
  change(it).service = evil;
  change(it).description = evil;
  change(it).event_text = evil;
  it.recipients[0].format.from = "N" + evil + " <a@b>\r\nBcc: z@z";
  it.recipients[0].format.reply_to = evil + "<q@q\r\nBcc: y@y>";
  it.recipients[0].format.subject = "S: $SERVICE $DESCRIPTION";
  const std::vector<Mail> messages = compose_mails(it, {}, {"host\r\nBcc: h@h", "1", utc_civil});
  REQUIRE(messages.size() == 1);
  check_form(messages[0].text);
  for (const std::string& address : {messages[0].from, messages[0].to}) {
    CAPTURE(address);
    CHECK(address.find_first_of("\r\n <>") == std::string::npos);
  }
  CHECK(header(messages[0].text, "Subject").starts_with("S: x Bcc: victim@x.org body . more X-Evil: 1"));
}

TEST_CASE("Subjects and names that are not ASCII become encoded words") {
  engine::effect::Alert it = alert();
  it.recipients[0].format.subject = "Ü Störung $SERVICE";
  it.recipients[0].format.from = "\"Grüße\" <a@b>";
  const std::string text = one(it);
  CHECK(header(text, "Subject") == "=?UTF-8?B?w5wgU3TDtnJ1bmcgZXhlY2Q=?=");
  CHECK(header(text, "From") == "=?UTF-8?B?R3LDvMOfZQ==?= <a@b>");
  it.recipients[0].format.subject = "looks =?UTF-8?B?like?= one";
  CHECK(header(one(it), "Subject").starts_with("=?UTF-8?B?"));

  std::string many;
  for (int i = 0; i < 100; ++i) many += "äöü€";
  it.recipients[0].format.subject = many;
  const std::string encoded = header(one(it), "Subject");
  std::size_t start = 0;
  while (start < encoded.size()) {
    const std::size_t end = std::min(encoded.find("\r\n ", start), encoded.size());
    CHECK(end - start <= 75);
    start = end + 3;
  }
  check_form(one(it));
}

TEST_CASE("A body keeps UTF-8, shows what is not text, and never has a line that is too long") {
  engine::effect::Alert it = alert();
  change(it).description =
      "gr\xc3\xbc\xc3\x9f\x65 \xff bad\n.\nFrom x\r\n\x01"
      "ctl\0nul\rend"s;
  std::string text = one(it);
  check_form(text);
  CHECK(body(text).find("grüße \\xff bad\r\n.\r\nFrom x\r\n\\x01ctlnul\r\nend\r\n") != std::string::npos);

  change(it).description = std::string(5000, 'z') + " = \t\nü";
  text = one(it);
  check_form(text);
  CHECK(header(text, "Content-Transfer-Encoding") == "quoted-printable");
  CHECK(body(text).find("zzz =3D =09\r\n=C3=BC\r\n") != std::string::npos);
  CHECK(body(text).find(std::string(75, 'z') + "=\r\n") != std::string::npos);

  change(it).description = std::string(3'000'000, 'y');
  text = one(it);
  CHECK(text.size() < 2 * kMaxBody);
  CHECK(body(text).ends_with("[cut]\r\n"));
  it.recipients[0].format.subject = "$DESCRIPTION";
  check_form(one(it));
}

TEST_CASE("The same alert gives the same mail, another gives another") {
  const engine::effect::Alert it = alert({"a@x.org", "b@x.org"});
  CHECK(compose_mails(it, {}, world()) == compose_mails(it, {}, world()));
  const std::vector<Mail> messages = compose_mails(it, {}, world());
  CHECK(header(messages[0].text, "Message-Id") != header(messages[1].text, "Message-Id"));
  engine::effect::Alert later = it;
  later.alert = engine::AlertId{8};
  CHECK(header(compose_mails(later, {}, world())[0].text, "Message-Id") != header(messages[0].text, "Message-Id"));
  CHECK(header(messages[0].text, "Message-Id").ends_with("@vm>"));
}

TEST_CASE("Mailboxes are read in the forms that people write") {
  CHECK(parse_mailbox("a@b") == Mailbox{"", "a@b"});
  CHECK(parse_mailbox(" <a@b> ") == Mailbox{"", "a@b"});
  CHECK(parse_mailbox("A B <a@b>") == Mailbox{"A B", "a@b"});
  CHECK(parse_mailbox("\"A \\ B\" <a@b>") == Mailbox{"A \\ B", "a@b"});
  CHECK(parse_mailbox("A a@b B C") == Mailbox{"A B C", "a@b"});
  CHECK(parse_mailbox("a@b subject: x@y") == Mailbox{"subject: x@y", "a@b"});
  CHECK(parse_mailbox("") == Mailbox{});
  CHECK(parse_mailbox(std::string(5000, 'a') + "@b").address.empty());
  CHECK(header_mailbox({"A \"q\" B", "a@b"}) == "\"A \\\"q\\\" B\" <a@b>");
}

TEST_CASE("A sender that is no address falls back to the default") {
  engine::effect::Alert it = alert();
  it.recipients[0].format.from = "\" <> \"";
  CHECK(header(one(it), "From") == "monit@vm");
}

TEST_CASE("The subject of healer's own events says what has happened") {
  engine::effect::Alert own = alert();
  change(own).event = engine::EventKind::Instance;
  change(own).event_text = "Monit instance changed";
  change(own).service = "healer";
  change(own).description = "rules reloaded: 2 services, 1 added, 0 removed, 0 changed";
  CHECK(header(one(own), "Subject") ==
        "monit alert --  Monit instance changed vm: rules reloaded: 2 services, 1 added, 0 removed, 0 changed");
  engine::MailSettings settings;
  settings.format.subject = "$EVENT on $HOST";
  CHECK(header(one(own, settings), "Subject") == "Monit instance changed on vm");  // as the person wants it
}

TEST_CASE("A person is needed where a rule has given up, and where healer itself had died") {
  engine::effect::Cause cause{.service = "web", .action_text = "unmonitor", .rule = "if 5 restarts ..."};
  CHECK(needs_person(cause));
  cause.action_text = "stop";
  CHECK(needs_person(cause));
  cause.action_text = "restart";
  CHECK_FALSE(needs_person(cause));
  cause = {.service = "web", .action_text = "stop"};  // by a person
  CHECK_FALSE(needs_person(cause));
  cause = {.service = "healer", .event = engine::EventKind::Instance, .event_text = "Monit instance changed"};
  CHECK_FALSE(needs_person(cause));
  cause.event_text = engine::kHealerDied;
  CHECK(needs_person(cause));
}

}  // namespace mail_test
