// SPDX-License-Identifier: MIT
// Probes of servers that behave, and of servers that do not.
#include "runtime/net/connector.hpp"

#include "probes.hpp"
#include "runtime/descriptor.hpp"

namespace connector_test {

using namespace healer;
using namespace healer::test;

namespace {

constexpr const char* kOk = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

Listener::Serve http(std::string answer) {
  return [answer = std::move(answer)](Peer& peer) {
    peer.receive();
    peer.say(answer);
  };
}
void silent(Peer& peer) { peer.be_silent(); }

}  // namespace

TEST_CASE("a server that is well passes, with the time of each phase", "[probe]") {
  const Listener server(http(kOk));
  Prober prober;
  const ProbeResult result = prober.run(server, "protocol http content = \"hel+o\"");
  CHECK(result.verdict == ProbeVerdict::Passed);
  CHECK(result.phase == ProbePhase::Done);
  CHECK(result.address == "127.0.0.1:" + std::to_string(server.port()));
  CHECK(result.addresses == 1);
  REQUIRE(result.connect);
  REQUIRE(result.first_byte);
  REQUIRE(result.response);
  CHECK(*result.connect + *result.first_byte <= *result.response);
  CHECK_FALSE(result.tls);
  CHECK(prober.words(server, "protocol http status = 404") == "failed at talk: its status is 200, not = 404");
  CHECK(prober.words(server, "") == "passed at done: ");
  CHECK(prober.connector().in_flight() == 0);
}

TEST_CASE("a closed port is told as such", "[probe]") {
  std::uint16_t port = 0;
  { port = Listener(silent).port(); }
  Prober prober;
  const ProbeResult result = prober.run("127.0.0.1", "port " + std::to_string(port));
  CHECK(result.verdict == ProbeVerdict::Failed);
  CHECK(result.phase == ProbePhase::Connect);
  CHECK(result.text == "connection refused");
}

TEST_CASE("a server that accepts and is silent fails at its timeout", "[probe]") {
  const Listener server(silent);
  Prober prober;
  const Listener none([](Peer&) {});
  CHECK(prober.run(none, "protocol https").verdict == ProbeVerdict::Failed);  // what TLS needs is there from here on
  CHECK(prober.words(server, "protocol http timeout 500 ms") == "failed at talk: no answer within 500 ms");
  CHECK(prober.words(server, "protocol ssh timeout 500 ms") == "failed at talk: no greeting within 500 ms");
  CHECK(prober.words(server, "protocol smtp timeout 500 ms") == "failed at talk: no greeting within 500 ms");
  CHECK(prober.words(server, "protocol https timeout 500 ms") == "failed at tls: no answer within 500 ms");
  CHECK(prober.words(server, "expect \"x\" timeout 500 ms") == "failed at talk: no data within 500 ms");
}

TEST_CASE("A connection without any response is reported", "[probe]") {
  // Nobody accepts, and the queue of connections is full: the kernel drops what comes.
  const runtime::Descriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(server.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  REQUIRE(::listen(server.get(), 0) == 0);
  socklen_t size = sizeof name;
  ::getsockname(server.get(), reinterpret_cast<sockaddr*>(&name), &size);
  std::vector<runtime::Descriptor> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    (void)::connect(clients.back().get(), reinterpret_cast<sockaddr*>(&name), sizeof name);
  }
  Prober prober;
  const ProbeResult result =
      prober.run("127.0.0.1", "port " + std::to_string(ntohs(name.sin_port)) + " timeout 100 ms");
  CHECK(result.verdict == ProbeVerdict::Failed);
  CHECK(result.phase == ProbePhase::Connect);
  CHECK(result.text == "no answer within 100 ms");
  CHECK_FALSE(result.connect);
}

TEST_CASE("a server that sends a byte now and then gets no more time than others", "[probe]") {
  const Listener server([](Peer& peer) {
    for (const char c : std::string(1000, 'H')) {
      if (!peer.say({&c, 1})) return;
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
  });
  Prober prober;
  CHECK(prober.words(server, "expect \"x\" timeout 200 ms") == "failed at talk: no data that match within 200 ms");
}

TEST_CASE("a server that closes half-way has failed", "[probe]") {
  Prober prober;
  const Listener none([](Peer& peer) { peer.receive(); });
  CHECK(prober.words(none, "protocol http") == "failed at talk: the server closed the connection without an answer");
  CHECK(prober.words(none, "protocol https") == "failed at tls: the server closed the connection");
  const Listener half(http("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"));
  CHECK(prober.words(half, "protocol http content = \"hello\"") ==
        "failed at talk: the server closed the connection after 5 of 50 bytes of its content");
}

TEST_CASE("endless servers are judged by their beginning", "[probe]") {
  const Listener banner([](Peer& peer) {
    while (peer.say(std::string(65536, 'x'))) {
    }
  });
  Prober prober;
  CHECK(prober.run(banner, "expect \"zend\"").text.find("which does not match \"zend\"") != std::string::npos);
  CHECK(prober.run(banner, "expect \"ze+nd\"").text.find("which does not match \"ze+nd\"") != std::string::npos);
  CHECK(prober.run(banner, "protocol smtp").text == "it sends an endless line");
  CHECK(prober.run(banner, "protocol ssh").text.starts_with("this is not an SSH server"));
  CHECK(prober.run(banner, "protocol http").text.starts_with("this is not an HTTP server"));
  CHECK(prober.words(banner, "protocol https") == "failed at tls: the server does not speak TLS");
  const Listener body([](Peer& peer) {
    peer.receive();
    peer.say("HTTP/1.1 200 OK\r\n\r\n");
    while (peer.say(std::string(65536, 'x'))) {
    }
  });
  CHECK(prober.words(body, "protocol http content = \"x\"") == "passed at done: HTTP status 200");
  CHECK(prober.words(body, "protocol http content = \"y\"")
            .starts_with("failed at talk: its content, of which 1048576 bytes"));
}

TEST_CASE("an expression that is none is no failure of the server's", "[probe]") {
  const Listener server([](Peer& peer) {
    peer.say("x");
    peer.be_silent();
  });
  Prober prober;
  const auto plan = plan_of("127.0.0.1", "port " + std::to_string(server.port()) + " expect \"x*\"");
  plan->settings.front().text = "([";
  const ProbeResult result = prober.run(plan);
  CHECK(result.verdict == ProbeVerdict::Unknown);
  CHECK(result.text == "what it sent was not compared: it is not a valid regular expression");
}

TEST_CASE("a redirect to where nothing can be sent has failed", "[probe]") {
  const Listener here(http("HTTP/1.1 302 Found\r\nLocation: http://[::1]/\r\nContent-Length: 0\r\n\r\n"));
  Prober prober;
  for (const char* where : {"ipv4", "address 127.0.0.1"}) {
    const ProbeResult result = prober.run(here, std::string(where) + " protocol http redirects 1");
    CHECK(result.verdict == ProbeVerdict::Failed);
    CHECK(prober.connector().in_flight() == 0);
  }
}

TEST_CASE("redirects are followed to the other place, without what is a secret", "[probe]") {
  std::mutex mutex;
  std::string received;
  const Listener there([&](Peer& peer) {
    const std::string request = peer.receive();
    {
      const std::lock_guard lock(mutex);
      received = request;
    }
    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  });
  const std::string place = "http://127.0.0.1:" + std::to_string(there.port()) + "/there";
  const Listener here([&](Peer& peer) {
    const std::string request = peer.receive();
    const std::string to = request.starts_with("GET /loop") ? "/loop" : place;
    peer.say("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + to + "\r\n\r\n");
  });
  Prober prober;
  CHECK(prober.words(here, "protocol http") == "passed at done: HTTP status 302");
  const ProbeResult result =
      prober.run(here, "protocol http username \"u\" password \"p\" redirects 1 content = \"hi\"", "localhost");
  CHECK(result.verdict == ProbeVerdict::Passed);
  CHECK(result.redirects == 1);
  CHECK(result.address == "127.0.0.1:" + std::to_string(there.port()));
  CHECK(received.starts_with("GET /there HTTP/1.1\r\n"));
  CHECK(received.find("Authorization") == std::string::npos);
  CHECK(prober.words(here, "protocol http request \"/loop\" redirects 5 retry 2") ==
        "failed at talk: its status is 302: it redirects once more");
}

TEST_CASE("what is sent is read from a file at each test", "[probe]") {
  const Listener server([](Peer& peer) {
    const std::string request = peer.receive();
    const bool is_right = request.ends_with("\r\n\r\n{\"n\":7}");
    peer.say(is_right ? "HTTP/1.1 200 OK\r\n\r\n" + std::string("{\"n\":7}") : "HTTP/1.1 400 Bad\r\n\r\n");
  });
  const TemporaryDirectory folder;
  const std::string file = (folder.path() / "body.json").string();
  Prober prober;
  const std::string words = "protocol http body file " + file + " json \".n\" > 6";
  CHECK(prober.run(server, words).verdict == ProbeVerdict::Unknown);
  write_file(file, "{\"n\":7}");
  CHECK(prober.words(server, words) == "passed at done: HTTP status 200");
  CHECK(prober.words(server, words + " json '.n' = 8") == "failed at talk: json \".n\" is 7, not = 8");
  CHECK(
      prober.words(server, words + " json '.m.k[]' = 8").starts_with("unknown at talk: json \".m.k[]\" is not known"));
  write_file(file, std::string((1 << 20) + 1, 'x'));
  CHECK(prober.run(server, words).text == file + " has more than 1 MB: it is not sent");
}

TEST_CASE("attempts follow one another until one passes", "[probe]") {
  std::atomic<int> tries{0};
  const Listener server([&](Peer& peer) {
    peer.receive();
    peer.say(++tries % 3 == 0 ? kOk : "HTTP/1.1 500 No\r\n\r\n");
  });
  Prober prober;
  const ProbeResult result = prober.run(server, "protocol http retry 3");
  CHECK(result.verdict == ProbeVerdict::Passed);
  CHECK(result.attempt == 3);
  CHECK(prober.words(server, "protocol http retry 2") == "failed at talk: its status is 500");
  CHECK(server.count() == 5);
}

TEST_CASE("each address of a name is tried until one passes, as in Monit", "[probe]") {
  const DatagramServer names([](const std::string& question) {
    return dns_answer(question, {"127.0.0.2", "127.0.0.3", "127.0.0.4"}, 60);
  });
  Prober prober({.resolver = {.servers = "127.0.0.1:" + std::to_string(names.port())}});
  const Listener second(http(kOk), "127.0.0.3");
  ProbeResult result = prober.run(second, "protocol http", "many.test");  // the first refuses
  CHECK(result.verdict == ProbeVerdict::Passed);
  CHECK(result.address == "127.0.0.3:" + std::to_string(second.port()));
  CHECK(result.addresses == 3);
  const Listener first(http("HTTP/1.1 500 No\r\n\r\n"), "127.0.0.2", second.port());  // fails in its protocol
  result = prober.run(second, "protocol http", "many.test");
  CHECK(result.verdict == ProbeVerdict::Passed);
  CHECK(first.count() == 1);
  const Listener third(http("HTTP/1.1 503 No\r\n\r\n"), "127.0.0.4", second.port());
  CHECK(prober.words(second, "protocol http status = 503", "many.test") == "passed at done: HTTP status 503");
}

TEST_CASE("a source address is used", "[probe]") {
  std::mutex mutex;
  std::string client;  // guarded by mutex
  const Listener server([&](Peer& peer) {
    {
      const std::lock_guard lock(mutex);
      client = peer.client();
    }
    peer.receive();
    peer.say(kOk);
  });
  Prober prober;
  CHECK(prober.words(server, "address 127.0.0.9 protocol http") == "passed at done: HTTP status 200");
  {
    const std::lock_guard lock(mutex);
    CHECK(client == "127.0.0.9");
  }
  CHECK(prober.words(server, "address 192.0.2.77 protocol http")
            .starts_with("unknown at connect: cannot send from 192.0.2.77: "));
  CHECK(prober.words(server, "address ::1 protocol http") ==
        "failed at resolve: 127.0.0.1 has no address that ::1 could send to");
}

TEST_CASE("IPv6 and its choice", "[probe]") {
  const Listener server(http(kOk), "::1");
  Prober prober;
  const ProbeResult result = prober.run(server, "protocol http", "::1");
  CHECK(result.verdict == ProbeVerdict::Passed);
  CHECK(result.address == "[::1]:" + std::to_string(server.port()));
  CHECK(prober.words(server, "ipv4 protocol http", "::1") == "failed at resolve: ::1 is not an IPv4 address");
}

TEST_CASE("unix sockets", "[probe]") {
  const TemporaryDirectory folder;
  const std::string path = (folder.path() / "socket").string();
  Prober prober;
  CHECK(prober.run("h", "unixsocket " + path).text == "no such file or directory");
  const Listener server(http(kOk), path);
  const ProbeResult result = prober.run("h", "unixsocket " + path + " protocol http");
  CHECK(result.verdict == ProbeVerdict::Passed);
  CHECK(result.address == path);
  CHECK(prober.run("h", "unixsocket /" + std::string(200, 'x')).text ==
        "the path of a unix socket has at most 107 bytes");
}

TEST_CASE("datagrams: an answer, silence, and a refusal", "[probe]") {
  const DatagramServer echo([](const std::string& text) { return "you said " + text; });
  const DatagramServer mute([](const std::string&) { return std::string(); });
  Prober prober;
  const auto run = [&](std::uint16_t port, const std::string& text) {
    const ProbeResult result = prober.run("127.0.0.1", "port " + std::to_string(port) + " type udp " + text);
    return std::string(to_string(result.verdict)) + ": " + result.text;
  };
  CHECK(run(echo.port(), "") == "passed: it answered");
  CHECK(run(mute.port(), "timeout 500 ms") == "passed: nothing refused it within 500 ms");
  CHECK(run(echo.port(), "send \"x\" expect \"said x\"") == "passed: all that is expected came");
  CHECK(run(mute.port(), "send \"x\" expect \"y\" timeout 500 ms") == "failed: no data within 500 ms");
  std::uint16_t closed = 0;
  {
    closed = DatagramServer([](const std::string&) { return std::string(); }).port();
  }
  CHECK(run(closed, "") == "failed: connection refused");
}

TEST_CASE("a response time that is not met is a failure", "[probe]") {
  const Listener server([](Peer& peer) {
    peer.receive();
    std::this_thread::sleep_for(std::chrono::milliseconds{30});
    peer.say(kOk);
  });
  Prober prober;
  CHECK(prober.words(server, "protocol http responsetime > 10 ms") == "passed at done: HTTP status 200");
  const ProbeResult result = prober.run(server, "protocol http responsetime < 10 ms");
  CHECK(result.verdict == ProbeVerdict::Failed);
  CHECK(result.text.find(", not < 10 ms") != std::string::npos);
}

TEST_CASE("many that hang delay no other, and cost their own check only", "[probe]") {
  const Listener hanging(silent);
  const Listener good(http(kOk));
  Prober prober;
  const auto stuck =
      plan_of("127.0.0.1", "port " + std::to_string(hanging.port()) + " protocol http timeout 100 seconds");
  std::vector<std::uint64_t> ids;
  int answered = 0;
  for (int i = 0; i < 200; ++i) ids.push_back(prober.connector().probe(stuck, [&](const ProbeResult&) { ++answered; }));
  for (int i = 0; i < 20; ++i) CHECK(prober.run(good, "protocol http").verdict == ProbeVerdict::Passed);
  CHECK(prober.connector().in_flight() == 200);
  for (const auto id : ids) prober.connector().cancel(id);
  CHECK(prober.connector().in_flight() == 0);
  CHECK(prober.run(good, "protocol http").verdict == ProbeVerdict::Passed);
  CHECK(answered == 0);
}

TEST_CASE("what is more than descriptors waits for its turn", "[probe]") {
  const Listener server(http(kOk));
  Prober prober({.max_open = 3});
  const auto plan = plan_of("127.0.0.1", "port " + std::to_string(server.port()) + " protocol http");
  int passed = 0;
  for (int i = 0; i < 50; ++i)
    prober.connector().probe(
        plan, [&](const ProbeResult& result) { passed += result.verdict == ProbeVerdict::Passed ? 1 : 0; });
  CHECK(run_until(prober.loop(), [&] { return prober.connector().waiting() <= 47; }));
  CHECK(run_until(prober.loop(), [&] { return passed == 50; }));
}

TEST_CASE("a machine without descriptors says nothing about a server", "[probe]") {
  Prober prober({.max_open = 1000});
  CHECK(prober.run("127.0.0.1", "port 9").verdict == ProbeVerdict::Failed);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = dup(0);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  close(next);
  setrlimit(RLIMIT_NOFILE, &none);
  const ProbeResult result = prober.run("127.0.0.1", "port 9");
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(result.verdict == ProbeVerdict::Unknown);
  CHECK(result.text == "too many open files");
}

TEST_CASE("A destroyed connector reports to nobody", "[probe]") {
  const Listener server(silent);
  int answered = 0;
  runtime::Loop loop;
  {
    runtime::Connector connector(loop);
    const auto tell = [&](const ProbeResult&) { ++answered; };
    for (const char* text : {"protocol http", "protocol https with ssl options {verify: enable}", "type udp"})
      connector.probe(plan_of("127.0.0.1", std::string("port 9 timeout 100 s ") + text), tell);
    connector.probe(plan_of("127.0.0.1", "ping"), tell);
    connector.probe(plan_of("no.such.name.invalid", "port 9"), tell);
  }
  run_for(loop, Duration{20});
  CHECK(answered == 0);
}

}  // namespace connector_test
