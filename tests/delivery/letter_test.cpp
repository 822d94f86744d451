// SPDX-License-Identifier: MIT
// Letters: what they say of an alert, and their files.
#include <memory>

#include <catch2/catch.hpp>

#include "delivery/letter.hpp"
#include "engine/words/cause.hpp"

using namespace healer;
using namespace healer::delivery;
using engine::EventKind;
using State = engine::effect::Cause::State;

namespace {

engine::effect::Alert alert(EventKind event, State state, std::string incident = {}, bool reminds = false) {
  engine::effect::Cause cause{.service = "web", .event = event, .state = state, .event_text = "Status failed"};
  cause.when = WallTime{milliseconds{1'795'000'000'123}};
  return {engine::AlertId{7}, {}, std::make_shared<const engine::effect::Cause>(cause), std::move(incident), reminds};
}

std::string state_told(EventKind event, State state, std::string incident = {}, bool reminds = false) {
  return letter_of(alert(event, state, std::move(incident), reminds), {}).state;
}

}  // namespace

TEST_CASE("a letter says what has become of what it is about", "[letter]") {
  CHECK(state_told(EventKind::Status, State::Failed, "i") == "failed");
  CHECK(state_told(EventKind::Status, State::Failed, "i", true) == "reminder");
  CHECK(state_told(EventKind::Status, State::Succeeded, "i") == "recovered");
  CHECK(state_told(EventKind::Content, State::Changed, "i") == "changed");
  CHECK(state_told(EventKind::Instance, State::Changed) == "info");
  CHECK(state_told(EventKind::Action, State::Succeeded, "healing") == "recovered");
  CHECK(state_told(EventKind::Action, State::Changed) == "info");
}

TEST_CASE("what is about nothing that goes on is an incident of its own", "[letter]") {
  const Letter one = letter_of(alert(EventKind::Instance, State::Changed), {});
  CHECK(one.incident.size() == 32);
  CHECK(letter_of(alert(EventKind::Instance, State::Changed), {}).incident == one.incident);
  auto other = alert(EventKind::Instance, State::Changed);
  other.alert = engine::AlertId{8};
  CHECK(letter_of(other, {}).incident != one.incident);
  CHECK(letter_of(alert(EventKind::Status, State::Failed, "i"), {}).incident == "i");
}

TEST_CASE("each try to deliver a letter to a contact has the same key, and no other has it", "[letter]") {
  const Letter one = letter_of(alert(EventKind::Status, State::Failed, "i"), WallTime{seconds{1}});
  const Letter again = letter_of(alert(EventKind::Status, State::Failed, "i"), WallTime{seconds{2}});
  CHECK(idempotency_key(one, "team") == idempotency_key(again, "team"));
  CHECK(idempotency_key(one, "team") != idempotency_key(one, "wall"));
  CHECK(idempotency_key(one, "team").size() == 32);
}

TEST_CASE("a letter is the same after it was on disk; one that is not whole is none", "[letter]") {
  Letter letter = letter_of(alert(EventKind::Status, State::Failed, "incident"), WallTime{milliseconds{5}});
  letter.description = std::string("a\nb\0c\n", 6);
  letter.rule = "if status != 0 then alert";
  letter.is_of_loss = true;
  const std::string file = serialise(letter);
  CHECK(parse_letter(file) == letter);
  for (std::size_t size = 0; size < file.size(); ++size) CHECK_FALSE(parse_letter(file.substr(0, size)));
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    CHECK_FALSE(parse_letter(damaged));
  }
}

TEST_CASE("files sort as alerts came", "[letter]") {
  const LetterKey key{42, -1};
  CHECK(file_name(key) == "00000000000000000042-ffffffffffffffff");
  CHECK(parse_file_name(file_name(key)) == key);
  CHECK(file_name({9, 5}) < file_name({10, 4}));
  CHECK_FALSE(parse_file_name("x"));
  CHECK_FALSE(parse_file_name("0000000000000000004x-0000000000000005"));
}
