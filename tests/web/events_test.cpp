// SPDX-License-Identifier: MIT
// Server-sent events of the API.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <semaphore>
#include <span>

#include "control/socket/history_answer.hpp"
#include "web/api_world.hpp"

using namespace healer;
using namespace healer::test;
using control::Json;

namespace {

/// A client that listens.
class Listener {
 public:
  Listener(ApiWorld& world, const std::string& target, const std::string& last = {}) : world_(world) {
    web::Request request{.path = "/api/v1/events"};
    if (const std::size_t equals = target.find('='); equals != std::string::npos)
      request.query.emplace_back(target.substr(0, equals), target.substr(equals + 1));
    if (!last.empty()) request.headers.emplace_back("last-event-id", last);
    world_.daemon().act([&](World&) {
      web::Reply reply = world_.web().ask(request, [this] { woken_.release(); });
      response_ = std::get<web::Response>(std::move(reply));
    });
  }
  ~Listener() {
    world_.daemon().act([&](World&) { response_.stream.reset(); });
  }
  Listener(const Listener&) = delete;

  [[nodiscard]] const web::Response& response() const { return response_; }

  /// What has come until `wanted` has, which it does.
  std::string read_until(const std::string& wanted) {
    std::string text;
    while (text.find(wanted) == std::string::npos) {
      if (pull(text) == web::Stream::Next::Waiting && text.find(wanted) == std::string::npos &&
          !woken_.try_acquire_for(kPatience))
        return "in vain: " + text;
    }
    return text;
  }
  /// What has come by now.
  std::string read() {
    std::string text;
    while (pull(text) == web::Stream::Next::More) {
    }
    return text;
  }

