// SPDX-License-Identifier: MIT
// Probes through runtime/net/connector against bare loops on the same servers, taken in turns; `ratio` is the rate of
// the former by that of the latter:
//   HTTP, HTTPS   nginx, a fresh connection each, beside curl's multi interface on libuv (verified, its authorities
//                 read once, no session resumed: a monitor wants to see the certificate)
//   TCP           connects, beside a bare epoll loop
//   ping          10,000 addresses of this machine at once, beside fping
// and 20,000 probes in a cycle of 30 s for a few seconds, all at once, and timing out together: how late they begin,
// how long the loop was away, and what a probe costs in memory that waits for its answer.
#include <benchmark/benchmark.h>
#include <curl/curl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/probes.hpp"
#include "protocols/probe.hpp"
#include "runtime/clock.hpp"
#include "runtime/net/address.hpp"
#include "runtime/net/connector.hpp"
#include "support/servers.hpp"

namespace {

using namespace healer;
using namespace healer::protocols;
using namespace healer::bench;
using Steady = std::chrono::steady_clock;

constexpr int kAtOnce = 64;

double seconds_of(const std::function<void()>& work) {
  const auto begin = Steady::now();
  work();
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

/// nginx with one worker, plain and with TLS, on ports of its own; null where there is none.
class Nginx {
 public:
  static Nginx* get() {
    static const bool there = std::filesystem::exists("/usr/sbin/nginx");
    if (!there) return nullptr;
    static Nginx instance;
    return &instance;
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::uint16_t secure_port() const { return secure_port_; }
  [[nodiscard]] std::string authorities() const { return certificates_.path("ca.crt"); }

 private:
  static std::uint16_t free_port() {
    return test::Listener([](test::Peer&) {}).port();
  }

  Nginx() : port_(free_port()), secure_port_(free_port()) {
    const std::string folder = folder_.path().string();
    test::write_file(folder + "/conf",
                     "daemon off; master_process off; error_log " + folder + "/error; pid " + folder +
                         "/pid; user root;\n"
                         "events { worker_connections 4096; }\nhttp { access_log off; keepalive_timeout 0;\n"
                         "client_body_temp_path " +
                         folder + "/b; proxy_temp_path " + folder + "/p; fastcgi_temp_path " + folder +
                         "/f; uwsgi_temp_path " + folder + "/u; scgi_temp_path " + folder +
                         "/s;\n"
                         "server { listen " +
                         std::to_string(port_) +
                         " backlog=4096; location / { return 200 hello; } }\n"
                         "server { listen 127.0.0.1:" +
                         std::to_string(secure_port_) + " ssl backlog=4096; ssl_certificate " +
                         certificates_.path("server.crt") + "; ssl_certificate_key " +
                         certificates_.path("server.key") + "; location / { return 200 hello; } } }\n");
    child_ = std::make_unique<test::Child>(
        std::vector<std::string>{"/usr/sbin/nginx", "-e", folder + "/error", "-p", folder, "-c", folder + "/conf"});
    test::eventually([&] { return std::filesystem::exists(folder + "/pid"); });
  }
  test::TestCertificates certificates_;
  test::TemporaryDirectory folder_;
  std::uint16_t port_;
  std::uint16_t secure_port_;
  std::unique_ptr<test::Child> child_;
};

// ---- bare loops ---------------------------------------------------------------------------------------------------

/// curl's multi interface on libuv, as in its documentation.
class CurlOnUv {
 public:
  CurlOnUv(std::string url, std::string authorities) : url_(std::move(url)), authorities_(std::move(authorities)) {
    uv_loop_init(&loop_);
    uv_timer_init(&loop_, &timer_);
    timer_.data = this;
    multi_ = curl_multi_init();
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlOnUv::on_socket);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlOnUv::on_timer);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 0L);
  }
  ~CurlOnUv() {
    curl_multi_cleanup(multi_);
    uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    uv_loop_close(&loop_);
  }
  bool run(int count) {
    left_ = running_ = 0;
    passed_ = 0;
    left_ = count;
    for (int i = 0; i < kAtOnce && left_ > 0; ++i) start();
    uv_run(&loop_, UV_RUN_DEFAULT);
    return passed_ == count;
  }

