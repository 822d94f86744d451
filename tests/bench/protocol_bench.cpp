// SPDX-License-Identifier: MIT
// What the protocols of databases, directories and mail cost, against stubs on a thread that answer at once:
//   each_protocol   processor time of the prober's thread by probe, as a ratio to the leanest of them in the same run;
//                   with logins beside, whose keys are derived as the server asks
//   mixed           2,000 probes a second of all of them: the rate that is reached as a ratio to that, the longest time
//                   that the loop was away as a ratio to 10 ms (below 1 is good)
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/probes.hpp"
#include "protocols/digest.hpp"
#include "protocols/packet_talk.hpp"
#include "runtime/clock.hpp"

namespace {

using namespace healer;
using namespace healer::bench;
using namespace healer::protocols;
using namespace std::string_literals;
using Steady = std::chrono::steady_clock;

constexpr int kAtOnce = 16;

// ---- stubs --------------------------------------------------------------------------------------------------------

/// What a server says to the n-th thing that it hears; to the 0th, which is nothing, first of all. Empty: nothing.
using Says = std::function<std::string(std::size_t turn, std::string_view received)>;

/// Servers on ports of their own, all on one thread.
class Stubs {
 public:
  Stubs() : epoll_(epoll_create1(EPOLL_CLOEXEC)), end_(eventfd(0, EFD_CLOEXEC)) { watch(end_); }
  Stubs(const Stubs&) = delete;
  Stubs& operator=(const Stubs&) = delete;
  ~Stubs() {
    const std::uint64_t one = 1;
    if (write(end_, &one, sizeof one) != sizeof one) std::abort();
    thread_.join();
    for (const auto& [socket, says] : servers_) close(socket);
    for (const auto& [socket, client] : clients_) close(socket);
    close(end_);
    close(epoll_);
  }

  /// Its port. Before begin().
  std::uint16_t add(Says says) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(socket, reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(socket, 4096) != 0 ||
        getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no socket to listen on");
    servers_.emplace(socket, std::move(says));
    watch(socket);
    return ntohs(address.sin_port);
  }
  void begin() {
    thread_ = std::thread([this] { serve(); });
  }

 private:
  struct Client {
    const Says* says = nullptr;
    std::size_t turn = 0;
  };

  void watch(int socket) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = socket;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
  }

  void serve() {
    std::array<epoll_event, 64> events{};
    while (true) {
      const int got = epoll_wait(epoll_, events.data(), events.size(), -1);
      for (int i = 0; i < got; ++i) {
        const int socket = events[static_cast<std::size_t>(i)].data.fd;
        if (socket == end_) return;
        if (const auto server = servers_.find(socket); server != servers_.end())
          accept_from(socket, server->second);
        else
          receive(socket);
      }
    }
  }

  void accept_from(int server, const Says& says) {
    for (int socket = 0; (socket = accept4(server, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
      clients_[socket] = {.says = &says};
      say(socket, says(0, {}));
      watch(socket);
    }
  }

  void receive(int socket) {
    std::array<char, 4096> bytes{};
    const ssize_t got = recv(socket, bytes.data(), bytes.size(), 0);
    if (got > 0) {
      Client& client = clients_[socket];
      return say(socket, (*client.says)(++client.turn, {bytes.data(), static_cast<std::size_t>(got)}));
    }
    clients_.erase(socket);
    close(socket);
  }

  static void say(int socket, const std::string& text) {
    if (!text.empty()) (void)!send(socket, text.data(), text.size(), MSG_NOSIGNAL);
  }

  int epoll_;
  int end_;
  std::map<int, Says> servers_;
  std::map<int, Client> clients_;
  std::thread thread_;
};

std::string my(std::uint8_t number, const std::string& body) {
  return little(body.size(), 3) + static_cast<char>(number) + body;
}
std::string pg(char kind, const std::string& body) { return kind + big(4 + body.size(), 4) + body; }

std::string mysql(std::size_t turn, std::string_view) {
  if (turn == 0)
    return my(0, "\x0a" + "8.0.1\0\1\0\0\0abcdefgh\0\xff\xff\x08\x02\0\xff\xdf\x15"s + std::string(10, '\0') +
                     "ijklmnopqrst\0mysql_native_password\0"s);
  return turn == 1 ? my(2, "\0\0\0\2\0\0\0"s) : "";
}

const std::string kReady = pg('R', "\0\0\0\0"s) + pg('Z', "I");

std::string pgsql(std::size_t turn, std::string_view) { return turn == 1 ? kReady : ""; }

/// Wants MD5 of the password.
std::string pgsql_md5(std::size_t turn, std::string_view) {
  return turn == 1 ? pg('R', "\0\0\0\5abcd"s) : turn == 2 ? kReady : "";
}

/// Wants SCRAM-SHA-256, with as many rounds as PostgreSQL by default; the client stops at what is not proven.
std::string pgsql_scram(std::size_t turn, std::string_view received) {
  if (turn == 1) return pg('R', "\0\0\0\x0aSCRAM-SHA-256\0\0"s);
  if (turn != 2) return turn == 3 ? pg('E', "SFATAL\0C28P01\0Mno\0\0"s) : "";
  const std::size_t nonce = received.find("r=");
  return pg('R', "\0\0\0\x0b"s + std::string(received.substr(nonce)) + "x,s=c2FsdHNhbHRzYWx0c2FsdA==,i=4096");
}

std::string redis(std::size_t turn, std::string_view) { return turn == 1 ? "+PONG\r\n" : ""; }

std::string imap(std::size_t turn, std::string_view received) {
  if (turn == 0) return "* OK ready\r\n";
  const std::string tag(received.substr(0, received.find(' ')));
  if (received.find("LOGOUT") != std::string_view::npos) return "* BYE out\r\n" + tag + " OK done\r\n";
  return tag + " OK done\r\n";
}

std::string ldap(std::size_t turn, std::string_view received) {
  if (turn != 1 || received.size() < 5) return {};
  return "0\x0c\x02\x01" + std::string(received.substr(4, 1)) + "a\x07\n\x01\0\x04\0\x04\0"s;
}

struct Case {
  const char* name;
  std::string_view protocol;
  Says says;
  bool logs_in = false;
  bool passes = true;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"mysql", "mysql", mysql},
      {"pgsql", "pgsql", pgsql},
      {"redis", "redis", redis},
      {"imap", "imap", imap},
      {"ldap", "ldap3", ldap},
      {"mysql_login", "mysql", mysql, true},
      {"pgsql_md5_login", "pgsql", pgsql_md5, true},
      {"pgsql_scram_login", "pgsql", pgsql_scram, true, false},
      {"imap_login", "imap", imap, true},
  };
  return all;
}
constexpr std::size_t kPlain = 5;  // of them without a login

