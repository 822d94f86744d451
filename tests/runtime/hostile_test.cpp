// SPDX-License-Identifier: MIT
// Servers that mean ill: what they send comes to an end, fills no memory and reaches nobody raw.
#include <algorithm>
#include <fstream>

#include "probes.hpp"
#include "support/rounds.hpp"
#include "util/text.hpp"

namespace hostile_test {

using namespace healer;
using namespace healer::test;
using namespace std::string_literals;

namespace {

const std::vector<std::string>& protocols_spoken() {
  static const std::vector<std::string> all{
      "expect \"ze+nd\"", "protocol http", "protocol http content = 'ze+nd'", "protocol http http2", "protocol https",
      "protocol redis",   "protocol smtp", "protocol smtp starttls",          "protocol smtps",      "protocol ssh"};
  return all;
}

constexpr bool kKeepsWhatIsFreed = healer::test::kSanitized;  // sanitizers do, for a while

/// The most memory that the process had since the last call, in bytes.
class PeakMemory {
 public:
  PeakMemory() { std::ofstream("/proc/self/clear_refs") << "5"; }
  [[nodiscard]] static std::size_t of(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(field)) return std::stoul(line.substr(field.size() + 1)) * 1024;
    return 0;
  }
  [[nodiscard]] std::size_t growth() const { return of("VmHWM") - std::min(begin_, of("VmHWM")); }

 private:
  std::size_t begin_ = of("VmRSS");
};

/// What no terminal, log, mail or page may get.
bool is_clean(const std::string& text) { return printable(text) == text; }

constexpr std::size_t kGigabyte = std::size_t{1} << 30;

const std::string kEvil =
    "\x1b]0;owned\x07\x1b[2J\r\nfailed: no fault\0\x7f\xc2\x9b"
    "31m\xe2\x80\xae <script>\xff"s;

}  // namespace

TEST_CASE("a banner without an end is left, and fills no memory", "[probe][hostile]") {
  std::atomic<std::size_t> sent{0};
  const Listener line([&](Peer& peer) {
    const std::string piece(65536, 'x');
    for (sent = 0; sent < kGigabyte && peer.say(piece);) sent += piece.size();
  });
  const Listener lines([&](Peer& peer) {
    std::string piece;
    while (piece.size() < 65536) piece += "220-more\r\n";
    for (sent = 0; sent < kGigabyte && peer.say(piece);) sent += piece.size();
  });
  Prober prober;
  for (const auto* server : {&line, &lines})
    for (const std::string& words : protocols_spoken()) {
      INFO(words);
      const PeakMemory memory;
      const ProbeResult result = prober.run(*server, words + " timeout 30 seconds");
      CHECK(result.verdict == ProbeVerdict::Failed);
      CHECK(result.text.find("within") == std::string::npos);  // it was not waited for
      CHECK(result.text.size() < 300);
      CHECK(sent < kGigabyte / 4);
      if (PeakMemory::of("VmHWM") != 0) CHECK(memory.growth() < 64 * 1024 * 1024);
    }
}

TEST_CASE("a content of a gigabyte is looked at as far as the limit, and fills no memory", "[probe][hostile]") {
  const Listener server([](Peer& peer) {
    peer.receive();
    peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40000000\r\n");
    const std::string piece(65536, 'x');
    for (std::size_t sent = 0; sent < kGigabyte / 8 && peer.say(piece); sent += piece.size()) {
    }
  });
  Prober prober;
  const PeakMemory memory;
  CHECK(prober.run(server, "protocol http content = \"ze+nd\"").text.find("1048576 bytes were searched") !=
        std::string::npos);
  CHECK(prober.run(server, "protocol http json '.a' = 1").verdict == ProbeVerdict::Unknown);
  CHECK(prober.run(server, "protocol http checksum 5d41402abc4b2a76b9719d911017c592 timeout 30 s").text ==
        "the server closed the connection in the middle of its content, after 134217728 bytes");
  CHECK(memory.growth() < 64 * 1024 * 1024);
}

TEST_CASE("a byte now and then buys no time", "[probe][hostile]") {
  const Listener server([](Peer& peer) {
    const std::string banner = "220 HTTP/1.1 200 OK";
    for (std::size_t i = 0; peer.say(banner.substr(i % banner.size(), 1)); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
  });
  for (const std::string& words : protocols_spoken()) {
    INFO(words);
    Prober prober;
    const auto begin = std::chrono::steady_clock::now();
    // On a busy machine what it sent may just be compared when the time is over.
    CHECK(prober.run(server, words + " timeout 300 ms").verdict != ProbeVerdict::Passed);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{3});
  }
}

TEST_CASE("A peer that does not read is not served forever", "[probe][hostile]") {
  const Listener server([](Peer& peer) {
    std::string pings;
    while (pings.size() < 65536) pings += "\0\0\x08\x06\0\0\0\0\0ABCDEFGH"s;
    peer.say("\0\0\0\x04\0\0\0\0\0"s);  // its settings
    while (peer.say(pings)) {
    }
  });
  Prober prober;
  const PeakMemory memory;
  CHECK(prober.run(server, "protocol http http2 timeout 2 seconds").verdict == ProbeVerdict::Failed);
  if (PeakMemory::of("VmHWM") != 0 && !kKeepsWhatIsFreed) CHECK(memory.growth() < 32 * 1024 * 1024);
}

