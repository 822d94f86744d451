// SPDX-License-Identifier: MIT
// The HTTP server over pairs of sockets, on a loop of its own thread.
#include "web/server/http_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "control/server_world.hpp"
#include "runtime/loop.hpp"

using namespace healer;
using runtime::Descriptor;

namespace {

/// One end of a connection, blocking.
class Caller {
 public:
  explicit Caller(Descriptor socket) : socket_(std::move(socket)) {}
  void say(const std::string& bytes) const {
    if (::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) throw std::runtime_error("send");
  }
  /// What comes until `mark` has; all of it where the connection ends before.
  std::string hear_until(const std::string& mark) {
    while (heard_.find(mark) == std::string::npos) {
      std::array<char, 4096> bytes{};
      pollfd poll{.fd = socket_.get(), .events = POLLIN};
      if (::poll(&poll, 1, static_cast<int>(milliseconds(test::kPatience).count())) != 1) return heard_ + "[silence]";
      const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (got <= 0) return heard_ + "[end]";
      heard_.append(bytes.data(), static_cast<std::size_t>(got));
    }
    const std::size_t end = heard_.find(mark) + mark.size();
    std::string heard = heard_.substr(0, end);
    heard_.erase(0, end);
    return heard;
  }
  std::string hear_all() { return hear_until("\x01never\x01"); }

 private:
  Descriptor socket_;
  std::string heard_;
};

class HttpWorld {
 public:
  explicit HttpWorld(web::HttpServer::Dispatch dispatch, web::HttpLimits limits = {}) {
    std::promise<void> up;
    thread_ = std::thread([&, limits] {
      runtime::Loop loop;
      loop_ = &loop;
      {
        web::HttpServer server(loop, std::move(dispatch), limits);
        server_ = &server;
        up.set_value();
        loop.run();
      }
    });
    up.get_future().wait();
  }
  ~HttpWorld() {
    loop_->stop();
    thread_.join();
  }
  HttpWorld(const HttpWorld&) = delete;

  void on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_->post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  void post(const std::function<void()>& work) { loop_->post(work); }
  Caller connect(web::HttpServer::From from = {.local = true}) {
    std::array<int, 2> pair{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) throw std::runtime_error("socketpair");
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    on_loop([&] { server_->serve(Descriptor(pair[0]), std::move(from)); });
    return Caller(Descriptor(pair[1]));
  }
  void close_door(const std::string& door) {
    on_loop([&] { server_->close_if([&](const web::HttpServer::From& from) { return from.door == door; }); });
  }
  std::size_t connections() {
    std::size_t count = 0;
    on_loop([&] { count = server_->connections(); });
    return count;
  }

 private:
  runtime::Loop* loop_ = nullptr;
  web::HttpServer* server_ = nullptr;
  std::thread thread_;
};

/// "key=value " of each.
std::string text_of(const web::Fields& fields) {
  std::string text;
  for (const auto& [name, value] : fields) text += name + "=" + value + " ";
  return text;
}

web::Reply echo(const web::Request& request, const web::HttpServer::From&, const web::Wake&) {
  if (request.unfit) return web::Response{.status = request.unfit->status, .body = request.unfit->why + "\n"};
  web::Response response;
  response.body = std::string(to_string(request.method)) + " " + request.path + " | " + text_of(request.query) + "| " +
                  text_of(request.form) + "| " + text_of(request.cookies) + "| " + request.body + "\n";
  response.headers = {{"X-Peer", request.peer.empty() ? "none" : request.peer}};
  return response;
}

/// A stream of numbers, each when it has been woken.
class Counting final : public web::Stream {
 public:
  Counting(std::shared_ptr<std::atomic<int>> upto) : upto_(std::move(upto)) {}
  Next pull(std::string& out, std::size_t) override {
    if (told_ == *upto_) return Next::Waiting;
    out += "number " + std::to_string(++told_) + "\n";
    return told_ == 3 ? Next::Done : Next::More;
  }

 private:
  std::shared_ptr<std::atomic<int>> upto_;
  int told_ = 0;
};

class Later final : public web::Deferred {
 public:
  explicit Later(std::shared_ptr<std::atomic<bool>> ready) : ready_(std::move(ready)) {}
  std::optional<web::Response> poll() override {
    if (!*ready_) return std::nullopt;
    return web::Response{.status = 202, .body = "later\n"};
  }

 private:
  std::shared_ptr<std::atomic<bool>> ready_;
};

}  // namespace

