// SPDX-License-Identifier: MIT
// gps: asks gpsd for its receivers. One of before 2.90 answers G, as Monit asks; later ones greet, and list them in
// JSON, and read no further where G comes first.
#include "protocols/line_talk.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

const Protocol& gps();

namespace {

LineVerdict judge(std::string_view line) {
  const auto has = [&](std::string_view text) { return line.find(text) != std::string_view::npos; };
  if (line.starts_with("GPSD,") && !has("G=")) return LineVerdict::More;  // to the letters of DEVICES
  if (line.starts_with("GPSD,")) return has("G=GPS") || has("G=RTCM104v2") ? LineVerdict::Good : LineVerdict::Refused;
  if (!line.starts_with("{\"class\":")) return LineVerdict::Unexpected;
  if (!line.starts_with("{\"class\":\"DEVICES\"")) return LineVerdict::More;
  return has("\"path\":") ? LineVerdict::Good : LineVerdict::Refused;
}

std::unique_ptr<Conversation> make(const Order&) {
  return line_session({.server = "a GPS daemon",
                       .steps = {{.say = "?DEVICES;\r\nG\r\n", .awaited = "list of devices", .judge = judge}},
                       .passed = "it has a receiver",
                       .secrets = {},
                       .limits = {.longest = 8192}});
}

}  // namespace

const Protocol& gps() {
  static constexpr Protocol it{.name = "gps", .title = "GPS", .port = 2947, .make = make};
  return it;
}

}  // namespace healer::protocols