 private:
  struct Watched {
    uv_poll_t poll{};
    curl_socket_t socket = 0;
    CurlOnUv* self = nullptr;
  };
  static std::size_t drop(char*, std::size_t size, std::size_t count, void*) { return size * count; }

  void start() {
    --left_;
    ++running_;
    CURL* easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, 60L);
    if (!authorities_.empty()) {
      curl_easy_setopt(easy, CURLOPT_CAINFO, authorities_.c_str());  // kept for a day
      curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
      curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);  // by address, as above
    }
    curl_multi_add_handle(multi_, easy);
  }
  void collect() {
    int queued = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &queued)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      passed_ += message->data.result == CURLE_OK ? 1 : 0;
      --running_;
      curl_multi_remove_handle(multi_, easy);
      curl_easy_cleanup(easy);
      if (left_ > 0) start();
    }
    if (running_ == 0) uv_timer_stop(&timer_);
  }
  static int on_socket(CURL*, curl_socket_t socket, int what, void* user, void* data) {
    auto* self = static_cast<CurlOnUv*>(user);
    auto* watched = static_cast<Watched*>(data);
    if (what == CURL_POLL_REMOVE) {
      if (watched == nullptr) return 0;
      uv_poll_stop(&watched->poll);
      uv_close(reinterpret_cast<uv_handle_t*>(&watched->poll),
               [](uv_handle_t* handle) { delete static_cast<Watched*>(handle->data); });
      curl_multi_assign(self->multi_, socket, nullptr);
      return 0;
    }
    if (watched == nullptr) {
      watched = new Watched{{}, socket, self};
      uv_poll_init_socket(&self->loop_, &watched->poll, socket);
      watched->poll.data = watched;
      curl_multi_assign(self->multi_, socket, watched);
    }
    const int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    uv_poll_start(&watched->poll, events, [](uv_poll_t* handle, int, int ready) {
      const auto* one = static_cast<Watched*>(handle->data);
      CurlOnUv* it = one->self;
      const int flags = (ready & UV_READABLE ? CURL_CSELECT_IN : 0) | (ready & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
      int running = 0;
      curl_multi_socket_action(it->multi_, one->socket, flags, &running);
      it->collect();
    });
    return 0;
  }
  static int on_timer(CURLM*, long milliseconds, void* user) {
    auto* self = static_cast<CurlOnUv*>(user);
    if (milliseconds < 0) return uv_timer_stop(&self->timer_);
    return uv_timer_start(
        &self->timer_,
        [](uv_timer_t* timer) {
          auto* it = static_cast<CurlOnUv*>(timer->data);
          int running = 0;
          curl_multi_socket_action(it->multi_, CURL_SOCKET_TIMEOUT, 0, &running);
          it->collect();
        },
        static_cast<std::uint64_t>(milliseconds), 0);
  }

  std::string url_;
  std::string authorities_;
  uv_loop_t loop_{};
  uv_timer_t timer_{};
  CURLM* multi_ = nullptr;
  int left_ = 0, running_ = 0, passed_ = 0;
};

/// Connects, one after another as they end, kAtOnce at a time.
bool bare_connects(const std::vector<sockaddr_in>& addresses, int count) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  int started = 0, ended = 0, passed = 0;
  const auto start = [&] {
    const sockaddr_in& address = addresses[static_cast<std::size_t>(started++) % addresses.size()];
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    epoll_event event{};
    event.events = EPOLLOUT;
    event.data.fd = socket;
    epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
  };
  for (int i = 0; i < kAtOnce; ++i) start();
  std::vector<epoll_event> events(kAtOnce);
  while (ended < count) {
    const int got = epoll_wait(epoll, events.data(), kAtOnce, -1);
    for (int i = 0; i < got; ++i) {
      const int socket = events[static_cast<std::size_t>(i)].data.fd;
      int code = 0;
      socklen_t size = sizeof code;
      getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size);
      passed += code == 0 ? 1 : 0;
      close(socket);
      ++ended;
      if (started < count) start();
    }
  }
  close(epoll);
  return passed == count;
}

