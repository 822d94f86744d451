// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "hooks/readings.hpp"

namespace alertmanager_test {

using namespace healer;
using namespace healer::test;
using hooks::Format;

// As Alertmanager sends it, version 4 of its webhook.
std::string group(const std::string& alerts, const std::string& truncated = "0") {
  return R"({"receiver":"healer","status":"firing","alerts":[)" + alerts +
         R"(],"groupLabels":{"alertname":"Down"},"commonLabels":{"alertname":"Down"},"commonAnnotations":{},)"
         R"("externalURL":"http://am:9093","version":"4","groupKey":"{}:{alertname=\"Down\"}","truncatedAlerts":)" +
         truncated + "}";
}

constexpr std::string_view kFiring =
    R"({"status":"firing","labels":{"alertname":"Down","instance":"a"},"annotations":{},"startsAt":"2026-11-21T04:00:00Z",)"
    R"("endsAt":"0001-01-01T00:00:00Z","generatorURL":"","fingerprint":"f1"})";
constexpr std::string_view kResolved =
    R"({"status":"resolved","labels":{"alertname":"Down","instance":"b"},"annotations":{},"startsAt":"2026-11-21T03:00:00Z",)"
    R"("endsAt":"2026-11-21T04:00:00Z","generatorURL":"","fingerprint":"f2"})";

TEST_CASE("each alert of a group is an event, with what is said of the group", "[hooks]") {
  CHECK(reading(Format::Alertmanager, group(std::string(kFiring) + "," + std::string(kResolved))) ==
        "f1 2026-11-21T04:00:00Z|firing|"
        R"({"annotations":{},"endsAt":"0001-01-01T00:00:00Z","externalURL":"http://am:9093","fingerprint":"f1",)"
        R"("generatorURL":"","groupKey":"{}:{alertname=\"Down\"}","labels":{"alertname":"Down","instance":"a"},)"
        R"("receiver":"healer","startsAt":"2026-11-21T04:00:00Z","status":"firing"})"
        "\nf2 2026-11-21T03:00:00Z|resolved|"
        R"({"annotations":{},"endsAt":"2026-11-21T04:00:00Z","externalURL":"http://am:9093","fingerprint":"f2",)"
        R"("generatorURL":"","groupKey":"{}:{alertname=\"Down\"}","labels":{"alertname":"Down","instance":"b"},)"
        R"("receiver":"healer","startsAt":"2026-11-21T03:00:00Z","status":"resolved"})"
        "\n");
  CHECK(reading(Format::Alertmanager, group("")).empty());
}

TEST_CASE("what is said of a group cannot make its alerts large", "[hooks]") {
  std::string body = group(std::string(kFiring));
  body.replace(body.find("http://am:9093"), 14, std::string(300'000, 'x'));
  CHECK(reading(Format::Alertmanager, body).find("externalURL") == std::string::npos);
  std::string many(kFiring);
  for (int i = 0; i < 40'000; ++i) many += "," + std::string(kFiring);
  CHECK(
      reading(Format::Alertmanager, group(many)).starts_with("413: its alerts, each with what is said of their group"));
}

TEST_CASE("that Alertmanager has left alerts out is said with each", "[hooks]") {
  CHECK(reading(Format::Alertmanager, group(std::string(kFiring), "3"))
            .ends_with("}|Alertmanager has left out 3 further alerts of this group (max_alerts)\n"));
}

TEST_CASE("a body of which one alert is none is refused whole", "[hooks]") {
  CHECK(reading(Format::Alertmanager, group(std::string(kFiring) + ",{}")) ==
        "400: an alert of Alertmanager has no \"fingerprint\" that is a text of at most 1024 bytes");
  CHECK(reading(Format::Alertmanager, group("7")).starts_with("400: an alert"));
  CHECK(reading(Format::Alertmanager, R"({"alerts":{}})") ==
        "400: what Alertmanager tells has no \"alerts\" that is an array");
  CHECK(reading(Format::Alertmanager, "[]").starts_with("400: what Alertmanager"));
}

}  // namespace alertmanager_test
