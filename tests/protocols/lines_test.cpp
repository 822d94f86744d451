// SPDX-License-Identifier: MIT
// The protocols of lines: imap, pop, ftp, nntp, sieve, lmtp, clamav, spamassassin, postfix-policy, rsync, gps, dwp,
// redis.
#include "conversations.hpp"

namespace lines_test {

using namespace healer::test;

namespace {

const Setting kStartTls{.word = "starttls"};
const Setting kUser{.word = "username", .text = "an\"na"};
const Setting kPassword{.word = "password", .text = "p4ss\\word"};

std::string verdict(std::string_view name, const std::vector<std::string>& script,
                    const std::vector<Setting>& settings = {}) {
  return talk(name, settings, script).verdict;
}

}  // namespace

TEST_CASE("an IMAP server greets and takes its leave", "[protocols][imap]") {
  const Conversed done = talk("imap", {}, {"* OK [CAPABILITY IMAP4rev1] ready\r\n", "* BYE out\r\n003 OK done\r\n"});
  CHECK(done.verdict == "pass: it is an IMAP server");
  CHECK(done.sent == "003 LOGOUT\r\n");
  CHECK(verdict("imap", {"* PREAUTH in\r\n", "* 1 EXISTS\r\n* BYE\r\n"}) == "pass: it is an IMAP server");
  CHECK(verdict("imap", {"* BYE full\r\n"}) == "fail: its greeting is \"* BYE full\"");
  CHECK(verdict("imap", {"+OK POP3\r\n"}) == "fail: this is not an IMAP server: it said \"+OK POP3\"");
  CHECK(verdict("imap", {"* OK x\r\n", "003 OK done\r\n"}) == "fail: its answer to LOGOUT is \"003 OK done\"");
  CHECK(verdict("imap", {"* OK x\r\n"}) == "fail: the server closed the connection before its answer to LOGOUT");
  CHECK(verdict("imap", {"* O"}) == "fail: the server closed the connection before its greeting");
}

TEST_CASE("a login at an IMAP server is made within TLS, and no message has its password", "[protocols][imap]") {
  const Conversed done = talk("imap", {kStartTls, kUser, kPassword},
                              {"* OK x\r\n", "001 OK go\r\n", "* CAPABILITY IMAP4\r\n002 OK in\r\n", "* BYE\r\n"});
  CHECK(done.verdict == "pass: it is an IMAP server with TLS");
  CHECK(done.sent == "001 STARTTLS\r\n<TLS>002 LOGIN \"an\\\"na\" \"p4ss\\\\word\"\r\n003 LOGOUT\r\n");
  CHECK(verdict("imap", {"* OK x\r\n", "001 NO no\r\n"}, {kStartTls}) ==
        "fail: its answer to STARTTLS is \"001 NO no\"");
  CHECK(verdict("imaps", {"* OK x\r\n", "002 NO [AUTHENTICATIONFAILED] p4ss\\word\r\n"}, {kUser, kPassword}) ==
        "fail: its answer to the login is \"002 NO [AUTHENTICATIONFAILED] *****\"");
}

TEST_CASE("what an IMAP server slips in before TLS does not count as said within", "[protocols][imap]") {
  const std::vector<Setting> settings{kStartTls};
  const auto conversation = find_protocol("imap")->make({.settings = settings, .limits = {}});
  Talk server;
  CHECK(server.play(*conversation, {"* OK x\r\n", "001 OK go\r\n002 OK in\r\n"}) ==
        "fail: it sent more after it had agreed to begin TLS");
}

TEST_CASE("a POP server greets, lets in and says good-bye", "[protocols][pop]") {
  const Conversed done = talk("pop", {}, {"+OK ready\r\n", "+OK bye\r\n"});
  CHECK(done.verdict == "pass: it is a POP server");
  CHECK(done.sent == "QUIT\r\n");
  const Conversed login =
      talk("pop", {kStartTls, kUser, kPassword}, {"+OK\r\n", "+OK\r\n", "+OK\r\n", "+OK\r\n", "+OK\r\n"});
  CHECK(login.verdict == "pass: it is a POP server with TLS");
  CHECK(login.sent == "STLS\r\n<TLS>USER an\"na\r\nPASS p4ss\\word\r\nQUIT\r\n");
  CHECK(verdict("pops", {"+OK\r\n", "+OK\r\n", "-ERR not p4ss\\word\r\n"}, {kUser, kPassword}) ==
        "fail: its answer to the login is \"-ERR not *****\"");
  CHECK(verdict("pop", {"-ERR busy\r\n"}) == "fail: its greeting is \"-ERR busy\"");
  CHECK(verdict("pop", {"+OKAY\r\n"}) == "fail: this is not a POP server: it said \"+OKAY\"");
  CHECK(verdict("pop", {"+OK\r\n"}) == "fail: the server closed the connection before its answer to QUIT");
}

TEST_CASE("an FTP server greets in as many lines as it likes", "[protocols][ftp]") {
  const Conversed done =
      talk("ftp", {}, {"220-Welcome\r\n to all\r\n221 is no end\r\n220-x\r\n220 ready\r\n", "221 bye\r\n"});
  CHECK(done.verdict == "pass: it is an FTP server");
  CHECK(done.sent == "QUIT\r\n");
  CHECK(talk("ftp", {kStartTls}, {"220 x\r\n", "234 go\r\n", "221 x\r\n"}).sent == "AUTH TLS\r\n<TLS>QUIT\r\n");
  CHECK(verdict("ftp", {"421 too many\r\n"}) == "fail: its greeting is \"421 too many\"");
  CHECK(verdict("ftp", {"220 x\r\n", "500 no\r\n"}) == "fail: its answer to QUIT is \"500 no\"");
  CHECK(verdict("ftp", {"220 x\r\n", "530 no\r\n"}, {kStartTls}) == "fail: its answer to AUTH TLS is \"530 no\"");
  CHECK(verdict("ftp", {"hello\r\n"}) == "fail: this is not an FTP server: it said \"hello\"");
}

TEST_CASE("a news server greets, also one for reading only", "[protocols][nntp]") {
  CHECK(talk("nntp", {}, {"200 hello\r\n", "205 bye\r\n"}).sent == "QUIT\r\n");
  CHECK(verdict("nntp", {"201 hello\r\n", "205 bye\r\n"}) == "pass: it is a news server");
  CHECK(verdict("nntp", {"200 x\r\n", "382 go\r\n", "205 bye\r\n"}, {kStartTls}) ==
        "pass: it is a news server with TLS");
  CHECK(verdict("nntp", {"502 no\r\n"}) == "fail: its greeting is \"502 no\"");
  CHECK(verdict("nntp", {"200 x\r\n", "500 no\r\n"}) == "fail: its answer to QUIT is \"500 no\"");
}

TEST_CASE("a Sieve server tells what it can", "[protocols][sieve]") {
  const std::string able = "\"IMPLEMENTATION\" \"x\"\r\n\"STARTTLS\"\r\nOK \"ready\"\r\n";
  CHECK(talk("sieve", {}, {able, "OK \"bye\"\r\n"}).sent == "LOGOUT\r\n");
  const Conversed done = talk("sieve", {kStartTls}, {able, "OK \"go\"\r\n", able, "OK(WARNINGS) \"bye\"\r\n"});
  CHECK(done.verdict == "pass: it is a Sieve server with TLS");
  CHECK(done.sent == "STARTTLS\r\n<TLS>LOGOUT\r\n");
  CHECK(verdict("sieve", {"BYE \"full\"\r\n"}) == "fail: its greeting is \"BYE \"full\"\"");
  CHECK(verdict("sieve", {"220 x\r\n"}) == "fail: this is not a Sieve server: it said \"220 x\"");
}

TEST_CASE("a server for local mail is greeted by LHLO", "[protocols][lmtp]") {
  const Conversed done = talk("lmtp", {}, {"220 x LMTP\r\n", "250-x\r\n250 y\r\n", "221 bye\r\n"});
  CHECK(done.verdict == "pass: it is a mail server for local deliveries (LMTP)");
  CHECK(done.sent == "LHLO localhost\r\nQUIT\r\n");
  CHECK(verdict("lmtp", {"220 x\r\n", "500 what\r\n"}) == "fail: its answer to LHLO is \"500 what\"");
}

TEST_CASE("daemons that answer one question", "[protocols]") {
  CHECK(talk("clamav", {}, {"PONG\n"}).sent == "PING\r\n");
  CHECK(verdict("clamav", {"PONG\n"}) == "pass: it answers PING");
  CHECK(verdict("clamav", {"UNKNOWN COMMAND\n"}) == "fail: its answer to PING is \"UNKNOWN COMMAND\"");
  CHECK(verdict("clamav", {}) == "fail: the server closed the connection before its answer to PING");
  CHECK(talk("spamassassin", {}, {"SPAMD/1.5 0 PONG\r\n"}).sent == "PING SPAMC/1.2\r\n\r\n");
  CHECK(verdict("spamassassin", {"SPAMD/1.5 0 PONG\r\n"}) == "pass: it answers PING");
  CHECK(verdict("spamassassin", {"SPAMD/1.0 76 Bad header line\r\n"}) ==
        "fail: its answer to PING is \"SPAMD/1.0 76 Bad header line\"");
  CHECK(verdict("spamassassin", {"x\r\n"}) == "fail: this is not a SpamAssassin daemon: it said \"x\"");
  CHECK(verdict("postfix-policy", {"action=DUNNO\n\n"}) == "pass: it says what to do");
  CHECK(talk("postfix-policy", {}, {"action=x\n\n"}).sent.ends_with("client_name=healer.example\n\n"));
  CHECK(verdict("postfix-policy", {"\n"}) == "fail: this is not a policy server of Postfix: it said \"\"");
  CHECK(verdict("dwp", {"HTTP/1.1 200 OK\r\n\r\n"}) == "pass: it answers HEAD");
  CHECK(verdict("dwp", {"DWP/1.0 500 no\r\n"}) == "fail: its answer to HEAD is \"DWP/1.0 500 no\"");
  CHECK(verdict("dwp", {"hello there\r\n"}) == "fail: this is not a DWP server: it said \"hello there\"");
}

TEST_CASE("an rsync daemon lists its modules", "[protocols][rsync]") {
  const Conversed done = talk("rsync", {}, {"@RSYNCD: 31.0 sha512\n", "Welcome\nbackup\tall\n@RSYNCD: EXIT\n"});
  CHECK(done.verdict == "pass: it lists its modules");
  CHECK(done.sent == "@RSYNCD: 31.0\n#list\n");
  CHECK(verdict("rsync", {"@RSYNCD: 31.0\n", "@ERROR: max connections (1) reached\n"}) ==
        "fail: its list of modules is \"@ERROR: max connections (1) reached\"");
  CHECK(verdict("rsync", {"@RSYNCD: 31.0\n", "backup\n"}) ==
        "fail: the server closed the connection before its list of modules");
  CHECK(verdict("rsync", {"SSH-2.0-x\n"}) == "fail: this is not an rsync daemon: it said \"SSH-2.0-x\"");
}

TEST_CASE("a GPS daemon has a receiver, old and new", "[protocols][gps]") {
  CHECK(talk("gps", {}, {"GPSD,G=GPS\r\n"}).sent == "?DEVICES;\r\nG\r\n");
  CHECK(verdict("gps", {"GPSD,G=RTCM104v2\r\n"}) == "pass: it has a receiver");
  CHECK(verdict("gps", {"GPSD,G=?\r\n"}) == "fail: its list of devices is \"GPSD,G=?\"");
  const std::string version = "{\"class\":\"VERSION\",\"release\":\"3.22\"}\r\n";
  CHECK(verdict("gps", {version, "{\"class\":\"DEVICES\",\"devices\":[{\"path\":\"/dev/ttyS0\"}]}\r\n"}) ==
        "pass: it has a receiver");
  CHECK(verdict("gps", {version + "{\"class\":\"DEVICES\",\"devices\":[]}\r\n"})
            .starts_with("fail: its list of devices"));
}

TEST_CASE("Redis is told a password before PING", "[protocols][redis]") {
  const Conversed done = talk("redis", {kPassword}, {"+OK\r\n", "+PONG\r\n"});
  CHECK(done.verdict == "pass: it answers PING");
  CHECK(done.sent.starts_with("*2\r\n$4\r\nAUTH\r\n$9\r\np4ss\\word\r\n*1\r\n$4\r\nPING\r\n"));
  CHECK(verdict("redis", {"-WRONGPASS p4ss\\word\r\n"}, {kPassword}) ==
        "fail: its answer to the login is \"-WRONGPASS *****\"");
}

TEST_CASE("no server of lines comes to no end", "[protocols]") {
  for (const char* name : {"imap", "pop", "ftp", "nntp", "sieve", "lmtp", "clamav", "spamassassin", "postfix-policy",
                           "rsync", "gps", "dwp", "redis", "sip"}) {
    CAPTURE(name);
    CHECK(verdict(name, {std::string(100'000, '2')}) == "fail: it sends an endless line");
    CHECK(verdict(name, {std::string(100'000, '2') + "\r\n"}) == "fail: it sends an endless line");
  }
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "220-x\r\n";
  CHECK(verdict("ftp", {lines}) == "fail: it sends an endless reply");
  CHECK(verdict("imap", {"* OK x\r\n", [] {
                           std::string all;
                           for (int i = 0; i < 1000; ++i) all += "* x\r\n";
                           return all;
                         }()}) == "fail: it sends an endless reply");
}

TEST_CASE("a login has no line ends", "[protocols]") {
  const std::vector<Setting> settings{kUser, {.word = "password", .text = "a\r\nb"}};
  for (const char* name : {"imap", "imaps", "pop", "pops"}) {
    CHECK(find_protocol(name)->fault(settings) == "the password has a line end, which cannot be sent");
    const std::vector<Setting> half{kUser};
    CHECK(find_protocol(name)->fault(half) == "'username' and 'password' need each other");
  }
}

}  // namespace lines_test