/// A stub of each, and a plan for it.
struct World {
  World() {
    for (const Case& one : cases()) {
      ProbePlan plan = *plan_for("127.0.0.1", stubs.add(one.says), one.protocol);
      if (one.logs_in) plan.settings = {{.word = "username", .text = "u"}, {.word = "password", .text = "p4ss"}};
      plans.push_back(std::make_shared<const ProbePlan>(std::move(plan)));
    }
    stubs.begin();
  }
  Stubs stubs;
  std::vector<Plan> plans;
};

// ---- benchmarks ---------------------------------------------------------------------------------------------------

/// Of this thread, in seconds.
double processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void each_protocol(benchmark::State& state) {
  constexpr int kCount = 200;
  constexpr int kRounds = 9;
  World world;
  Probes probes;
  // The least of some rounds, in turns: what others do on this machine makes a round longer, never shorter.
  std::vector<double> least(cases().size(), 1e9);
  for (auto _ : state) {
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < cases().size(); ++i) {
        const double before = processor_time();
        const bool passed = probes.run({world.plans[i]}, kCount, kAtOnce);
        if (passed != cases()[i].passes) return state.SkipWithError(cases()[i].name);
        least[i] = std::min(least[i], (processor_time() - before) / kCount);
      }
    }
  }
  const double leanest = *std::min_element(least.begin(), least.begin() + kPlain);
  for (std::size_t i = 0; i < cases().size(); ++i) state.counters[cases()[i].name] = least[i] / leanest;
  state.counters["leanest_us"] = leanest * 1e6;
  state.counters["worst_ratio"] = *std::max_element(least.begin(), least.begin() + kPlain) / leanest;
}
BENCHMARK(each_protocol)->Unit(benchmark::kMillisecond)->Iterations(1);

void mixed(benchmark::State& state) {
  constexpr int kPerSecond = 2000;
  constexpr int kCount = 3 * kPerSecond;
  constexpr std::chrono::microseconds kApart{1'000'000 / kPerSecond};
  World world;
  Probes probes;
  double used = 0, seconds = 0;
  int passed = 0;
  for (auto _ : state) {
    const auto begin = Steady::now();
    const double before = processor_time();
    int started = 0, ended = 0;
    runtime::Loop::Timer timer;
    timer = probes.loop().timer([&] {
      for (; started < kCount; ++started) {
        if (Steady::now() < begin + started * kApart) return timer.set_deadline(runtime::mono_now() + Duration{1});
        probes.connector().probe(world.plans[static_cast<std::size_t>(started) % kPlain],
                                 [&](const ProbeResult& result) {
                                   passed += result.verdict == ProbeVerdict::Passed ? 1 : 0;
                                   if (++ended == kCount) probes.loop().stop();
                                 });
      }
    });
    timer.set_deadline(Duration{0});
    probes.loop().run();
    used = processor_time() - before;
    seconds = std::chrono::duration<double>(Steady::now() - begin).count();
    state.SetIterationTime(seconds);
  }
  if (passed != kCount) return state.SkipWithError("a probe has failed");
  state.counters["rate_ratio"] = kCount / seconds / kPerSecond;
  state.counters["lag_ratio"] = static_cast<double>(probes.loop().lag().max.count()) / 10'000;
  state.counters["processor_us"] = used / kCount * 1e6;
}
BENCHMARK(mixed)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
