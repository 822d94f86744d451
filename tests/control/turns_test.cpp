// SPDX-License-Identifier: MIT
// Many clients of one server: each has its turn.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "control/server_world.hpp"

namespace turns_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;
using control::Answer;

namespace {

constexpr std::string_view kPing = "{\"version\":1,\"command\":\"ping\"}\n";
constexpr std::string_view kStatus = "{\"version\":1,\"command\":\"status\"}\n";

/// Lines without end.
class Long : public Answer {
 public:
  explicit Long(std::atomic<std::size_t>& written) : written_(written) {}
  Next pull(std::string& out, std::size_t budget) override {
    const std::size_t before = out.size();
    do {
      out += item_line(Json{{"padding", std::string(80, 'x')}});
    } while (out.size() < budget);
    written_ += out.size() - before;
    return Next::More;
  }

 private:
  std::atomic<std::size_t>& written_;
};

/// ping: an end; all else: lines without end.
class Busy : public Handler {
 public:
  std::atomic<std::size_t> written{0};
  std::atomic<std::size_t> before_ping{0};  ///< what was written before the last ping was answered

  std::unique_ptr<Answer> handle(const Request& request, const Peer&, Wake) override {
    if (request.verb != Verb::Ping) return std::make_unique<Long>(written);
    before_ping = written.load();
    return std::make_unique<Pong>();
  }

 private:
  class Pong : public Answer {
    Next pull(std::string& out, std::size_t) override {
      out += end_line(Done{true, "here"});
      return Next::Done;
    }
  };
};

}  // namespace

TEST_CASE("a short question among long answers does not wait for them", "[control][turns]") {
  constexpr std::size_t kClients = 150;
  Busy handler;
  ServerWorld world(handler);
  std::vector<std::unique_ptr<RawClient>> busy;
  for (std::size_t i = 0; i < kClients; ++i) busy.push_back(std::make_unique<RawClient>(world.path()));
  REQUIRE(world.wait_for_clients(kClients));
  RawClient late(world.path());
  REQUIRE(world.wait_for_clients(kClients + 1));
  // All of them have asked when the loop looks again.
  world.thread().run([&] {
    for (const auto& client : busy) client->send(kStatus);
    late.send(kPing);
  });
  CHECK(late.lines(1).find("\"end\"") != std::string::npos);
  // A chunk each would be 10 MB.
  CHECK(handler.before_ping < 2'000'000);
  late.send(kPing);
  CHECK(late.lines(1).find("\"end\"") != std::string::npos);
}

TEST_CASE("each of many long answers goes on", "[control][turns]") {
  constexpr std::size_t kClients = 20;
  Busy handler;
  ServerWorld world(handler);
  std::vector<std::unique_ptr<RawClient>> busy;
  for (std::size_t i = 0; i < kClients; ++i) {
    busy.push_back(std::make_unique<RawClient>(world.path()));
    busy.back()->send(kStatus);
  }
  for (int round = 0; round < 20; ++round)
    for (const auto& client : busy) CHECK(client->lines(50).ends_with("\n"));
}

TEST_CASE("a client that leaves while others wait costs them nothing", "[control][turns]") {
  Busy handler;
  ServerWorld world(handler);
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<RawClient>> gone;
    for (int i = 0; i < 20; ++i) {
      gone.push_back(std::make_unique<RawClient>(world.path()));
      gone.back()->send(kStatus);
    }
    RawClient stays(world.path());
    stays.send(kPing);
    gone.clear();
    CHECK(stays.lines(1).find("\"end\"") != std::string::npos);
  }
  CHECK(world.wait_for_clients(0));
}

}  // namespace turns_test
