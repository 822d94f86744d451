// SPDX-License-Identifier: MIT
#include "conversations.hpp"

namespace smtp_test {

using namespace healer::test;

namespace {

const Setting kStartTls{.word = "starttls"};
const Setting kUser{.word = "username", .text = "u"};
const Setting kPassword{.word = "password", .text = "p4ss"};
const std::string kBye = "221 bye\r\n";

}  // namespace

TEST_CASE("a mail server greets, knows its client and says good-bye", "[protocols][smtp]") {
  const Conversed plain = talk("smtp", {}, {"220 x ESMTP\r\n", "250-a\r\n250-SIZE\r\n250 ok\r\n", kBye});
  CHECK(plain.verdict == "pass: it is a mail server");
  CHECK(plain.sent == "EHLO localhost\r\nQUIT\r\n");
  const Conversed old = talk("smtp", {}, {"220-x\r\n220 y\r\n", "500 what\r\n", "250 ok\r\n", kBye});
  CHECK(old.verdict == "pass: it is a mail server");
  CHECK(old.sent == "EHLO localhost\r\nHELO localhost\r\nQUIT\r\n");
}

TEST_CASE("each answer of a mail server counts", "[protocols][smtp]") {
  CHECK(talk("smtp", {}, {"421 busy\r\n"}).verdict == "fail: its greeting is \"421 busy\"");
  CHECK(talk("smtp", {}, {"220 x\r\n", "500 what\r\n", "500 no\r\n"}).verdict ==
        "fail: its answer to HELO is \"500 no\"");
  CHECK(talk("smtp", {}, {"220 x\r\n", "250 ok\r\n", "500 no\r\n"}).verdict ==
        "fail: its answer to QUIT is \"500 no\"");
  CHECK(talk("smtp", {}, {"220 x\r\n", "250 ok\r\n"}).verdict ==
        "fail: the server closed the connection before its answer to QUIT");
  CHECK(talk("smtp", {}, {"SSH-2.0-x\r\n"}).verdict == "fail: this is not a mail server: it said \"SSH-2.0-x\"");
  CHECK(talk("smtp", {}, {}, false).verdict == "waits for its greeting");
}

TEST_CASE("TLS begins in the middle of the conversation", "[protocols][smtp]") {
  const std::string offer = "250-a\r\n250-STARTTLS\r\n250 ok\r\n";
  const Conversed done =
      talk("smtp", {kStartTls, kUser, kPassword},
           {"220 x\r\n", offer, "220 go\r\n", "250-a\r\n250 AUTH LOGIN PLAIN\r\n", "235 in\r\n", kBye});
  CHECK(done.verdict == "pass: it is a mail server with TLS");
  CHECK(done.sent == "EHLO localhost\r\nSTARTTLS\r\n<TLS>EHLO localhost\r\nAUTH PLAIN AHUAcDRzcw==\r\nQUIT\r\n");
  CHECK(talk("smtp", {kStartTls}, {"220 x\r\n", "250 ok\r\n"}).verdict == "fail: it does not offer STARTTLS");
  CHECK(talk("smtp", {kStartTls}, {"220 x\r\n", offer, "454 not now\r\n"}).verdict ==
        "fail: its answer to STARTTLS is \"454 not now\"");
}

TEST_CASE("what a mail server slips in before TLS does not count as said within", "[protocols][smtp]") {
  const Protocol& smtp = *find_protocol("smtp");
  const std::vector<Setting> settings{kStartTls};
  const auto conversation = smtp.make({.settings = settings, .limits = {}});
  Talk server;
  CHECK(server.play(*conversation, {"220 x\r\n", "250-a\r\n250 STARTTLS\r\n", "220 go\r\n250 ok\r\n"}) ==
        "fail: it sent more after it had agreed to begin TLS");
}

TEST_CASE("a login is made in a way that both know, and no message has its password", "[protocols][smtp]") {
  const Conversed login =
      talk("smtp", {kUser, kPassword},
           {"220 x\r\n", "250 AUTH LOGIN\r\n", "334 VXNlcm5hbWU6\r\n", "334 UGFzc3dvcmQ6\r\n", "235 ok\r\n", kBye});
  CHECK(login.verdict == "pass: it is a mail server");
  CHECK(login.sent == "EHLO localhost\r\nAUTH LOGIN\r\ndQ==\r\ncDRzcw==\r\nQUIT\r\n");
  CHECK(talk("smtp", {kUser, kPassword}, {"220 x\r\n", "250 ok\r\n"}).verdict ==
        "fail: it offers no login that healer knows (PLAIN, LOGIN)");
  CHECK(
      talk("smtp", {kUser, kPassword}, {"220 x\r\n", "250 AUTH PLAIN\r\n", "535 not p4ss AHUAcDRzcw==\r\n"}).verdict ==
      "fail: its answer to the login is \"535 not ***** *****\"");
  CHECK(talk("smtp", {kUser, kPassword}, {"220 x\r\n", "250 AUTH PLAIN\r\n", "AUTH PLAIN AHUAcDRzcw==\r\n"}).verdict ==
        "fail: this is not a mail server: it said \"AUTH PLAIN *****\"");
}

TEST_CASE("with half a login nobody logs in, as in Monit", "[protocols][smtp]") {
  for (const std::vector<Setting>& half : {std::vector{kUser}, std::vector{kPassword}}) {
    const Conversed conversed = talk("smtp", half, {"220 x\r\n", "250 AUTH PLAIN\r\n", kBye});
    CHECK(conversed.verdict == "pass: it is a mail server");
    CHECK(conversed.sent == "EHLO localhost\r\nQUIT\r\n");
    CHECK(find_protocol("smtp")->fault == nullptr);
    CHECK(find_protocol("smtp")->warning(half) == "'username' and 'password' need each other: nobody logs in");
  }
  for (const std::string_view name : {"mqtt", "mysql", "mysqls", "pgsql"}) {
    const Protocol& protocol = *find_protocol(name);
    CAPTURE(name);
    CHECK(protocol.fault(std::vector{kPassword}).empty());
    CHECK(protocol.warning(std::vector{kPassword}) == "'password' has no effect without 'username'");
    CHECK(protocol.warning(std::vector{kUser}).empty());
  }
}

TEST_CASE("a mail server that never comes to an end is ended", "[protocols][smtp]") {
  CHECK(talk("smtp", {}, {"220 " + std::string(100'000, 'x')}).verdict == "fail: it sends an endless line");
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "220-x\r\n";
  CHECK(talk("smtp", {}, {lines}).verdict == "fail: it sends an endless reply");
}

}  // namespace smtp_test
