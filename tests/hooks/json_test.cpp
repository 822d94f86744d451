// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "hooks/readings.hpp"

namespace json_test {

using namespace healer;
using namespace healer::test;
using hooks::Format;

TEST_CASE("formats have names", "[hooks]") {
  for (const auto format : {Format::Json, Format::Aodh, Format::Zaqar, Format::Alertmanager, Format::CloudEvents})
    CHECK(hooks::format_of(hooks::to_string(format)) == format);
  CHECK(hooks::format_of("AODH") == Format::Aodh);
  CHECK_FALSE(hooks::format_of("xml"));
}

TEST_CASE("any JSON is an event, named by its webhook-id or its hash", "[hooks]") {
  const std::string hashed = reading(Format::Json, R"( {"a": 12345678901234567890123, "b": [1.10]} )");
  // As it was written, to the last digit.
  CHECK(hashed.substr(32) ==
        "||"
        R"({"a": 12345678901234567890123, "b": [1.10]})"
        "\n");
  CHECK(reading(Format::Json, "{}").substr(0, 32) == reading(Format::Json, "{}", {{"X-Other", "1"}}).substr(0, 32));
  CHECK(reading(Format::Json, "{}").substr(0, 32) != reading(Format::Json, "[]").substr(0, 32));
  CHECK(reading(Format::Json, "{}", {{"Webhook-Id", "msg_1"}}) == "msg_1||{}\n");
  CHECK(reading(Format::Json, "\xEF\xBB\xBF{}", {{"webhook-id", "a"}}) == "a||{}\n");
}

TEST_CASE("what is no JSON, or nests too deep, is refused", "[hooks]") {
  CHECK(reading(Format::Json, "") == "400: it has no body");
  CHECK(reading(Format::Json, "{} {}") == "400: its body is not JSON");
  CHECK(reading(Format::Json, "{\"a\": \"\xff\"}") == "400: its body is not JSON");
  const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  for (const auto format : {Format::Json, Format::Aodh, Format::Zaqar, Format::Alertmanager, Format::CloudEvents})
    CHECK(reading(format, deep) == "400: its values nest deeper than 64 levels");
  // Brackets in texts are none.
  CHECK(reading(Format::Json, R"(")" + std::string(100, '[') + R"(\"[")", {{"webhook-id", "a"}}).starts_with("a||"));
}

TEST_CASE("a key and a state are what filters find", "[hooks]") {
  using Found = Result<std::string>;
  const hooks::Occurrence occurrence{.id = "hash", .state = "", .document = "{}"};
  const auto keyed = [&](const Found& key, const std::optional<Found>& state) {
    const auto made = hooks::with_key(occurrence, key, state);
    if (const auto* const refusal = std::get_if<hooks::Refusal>(&made))
      return std::to_string(refusal->status) + ": " + refusal->why;
    const auto& one = std::get<hooks::Occurrence>(made);
    return one.id + "|" + one.state + "|" + one.document;
  };
  CHECK(keyed({R"("disk 1")"}, std::nullopt) == "disk 1||{}");
  CHECK(keyed({"7"}, Found("true")) == "7|true|{}");
  CHECK(keyed({"null"}, std::nullopt) == "422: its key must be a text, a number, true or false, of at most 1024 bytes");
  CHECK(keyed({R"("")"}, std::nullopt).starts_with("422: its key"));
  CHECK(keyed({"7"}, Found("{}")) == "422: its state must be a text, a number, true or false, of at most 1024 bytes");
  CHECK(keyed({Error{0, "it makes no value"}}, std::nullopt) ==
        "422: the filter of its key has failed: it makes no value");
}

}  // namespace json_test
