// SPDX-License-Identifier: MIT
// Connection tests as people type them.
#include "config/text/probe_text.hpp"

#include <catch2/catch.hpp>

namespace probe_text_test {

using namespace healer;
using namespace healer::config;
using namespace healer::protocols;

namespace {

ProbePlan plan(const std::string& text, const std::string& host = "shop") {
  ProbeReading read = read_probe(host, text);
  for (const Diagnostic& one : read.diagnostics)
    UNSCOPED_INFO(one.message << "\n" << excerpt(one, read.sources, false));
  REQUIRE(read.plan);
  return *std::move(read.plan);
}

/// The message, and the text that it is about.
std::string fault(const std::string& text, const std::string& host = "shop") {
  const ProbeReading read = read_probe(host, text);
  if (read.plan) return "it is right";
  REQUIRE(has_errors(read.diagnostics));
  const Diagnostic& wrong = read.diagnostics.front();
  return wrong.message + " at '" + std::string(read.sources.text(*wrong.range)) + "'" +
         (wrong.remedy.empty() ? "" : ": " + wrong.remedy);
}

std::string settings(const ProbePlan& plan) {
  std::string text;
  for (const Setting& one : plan.settings) {
    const std::string value = one.text.empty() ? std::to_string(one.number) : one.text;
    text += std::string(one.word) + std::string(to_string(one.op)) + value + ";";
  }
  return text;
}

}  // namespace

TEST_CASE("a connection test is read as the language has it", "[config][probe_text]") {
  const ProbePlan web = plan(
      "if failed port 443 protocol https and request '/x?a=b' with username \"u\" password 'p,w' method get status >= "
      "200 "
      "and content != \"a\\r\\n\" certificate valid > 30 days timeout 10 seconds retry 3 responsetime 200 ms then "
      "alert");
  CHECK(web.transport == Transport::Tcp);
  CHECK(web.host == "shop");
  CHECK(web.port == 443);
  CHECK(web.protocol == find_protocol("https"));
  REQUIRE(web.tls);
  CHECK(web.tls->valid_days == 30);
  CHECK(web.timeout == seconds{10});
  CHECK(web.attempts == 3);
  CHECK(web.response_time == ResponseTime{Operator::Less, std::chrono::milliseconds{200}});
  CHECK(settings(web) == "request=/x?a=b;username=u;password=p,w;method=get;status>=200;content!=a\r\n;");
}

TEST_CASE("headers stand in brackets", "[config][probe_text]") {
  CHECK(settings(plan("port 80 protocol http with http headers [Host: a.b, X-A: b c]")) ==
        "headers=Host: a.b;headers=X-A: b c;");
  CHECK(settings(plan("port 80 protocol http http headers [Host: a.b] hostheader \"c\"")) ==
        "headers=Host: a.b;hostheader=c;");
}

TEST_CASE("what is sent and expected keeps its order and its escapes", "[config][probe_text]") {
  const ProbePlan talk = plan(R"(port 25 and expect "^220.*" send "HELO \0x41\r\n" expect "250")");
  CHECK(talk.protocol == find_protocol("generic"));
  CHECK(settings(talk) == "expect=^220.*;send=HELO A\r\n;expect=250;");
}

TEST_CASE("TLS and its options", "[config][probe_text]") {
  const ProbePlan strict = plan(
      "port 1 type tcpssl tlsv12 using ssl with options {verify: enable, selfsigned: allow version: tlsv13 ciphers: "
      "'A:B' "
      "pemfile: /c cacertificatefile: \"/f\" cacertificatepath: /p} and certificate checksum sha1 = "
      "'1E:D9:48:A6:F4:25:8A:CA:B9:64:22:7E:F4:EB:19:FC:C4:53:B0:F8'");
  REQUIRE(strict.tls);
  const TlsPlan wanted{.verify = true,
                       .allow_self_signed = true,
                       .versions = kTls12 | kTls13,
                       .ciphers = "A:B",
                       .client_certificate = "/c",
                       .ca_file = "/f",
                       .ca_path = "/p",
                       .checksum = "1ed948a6f4258acab964227ef4eb19fcc453b0f8"};
  CHECK(*strict.tls == wanted);
  CHECK(plan("protocol smtp").port == 25);
  CHECK_FALSE(plan("protocol smtp").tls);
  CHECK(plan("protocol smtp starttls").tls);
  CHECK(plan("protocol smtps").port == 465);
}

TEST_CASE("pings, URLs and paths", "[config][probe_text]") {
  CHECK(plan("").transport == Transport::Ping);
  const ProbePlan ping = plan("ping6 count 5 size 128 with timeout 2 seconds");
  CHECK(ping.transport == Transport::Ping);
  CHECK(ping.family == Family::V6);
  CHECK(ping.pings == 5);
  CHECK(ping.ping_size == 128);
  CHECK(plan("failed ping").transport == Transport::Ping);
  CHECK(plan("ping4 then alert").family == Family::V4);
  CHECK(plan("", "/run/x.sock").transport == Transport::Unix);
  CHECK(plan("failed unixsocket /run/x.sock").host == "/run/x.sock");
  CHECK(plan("if failed url http://other:81/x then alert").port == 81);
  CHECK(plan("succeeded port 22 protocol ssh").port == 22);
  CHECK(plan("unixsocket /run/x.sock protocol ssh").host == "/run/x.sock");
  const ProbePlan url = plan("and content == 'hi' timeout 3 seconds", "https://u:p@[::1]:8443/a/b?c#d");
  CHECK(url.host == "::1");
  CHECK(url.port == 8443);
  CHECK(url.tls);
  CHECK(settings(url) == "username=u;password=p;request=/a/b?c;content=hi;");
  CHECK(plan("", "http://shop").port == 80);
  CHECK(plan("url http://other/x", "shop").host == "other");
}

TEST_CASE("words after a socket's path are of its test", "[config][probe_text]") {
  const ProbePlan redis = plan("protocol redis timeout 2 seconds", "/run/r.sock");
  CHECK(redis.transport == Transport::Unix);
  CHECK(redis.host == "/run/r.sock");
  CHECK(redis.protocol == find_protocol("redis"));
  CHECK(redis.timeout == seconds{2});
  CHECK(plan("timeout 2 seconds", "/run/r.sock").transport == Transport::Unix);
  CHECK(settings(plan("protocol http request '/x'", "/run/w.sock")) == "request=/x;");
  CHECK(plan("unixsocket /run/x.sock protocol redis", "/run/r.sock").host == "/run/x.sock");
  CHECK(plan("url http://other/x", "/run/r.sock").host == "other");
  CHECK(fault("port 80", "/run/r.sock").starts_with("unexpected 'port', expected "));
  CHECK(fault("protocl redis", "/run/r.sock").ends_with(" at 'protocl': did you mean 'protocol'?"));
}

TEST_CASE("faults are told with their place and a remedy", "[config][probe_text]") {
  CHECK(fault("port 443 protcol https") ==
        "unexpected 'protcol', expected 'timeout', 'ssl', 'version', 'certificate', 'checksum', 'status', 'content' or "
        "something else at 'protcol': did you mean 'protocol'?");
  CHECK(fault("port 443 protocol htpps") ==
        "unexpected 'htpps', expected the name of a protocol at 'htpps': did you mean 'https'?");
  CHECK(fault("port 70000") ==
        "there is no port 70000: nothing will ever answer there at '70000': ports are numbered from 1 to 65535");
  CHECK(fault("port") == "the statement ends here, expected a number at ''");
  CHECK(fault("port 80 protocol http method gte") ==
        "unexpected 'gte', expected 'get', 'head', 'post', 'put', 'patch' or 'delete' at 'gte': did you mean 'get'?");
  CHECK(fault("port 80 protocol http reqest '/'") ==
        "unexpected 'reqest', expected 'timeout', 'ssl', 'version', 'certificate', 'checksum', 'status', 'content' or "
        "something else at 'reqest': did you mean 'request'?");
  CHECK(fault("port 80 send \"x") ==
        "unbalanced quotes: the text that begins here is not closed at '\"': close it with \"");
  CHECK(fault("port 80 protocol http checksum abc") ==
        "'abc' is not a checksum at 'abc': MD5 has 32 hexadecimal digits, SHA1 40, SHA256 64");
  CHECK(fault("port 80 with ssl options {verify: maybe}") ==
        "unexpected 'maybe', expected 'enable' or 'disable' at 'maybe'");
  CHECK(fault("type udp protocol http") ==
        "this test always fails: protocol http is not supported over UDP at 'type udp protocol http'");
  CHECK(fault("protocol ssh expect \"x\"") ==
        "'expect' is not an option of protocol ssh at 'expect': 'send' and 'expect' are only used without a protocol");
  CHECK(fault("prot 443").ends_with("did you mean 'port'?"));
  CHECK(fault("port 143 protocol imap username \"u\"").starts_with("'username' and 'password' need each other"));
  CHECK(fault("protocol fail2ban") == "no port is given at '': write 'port NUMBER'");
  CHECK(fault("", "") == "no host is given: this test always fails at 'ping': write the name or the address of one");
  CHECK(fault("tiemout 3 seconds", "http://shop/") ==
        "unexpected 'tiemout', expected 'timeout', 'ssl', 'certificate', 'content', 'responsetime' or 'retry' at "
        "'tiemout': did you mean 'timeout'?");
  CHECK(fault("", "http://shop:0/") ==
        "the port of this URL is not a number between 1 and 65535: nothing will ever answer there at 'http://shop:0/'");
  CHECK(fault("", "ftp://shop/") ==
        "this is not an HTTP URL at 'ftp://shop/': a URL is written http://HOST/PATH or https://HOST/PATH");
  CHECK(fault("8081", "localhost") ==
        "a port is written after 'port' at '8081': write healerctl probe localhost port 8081");
  CHECK(fault("protocol http", "127.0.0.1:8081") ==
        "a port is written after 'port' at '127.0.0.1:8081': write healerctl probe 127.0.0.1 port 8081 protocol http");
  CHECK(fault("", "[::1]:80") == "a port is written after 'port' at '[::1]:80': write healerctl probe ::1 port 80");
  const ProbeReading read = read_probe("shop", "port 443 protcol https");
  CHECK(excerpt(read.diagnostics.front(), read.sources, false) ==
        "  port 443 protcol https\n           ^~~~~~~\n  note: did you mean 'protocol'?\n");
}

}  // namespace probe_text_test