// ---- benchmarks ---------------------------------------------------------------------------------------------------

/// Takes both in turns. Each does `count` things, and says whether all went well.
void compare(benchmark::State& state, int count, const std::function<bool()>& ours, const std::function<bool()>& bare) {
  bool good = ours() && bare();  // warm
  double through = 0, beside = 0;
  for (auto _ : state) {
    beside += seconds_of([&] { good = bare() && good; });
    const double time = seconds_of([&] { good = ours() && good; });
    through += time;
    state.SetIterationTime(time);
  }
  if (!good) return state.SkipWithError("a probe has failed");
  const double all = count * static_cast<double>(state.iterations());
  state.counters["probes_per_s"] = all / through;
  state.counters["bare_per_s"] = all / beside;
  state.counters["ratio"] = beside / through;
}

void http_against_curl(benchmark::State& state) {
  const Nginx* nginx = Nginx::get();
  if (nginx == nullptr) return state.SkipWithError("nginx is not installed");
  constexpr int kCount = 2000;
  Probes probes;
  const std::vector<Plan> plans{plan_for("127.0.0.1", nginx->port(), "http")};
  CurlOnUv curl("http://127.0.0.1:" + std::to_string(nginx->port()) + "/", "");
  compare(
      state, kCount, [&] { return probes.run(plans, kCount, kAtOnce); }, [&] { return curl.run(kCount); });
}
BENCHMARK(http_against_curl)->UseManualTime()->Unit(benchmark::kMillisecond);

void https_against_curl(benchmark::State& state) {
  const Nginx* nginx = Nginx::get();
  if (nginx == nullptr) return state.SkipWithError("nginx is not installed");
  constexpr int kCount = 500;
  Probes probes;
  auto plan = std::make_shared<ProbePlan>(*plan_for("127.0.0.1", nginx->secure_port(), "https"));
  plan->tls = TlsPlan{.verify = true, .ca_file = nginx->authorities()};
  const std::vector<Plan> plans{plan};
  CurlOnUv curl("https://127.0.0.1:" + std::to_string(nginx->secure_port()) + "/", nginx->authorities());
  compare(
      state, kCount, [&] { return probes.run(plans, kCount, kAtOnce); }, [&] { return curl.run(kCount); });
}
BENCHMARK(https_against_curl)->UseManualTime()->Unit(benchmark::kMillisecond);

