// SPDX-License-Identifier: MIT
// What is remembered of requests with an Idempotency-Key.
#include "web/api/kept_answers.hpp"

#include <catch2/catch.hpp>

using namespace healer;
using namespace healer::web;

namespace {

/// A log that is a text.
struct TextLog final : AnswerLog {
  void append(std::string line) override { text += line; }
  void replace(std::string lines) override {
    text = std::move(lines);
    ++replaced;
  }
  std::string text;
  int replaced = 0;
};

constexpr WallTime kNow{days{20'000}};

/// What a request with that key is answered; "does it" is what it is answered when something is done.
std::string ask_kept(KeptAnswers& kept, const std::string& key, WallTime now = kNow, const std::string& user = "ann") {
  const Reply reply = kept.once({.user = user, .key = key, .asked = hash128("x")}, now,
                                []() -> Reply { return Response{.type = "text/plain", .body = "does it"}; });
  const auto& response = std::get<Response>(reply);
  return std::to_string(response.status) + (find(response.headers, "Idempotency-Replayed") ? " again" : "");
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
    (void)kept.once({.user = "ann", .key = "c", .asked = hash128("x")}, kNow,
                    []() -> Reply { return std::make_unique<Silent>(); });
  }
  log.text += "{\"user\":\"ann\",\"key\":\"d\"";  // as it was being written
  KeptAnswers kept(&log, log.text + "\n", kNow + hours{1});
  CHECK(kept.size() == 3);
  CHECK(ask_kept(kept, "a", kNow + hours{1}) == "200 again");
  CHECK(ask_kept(kept, "b", kNow + hours{1}) == "200 again");
  CHECK(ask_kept(kept, "c", kNow + hours{1}) == "409");  // nobody knows what became of it
  CHECK(KeptAnswers(&log, log.text, kNow + hours{24}).size() == 0);
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