 private:
  web::Stream::Next pull(std::string& text) {
    web::Stream::Next next{};
    world_.daemon().act([&](World&) { next = response_.stream->pull(text, 1'000); });
    return next;
  }

  ApiWorld& world_;
  std::counting_semaphore<> woken_{0};
  web::Response response_;
};

/// "db" fails and recovers, each of which is a record of it.
void let_db_change(ApiWorld& world, int times) {
  for (int i = 0; i < times; ++i) {
    bool fails = false;
    world.daemon().act(
        [&](World& engine) { fails = engine.engine->rules(engine.id("db"))[0].status == RuleStatus::Ok; });
    world.daemon().cycle(fails ? 1 : 0);
  }
}

std::uint64_t newest_of(ApiWorld& world) {
  std::uint64_t id = 0;
  world.daemon().act([&](World& engine) { id = engine.saved.last_record; });
  return id;
}

/// Without the messages that only tell the time.
std::string without_time(std::string text) {
  for (std::size_t at = 0; (at = text.find("data: {\"now\"")) != std::string::npos;)
    text.erase(at, text.find("\n\n", at) + 2 - at);
  return text;
}

std::string id_line(std::uint64_t id) { return "id: " + std::to_string(id) + "\n"; }

}  // namespace

TEST_CASE("Who listens is told the time, and the records that come", "[events]") {
  ApiWorld world;
  let_db_change(world, 1);
  Listener listener(world, "");
  CHECK(listener.response().type == "text/event-stream");
  CHECK(listener.read() ==
        "data: {\"now\":\"" + format_iso(world.daemon().supervisor().now().wall) + "\",\"rev\":1}\n\n");
  CHECK(listener.read().empty());
  const std::uint64_t last = newest_of(world);
  let_db_change(world, 1);
  const std::string text = listener.read_until(id_line(newest_of(world)));
  CHECK(text.starts_with(id_line(last + 1) + "event: record\ndata: {\"id\":" + std::to_string(last + 1) + ","));
  CHECK(text.ends_with("}\n\n"));
  CHECK(text.find("\"now\"") == std::string::npos);
  world.daemon().act([&](World&) {
    world.parts().pulse.note();
    world.parts().pulse.tick();
  });
  const std::string message = listener.read();
  CHECK(message.starts_with("data: {\"now\":\""));
  CHECK(message.ends_with("\"rev\":2}\n\n"));
}

TEST_CASE("Who listens before anything was recorded is told the first record, whatever its number", "[events]") {
  ApiWorld world;
  world.daemon().act([&](World&) {
    control::HistoryReader reader(world.daemon().stored());
    control::RecordTail tail;
    const auto follower = std::make_shared<control::Follower>();
    const auto answer =
        control::answer_history(world.daemon().supervisor(), reader, tail,
                                {.since = {}, .after = control::kOnlyToCome, .oldest = true}, follower, [] {});
    std::string text;
    CHECK(answer->pull(text, 10'000) == web::Stream::Next::Waiting);
    engine::Record record;
    record.id = 5'001;
    record.sequence = 1;
    tail.add(std::span(&record, 1));
    tail.release(1);
    text.clear();
    CHECK(answer->pull(text, 10'000) == web::Stream::Next::Waiting);
    CHECK(text.starts_with("{\"item\":{\"id\":5001,"));
    CHECK(std::ranges::count(text, '\n') == 1);
  });
}

TEST_CASE("What the data of an event is, healerctl history --json prints", "[events]") {
  ApiWorld world;
  let_db_change(world, 1);
  Listener listener(world, "after=0");
  const std::string text = without_time(listener.read_until(id_line(newest_of(world))));
  const std::size_t begin = text.find("data: ") + 6;
  const Json data = Json::parse(text.substr(begin, text.find('\n', begin) - begin));
  CHECK(data == world.read("/history").at("records")[0]);
}

TEST_CASE("Who comes back goes on after the last that he was told", "[events]") {
  ApiWorld world;
  let_db_change(world, 6);
  const std::uint64_t last = newest_of(world);
  for (const bool by_header : {true, false}) {
    const std::string number = std::to_string(last - 2);
    Listener listener(world, by_header ? "after=0" : "after=" + number, by_header ? number : "");
    const std::string text = without_time(listener.read_until(id_line(last)));
    CHECK(text.starts_with(id_line(last - 1)));
  }
  CHECK(problem_of(world.get("/events?after=x")).starts_with("400 "));
  Listener wrong(world, "", "x");
  CHECK(problem_of(wrong.response()) ==
        "400 bad-request: Last-Event-ID \"x\" is not a number | it is the id of the last event that has come");
}

TEST_CASE("Records that are gone are told by a gap", "[events]") {
  ApiWorld world;
  let_db_change(world, 3);
  Listener listener(world, "after=1000000");
  const std::string text = without_time(listener.read_until(id_line(newest_of(world))));
  CHECK(text.starts_with("event: gap\ndata: {\"gap\":{\"after\":1000000,"));
}

TEST_CASE("Records are filtered by service and group", "[events]") {
  ApiWorld world;
  let_db_change(world, 6);  // web fails as well
  const std::uint64_t last = newest_of(world);
  Listener all(world, "after=0"), of_web(world, "service=web"), of_group(world, "group=DATABASES");
  CHECK(all.read_until(id_line(last)).find("\"service\":\"db\"") != std::string::npos);
  let_db_change(world, 3);
  const std::string text = of_group.read_until("\"service\":\"db\"");
  CHECK(text.find("\"service\":\"web\"") == std::string::npos);
  CHECK(of_web.read().find("\"service\":\"db\"") == std::string::npos);
  CHECK(problem_of(world.get("/events?service=wep")).starts_with("404 unknown-service: "));
  CHECK(problem_of(world.get("/events?group=nobody")).starts_with("404 unknown-group: "));
}

TEST_CASE("There are places for a thousand who listen", "[events]") {
  ApiWorld world;
  std::vector<std::shared_ptr<void>> places;
  for (std::size_t i = 0; i < web::Pulse::kMost; ++i) places.push_back(world.parts().pulse.listen([] {}));
  CHECK(problem_of(world.get("/events")).starts_with("503 busy: "));
  places.pop_back();
  const Listener listener(world, "");
  CHECK(listener.response().status == 200);
  CHECK(world.parts().pulse.listeners() == web::Pulse::kMost);
}
