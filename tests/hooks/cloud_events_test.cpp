// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "hooks/readings.hpp"

namespace cloud_events_test {

using namespace healer;
using namespace healer::test;
using hooks::Format;

Headers binary(const std::string& type, const Headers& more = {}) {
  Headers headers{{"Content-Type", type},
                  {"ce-specversion", "1.0"},
                  {"CE-Type", "unit.gone"},
                  {"ce-source", "/cloud/a%20b"},
                  {"ce-id", "7"}};
  if (type.empty()) headers.erase(headers.begin());
  headers.insert(headers.end(), more.begin(), more.end());
  return headers;
}

const Headers kStructured{{"content-type", "application/cloudevents+json; charset=UTF-8"}};

std::string structured(const std::string& more) {
  return R"({"specversion":"1.0","type":"t","source":"/s","id":"1")" + more + "}";
}

TEST_CASE("a structured CloudEvent is the document itself", "[hooks]") {
  CHECK(reading(Format::CloudEvents, structured(R"(,"data":{"unit":3},"subject":"x")"), kStructured) ==
        R"(/s 1||{"data":{"unit":3},"id":"1","source":"/s","specversion":"1.0","subject":"x","type":"t"})"
        "\n");
  // A file that a person sends has no headers.
  CHECK(reading(Format::CloudEvents, structured("")).starts_with("/s 1||"));
}

TEST_CASE("a payload in base64 is read", "[hooks]") {
  CHECK(
      reading(Format::CloudEvents, structured(R"(,"datacontenttype":"application/json","data_base64":"eyJhIjoxfQ==")"),
              kStructured) ==
      R"(/s 1||{"data":{"a":1},"datacontenttype":"application/json","id":"1","source":"/s","specversion":"1.0","type":"t"})"
      "\n");
  CHECK(reading(Format::CloudEvents, structured(R"(,"data_base64":"aGk=")"), kStructured).find(R"("data":"hi")") !=
        std::string::npos);
  CHECK(reading(Format::CloudEvents, structured(R"(,"data_base64":"/w==")"), kStructured)
            .find(R"("data_base64":"/w==")") != std::string::npos);
  for (const char* const odd : {R"(,"data_base64":7)", R"(,"data_base64":"?")", R"(,"data_base64":"aGk=","data":1)",
                                R"(,"data_base64":"aGk=","datacontenttype":"application/json")"})
    CHECK(reading(Format::CloudEvents, structured(odd), kStructured).starts_with("400: "));
}

TEST_CASE("of a binary CloudEvent the headers are attributes, and the body is the payload", "[hooks]") {
  CHECK(reading(Format::CloudEvents, R"({"unit": 3})",
                binary("application/json; charset=utf-8", {{"ce-Trace", "a%E2%82%AC"}})) ==
        "400: the \"source\" of a CloudEvent contains blanks");
  Headers headers = binary("application/json", {{"ce-Trace", "a%E2%82%AC%2"}});
  headers[3].second = "/cloud";
  CHECK(
      reading(Format::CloudEvents, R"({"unit": 3})", headers) ==
      R"(/cloud 7||{"data":{"unit":3},"datacontenttype":"application/json","id":"7","source":"/cloud","specversion":"1.0",)"
      "\"trace\":\"a\u20ac%2\","
      R"("type":"unit.gone"})"
      "\n");
  headers.back().second = "\xfcnit";  // as a library for node writes it
  CHECK(reading(Format::CloudEvents, "{}", headers).find("\"trace\":\"\u00fcnit\"") != std::string::npos);
  headers[0].second = "text/plain";
  CHECK(reading(Format::CloudEvents, "it's gone", headers).find(R"("data":"it's gone")") != std::string::npos);
  CHECK(reading(Format::CloudEvents, "\xff", headers).find(R"("data_base64":"/w==")") != std::string::npos);
  CHECK(reading(Format::CloudEvents, "", headers).find("\"data\"") == std::string::npos);
  headers[0].second = "application/vnd.x+json";
  CHECK(reading(Format::CloudEvents, "it's gone", headers) ==
        "400: the payload of a CloudEvent is not JSON, although it says so");
}

TEST_CASE("what is no CloudEvent of version 1.0 is refused", "[hooks]") {
  Headers headers = binary("application/json");
  headers[1].second = "0.3";
  CHECK(reading(Format::CloudEvents, "{}", headers) ==
        "400: a CloudEvent of the version 0.3 is not understood, only of 1.0");
  headers = binary("application/json");
  headers.pop_back();
  CHECK(reading(Format::CloudEvents, "{}", headers).starts_with("400: a CloudEvent has no \"id\""));
  CHECK(reading(Format::CloudEvents, "{}", {{"content-type", "application/json"}})
            .starts_with("400: a CloudEvent has no \"specversion\""));
  CHECK(reading(Format::CloudEvents, "[]", {{"content-type", "application/cloudevents-batch+json"}}) ==
        "400: CloudEvents as application/cloudevents-batch+json are not understood: one at a time, binary or as "
        "application/cloudevents+json");
  CHECK(reading(Format::CloudEvents, "[]", kStructured) == "400: a structured CloudEvent is a JSON object");
  CHECK(reading(Format::CloudEvents, "{}", binary("", {{"ce-data", "x"}})).starts_with("400: the header ce-data"));
  CHECK(reading(Format::CloudEvents, "{}", binary("", {{"ce-x\xff", "x"}})) ==
        "400: the name of a header of a CloudEvent is not UTF-8");
}

}  // namespace cloud_events_test