void connects_against_epoll(benchmark::State& state) {
  constexpr int kCount = 2000, kHosts = 200;
  // The kernel accepts; nobody takes the connections from its queue, which is large enough and is emptied in between.
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  bind(socket, reinterpret_cast<sockaddr*>(&any), sizeof any);
  listen(socket, 4096);
  socklen_t size = sizeof any;
  getsockname(socket, reinterpret_cast<sockaddr*>(&any), &size);
  const auto empty = [&] {
    for (int client = 0; (client = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) close(client);
  };
  std::vector<sockaddr_in> addresses;
  std::vector<Plan> plans;
  for (std::uint32_t i = 0; i < kHosts; ++i) {
    sockaddr_in address = any;
    address.sin_addr.s_addr = htonl(0x7f020001U + i);
    addresses.push_back(address);
    plans.push_back(plan_for(runtime::Address(address.sin_addr).text(), ntohs(any.sin_port), "default"));
  }
  Probes probes;
  bool good = true;
  double through = 0, beside = 0;
  for (auto _ : state) {
    beside += seconds_of([&] { good = bare_connects(addresses, kCount) && good; });
    empty();
    const double time = seconds_of([&] { good = probes.run(plans, kCount, kAtOnce) && good; });
    empty();
    through += time;
    state.SetIterationTime(time);
  }
  close(socket);
  if (!good) return state.SkipWithError("a connect has failed");
  const double all = kCount * static_cast<double>(state.iterations());
  state.counters["probes_per_s"] = all / through;
  state.counters["bare_per_s"] = all / beside;
  state.counters["ratio"] = beside / through;
}
BENCHMARK(connects_against_epoll)->UseManualTime()->Unit(benchmark::kMillisecond);

void pings_against_fping(benchmark::State& state) {
  constexpr int kHosts = 10'000;
  if (!std::filesystem::exists("/usr/bin/fping")) return state.SkipWithError("fping is not installed");
  const test::TemporaryDirectory folder;
  const std::string list = (folder.path() / "hosts").string();
  std::vector<Plan> plans;
  std::string hosts;
  for (std::uint32_t i = 0; i < kHosts; ++i) {
    const in_addr address{htonl(0x7f030001U + i)};
    auto plan = std::make_shared<ProbePlan>();
    plan->transport = Transport::Ping;
    plan->host = runtime::Address(address).text();
    hosts += plan->host + '\n';
    plans.push_back(std::move(plan));
  }
  test::write_file(list, hosts);
  Probes probes;
  const auto fping = [&] {
    test::Child child({"/usr/bin/fping", "-q", "-r0", "-i0", "-f", list});
    return child.wait() == 0;
  };
  compare(
      state, kHosts, [&] { return probes.run(plans, kHosts, kHosts); }, fping);
}
BENCHMARK(pings_against_fping)->UseManualTime()->Unit(benchmark::kMillisecond);

/// As many a second as 20,000 in 30 s.
void twenty_thousand_in_a_cycle(benchmark::State& state) {
  const Nginx* nginx = Nginx::get();
  if (nginx == nullptr) return state.SkipWithError("nginx is not installed");
  constexpr int kCount = 2000;
  constexpr std::chrono::microseconds kApart{1500};
  Probes probes;
  const Plan plan = plan_for("127.0.0.1", nginx->port(), "http");
  std::vector<double> late;
  std::int64_t lag = 0;
  for (auto _ : state) {
    const auto begin = Steady::now();
    int started = 0, ended = 0;
    runtime::Loop::Timer timer;
    timer = probes.loop().timer([&] {
      for (; started < kCount; ++started) {
        const auto due = begin + started * kApart;
        const auto now = Steady::now();
        if (now < due) return timer.set_deadline(runtime::mono_now() + Duration{1});
        late.push_back(std::chrono::duration<double, std::milli>(now - due).count());
        probes.connector().probe(plan, [&](const ProbeResult&) {
          if (++ended == kCount) probes.loop().stop();
        });
      }
    });
    timer.set_deadline(Duration{0});
    probes.loop().run();
    lag = std::max(lag, probes.loop().lag().max.count());
    state.SetIterationTime(std::chrono::duration<double>(Steady::now() - begin).count());
  }
  std::ranges::sort(late);
  state.counters["late_p99_ms"] = late.empty() ? 0 : late[late.size() * 99 / 100];
  state.counters["loop_lag_ms"] = static_cast<double>(lag) / 1000;
}
BENCHMARK(twenty_thousand_in_a_cycle)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);

