// SPDX-License-Identifier: MIT
// What is remembered of requests with an Idempotency-Key.
#include "web/api/kept_answers.hpp"

#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>

using namespace healer;
using namespace healer::web;

namespace {

/// A log that is a text. If it is slow it tells when a test has it tell.
struct TextLog final : AnswerLog {
  void append(std::string line, Written done) override {
    if (works) text += line;
    slow ? waiting.push_back(std::move(done)) : done(works);
  }
  void tell() {
    const Written done = std::move(waiting.front());
    waiting.pop_front();
    done(works);
  }
  void replace(std::string lines) override {
    text = std::move(lines);
    ++replaced;
  }
  std::string text;
  int replaced = 0;
  bool slow = false;
  bool works = true;
  std::deque<Written> waiting{};
};

constexpr WallTime kNow{days{20'000}};

/// What a request with that key is answered; "does it" is what it is answered when something is done.
std::string ask_kept(KeptAnswers& kept, const std::string& key, WallTime now = kNow, const std::string& user = "ann") {
  const Reply reply = kept.once(
      {.user = user, .key = key, .asked = hash128("x")}, now,
      []() -> Reply { return Response{.type = "text/plain", .body = "does it"}; }, [] {});
  const auto& response = std::get<Response>(reply);
  return std::to_string(response.status) + (find(response.headers, "Idempotency-Replayed") ? " again" : "");
}

/// One who asks a log that is slow, and what comes of it.
struct Client {
  explicit Client(KeptAnswers& kept, unsigned status = 200) {
    Reply reply = kept.once(
        {.user = "ann", .key = "a", .asked = hash128("x")}, kNow,
        [this, status]() -> Reply {
          ++acts;
          if (status == 0) throw std::runtime_error("it broke");
          return Response{.status = status, .type = "text/plain", .body = "does it"};
        },
        [this] { ++wakes; });
    deferred = std::move(std::get<std::unique_ptr<Deferred>>(reply));
  }
  /// The status; 0: it waits.
  [[nodiscard]] unsigned answer() const {
    const auto response = deferred->poll();
    return response ? response->status : 0;
  }
  std::unique_ptr<Deferred> deferred;
  int acts = 0;
  int wakes = 0;
};

/// What a daemon is answered that begins with what was written.
std::string ask_next(const TextLog& log) {
  KeptAnswers next(nullptr, log.text, kNow);
  return ask_kept(next, "a");
}

/// Never answered.
struct Silent final : Deferred {
  std::optional<Response> poll() override { return std::nullopt; }
};

}  // namespace

TEST_CASE("An answer is kept for a day", "[keys]") {
  KeptAnswers kept;
  CHECK(ask_kept(kept, "a") == "200");
  CHECK(ask_kept(kept, "a", kNow + hours{24} - seconds{1}) == "200 again");
  CHECK(ask_kept(kept, "a", kNow + hours{24}) == "200");
  CHECK(kept.size() == 1);
}

TEST_CASE("Answers outlive the daemon, whatever the end of what was written", "[keys]") {
  TextLog log;
  {
    KeptAnswers kept(&log);
    CHECK(ask_kept(kept, "a") == "200");
    CHECK(ask_kept(kept, "b") == "200");
    (void)kept.once(
        {.user = "ann", .key = "c", .asked = hash128("x")}, kNow, []() -> Reply { return std::make_unique<Silent>(); },
        [] {});
  }
  log.text += "{\"user\":\"ann\",\"key\":\"d\"";  // as it was being written
  KeptAnswers kept(&log, log.text + "\n", kNow + hours{1});
  CHECK(kept.size() == 3);
  CHECK(ask_kept(kept, "a", kNow + hours{1}) == "200 again");
  CHECK(ask_kept(kept, "b", kNow + hours{1}) == "200 again");
  CHECK(ask_kept(kept, "c", kNow + hours{1}) == "409");  // nobody knows what became of it
  CHECK(KeptAnswers(&log, log.text, kNow + hours{24}).size() == 0);
}

TEST_CASE("Nothing is quiet before what is answered is in the log", "[keys]") {
  TextLog log;
  log.slow = true;
  KeptAnswers kept(&log);
  CHECK(kept.is_quiet());
  const Client client(kept);
  CHECK_FALSE(kept.is_quiet());
  log.tell();  // it is done now, and its answer goes to the log
  CHECK(client.acts == 1);
  CHECK_FALSE(kept.is_quiet());
  log.tell();
  CHECK(kept.is_quiet());
}

TEST_CASE("The log is written anew when most of it is of answers that are gone", "[keys]") {
  TextLog log;
  KeptAnswers kept(&log);
  WallTime now = kNow;
  for (int i = 0; i < 2'000; ++i) {
    now += minutes{10};
    CHECK(ask_kept(kept, "key" + std::to_string(i), now) == "200");
  }
  CHECK(log.replaced > 0);
  CHECK(kept.size() < 200);
  CHECK(KeptAnswers(&log, log.text, now).size() == kept.size());
}

TEST_CASE("One user cannot have more than his share kept", "[keys]") {
  KeptAnswers kept;
  for (std::size_t i = 0; i < KeptAnswers::kMostOfUser; ++i) CHECK(ask_kept(kept, std::to_string(i)) == "200");
  CHECK(ask_kept(kept, "one more") == "400");  // it has a blank
  CHECK(ask_kept(kept, "more") == "429");
  CHECK(ask_kept(kept, "0") == "200 again");
  CHECK(ask_kept(kept, "more", kNow, "bob") == "200");
}

TEST_CASE("Nothing is done before that is on disk, nor answered before the answer is", "[keys]") {
  TextLog log;
  log.slow = true;
  KeptAnswers kept(&log);
  const Client client(kept);
  CHECK(client.acts == 0);
  CHECK(client.answer() == 0);
  CHECK(ask_kept(kept, "a") == "409");  // it is under way
  CHECK(ask_next(log) == "409");        // and in doubt, when the daemon ends now
  log.tell();
  CHECK(client.acts == 1);
  CHECK(client.answer() == 0);
  CHECK(ask_kept(kept, "a") == "409");
  const int before = client.wakes;
  log.tell();
  CHECK(client.wakes == before + 1);
  CHECK(client.answer() == 200);
  CHECK(ask_kept(kept, "a") == "200 again");
  CHECK(ask_next(log) == "200 again");
  CHECK(client.acts == 1);
}

TEST_CASE("What was refused may be asked again, of the next daemon too", "[keys]") {
  TextLog log;
  log.slow = true;
  KeptAnswers kept(&log);
  const Client client(kept, 404);
  log.tell();
  CHECK(client.answer() == 0);
  log.tell();
  CHECK(client.answer() == 404);
  CHECK(kept.size() == 0);
  CHECK(ask_next(log) == "200");
}

TEST_CASE("What breaks while it is done is answered, and not done again", "[keys]") {
  TextLog log;
  log.slow = true;
  KeptAnswers kept(&log);
  const Client client(kept, 0);
  log.tell();
  log.tell();
  CHECK(client.answer() == 500);
  CHECK(ask_kept(kept, "a") == "500 again");
}

TEST_CASE("A request with a key is done though the log cannot be written, or its client has gone", "[keys]") {
  TextLog log;
  log.slow = true;
  KeptAnswers kept(&log);
  Client client(kept);
  SECTION("it cannot be written") {
    log.works = false;
    log.tell();
    log.tell();
    CHECK(client.answer() == 200);
  }
  SECTION("its client has gone") {
    client.deferred.reset();
    log.tell();
    log.tell();
  }
  CHECK(client.acts == 1);
  CHECK(ask_kept(kept, "a") == "200 again");
}

TEST_CASE("A log may tell when nobody keeps answers any more", "[keys]") {
  TextLog log;
  log.slow = true;
  auto kept = std::make_unique<KeptAnswers>(&log);
  Client client(*kept);
  client.deferred.reset();
  kept.reset();
  log.tell();
  CHECK(client.acts == 0);
  CHECK(ask_next(log) == "409");
}