TEST_CASE("a server that closes at once has failed, whatever is spoken", "[probe][hostile]") {
  const Listener server([](Peer&) {});
  Prober prober;
  for (const std::string& words : protocols_spoken()) {
    INFO(words);
    const ProbeResult result = prober.run(server, words);
    CHECK(result.verdict == ProbeVerdict::Failed);
    CHECK_FALSE(result.text.empty());
  }
}

TEST_CASE("TLS that is none, or ends half-way, has failed", "[probe][hostile]") {
  const std::vector<std::string> greetings{
      "\x16\x03\x03\xff\xff\x02garbage",
      std::string("\x16\x03\x03\x00\x04\x02\xff\xff\xff", 9),  // a hello longer than its record ever is
      std::string("\x15\x03\x03\x00\x02\x02\x28", 7),          // a refusal
      "\x80\x2e\x01",                                          // SSL 2
      std::string(100'000, '\x17'),
  };
  Prober prober;
  for (const std::string& greeting : greetings) {
    const Listener tls([&](Peer& peer) {
      peer.receive();
      peer.say(greeting);
    });
    const ProbeResult result = prober.run(tls, "protocol https timeout 5 seconds");
    INFO(result.text);
    CHECK(result.verdict == ProbeVerdict::Failed);
    CHECK(result.phase == ProbePhase::Tls);
    const Listener mail([&](Peer& peer) {
      peer.say("220 x\r\n");
      peer.receive();
      peer.say("250-x\r\n250 STARTTLS\r\n");
      peer.receive();
      peer.say("220 go\r\n");
      peer.receive();
      peer.say(greeting);
    });
    const ProbeResult upgraded = prober.run(mail, "protocol smtp starttls timeout 5 seconds");
    INFO(upgraded.text);
    CHECK(upgraded.verdict == ProbeVerdict::Failed);
    CHECK(upgraded.phase == ProbePhase::Tls);
  }
}

// CVE-2019-11454 of Monit: text of a stranger in a log, and from there in a page. What a server says is told in one
// line, without signs that do something to a terminal, to a log or to a mail.
TEST_CASE("no text of a server reaches a person raw", "[probe][hostile]") {
  const std::vector<std::string> answers{
      kEvil + "\r\n",
      "HTTP/1.1 " + kEvil + "\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: " + kEvil.substr(0, 8) + "\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + kEvil.substr(0, 8) + "\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\x1b[2J\r\n",
      "HTTP/1.1 302 Found\r\nLocation: " + kEvil.substr(0, 12) + "\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: http://a\x1b[2J/\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\r\n{\"a\":\"" + std::string("\\u001b[2J\xc2\x9b") + "\"}",
      "220 " + kEvil + "\r\n",
      "550 " + kEvil + "\r\n",
      "-ERR " + kEvil + "\r\n",
      "SSH-" + kEvil + "\r\n",
  };
  std::vector<std::string> words = protocols_spoken();
  for (const auto* more : {"protocol http redirects 3", "protocol http json '.a' = 'x'", "protocol http json '.a' > 3"})
    words.emplace_back(more);
  Prober prober;
  for (const std::string& answer : answers) {
    const Listener server([&](Peer& peer) {
      peer.say(answer);
      peer.receive();
    });
    for (const std::string& test : words) {
      const auto plan = plan_of("127.0.0.1", "port " + std::to_string(server.port()) + " " + test + " timeout 500 ms");
      const ProbeResult result = prober.run(plan);
      INFO(test << ": " << printable(result.text));
      CHECK(is_clean(result.text));
      CHECK(is_clean(describe(*plan, result)));
      CHECK(result.text.size() < 600);
    }
  }
}

// CVE-2019-11455 of Monit: what is percent-encoded and breaks off was read beyond its end.
TEST_CASE("A truncated message of a server is not read past its end", "[probe][hostile]") {
  Prober prober;
  for (const std::string place :
       {"/%", "/%0", "/%zz", "http://127.0.0.1/%", "//%", "?%", "%", "http://[", "http://[::"}) {
    const Listener server([&](Peer& peer) {
      if (peer.receive().find(" / ") != std::string::npos)
        peer.say("HTTP/1.1 301 X\r\nContent-Length: 0\r\nLocation: " + place + "\r\n\r\n");
      else
        peer.say("HTTP/1.1 200 OK\r\n\r\n");
    });
    const ProbeResult result = prober.run(server, "protocol http request \"/\" redirects 2 timeout 2 seconds");
    INFO(place << ": " << result.text);
    CHECK(is_clean(result.text));
    if (place.starts_with("/%")) CHECK(result.verdict == ProbeVerdict::Passed);
  }
  for (const std::string answer :
       {"HTTP/1.1 ", "HTTP/1.1 2", "HTTP/", "HTTP/1.1 200 OK\r\nContent-Length:", "\r\n", ":"}) {
    const Listener server([&](Peer& peer) {
      peer.receive();
      peer.say(answer);
    });
    CHECK(prober.run(server, "protocol http").verdict == ProbeVerdict::Failed);
  }
}

}  // namespace hostile_test