/// All that begin a cycle of 20,000 together: how long the loop is away, and when the last of them has begun.
void twenty_thousand_at_once(benchmark::State& state) {
  const Nginx* nginx = Nginx::get();
  if (nginx == nullptr) return state.SkipWithError("nginx is not installed");
  constexpr int kCount = 20'000;
  constexpr int kAsked = 200;  // in one go, as the daemon hands its plans over
  Probes probes(2000);         // what the one server can hold
  // To one address the kernel would look long for a port that is free.
  std::vector<Plan> plans;
  for (std::uint32_t i = 0; i < 200; ++i)
    plans.push_back(plan_for(runtime::Address(in_addr{htonl(0x7f040001U + i)}).text(), nginx->port(), "http"));
  double last_begun = 0;
  int passed = 0;
  for (auto _ : state) {
    const auto begin = Steady::now();
    int asked = 0, ended = 0;
    const std::function<void()> ask = [&] {
      for (int i = 0; i < kAsked && asked < kCount; ++i, ++asked)
        probes.connector().probe(plans[static_cast<std::size_t>(asked) % plans.size()], [&](const ProbeResult& result) {
          passed += result.verdict == ProbeVerdict::Passed ? 1 : 0;
          if (++ended == kCount) probes.loop().stop();
        });
      if (asked < kCount) probes.loop().post(ask);
    };
    const std::function<void()> check = [&] {
      if (probes.connector().waiting() > 0 || asked < kCount) return probes.loop().post(check);
      last_begun = std::chrono::duration<double, std::milli>(Steady::now() - begin).count();
    };
    probes.loop().post(ask);
    probes.loop().post(check);
    probes.loop().run();
    state.SetIterationTime(std::chrono::duration<double>(Steady::now() - begin).count());
  }
  state.counters["passed"] = passed;
  state.counters["last_begun_ms"] = last_begun;
  state.counters["loop_lag_ms"] = static_cast<double>(probes.loop().lag().max.count()) / 1000;
}
BENCHMARK(twenty_thousand_at_once)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);

/// The worst case: all of 20,000 get no answer, and time out together.
void twenty_thousand_time_out(benchmark::State& state) {
  constexpr int kCount = 20'000;
  Probes probes;
  // Nobody answers datagrams to this socket.
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  bind(socket, reinterpret_cast<sockaddr*>(&any), sizeof any);
  socklen_t size = sizeof any;
  getsockname(socket, reinterpret_cast<sockaddr*>(&any), &size);
  auto plan = std::make_shared<ProbePlan>(*plan_for("127.0.0.1", ntohs(any.sin_port), "generic"));
  plan->transport = Transport::Udp;
  plan->settings = {{.word = "send", .text = "x"}, {.word = "expect", .text = "y"}};
  plan->timeout = seconds{1};
  for (auto _ : state) {
    const auto begin = Steady::now();
    int ended = 0;
    for (int i = 0; i < kCount; ++i)
      probes.connector().probe(plan, [&](const ProbeResult&) {
        if (++ended == kCount) probes.loop().stop();
      });
    probes.loop().run();
    state.SetIterationTime(std::chrono::duration<double>(Steady::now() - begin).count());
  }
  close(socket);
  state.counters["loop_lag_ms"] = static_cast<double>(probes.loop().lag().max.count()) / 1000;
}
BENCHMARK(twenty_thousand_time_out)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);

void memory_of_a_waiting_probe(benchmark::State& state) {
  constexpr int kCount = 2000;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  bind(socket, reinterpret_cast<sockaddr*>(&any), sizeof any);
  listen(socket, 4096);
  socklen_t size = sizeof any;
  getsockname(socket, reinterpret_cast<sockaddr*>(&any), &size);
  const Plan plan = plan_for("127.0.0.1", ntohs(any.sin_port), "http");
  Probes probes;
  double bytes = 0;
  for (auto _ : state) {
    const std::size_t before = mallinfo2().uordblks;
    std::vector<std::uint64_t> ids;
    const double time = seconds_of([&] {
      for (int i = 0; i < kCount; ++i) ids.push_back(probes.connector().probe(plan, [](const ProbeResult&) {}));
      runtime::Loop::Timer timer = probes.loop().timer([&] { probes.loop().stop(); });
      timer.set_deadline(runtime::mono_now() + Duration{300});
      probes.loop().run();  // all of them have connected and asked
    });
    bytes = static_cast<double>(mallinfo2().uordblks - before) / kCount;
    for (const auto id : ids) probes.connector().cancel(id);
    state.SetIterationTime(time);
  }
  close(socket);
  state.counters["bytes_each"] = bytes;
}
BENCHMARK(memory_of_a_waiting_probe)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
