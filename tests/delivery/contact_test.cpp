// SPDX-License-Identifier: MIT
// What a contact is sent: templates, and how values are written in each place.
#include <string>

#include <catch2/catch.hpp>

#include "delivery/contact.hpp"
#include "util/jq.hpp"

using namespace healer;
using namespace healer::delivery;

namespace {

std::string text(const Text& parts) {
  std::string whole;
  for (const auto& [part, is_secret] : parts) whole += is_secret ? "<" + part + ">" : part;
  return whole;
}

Letter letter() {
  return {.key = {42, 1'795'000'000'123},
          .taken = {},
          .state = "failed",
          .incident = "0123456789abcdef0123456789abcdef",
          .event = "Status failed",
          .service = "web & \"db\"",
          .action = "alert",
          .rule = "if status != 0 then alert",
          .description = "status failed (1) -- a\n\tb\\c"};
}

engine::Contact contact(std::string body, std::vector<std::string> headers = {}) {
  return {.name = "Wall",
          .kind = "url",
          .place = "https://wall.example/${SERVICE}?i=${INCIDENT}",
          .method = "",
          .headers = std::move(headers),
          .body = std::move(body)};
}

}  // namespace

TEST_CASE("a body of JSON stays JSON, whatever an alert says", "[contact]") {
  const Parcel parcel =
      compose(contact(R"({"text": "${EVENT} ${SERVICE}: ${DESCRIPTION}", "on": "${HOST}"})"), letter(), "vm\x01");
  CHECK(parcel.method == "POST");
  const std::string body = text(parcel.body);
  auto filter = JqFilter::compile(".text, .on");
  REQUIRE(filter);
  const Result<std::string> reported = filter->first(body);
  REQUIRE(reported);
  CHECK(json_text(*reported) == "Status failed web & \"db\": status failed (1) -- a\n\tb\\c");
}

TEST_CASE("values are percent-encoded in URLs and forms, and as they are in other texts", "[contact]") {
  const Parcel parcel =
      compose(contact("${SERVICE}", {"content-type: application/x-www-form-urlencoded"}), letter(), "vm");
  CHECK(text(parcel.url) == "https://wall.example/web%20%26%20%22db%22?i=0123456789abcdef0123456789abcdef");
  CHECK(text(parcel.body) == "web%20%26%20%22db%22");
  CHECK(text(compose(contact("${DESCRIPTION}", {"Content-Type: text/plain"}), letter(), "vm").body) ==
        "status failed (1) -- a\n\tb\\c");
}

TEST_CASE("no value begins a header line of its own", "[contact]") {
  const Parcel parcel = compose(contact("", {"X-Text: ${DESCRIPTION}", "X-Date: ${DATE}"}), letter(), "vm");
  REQUIRE(parcel.headers.size() == 3);
  CHECK(text(parcel.headers[0]) == "X-Text: status failed (1) -- a  b\\c");
  CHECK(text(parcel.headers[1]) == "X-Date: 2026-11-18T11:06:40.123Z");
  CHECK(text(parcel.headers[2]) == "Idempotency-Key: " + idempotency_key(letter(), "wall"));
}

TEST_CASE("secrets stay names until a letter is sent, and are written for their place", "[contact]") {
  engine::Contact one = contact(R"({"key": "${secret:k}", "literal": "$${EVENT}"})");
  one.place = "${secret:hook}";
  const Parcel parcel = compose(one, letter(), "vm");
  CHECK(text(parcel.url) == "<hook>");
  CHECK(text(parcel.body) == R"({"key": "<k>", "literal": "${EVENT}"})");
  CHECK(written_secret(Format::Url, "https://a.example/x y", true) == "https://a.example/x y");
  CHECK(written_secret(Format::Url, "x y", false) == "x%20y");
  CHECK(written_secret(Format::Json, "a\"b", false) == "a\\\"b");
  CHECK(written_secret(Format::Header, "a\nb", false) == std::nullopt);
}

TEST_CASE("what a template would become is seen before there is an alert", "[contact]") {
  CHECK(JqFilter::compile(".")->first(with_samples(R"({"a": "${EVENT}${secret:k}"})", Format::Json)));
  CHECK_FALSE(JqFilter::compile(".")->first(with_samples(R"({"a": ${EVENT}})", Format::Json)));
}

TEST_CASE("a push of ntfy has the topic, a title, and a priority by what has happened", "[contact]") {
  const engine::Contact phone{.name = "phone",
                              .kind = "ntfy",
                              .place = "https://ntfy.example/ops",
                              .method = "",
                              .headers = {"X-Tags: ${STATE}"},
                              .body = "",
                              .settings = {{"token", "${secret:ntfy}"}}};
  Letter one = letter();
  const Parcel parcel = compose(phone, one, "vm");
  CHECK(text(parcel.url) == "https://ntfy.example/");
  CHECK(text(parcel.body) ==
        R"({"topic": "ops", "title": "Status failed web & \"db\" on vm", "message": "status failed (1) -- a\n\tb\\c", )"
        R"("priority": 4, "tags": ["failed"]})");
  CHECK(text(parcel.headers.at(0)) == "Authorization: Bearer <ntfy>");
  CHECK(text(parcel.headers.at(1)) == "X-Tags: failed");
  one.state = "recovered";
  one.description = std::string(3'799, 'x') + "\xC3\xA9 and more";
  const std::string body = text(compose(phone, one, "vm").body);
  CHECK(body.find("\"priority\": 2") != std::string::npos);
  CHECK(body.find(std::string(3'799, 'x') + "\", \"priority\"") != std::string::npos);
  // What healer says of itself is urgent where it is a loss.
  const auto is_urgent = [&](const std::string& event, bool is_of_loss) {
    Letter own{.state = "info", .incident = "i", .event = event, .service = "healer", .is_of_loss = is_of_loss};
    return text(compose(phone, own, "vm").body).find("\"priority\": 4") != std::string::npos;
  };
  CHECK(is_urgent("Healer died", false));
  CHECK(is_urgent("Alert not delivered", true));
  CHECK_FALSE(is_urgent("Monit instance changed", false));
  const Kind& kind = *find_kind("ntfy");
  CHECK(kind.problem("https://ntfy.example/ops").empty());
  for (const char* place : {"https://ntfy.example/", "https://ntfy.example", "https://ntfy.example/${SERVICE}", "ops"})
    CHECK_FALSE(kind.problem(place).empty());
}

TEST_CASE("every kind of contact is known by its name, and by no other", "[contact]") {
  for (const std::string_view name : kind_names()) CHECK(find_kind(name)->name == name);
  CHECK(std::ranges::count(kinds(), &mail_kind()) == 1);
  CHECK(find_kind("mail") == nullptr);  // alerts name addresses: there is no 'set contact' of it
  CHECK(find_kind("URL") == nullptr);
  CHECK(find_kind("") == nullptr);
}