TEST_CASE("Requests on one connection are answered in turn, in HTTP 1.1 and in 1.0", "[http]") {
  HttpWorld world(echo);
  Caller caller = world.connect({.peer = "192.0.2.7"});
  caller.say(
      "GET /a%20b?x=1&y=%3C%26 HTTP/1.1\r\nHost: h\r\nCookie: one=1; two=2\r\n\r\n"
      "POST /form HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\n"
      "Content-Length: 24\r\n\r\naction=start&service=a+b");
  const std::string first = caller.hear_until("| one=1 two=2 | \n");
  CHECK(first.find("HTTP/1.1 200 OK") == 0);
  CHECK(first.find("X-Peer: 192.0.2.7") != std::string::npos);
  CHECK(first.find("GET /a b | x=1 y=<& | | one=1") != std::string::npos);
  const std::string second = caller.hear_until("service=a+b\n");
  CHECK(second.find("POST /form | | action=start service=a b | | action=start") != std::string::npos);
  Caller old = world.connect();
  old.say("GET / HTTP/1.0\r\n\r\n");
  CHECK(old.hear_all().find("GET / | | | | \n[end]") != std::string::npos);
}

TEST_CASE("A reply comes when it is ready, and a stream as it is made", "[http]") {
  auto ready = std::make_shared<std::atomic<bool>>(false);
  auto upto = std::make_shared<std::atomic<int>>(0);
  std::promise<web::Wake> wake_reply, wake_stream;
  HttpWorld world([&](const web::Request& request, const auto&, web::Wake wake) -> web::Reply {
    if (request.path == "/later") {
      wake_reply.set_value(std::move(wake));
      return std::make_unique<Later>(ready);
    }
    wake_stream.set_value(std::move(wake));
    web::Response response;
    response.stream = std::make_unique<Counting>(upto);
    return response;
  });
  Caller caller = world.connect();
  caller.say("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
  const web::Wake reply_is_there = wake_reply.get_future().get();
  reply_is_there();  // for nothing
  *ready = true;
  reply_is_there();
  CHECK(caller.hear_until("later\n").find("HTTP/1.1 202 Accepted") == 0);
  caller.say("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  const web::Wake more = wake_stream.get_future().get();
  for (int number = 1; number <= 3; ++number) {
    *upto = number;
    more();
    CHECK(caller.hear_until("number " + std::to_string(number) + "\n").find("[") == std::string::npos);
  }
  CHECK(caller.hear_until("0\r\n\r\n").find("[") == std::string::npos);
  more();  // of what has ended
}

TEST_CASE("Whoever goes away while he waits leaves nothing behind", "[http]") {
  std::promise<web::Wake> asked;
  HttpWorld world([&](const web::Request&, const auto&, web::Wake wake) -> web::Reply {
    asked.set_value(std::move(wake));
    web::Response response;
    response.stream = std::make_unique<Counting>(std::make_shared<std::atomic<int>>(0));
    return response;
  });
  web::Wake wake;
  {
    Caller caller = world.connect();
    caller.say("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    wake = asked.get_future().get();
    caller.hear_until("\r\n\r\n");
  }
  while (world.connections() > 0) std::this_thread::yield();
  wake();
}

TEST_CASE("What is too large is refused", "[http]") {
  HttpWorld world(echo, {.header_bytes = 8 * 1024, .body_bytes = 1000});
  Caller body = world.connect();
  body.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n" + std::string(2000, 'x'));
  CHECK(body.hear_until("\n").find("413") != std::string::npos);
  Caller headers = world.connect();
  try {
    headers.say("GET / HTTP/1.1\r\nHost: h\r\nX-Long: " + std::string(20'000, 'x') + "\r\n\r\n");
  } catch (const std::runtime_error&) {  // it has been closed before all was read
  }
  const std::string refused = headers.hear_until("\n");
  CHECK((refused.find("431") != std::string::npos || refused.find("413") != std::string::npos ||
         refused.find("[end]") != std::string::npos));
  Caller endless = world.connect();
  endless.say("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int count = 0; count < 20; ++count) endless.say("64\r\n" + std::string(100, 'x') + "\r\n");
  endless.say("0\r\n\r\n");
  CHECK(endless.hear_until("\n").find("413") != std::string::npos);
}

TEST_CASE("What else the loop does comes between streams that take long to make", "[http]") {
  class Slow final : public web::Stream {
   public:
    Slow(std::vector<int>& turns, const int& turn) : turns_(turns), turn_(turn) {}
    Next pull(std::string& out, std::size_t) override {
      turns_.push_back(turn_);
      std::this_thread::sleep_for(std::chrono::milliseconds{4});
      out += "here\n";
      return Next::Done;
    }

   private:
    std::vector<int>& turns_;
    const int& turn_;
  };
  std::vector<int> turns;
  int turn = 0;
  HttpWorld world([&](const web::Request&, const auto&, const auto&) -> web::Reply {
    web::Response response;
    response.stream = std::make_unique<Slow>(turns, turn);
    return response;
  });
  std::vector<Caller> callers;
  for (int count = 0; count < 12; ++count) callers.push_back(world.connect());
  std::atomic<bool> counts = true;
  std::function<void()> next = [&] {
    ++turn;
    if (counts) world.post(next);
  };
  world.on_loop([&] {  // all of them at once
    for (const Caller& caller : callers) caller.say("GET / HTTP/1.0\r\n\r\n");
    next();
  });
  for (Caller& caller : callers) CHECK(caller.hear_all().find("here\n") != std::string::npos);
  counts = false;
  world.on_loop([] {});
  std::vector<int> distinct = turns;
  distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
  CHECK(turns.size() == 12);
  CHECK(distinct.size() >= 4);
}

TEST_CASE("A name in a path keeps its slash where that is encoded", "[http]") {
  HttpWorld world([](const web::Request& request, const auto&, const auto&) -> web::Reply {
    std::string path = request.path;
    std::ranges::replace(path, web::kEncodedSlash, '|');
    return web::Response{.body = path + "\n"};
  });
  for (const auto& [sent, path] : {std::pair("/a%2Fb/c%20d?x=%2F", "/a|b/c d\n"), {"/%2f%00%zz", "/|%00%zz\n"}}) {
    Caller caller = world.connect();
    caller.say(std::string("GET ") + sent + " HTTP/1.0\r\n\r\n");
    CHECK(caller.hear_all().find(std::string("\r\n\r\n") + path) != std::string::npos);
  }
}

TEST_CASE("More parameters than there is room for are refused with a word", "[http]") {
  HttpWorld world([](const web::Request& request, const auto& from, const auto& wake) -> web::Reply {
    if (request.unfit) return echo(request, from, wake);
    return web::Response{.body = std::to_string(request.query.size())};
  });
  const auto ask = [&](std::size_t count) {
    std::string target = "/?";
    for (std::size_t i = 0; i < count; ++i) target += (i == 0 ? "a" : "&a") + std::to_string(i) + "=1";
    Caller caller = world.connect();
    caller.say("GET " + target + " HTTP/1.0\r\n\r\n");
    return caller.hear_all();
  };
  CHECK(ask(500).ends_with("\r\n\r\n500[end]"));
  for (const std::size_t count : {600U, 3'000U}) {
    const std::string refused = ask(count);
    CHECK(refused.starts_with("HTTP/1.1 414 URI Too Long\r\n"));
    CHECK(refused.ends_with("A request has at most 512 parameters\n[end]"));
  }
}

TEST_CASE("Of an address, and in all, there are only so many connections", "[http]") {
  HttpWorld world(echo, {.connections = 4, .of_an_address = 2});
  std::vector<Caller> same;
  for (int count = 0; count < 3; ++count) same.push_back(world.connect({.peer = "192.0.2.7"}));
  CHECK(same.back().hear_all() == "[end]");
  CHECK(world.connections() == 2);
  std::vector<Caller> own;
  for (int count = 0; count < 3; ++count) own.push_back(world.connect());
  CHECK(same.front().hear_all() == "[end]");  // it has waited longest without a request
  own.back().say("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(own.back().hear_until("\n").find("200") != std::string::npos);
}

TEST_CASE("Who is too slow to ask is dropped, and others are answered meanwhile", "[http]") {
  HttpWorld world(echo, {.request = Duration{100}});
  Caller silent = world.connect();
  Caller slow = world.connect();
  slow.say("GET / HTTP/1.1\r\nX-A");
  Caller quick = world.connect();
  quick.say("GET / HTTP/1.0\r\n\r\n");
  CHECK(quick.hear_all().find("200 OK") != std::string::npos);
  CHECK(silent.hear_all() == "[end]");
  CHECK(slow.hear_all() == "[end]");
}

TEST_CASE("A handler that throws costs its own request only", "[http]") {
  HttpWorld world([](const web::Request& request, const auto& from, const web::Wake& wake) -> web::Reply {
    if (request.path == "/bad") throw std::runtime_error("bad");
    return echo(request, from, wake);
  });
  Caller bad = world.connect();
  bad.say("GET /bad HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(bad.hear_until("here.\n").find("500 Internal Server Error") != std::string::npos);
  Caller good = world.connect();
  good.say("GET / HTTP/1.0\r\n\r\n");
  CHECK(good.hear_all().find("200 OK") != std::string::npos);
}

namespace {

/// "/stream" is a stream that says nothing, everything else a reply that never comes. Each is told when it is asked.
class Silence {
 public:
  web::Reply operator()(const web::Request& request, const web::HttpServer::From&, const web::Wake&) {
    ++*asked_;
    if (request.path == "/echo") return web::Response{.body = "here\n"};
    if (request.path != "/stream") return std::make_unique<Later>(std::make_shared<std::atomic<bool>>(false));
    web::Response response;
    response.stream = std::make_unique<Counting>(std::make_shared<std::atomic<int>>(0));
    return response;
  }
  void wait_for(int count) const {
    while (*asked_ < count) std::this_thread::yield();
  }

 private:
  std::shared_ptr<std::atomic<int>> asked_ = std::make_shared<std::atomic<int>>(0);
};

void wait_for_connections(HttpWorld& world, std::size_t count) {
  const auto end = std::chrono::steady_clock::now() + milliseconds(test::kPatience);
  while (world.connections() != count && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  CHECK(world.connections() == count);
}

}  // namespace

TEST_CASE("Who waits for a reply gives way to who comes, after those without a request", "[http]") {
  Silence silence;
  HttpWorld world(silence, {.connections = 3});
  Caller first = world.connect();
  first.say("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  silence.wait_for(1);
  Caller second = world.connect();
  second.say("GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
  silence.wait_for(2);
  Caller idle = world.connect();
  Caller third = world.connect();
  CHECK(idle.hear_all() == "[end]");
  third.say("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  silence.wait_for(3);
  Caller fourth = world.connect();
  CHECK(first.hear_all() == "[end]");
  fourth.say("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  silence.wait_for(4);
  Caller fifth = world.connect();
  CHECK(second.hear_all() == "[end]");
  fifth.say("GET /echo HTTP/1.0\r\n\r\n");
  CHECK(fifth.hear_until("here\n").find("200 OK") != std::string::npos);
}

TEST_CASE("A reply that is waited for is given up when its client has gone, but not what changes something", "[http]") {
  Silence silence;
  HttpWorld world(silence);
  {
    Caller reads = world.connect();
    reads.say("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    Caller acts = world.connect();
    acts.say("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    silence.wait_for(2);
  }
  wait_for_connections(world, 1);
}

TEST_CASE("Who has said one byte more on a silent stream, and goes, leaves nothing behind", "[http]") {
  Silence silence;
  HttpWorld world(silence);
  const Caller older = world.connect();
  {
    Caller caller = world.connect();
    caller.say("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    caller.hear_until("\r\n\r\n");
    caller.say("x");
    world.connections();  // a turn in which the byte is seen
  }
  wait_for_connections(world, 1);
}

TEST_CASE("When a door is closed all are ended who have come by it, whatever they do", "[http]") {
  Silence silence;
  HttpWorld world(silence);
  const web::HttpServer::From closed{.local = true, .door = "*:1"}, open{.local = true, .door = "*:2"};
  Caller idle = world.connect(closed), acts = world.connect(closed), reads = world.connect(closed);
  Caller stays = world.connect(open);
  acts.say("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  reads.say("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  silence.wait_for(2);
  world.close_door("*:1");
  CHECK(idle.hear_all() == "[end]");
  CHECK(acts.hear_all() == "[end]");
  CHECK(reads.hear_all().ends_with("[end]"));
  wait_for_connections(world, 1);
  stays.say("GET /echo HTTP/1.0\r\n\r\n");
  CHECK(stays.hear_until("here\n").find("200 OK") != std::string::npos);
}

TEST_CASE("Addresses of IPv6 are counted by their /64", "[http]") {
  CHECK(web::network_of("192.0.2.7") == "192.0.2.7");
  CHECK(web::network_of("::ffff:192.0.2.7") == "192.0.2.7");
  CHECK(web::network_of("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::/64");
  CHECK(web::network_of("2001:db8:1:2::1") == "2001:db8:1:2::/64");
  CHECK(web::network_of("2001:db8:1:3::1") != "2001:db8:1:2::/64");
  HttpWorld world(echo, {.of_an_address = 1});
  Caller one = world.connect({.peer = "2001:db8:1:2::1"}), other = world.connect({.peer = "2001:db8:1:3::1"});
  CHECK(world.connect({.peer = "2001:db8:1:2::2"}).hear_all() == "[end]");
  CHECK(world.connections() == 2);
}
