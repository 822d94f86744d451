// SPDX-License-Identifier: MIT
// The protocols of packets: memcache, ldap2, ldap3, mqtt, mongodb, mysql, pgsql, tns, rdate, fail2ban, dns over TCP,
// and those of datagrams: dns, ntp3, radius, sip, snmp.
#include "conversations.hpp"
#include "protocols/ber.hpp"
#include "protocols/digest.hpp"
#include "protocols/mysql_login.hpp"
#include "protocols/packet_talk.hpp"
#include "protocols/scram.hpp"

namespace packets_test {

using namespace healer::test;
using namespace std::string_literals;
using healer::WallTime;

namespace {

const Setting kStartTls{.word = "starttls"};
const Setting kUser{.word = "username", .text = "anna"};
const Setting kPassword{.word = "password", .text = "p4ss"};
const Setting kQuery{.word = "query", .text = "select 1"};

std::string verdict(std::string_view name, const std::vector<std::string>& script,
                    const std::vector<Setting>& settings = {}) {
  return talk(name, settings, script).verdict;
}

WallTime noon() { return WallTime{std::chrono::milliseconds{1'700'000'000'000}}; }
constexpr std::uint64_t kNoon1900 = 1'700'000'000 + 2'208'988'800;

/// What is made of datagrams (or of a stream), with a clock.
std::string ask(std::string_view name, const std::vector<std::string>& script,
                const std::vector<Setting>& settings = {}, bool datagrams = true, bool tls = false) {
  const auto conversation = find_protocol(name)->make({.host = "h",
                                                       .port = 1,
                                                       .tls = tls,
                                                       .datagrams = datagrams,
                                                       .settings = settings,
                                                       .limits = {},
                                                       .nonce = 0x0102030405060708,
                                                       .now = noon});
  Talk server;
  return server.play(*conversation, script);
}

std::string memcache(int status) {
  return "\x81\x0a"s + std::string(4, '\0') + big(static_cast<unsigned>(status), 2) + std::string(16, '\0');
}
std::string ldap(char operation, int id, int code, const std::string& why = {}) {
  const std::string result =
      "\x0a\x01"s + static_cast<char>(code) + "\x04\x00\x04"s + static_cast<char>(why.size()) + why;
  const std::string body = "\x02\x01"s + static_cast<char>(id) + operation + static_cast<char>(result.size()) + result;
  return "\x30"s + static_cast<char>(body.size()) + body;
}

}  // namespace

TEST_CASE("a memcache server answers noop", "[protocols][memcache]") {
  CHECK(verdict("memcache", {memcache(0)}) == "pass: it answers the command noop");
  CHECK(talk("memcache", {}, {memcache(0)}).sent.substr(0, 24) == "\x80\x0a"s + std::string(22, '\0'));
  CHECK(verdict("memcache", {memcache(0x85)}) == "fail: it answers the command noop with the error 0x0085");
  CHECK(verdict("memcache", {"ERROR\r\n"}) == "fail: this is not a memcache server: it said \"E\"");
  CHECK(verdict("memcache", {memcache(0).substr(0, 10)}) ==
        "fail: the server closed the connection before its answer to the command noop");
}

TEST_CASE("an LDAP server lets anybody bind", "[protocols][ldap]") {
  const Conversed done = talk("ldap3", {}, {ldap('\x61', 1, 0)});
  CHECK(done.verdict == "pass: it lets anybody bind");
  CHECK(done.sent == "\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00\x30\x05\x02\x01\x02\x42\x00"s);
  CHECK(talk("ldap2", {}, {ldap('\x61', 1, 0)}).sent[9] == '\x02');
  CHECK(verdict("ldap2", {ldap('\x61', 1, 2, "version not allowed")}) ==
        "fail: its answer to an anonymous bind is protocol error (2): \"version not allowed\"");
  CHECK(
      verdict("ldap3", {"\x30\x84\x00\x00\x00\x10\x02\x01\x01\x61\x84\x00\x00\x00\x07\x0a\x01\x00\x04\x00\x04\x00"s}) ==
      "pass: it lets anybody bind");
  CHECK(verdict("ldap3", {ldap('\x78', 0, 52, "ends")}) == "fail: its notice is unavailable (52): \"ends\"");
  CHECK(verdict("ldap3", {"\x30\x7f\x02\x01"s}) ==
        "fail: the server closed the connection before its answer to an anonymous bind");
  CHECK(verdict("ldap3", {"HTTP/1.1\r\n"}) == "fail: this is not an LDAP server: it said \"H\"");
  CHECK(verdict("ldap3", {"\x30\x84\x7f\xff\xff\xff"s}).starts_with("fail: this is not an LDAP server"));
  const Conversed tls = talk("ldap3", {kStartTls}, {ldap('\x78', 1, 0), ldap('\x61', 2, 0)});
  CHECK(tls.verdict == "pass: it lets anybody bind");
  CHECK(tls.sent.starts_with("\x30\x1d\x02\x01\x01\x77\x18\x80\x16"s + "1.3.6.1.4.1.1466.20037<TLS>0"));
  CHECK(verdict("ldap3", {ldap('\x78', 1, 52)}, {kStartTls}) == "fail: its answer to STARTTLS is unavailable (52)");
}

TEST_CASE("an MQTT broker accepts a connection", "[protocols][mqtt]") {
  const Conversed done = talk("mqtt", {kUser, kPassword}, {"\x20\x02\x00\x00"s});
  CHECK(done.verdict == "pass: it accepts the connection");
  CHECK(done.sent == "\x10\x2f\x00\x04MQTT\x04\xc2\x00\x3c\x00\x17"s + "healer-0000000000000000" + "\x00\x04"s +
                         "anna" + "\x00\x04"s + "p4ss" + "\xe0\x00"s);
  CHECK(verdict("mqtt", {"\x20\x02\x00\x05"s}) == "fail: its answer to CONNECT is 5 (not authorized)");
  CHECK(verdict("mqtt", {"\x20\x02"s}) == "fail: the server closed the connection before its answer to CONNECT");
  CHECK(verdict("mqtt", {"SSH-2.0\r\n"}) == "fail: this is not an MQTT broker: it said \"S\"");
}

TEST_CASE("a MongoDB server answers ping", "[protocols][mongodb]") {
  const auto reply = [](const std::string& values, int code = 2013) {
    const std::string document = little(values.size() + 5, 4) + values + '\0';
    const std::string body = little(0, 4) + '\0' + document;
    return little(16 + body.size(), 4) + little(7, 4) + little(1, 4) + little(static_cast<unsigned>(code), 4) + body;
  };
  const std::string fine = "\x01ok\0"s + std::string(6, '\0') + "\xf0\x3f"s;
  CHECK(verdict("mongodb", {reply(fine)}) == "pass: it answers ping");
  CHECK(verdict("mongodb", {reply("\x02x\0\x02\0\0\0a\0"s + fine)}) == "pass: it answers ping");
  CHECK(verdict("mongodb", {reply("\x01ok\0"s + std::string(8, '\0') +
                                  "\x02"
                                  "errmsg\0\x05\0\0\0busy\0"s)}) == "fail: its answer to ping is \"busy\"");
  CHECK(verdict("mongodb", {reply(fine, 1)}).starts_with("fail: this is not a MongoDB server"));
  CHECK(verdict("mongodb", {reply("\x77x\0"s)}).starts_with("fail: this is not a MongoDB server"));
  CHECK(verdict("mongodb", {reply(fine).substr(0, 20)}) ==
        "fail: the server closed the connection before its answer to ping");
  CHECK(verdict("mongodb", {std::string(100, '\xff')}).starts_with("fail: this is not a MongoDB server"));
}

namespace {

std::string my(int number, const std::string& body) {
  return little(body.size(), 3) + static_cast<char>(number) + body;
}
std::string greeting(const std::string& plugin = "mysql_native_password") {
  return my(0,
            "\x0a"
            "8.0.1\0\1\0\0\0abcdefgh\0\xff\xff\x21\2\0\xff\xdf\x15"s +
                std::string(10, '\0') + "ijklmnopqrst\0"s + plugin + '\0');
}
const std::string kOk = my(2, "\0\0\0\2\0\0\0"s);

}  // namespace

TEST_CASE("a MySQL server greets, and lets in whom it knows", "[protocols][mysql]") {
  CHECK(verdict("mysql", {greeting()}) == "pass: it is a MySQL server");
  CHECK(talk("mysql", {}, {greeting()}).sent.empty());
  const Conversed login = talk("mysql", {kUser, kPassword}, {greeting(), kOk});
  CHECK(login.verdict == "pass: it accepts the login");
  CHECK(login.sent.ends_with("\1\0\0\0\1"s));
  CHECK(login.sent.find("anna\0\x14"s + native_proof("p4ss", "abcdefghijklmnopqrst") + "mysql_native_password\0"s) !=
        std::string::npos);
  CHECK(verdict("mysql", {my(0, "\xff\x10\x04Too many connections"s)}) ==
        "fail: its greeting is error 1040: \"Too many connections\"");
  CHECK(verdict("mysql", {greeting(), my(2, "\xff\x15\x04#28000Access denied"s)}, {kUser, kPassword}) ==
        "fail: its answer to the login is error 1045: \"Access denied\"");
  CHECK(verdict("mysql", {"HTTP/1.1 400 no\r\n"}) == "fail: this is not a MySQL server: it said \"HTTP\"");
  CHECK(verdict("mysql", {greeting().substr(0, 20)}) == "fail: the server closed the connection before its greeting");
  CHECK(verdict("mysql", {my(0,
                             "\x09"
                             "3.20\0"s)})
            .starts_with("fail: "));
}

TEST_CASE("a MySQL server may want another proof of the password", "[protocols][mysql]") {
  const std::string salt = "ABCDEFGHIJKLMNOPQRST";
  const Conversed switched = talk("mysql", {kUser, kPassword},
                                  {greeting("caching_sha2_password"),
                                   my(2,
                                      "\xfe"
                                      "mysql_native_password\0"s +
                                          salt + '\0'),
                                   my(4, "\0\0\0\2\0\0\0"s)});
  CHECK(switched.verdict == "pass: it accepts the login");
  CHECK(switched.sent.find("\x14\0\0\3"s + native_proof("p4ss", salt)) != std::string::npos);
  CHECK(verdict("mysql", {greeting("caching_sha2_password"), my(2, "\1\3"s) + my(3, "\0\0\0\2\0\0\0"s)},
                {kUser, kPassword}) == "pass: it accepts the login");
  CHECK(verdict("mysql",
                {greeting(), my(2,
                                "\xfe"
                                "client_ed25519\0abc"s)},
                {kUser, kPassword}) == "fail: it wants a login that healer does not know (\"client_ed25519\")");
  const Conversed asks =
      talk("mysql", {kUser, kPassword}, {greeting("caching_sha2_password"), my(2, "\1\4"s), my(4, "\1nonsense"s)});
  CHECK(asks.sent.ends_with("\1\0\0\3\2"s));
  CHECK(asks.verdict.starts_with("fail: this is not a MySQL server"));
}

TEST_CASE("TLS of a MySQL server begins after its greeting", "[protocols][mysql]") {
  CHECK(ask("mysqls", {greeting()}, {}, false, true) == "pass: it is a MySQL server with TLS");
  CHECK(ask("mysqls", {greeting(), my(3, "\0\0\0\2\0\0\0"s)}, {kUser, kPassword}, false, true) ==
        "pass: it accepts the login, with TLS");
  std::string without = greeting();
  without[4 + 7 + 4 + 9 + 1] = '\xf7';
  CHECK(ask("mysqls", {without}, {}, false, true) == "fail: it does not offer TLS");
}

TEST_CASE("a query of a MySQL server has a row", "[protocols][mysql]") {
  const std::vector<Setting> settings{kUser, kPassword, kQuery};
  const std::string columns = my(1, "\1"s) + my(2, "\3def"s) + my(3, "\xfe\0\0\2\0"s);
  const std::string end = my(5, "\xfe\0\0\2\0"s);
  const Conversed done = talk("mysql", settings, {greeting(), kOk, columns + my(4, "\1"s + "1") + end});
  CHECK(done.verdict == "pass: it answers the query");
  CHECK(done.sent.find("\x09\0\0\0\3select 1"s) != std::string::npos);
  CHECK(verdict("mysql", {greeting(), kOk, columns + end}, settings) == "fail: its answer to the query has no rows");
  CHECK(verdict("mysql", {greeting(), kOk, my(1, "\xff\x28\x04#42000syntax"s)}, settings) ==
        "fail: its answer to the query is error 1064: \"syntax\"");
}

namespace {

std::string pg(char type, const std::string& body) { return type + big(body.size() + 4, 4) + body; }
std::string pg_error(const std::string& code) { return pg('E', "SFATAL\0C"s + code + "\0Mwhy\0\0"s); }
const std::string kReady = pg('R', std::string(4, '\0')) + pg('S', "a\0b\0"s) + pg('Z', "I");

}  // namespace

TEST_CASE("a PostgreSQL server takes connections", "[protocols][pgsql]") {
  CHECK(talk("pgsql", {}, {kReady}).sent == "\0\0\0\x21\0\3\0\0user\0root\0database\0root\0\0X\0\0\0\4"s);
  CHECK(verdict("pgsql", {kReady}) == "pass: it takes connections");
  CHECK(verdict("pgsql", {pg('R', "\0\0\0\5abcd"s)}) == "pass: it takes connections, and wants a password");
  CHECK(verdict("pgsql", {pg_error("28000")}) == "pass: it takes connections");
  CHECK(verdict("pgsql", {pg_error("57P03")}) == "fail: its answer is \"why\" (\"57P03\")");
  CHECK(verdict("pgsql", {pg_error("53300")}) == "fail: its answer is \"why\" (\"53300\")");
  CHECK(verdict("pgsql", {"hello\r\n"}) == "fail: this is not a PostgreSQL server: it said \"h\"");
  CHECK(verdict("pgsql", {"R\xff\xff\xff\xff"s}).starts_with("fail: this is not a PostgreSQL server"));
  CHECK(verdict("pgsql", {"R\0\0"s}) == "fail: the server closed the connection before its answer");
  CHECK(ask("pgsql", {"N"}, {}, false, true) == "fail: it does not offer TLS");
  CHECK(ask("pgsql", {"S", kReady}, {}, false, true) == "pass: it takes connections");
  // Nothing that it says instead makes a password leave without TLS.
  for (const std::string& early : {pg('R', "\0\0\0\3"s), pg('R', "\0\0\0\5abcd"s), std::string(kReady)})
    CHECK(ask("pgsql", {early, kReady}, {kUser, kPassword}, false, true)
              .starts_with("fail: this is not a PostgreSQL server"));
}

TEST_CASE("logins and queries of PostgreSQL", "[protocols][pgsql]") {
  const std::vector<Setting> login{kUser, kPassword};
  CHECK(talk("pgsql", login, {pg('R', "\0\0\0\3"s), kReady}).sent.find("p\0\0\0\x09p4ss\0"s) != std::string::npos);
  CHECK(verdict("pgsql", {pg('R', "\0\0\0\3"s), kReady}, login) == "pass: it accepts the login");
  CHECK(talk("pgsql", login, {pg('R', "\0\0\0\5abcd"s), kReady}).sent.find("md575b272299a12a73227d7b06bb2645a42") !=
        std::string::npos);
  CHECK(verdict("pgsql", {pg('R', "\0\0\0\5abcd"s), kReady}, login) == "pass: it accepts the login");
  CHECK(verdict("pgsql", {pg('R', "\0\0\0\5abcd"s), pg_error("28P01")}, login) ==
        "fail: its answer to the login is \"why\" (\"28P01\")");
  CHECK(verdict("pgsql", {pg_error("28000")}, login) == "fail: its answer is \"why\" (\"28000\")");
  const std::vector<Setting> query{kUser, kPassword, kQuery};
  CHECK(verdict("pgsql", {kReady, pg('T', "x") + pg('D', "x")}, query) == "pass: it answers the query");
  CHECK(verdict("pgsql", {kReady, pg('T', "x") + pg('C', "x")}, query) == "fail: its answer to the query has no rows");
  CHECK(verdict("pgsql", {kReady, pg_error("42601")}, query) == "fail: its answer to the query is \"why\" (\"42601\")");
}

TEST_CASE("SCRAM-SHA-256 as in RFC 7677", "[protocols][scram]") {
  // A server that does not repeat our number, asks for endless work or proves nothing is not believed.
  Scram scram("p4ss", 7);
  CHECK(scram.first() == "n,,n=,r=0000000000000007");
  CHECK_FALSE(scram.final("r=other,s=c2FsdA==,i=4096"));
  CHECK_FALSE(scram.final("r=0000000000000007x,s=c2FsdA==,i=100000000"));
  CHECK_FALSE(scram.final("r=0000000000000007x,s=,i=4096"));
  const auto last = scram.final("r=0000000000000007x,s=c2FsdA==,i=4096");
  REQUIRE(last);
  CHECK_FALSE(scram.final("r=0000000000000007x,s=c2FsdA==,i=4096"));  // once
  CHECK(last->starts_with("c=biws,r=0000000000000007x,p="));
  CHECK_FALSE(scram.proves("v=AAAA"));
  CHECK_FALSE(scram.proves("e=invalid-proof"));
}

TEST_CASE("a key that SCRAM has derived is that of its password, salt and rounds alone", "[protocols][scram]") {
  const auto hashed = [](const std::string& password, const std::string& salt, int rounds) {
    return Scram(password, 7).final("r=0000000000000007x,s=" + base64(salt) + ",i=" + std::to_string(rounds)).value();
  };
  const std::string first = hashed("p4ss", "salt", 2);
  CHECK(hashed("p4ss", "salt", 2) == first);
  CHECK(hashed("p4ss", "salt", 3) != first);
  CHECK(hashed("p4s", "ssalt", 2) != first);
  for (int i = 0; i < 600; ++i) (void)hashed("p4ss", std::to_string(i), 1);  // more than are kept
  CHECK(hashed("p4ss", "salt", 2) == first);
}

TEST_CASE("a listener of Oracle answers ping by a refusal", "[protocols][tns]") {
  const auto answer = [](int type, const std::string& text) {
    return big(12 + text.size(), 2) + "\0\0"s + static_cast<char>(type) + "\0\0\0\"\0"s + big(text.size(), 2) + text;
  };
  CHECK(verdict("tns", {answer(4, "(DESCRIPTION=(TMP=)(VSNNUM=1)(ERR=0)(ALIAS=L))")}) == "pass: it answers ping");
  CHECK(verdict("tns", {answer(4, "(DESCRIPTION=(ERR=1189)(ERROR_STACK=x))")}) ==
        "fail: its answer to ping is the error TNS-\"1189\"");
  CHECK(verdict("tns", {answer(2, "x")}) == "fail: its answer to ping is of the type 2, not 4");
  CHECK(verdict("tns", {"\0\x20\0"s}) == "fail: the server closed the connection before its answer to ping");
  CHECK(talk("tns", {}, {}).sent.ends_with("(CONNECT_DATA=(COMMAND=ping))"));
}

TEST_CASE("a time server tells our time", "[protocols][rdate]") {
  CHECK(ask("rdate", {big(kNoon1900 + 3, 4)}, {}, false) == "pass: it tells the right time");
  CHECK(ask("rdate", {big(kNoon1900 + 4, 4)}, {}, false) == "fail: its time is 4 s ahead of ours");
  CHECK(ask("rdate", {big(kNoon1900 - 60, 4)}, {}, false) == "fail: its time is 60 s behind ours");
  CHECK(ask("rdate", {"ab"}, {}, false) == "fail: the server closed the connection before its time");
  CHECK(verdict("rdate", {big(kNoon1900, 4)}) == "unknown: nobody knows what time it is here");
}

TEST_CASE("fail2ban answers ping", "[protocols][fail2ban]") {
  const std::string pong = "\x80\x02K\0U\x04pongq\x01\x86q\x02.<F2B_END_COMMAND>"s;
  CHECK(verdict("fail2ban", {pong}) == "pass: it answers ping");
  CHECK(verdict("fail2ban", {"\x80\x02K\1.<F2B_END_COMMAND>"s}).starts_with("fail: its answer to ping is "));
  CHECK(verdict("fail2ban", {"hello"}) == "fail: this is not a fail2ban server: it said \"h\"");
  CHECK(verdict("fail2ban", {pong.substr(0, 9)}) == "fail: the server closed the connection before its answer to ping");
  CHECK(verdict("fail2ban", {'\x80' + std::string(5000, 'x')}).starts_with("fail: this is not a fail2ban server"));
}

namespace {

std::string dns(int code, int answers, const std::string& records = {}, int id = 0x0708, int flags = 0x8180) {
  return big(static_cast<unsigned>(id), 2) + big(static_cast<unsigned>(flags | code), 2) + big(1, 2) +
         big(static_cast<unsigned>(answers), 2) + big(0, 4) + "\1a\2bc\0"s + big(1, 2) + big(1, 2) + records;
}
std::string record(int type, const std::string& data) {
  return "\xc0\x0c"s + big(static_cast<unsigned>(type), 2) + big(1, 2) + big(60, 4) + big(data.size(), 2) + data;
}

}  // namespace

TEST_CASE("a DNS server answers or refuses", "[protocols][dns]") {
  CHECK(ask("dns", {dns(0, 1, record(2, "\0"s))}) == "pass: it answers");
  CHECK(ask("dns", {dns(5, 0)}) == "pass: it answers, and refuses the question");
  CHECK(ask("dns", {dns(2, 0)}) == "fail: its answer is server failure (2)");
  CHECK(ask("dns", {dns(0, 0)}) == "fail: its answer has no records");
  CHECK(ask("dns", {dns(0, 1, "", 0x0708, 0x0180)}).starts_with("fail: this is not a DNS server"));
  CHECK(ask("dns", {dns(0, 1, "", 9), dns(5, 0)}) == "pass: it answers, and refuses the question");
  CHECK(ask("dns", {"x"}) == "fail: this is not a DNS server: it said \"x\"");
  const std::string answer = dns(5, 0);
  CHECK(ask("dns", {big(answer.size(), 2) + answer}, {}, false) == "pass: it answers, and refuses the question");
  CHECK(ask("dns", {big(answer.size(), 2) + answer.substr(0, 8)}, {}, false) ==
        "fail: the server closed the connection before its answer");
}

TEST_CASE("a DNS server knows a name", "[protocols][dns]") {
  const Setting query{.word = "query", .text = "a.bc"};
  const Setting expect{.word = "expect", .text = "192.0.2.2"};
  const std::string two = dns(0, 3, record(5, "\1c\xc0\x0e"s) + record(1, "\xc0\0\2\1"s) + record(1, "\xc0\0\2\2"s));
  CHECK(ask("dns", {two}, {query}) == "pass: it answers \"192.0.2.1\"");
  CHECK(ask("dns", {two}, {query, expect}) == "pass: it answers \"192.0.2.2\"");
  CHECK(ask("dns", {dns(0, 1, record(1, "\xc0\0\2\1"s))}, {query, expect}) ==
        "fail: its answer is \"192.0.2.1\", not \"192.0.2.2\"");
  CHECK(ask("dns", {two}, {query, {.word = "type", .text = "cname"}}) == "pass: it answers \"c.bc\"");
  CHECK(ask("dns", {two}, {query, {.word = "type", .text = "mx"}}) == "fail: its answer has no such record");
  CHECK(ask("dns", {dns(3, 0)}, {query}) == "fail: its answer is no such name (3)");
  CHECK(ask("dns", {two.substr(0, 50)}, {query, expect}) == "fail: its answer is cut off");
  // Names that point to nowhere, and to themselves.
  CHECK(ask("dns", {dns(0, 1, record(5, "\xc0\x22"s))}, {query, {.word = "type", .text = "cname"}}) ==
        "fail: its answer has no such record");
  CHECK(ask("dns", {dns(0, 1, record(5, "\xc0\x25"s))}, {query, {.word = "type", .text = "cname"}})
            .starts_with("fail: "));
  CHECK_FALSE(find_protocol("dns")->fault(std::vector<Setting>{{.word = "query", .text = "a..b"}}).empty());
  CHECK_FALSE(find_protocol("dns")->fault(std::vector<Setting>{expect}).empty());
}

namespace {

const std::string kCookie = big(0x0102030405060708, 8);
std::string ntp(int first, int stratum, const std::string& cookie = kCookie, std::uint64_t seconds = kNoon1900) {
  std::string bytes = std::string(1, static_cast<char>(first)) + static_cast<char>(stratum) + std::string(10, '\0') +
                      "RATE" + std::string(8, '\0');
  bytes += cookie;
  for (int i = 0; i < 2; ++i) bytes += big(seconds, 4) + "\x80\0\0\0"s;
  return bytes;
}

}  // namespace

TEST_CASE("a time server knows the time", "[protocols][ntp3]") {
  CHECK(ask("ntp3", {ntp(0x1c, 2)}) == "pass: it tells the time, at stratum 2");
  CHECK(ask("ntp3", {ntp(0xdc, 2)}) == "fail: it does not know the time itself");
  CHECK(ask("ntp3", {ntp(0x1c, 16)}) == "fail: it does not know the time itself");
  CHECK(ask("ntp3", {ntp(0x1c, 0)}) == "fail: it refuses to answer: \"RATE\"");
  CHECK(ask("ntp3", {ntp(0x24, 2)}) == "fail: its answer is of version 4 and mode 4, not 3 and 4");
  CHECK(ask("ntp3", {"x"}) == "fail: this is not a time server: it said \"x\"");
  const Setting offset{.word = "offset", .op = Operator::Less, .number = 1000};
  CHECK(ask("ntp3", {ntp(0x1c, 2)}, {offset}) == "pass: its time is 500 ms ahead of ours");
  CHECK(ask("ntp3", {ntp(0x1c, 2, kCookie, kNoon1900 - 9)}, {offset}) ==
        "fail: its time is 8500 ms behind ours, not < 1000 ms");
}

TEST_CASE("what answers another question than ours is no answer of a time server", "[protocols][ntp3]") {
  const std::string others(8, '\0');
  CHECK(ask("ntp3", {ntp(0x1c, 2, others), ntp(0x1c, 3)}) == "pass: it tells the time, at stratum 3");
  // Nor is a refusal that anybody could have sent.
  CHECK(ask("ntp3", {ntp(0x1c, 0, others), ntp(0xdc, 2, others), ntp(0x1c, 2)}) ==
        "pass: it tells the time, at stratum 2");
  const auto conversation = find_protocol("ntp3")->make({.host = "h", .settings = {}, .limits = {}, .nonce = 5});
  CHECK(conversation->begin().send.ends_with(big(5, 8)));
  CHECK(conversation->awaited() == "answer");
  CHECK(conversation->receive(ntp(0x1c, 2)).kind == Want::Kind::Receive);
  CHECK(conversation->awaited() == "answer to this question");
  CHECK(ask("ntp3", std::vector<std::string>(200, ntp(0x1c, 2, others))) ==
        "fail: it sends what was not asked for, without end");
}

TEST_CASE("a RADIUS server signs its answer", "[protocols][radius]") {
  CHECK(ask("radius", {"x"}) == "fail: this is not a RADIUS server: it said \"x\"");
  CHECK(ask("radius", {"\2\x08\0\x14"s + std::string(16, 'x')}) == "fail: its answer is not signed with this secret");
  CHECK(ask("radius", {"\2\x07\0\x14"s + std::string(16, 'x')}) == "fail: the server sends no more");
}

namespace {

const std::string kUptime = "\x2b\x06\x01\x02\x01\x01\x03"s + '\0';  // 1.3.6.1.2.1.1.3.0

/// A response of an agent to the one request that ask() makes, with this object and value.
std::string snmp(const std::string& value, int status = 0, const std::string& object = kUptime,
                 const std::string& id = "\x45\x06\x07\x08") {
  const std::string zero = ber(2, "\0"s);
  const std::string list = ber(0x30, ber(0x30, ber(6, object) + value));
  const std::string body = ber(2, id) + ber(2, big(static_cast<unsigned>(status), 1)) + zero + list;
  return ber(0x30, ber(2, "\1") + ber(4, "hush") + ber('\xa2', body));
}

std::string agent(const std::string& value, Operator op = Operator::Equal, const std::string& wanted = {},
                  const std::string& community = "hush") {
  return ask("snmp", {snmp(value)},
             {{.word = "community", .text = community},
              {.word = "oid", .op = op, .text = "1.3.6.1.2.1.1.3.0", .value = wanted}});
}

}  // namespace

TEST_CASE("an SNMP agent tells the value of an object", "[protocols][snmp]") {
  using enum Operator;
  CHECK(agent(ber(0x43, "\x01\x00"s)) == "pass: its 1.3.6.1.2.1.1.3.0 is 256");
  CHECK(agent(ber(0x02, "\xff"), Less, "0") == "pass: its 1.3.6.1.2.1.1.3.0 is -1");
  CHECK(agent(ber(0x02, "\x05"), Greater, "5") == "fail: its 1.3.6.1.2.1.1.3.0 is 5, not > 5");
  CHECK(agent(ber(0x41, "\0\xff\xff\xff\xff"s), Equal, "4294967295") == "pass: its 1.3.6.1.2.1.1.3.0 is 4294967295");
  const std::string most = "\0"s + std::string(8, '\xff');
  CHECK(agent(ber(0x46, most), Equal, "18446744073709551615") == "pass: its 1.3.6.1.2.1.1.3.0 is 18446744073709551615");
  CHECK(agent(ber(0x46, most), Equal, "18446744073709551614") ==
        "fail: its 1.3.6.1.2.1.1.3.0 is 18446744073709551615, not = 18446744073709551614");
  CHECK(agent(ber(0x42, "\x07"), Equal, "\"7\"") == "pass: its 1.3.6.1.2.1.1.3.0 is 7");
  CHECK(agent(ber(0x04, "up"), Equal, "\"up\"") == "pass: its 1.3.6.1.2.1.1.3.0 is \"up\"");
  CHECK(agent(ber(0x04, "up"), NotEqual, "\"up\"") == "fail: its 1.3.6.1.2.1.1.3.0 is \"up\", not != \"up\"");
  CHECK(agent(ber(0x04, "1.10"), Equal, "\"1.1\"") == "fail: its 1.3.6.1.2.1.1.3.0 is \"1.10\", not = \"1.1\"");
  CHECK(agent(ber(0x04, "0.75"), Less, "1") == "pass: its 1.3.6.1.2.1.1.3.0 is \"0.75\"");
  CHECK(agent(ber(0x04, "up"), Less, "1") == "fail: its 1.3.6.1.2.1.1.3.0 is \"up\", which is no number");
  CHECK(agent(ber(0x40, "\xc0\0\2\1"s), Equal, "\"192.0.2.1\"") == "pass: its 1.3.6.1.2.1.1.3.0 is 192.0.2.1");
  CHECK(agent(ber(0x06, kUptime)) == "pass: its 1.3.6.1.2.1.1.3.0 is 1.3.6.1.2.1.1.3.0");
  CHECK(agent(ber(0x04, "a hush b")) == "pass: its 1.3.6.1.2.1.1.3.0 is \"a ***** b\"");
  CHECK(agent(ber(0x04, std::string(60'000, 'x'))).size() < 200);
}

TEST_CASE("an SNMP agent that has no such object has failed, as has one that makes no sense", "[protocols][snmp]") {
  CHECK(agent(ber('\x80', "")) == "fail: it has no object 1.3.6.1.2.1.1.3.0 (noSuchObject)");
  CHECK(agent(ber('\x81', "")) == "fail: it has no object 1.3.6.1.2.1.1.3.0 (noSuchInstance)");
  CHECK(agent(ber('\x82', "")) == "fail: it has no object 1.3.6.1.2.1.1.3.0 (endOfMibView)");
  const std::vector<Setting> oid{{.word = "oid", .text = ".1.3.6.1.2.1.1.3.0"}};
  CHECK(ask("snmp", {snmp(ber(5, ""), 5)}, oid) == "fail: its answer is the error genErr (5)");
  CHECK(ask("snmp", {snmp(ber(2, "\1"), 0, "\x2b\x06")}, oid) == "fail: its answer is of another object");
  CHECK(ask("snmp", {snmp(ber(2, "\1"), 0, kUptime, "\x45\x06\x07\x09"), snmp(ber(2, "\1"))}, oid) ==
        "pass: its .1.3.6.1.2.1.1.3.0 is 1");
  const std::string number = "fail: its .1.3.6.1.2.1.1.3.0 has a value that is none of SNMP's";
  CHECK(ask("snmp", {snmp(ber(2, ""))}, oid) == number);
  CHECK(ask("snmp", {snmp(ber(2, "123456789"))}, oid) == number);
  CHECK(ask("snmp", {snmp(ber(0x41, "12345"))}, oid) == number);
  CHECK(ask("snmp", {snmp(ber(0x40, "123"))}, oid) == number);
  CHECK(ask("snmp", {snmp(ber(0x06, std::string(70'000, '\xff')))}, oid) == number);
  CHECK(ask("snmp", {snmp(ber(0x06, ""))}, oid) == number);
  CHECK(ask("snmp", {snmp(ber(0x13, "x"))}, oid) == number);
  for (const std::string& unexpected :
       {"\x30\x80"s, "\x30\x84\xff\xff\xff\xff"s, "\x30\x85\0\0\0\0\1"s, "x"s, snmp(ber(2, "\1")) + "x",
        snmp(ber(2, "\1")).substr(0, 20), snmp("\x02\x7f\x01"), snmp("\x02\x84\xff\xff\xff\xf0\x01")}) {
    CAPTURE(unexpected);
    CHECK(ask("snmp", {unexpected}, oid).starts_with("fail: this is not an SNMP agent: it said \""));
  }
  // What it repeats of the question is nobody's business.
  CHECK(ask("snmp", {"\x30\x06 hush "s}, {{.word = "community", .text = "hush"}, oid[0]}) ==
        "fail: this is not an SNMP agent: it said \"0\\x06 ***** \"");
}

TEST_CASE("an object of SNMP has a number of some parts", "[protocols][snmp]") {
  const auto fault = [](const std::string& oid, const std::string& value = {}, Operator op = Operator::Equal) {
    const std::vector<Setting> settings{{.word = "oid", .op = op, .text = oid, .value = value}};
    return find_protocol("snmp")->fault(settings);
  };
  CHECK(find_protocol("snmp")->fault({}) == "protocol snmp needs an 'oid', as in oid \"1.3.6.1.2.1.1.3.0\"");
  std::string longest = "1.3";
  for (int i = 0; i < 126; ++i) longest += ".4294967295";
  for (const std::string& right : {"1.3"s, ".1.3.6"s, "2.999.3"s, longest}) CHECK(fault(right).empty());
  for (const std::string& wrong : {""s, "."s, "1"s, "1."s, "1..3"s, "3.1"s, "1.40"s, "1.3.4294967296"s, "1.3.x"s,
                                   "1.-3"s, "sysUpTime.0"s, "1.3 "s, longest + ".1"}) {
    CAPTURE(wrong);
    CHECK(fault(wrong).ends_with(" is not the number of an object, as in \"1.3.6.1.2.1.1.3.0\""));
  }
  CHECK(fault("1.3", "\"a\"", Operator::Less) == "a text is compared with '=' or '!='");
  CHECK(fault("1.3", "\"a\"", Operator::NotEqual).empty());
  CHECK(fault("1.3", "1e99999") == "\"1e99999\" is not a number to compare with");
}

TEST_CASE("a value of BER is as long as it says", "[protocols][snmp]") {
  for (const std::size_t size : {0U, 1U, 127U, 128U, 255U, 256U, 70'000U}) {
    const std::string value = ber(4, std::string(size, 'x'));
    ByteReader in(value);
    CHECK(ber_content(in, 4).size() == size);
    CHECK((in.good() && in.rest().empty()));
    CHECK(value.size() == size + (size < 128 ? 2 : size < 256 ? 3 : size < 65'536 ? 4 : 5));
  }
}

TEST_CASE("a SIP server answers OPTIONS", "[protocols][sip]") {
  CHECK(ask("sip", {"SIP/2.0 200 OK\r\nVia: x\r\n\r\n"}) == "pass: it answers OPTIONS with 200");
  CHECK(verdict("sip", {"SIP/2.0 100 Trying\r\nVia: x\r\n\r\n", "SIP/2.0 200 OK\r\n\r\n"}) ==
        "pass: it answers OPTIONS with 200");
  CHECK(verdict("sip", {"SIP/2.0 404 Not Found\r\n\r\n"}) == "fail: its answer to OPTIONS is \"404 Not Found\"");
  CHECK(verdict("sip", {"HTTP/1.1 200 OK\r\n"}) == "fail: this is not a SIP server: it said \"HTTP/1.1 200 OK\"");
  CHECK(verdict("sip", {"SIP/2.0 100 Trying\r\n"}) ==
        "fail: the server closed the connection before its answer to OPTIONS");
  CHECK(talk("sip", {{.word = "target", .text = "a@b"}, {.word = "maxforward", .number = 6}}, {})
            .sent.starts_with("OPTIONS sip:a@b SIP/2.0\r\n"));
}

}  // namespace packets_test
