// SPDX-License-Identifier: MIT
#include "runtime/net/resolver.hpp"

#include <algorithm>

#include "probes.hpp"

namespace resolver_test {

using namespace healer;
using namespace healer::test;
using runtime::Resolver;

namespace {

/// Asks, and waits; "127.0.0.2 127.0.0.3", or the error.
std::string ask(runtime::Loop& loop, Resolver& resolver, const std::string& host, Family family = Family::Any) {
  std::string text;
  bool replied = false;
  const auto question = resolver.resolve(host, family, [&](const Result<Resolver::Addresses>& result) {
    replied = true;
    if (!result) {
      text = result.error().what;
    } else {
      for (const auto& address : *result) text += (text.empty() ? "" : " ") + address.text();
    }
  });
  CHECK(run_until(loop, [&] { return replied; }));
  return text;
}

std::string at(const DatagramServer& server) { return "127.0.0.1:" + std::to_string(server.port()); }

}  // namespace

TEST_CASE("addresses need nobody", "[resolver]") {
  runtime::Loop loop;
  Resolver resolver(loop);
  CHECK(ask(loop, resolver, "10.0.0.7") == "10.0.0.7");
  CHECK(ask(loop, resolver, "::1") == "::1");
  CHECK(ask(loop, resolver, "::1", Family::V4) == "::1 is not an IPv4 address");
  CHECK(ask(loop, resolver, "fe80::1%lo") == "fe80::1%lo");
}

TEST_CASE("the machine's own file of hosts is read", "[resolver]") {
  runtime::Loop loop;
  const DatagramServer nobody([](const std::string&) { return std::string(); });
  Resolver resolver(loop, {.servers = at(nobody)});
  CHECK(ask(loop, resolver, "localhost", Family::V4) == "127.0.0.1");
  CHECK(nobody.count() == 0);
}

TEST_CASE("answers are kept for their time to live, and no longer", "[resolver]") {
  std::atomic<unsigned> ttl{60};
  const DatagramServer server([&](const std::string& question) {
    return dns_answer(question, {"127.0.0.2", "127.0.0.3", "::2"}, ttl, dns_name(question) != "none.test");
  });
  runtime::Loop loop;
  Resolver resolver(loop, {.servers = at(server)});
  CHECK(ask(loop, resolver, "Kept.test", Family::V4) == "127.0.0.2 127.0.0.3");
  const int questions = server.count();
  CHECK(ask(loop, resolver, "kept.TEST", Family::V4) == "127.0.0.2 127.0.0.3");
  CHECK(server.count() == questions);
  CHECK(ask(loop, resolver, "kept.test", Family::V6) == "::2");
  CHECK(server.count() > questions);
  ttl = 0;
  CHECK(ask(loop, resolver, "fleeting.test", Family::V4) == "127.0.0.2 127.0.0.3");
  const int before = server.count();
  CHECK(ask(loop, resolver, "fleeting.test", Family::V4) == "127.0.0.2 127.0.0.3");
  CHECK(server.count() > before);
  ttl = 1;
  CHECK(ask(loop, resolver, "short.test", Family::V4) == "127.0.0.2 127.0.0.3");
  const int last = server.count();
  CHECK(run_until(loop, [&] {
    (void)resolver.resolve("short.test", Family::V4, [](const auto&) {});
    return server.count() > last;
  }));
}

TEST_CASE("Unknown names are reported and queried again", "[resolver]") {
  std::atomic<bool> known{false};
  const DatagramServer server(
      [&](const std::string& question) { return dns_answer(question, {"127.0.0.5"}, 60, known); });
  runtime::Loop loop;
  Resolver resolver(loop, {.servers = at(server)});
  CHECK(ask(loop, resolver, "new.test.") == "cannot resolve new.test.: no such name");
  known = true;
  CHECK(ask(loop, resolver, "new.test.") == "127.0.0.5");
  CHECK(ask(loop, resolver, "new.test.", Family::V6) == "cannot resolve new.test.: the name has no IPv6 address");
  CHECK(ask(loop, resolver, std::string(300, 'x')).starts_with("cannot resolve xxx"));
}

TEST_CASE("An unreachable name server is distinguished from an unknown name", "[resolver][probe]") {
  std::atomic<int> code{0};
  const DatagramServer server([&](const std::string& question) {
    std::string answer = dns_answer(question, {}, 60, false);
    answer[3] = static_cast<char>((answer[3] & 0xF0) | code);
    return answer;
  });
  Prober prober({.resolver = {.servers = at(server)}});
  const auto nameless = [&](int answered) {
    code = answered;
    const ProbeResult result = prober.run("one.test.", "port 80");
    CHECK(result.verdict == ProbeVerdict::Failed);
    CHECK(result.phase == ProbePhase::Resolve);
    return result.nameless;
  };
  CHECK(nameless(2));        // SERVFAIL
  CHECK_FALSE(nameless(3));  // NXDOMAIN
  CHECK(nameless(5));        // REFUSED
  Prober refused({.resolver = {.servers = "127.0.0.1:1"}});
  CHECK(refused.run("one.test.", "port 80").nameless);
}

TEST_CASE("Queries for the same name are shared and may be cancelled", "[resolver]") {
  const DatagramServer server([&](const std::string& question) { return dns_answer(question, {"127.0.0.2"}, 60); });
  runtime::Loop loop;
  Resolver resolver(loop, {.servers = at(server)});
  int replied = 0, never = 0;
  std::vector<Resolver::Question> questions;
  for (int i = 0; i < 100; ++i)
    questions.push_back(resolver.resolve("one.test", Family::V4, [&](const auto&) { ++replied; }));
  {
    const auto gone = resolver.resolve("one.test", Family::V4, [&](const auto&) { ++never; });
  }
  CHECK(resolver.asked() == 1);
  CHECK(run_until(loop, [&] { return replied == 100; }));
  CHECK(server.count() == 1);
  CHECK(never == 0);
}

TEST_CASE("another name server is asked after a second, or when the machine's file says", "[resolver]") {
  const DatagramServer dead([](const std::string&) { return std::string(); });
  const DatagramServer good([](const std::string& question) { return dns_answer(question, {"127.0.0.2"}, 60); });
  const TemporaryDirectory folder;
  const std::string file = folder.path() / "resolv.conf";
  const auto time_to_ask = [&](const std::string& options) {
    std::ofstream(file) << "nameserver 127.0.0.1\n" << options;
    runtime::Loop loop;
    Resolver resolver(loop, {.servers = at(dead) + "," + at(good), .file = file});
    const auto begun = std::chrono::steady_clock::now();
    CHECK(ask(loop, resolver, "one.test", Family::V4) == "127.0.0.2");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  };
  const double usual = time_to_ask("");
  CHECK(usual >= 0.9);
  CHECK(usual < 3);
  CHECK(time_to_ask("options ndots:1 timeout:4 attempts:2\n") >= 3.9);
}

TEST_CASE("a dead name server delays only those who need it", "[resolver][probe]") {
  const DatagramServer dead([](const std::string&) { return std::string(); });
  const Listener good([](Peer& peer) {
    peer.receive();
    peer.say("HTTP/1.1 200 OK\r\n\r\n");
  });
  Prober prober({.resolver = {.servers = at(dead)}});
  int replied = 0;
  for (int i = 0; i < 20; ++i)
    prober.connector().probe(plan_of("host" + std::to_string(i) + ".test", "port 80 timeout 300 seconds"),
                             [&](const ProbeResult&) { ++replied; });
  CHECK(prober.run(good, "protocol http").verdict == ProbeVerdict::Passed);
  CHECK(prober.run(good, "protocol http", "localhost").verdict == ProbeVerdict::Passed);
  CHECK(replied == 0);
  const ProbeResult result = prober.run("dead.test", "port 80 timeout 50 ms");
  CHECK(result.verdict == ProbeVerdict::Failed);
  CHECK(result.phase == ProbePhase::Resolve);
  CHECK(result.text == "cannot resolve dead.test: no answer within 50 ms");
  CHECK(result.resolve);
  CHECK(result.nameless);
}

}  // namespace resolver_test
