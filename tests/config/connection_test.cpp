// SPDX-License-Identifier: MIT
// What becomes of tests of connections: what is to be probed, and how it is written in the rules' text.
#include "config/compile/connection.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/check.hpp"
#include "config/load.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/fake_environment.hpp"

namespace connection_test {

using namespace healer;
using namespace healer::config;
using namespace healer::protocols;

namespace {

std::shared_ptr<const engine::ServiceBlock> service(const std::string& tests, const std::string& limits = "") {
  test::FakeEnvironment machine;
  machine.files["/etc/main"] = limits + "check host x with address a.example.org\n" + tests;
  LoadResult result = load("/etc/main", {}, machine);
  INFO(format_all(result.diagnostics, result.sources, false));
  REQUIRE(result.ok());
  return result.rules->services.front();
}

ProbePlan plan(const std::string& test) { return *service("if failed " + test + " then alert\n")->probes.front(); }

/// Of the one rule.
std::string text(const std::string& test) { return service("if " + test + " then alert\n")->rules.front()->text; }

std::vector<std::string> settings(const ProbePlan& plan) {
  std::vector<std::string> shown;
  for (const Setting& setting : plan.settings)
    shown.push_back(std::string(setting.word) + std::string(to_string(setting.op)) +
                    (setting.text.empty() ? std::to_string(setting.number) : setting.text));
  return shown;
}

}  // namespace

TEST_CASE("a port is probed at the host of the service, or where the test says", "[connection]") {
  const ProbePlan own = plan("port 80");
  CHECK(own.transport == Transport::Tcp);
  CHECK(own.host == "a.example.org");
  CHECK(own.port == 80);
  CHECK(own.protocol->name == "default");
  CHECK(own.timeout == seconds{5});
  CHECK(own.attempts == 1);
  CHECK_FALSE(own.tls);

  const ProbePlan other = plan("host \"b\" port 53 address 192.0.2.1 ipv6 type udp timeout 2 minutes retry 3");
  CHECK(other.transport == Transport::Udp);
  CHECK(other.host == "b");
  CHECK(other.source == "192.0.2.1");
  CHECK(other.family == Family::V6);
  CHECK(other.timeout == minutes{2});
  CHECK(other.attempts == 3);

  const auto limited =
      service("if failed port 1 then alert\n", "set limits { networkTimeout: 8 s, sendExpectBuffer: 1 kB }\n");
  CHECK(limited->probes.front()->timeout == seconds{8});
  CHECK(limited->probes.front()->limits.send_expect == 1024);
}

TEST_CASE("a process has its own machine for a host", "[connection]") {
  test::FakeEnvironment machine;
  machine.files["/etc/main"] =
      "check process x with pidfile /run/x\n if failed port 80 then alert\n if failed unixsocket /run/s then alert\n";
  const LoadResult result = load("/etc/main", {}, machine);
  REQUIRE(result.ok());
  const auto& probes = result.rules->services.front()->probes;
  CHECK(probes.at(0)->host == "localhost");
  CHECK(probes.at(1)->transport == Transport::Unix);
  CHECK(probes.at(1)->host == "/run/s");
}

TEST_CASE("TLS comes with its options, or with the protocol", "[connection]") {
  CHECK(plan("port 443 type tcpssl").tls);
  CHECK(plan("port 443 protocol https").tls);
  const ProbePlan full = plan(
      "port 1 using ssl with options { verify: enable, selfsigned: allow, version: auto -tlsv12, ciphers: \"HIGH\" } "
      "certificate checksum 8F7F419955CEFA0B33A2BA316CBA3659 certificate valid > 30 days");
  REQUIRE(full.tls);
  CHECK(*full.tls == TlsPlan{.verify = true,
                             .allow_self_signed = true,
                             .versions = kTls13,
                             .ciphers = "HIGH",
                             .checksum = "8f7f419955cefa0b33a2ba316cba3659",
                             .valid_days = 30});
}

TEST_CASE("TLS that is named twice keeps what was said of it", "[connection]") {
  CHECK(plan("port 1 using ssl with options { verify: enable } type tcpssl").tls->verify);
  CHECK(plan("port 1 using ssl with options { verify: enable } using ssl").tls->verify);
  const ProbePlan both = plan("port 1 type tcpssl tlsv12 using ssl with options { verify: enable }");
  CHECK(both.tls->verify);
  CHECK(both.tls->versions == kTls12);
}

TEST_CASE("the checksum of a content, or of a key, is none of a certificate", "[connection]") {
  const std::string sum = "8f7f419955cefa0b33a2ba316cba3659";
  CHECK(plan("port 1 protocol http checksum " + sum + " type tcpssl").tls->checksum.empty());
  const auto both = service("if failed port 1 protocol http checksum " + sum +
                            " then alert\n"
                            "if failed port 2 type tcpssl then alert\n");
  CHECK(both->probes.at(1)->tls->checksum.empty());
}

TEST_CASE("a protocol gets its options, of which the last of a word counts", "[connection]") {
  const ProbePlan http = plan(
      "port 80 protocol http request \"/a\" request \"/b\" status >= 400 username \"u\" password \"p\" "
      "http headers [A: b, C: d=1; e=2] content != \"x\" responsetime < 2 s");
  CHECK(settings(http) == std::vector<std::string>{"request=/b", "status>=400", "username=u", "password=p",
                                                   "headers=A: b", "headers=C: d=1; e=2", "content!=x"});
  CHECK(settings(plan("port 80 protocol http http headers [: a, B: c]")) == std::vector<std::string>{"headers=B: c"});
  REQUIRE(http.response_time);
  CHECK(http.response_time->op == Operator::Less);
  CHECK(http.response_time->limit == seconds{2});
  CHECK(settings(plan("port 1 send \"a\\n\" expect \"b\" send \"c\"")) ==
        std::vector<std::string>{"send=a\n", "expect=b", "send=c"});
  CHECK(plan("port 123 protocol ntp3").transport == Transport::Udp);
  CHECK(plan("port 53 protocol dns").transport == Transport::Tcp);
  CHECK(plan("port 53 type udp protocol dns").transport == Transport::Udp);
  CHECK(plan("port 3306 protocol mysqls").tls);
  CHECK(settings(
            plan("port 53 type udp protocol dns query \"example.org\" type aaaa expect \"::1\" timeout 2 seconds")) ==
        std::vector<std::string>{"query=example.org", "type=aaaa", "expect=::1"});
  CHECK(plan("port 123 protocol ntp3 offset < 100 ms").settings[0] ==
        Setting{.word = "offset", .op = Operator::Less, .number = 100});
}

TEST_CASE("HTTP tests that only healer has", "[connection]") {
  const ProbePlan http = plan(
      "port 80 protocol http json '.a' = \"x\" json \".b\" >= -1.5 json '.d' != true method post body '{\"k\":1}' "
      "redirects 3 http2");
  REQUIRE(http.settings.size() == 7);
  CHECK(http.settings[0] == Setting{.word = "json", .text = ".a", .value = "\"x\""});
  CHECK(http.settings[1] == Setting{.word = "json", .op = Operator::GreaterEqual, .text = ".b", .value = "-1.5"});
  CHECK(http.settings[2] == Setting{.word = "json", .op = Operator::NotEqual, .text = ".d", .value = "true"});
  CHECK(http.settings[4] == Setting{.word = "body", .text = "{\"k\":1}"});
  CHECK(http.settings[5] == Setting{.word = "redirects", .number = 3});
  CHECK(http.settings[6] == Setting{.word = "http2"});
  const ProbePlan file = plan("port 80 protocol http body file /etc/healer/x.json");
  CHECK(file.settings[0] == Setting{.word = "body", .text = "/etc/healer/x.json", .value = "file"});
}

TEST_CASE("a URL says where, how and what", "[connection]") {
  const ProbePlan url = plan("url https://u:p@[2001:db8::1]:8443/a?b=c#d content = \"x\"");
  CHECK(url.host == "2001:db8::1");
  CHECK(url.port == 8443);
  CHECK(url.protocol->name == "https");
  CHECK(url.tls);
  CHECK(settings(url) == std::vector<std::string>{"username=u", "password=p", "request=/a?b=c", "content=x"});
  CHECK(plan("url http://b").port == 80);
  // As Monit has it, credentials end at the first '@', whatever is in them.
  const ProbePlan slash = plan("url http://u:p/q?r@c/x,y;z");
  CHECK(slash.host == "c");
  CHECK(settings(slash) == std::vector<std::string>{"username=u", "password=p/q?r", "request=/x,y;z"});
  CHECK(settings(plan("url http://b")) == std::vector<std::string>{"request=/"});
}

TEST_CASE("a ping has a count, a size and a family", "[connection]") {
  const ProbePlan ping = plan("ping6 count 5 size 100 responsetime > 200 ms");
  CHECK(ping.transport == Transport::Ping);
  CHECK(ping.family == Family::V6);
  CHECK(ping.pings == 5);
  CHECK(ping.ping_size == 100);
  CHECK(plan("icmp type echo").pings == 3);
}

TEST_CASE("no rule's text tells a secret", "[connection]") {
  for (const std::string test :
       {"failed port 80 protocol http username \"u\" password \"hidden\"",
        "failed port 80 protocol http http headers [Authorization: hidden, Cookie: hidden, Accept: text]",
        "failed port 80 protocol http http headers [X-Auth-Token: hidden, Host: b]", "failed url http://u:hidden@b/",
        "failed url http://u:hid/hidden@b/", "failed port 1 type udp protocol radius secret \"hidden\""}) {
    INFO(test);
    CHECK(text(test).find("hidden") == std::string::npos);
    CHECK(text(test).find("*****") != std::string::npos);
  }
  CHECK(text("failed url http://u@b/") == "if failed url http://u@b/ then alert");
}

TEST_CASE("a header may have no value, as in Monit", "[connection]") {
  CHECK(text("failed port 80 protocol http http headers [Host: , User-Agent: b]") ==
        "if failed port 80 protocol http http headers [Host: , User-Agent: b] then alert");
}

TEST_CASE("what is not a URL, an address or a list of headers is told without what it holds", "[connection]") {
  test::FakeEnvironment machine;
  machine.files["/etc/main"] =
      "check host x with address a\n if failed url \"http\" then alert\n if failed url \"https\" then alert\n"
      " if failed port 1 address 999.1.1.1 then alert\n if failed port 1 address a.b then alert\n"
      " if failed port 1 protocol http http headers [Cookie: a,hidden] then alert\n";
  const LoadResult result = load("/etc/main", {}, machine);
  const std::string messages = format_all(result.diagnostics, result.sources, false);
  INFO(messages);
  CHECK_FALSE(result.ok());
  CHECK(std::ranges::count_if(result.diagnostics,
                              [](const Diagnostic& one) { return one.severity == DiagnosticSeverity::Error; }) == 5);
  CHECK(messages.find("hidden") == std::string::npos);
}

TEST_CASE("another secret is another service", "[connection]") {
  const std::string before = "if failed port 80 protocol http username \"u\" password \"a\" then alert\n";
  const std::string after = "if failed port 80 protocol http username \"u\" password \"b\" then alert\n";
  CHECK(service(before)->key == service(before)->key);
  CHECK_FALSE(service(before)->key == service(after)->key);
  const std::string one = "if failed port 80 protocol http body \"a\" then alert\n";
  const std::string two = "if failed port 80 protocol http body \"b\" then alert\n";
  CHECK_FALSE(service(one)->key == service(two)->key);
}

TEST_CASE("A connection test is printed in one fixed order", "[connection]") {
  CHECK(text("failed port 80 retry 2 timeout 5 seconds protocol http with request /x and status 200") ==
        "if failed port 80 protocol http request \"/x\" status = 200 timeout 5 seconds retry 2 then alert");
  CHECK(text("failed port 80 responsetime 500 ms") == "if failed port 80 responsetime < 500 ms then alert");
  CHECK(text("failed port 80 protocol http body '{\"k\":1}' json \".a\" = 'x' json '.b' >= -1.5 http2 redirects 3") ==
        "if failed port 80 protocol http body \"*****\" json \".a\" = \"x\" json \".b\" >= -1.5 http2 redirects 3 "
        "then alert");
  CHECK(text("failed port 80 protocol http body file /a/b") ==
        "if failed port 80 protocol http body file /a/b then alert");
  CHECK(text("succeeded ping") == "if succeeded ping then alert");
}

}  // namespace connection_test
