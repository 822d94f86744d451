// SPDX-License-Identifier: MIT
#include "web/pulse.hpp"

#include <catch2/catch.hpp>
#include <optional>

using namespace healer;
using healer::web::Pulse;

namespace {

struct Heart {
  Instant now{.mono = seconds{100}};
  std::optional<Duration> alarm{};
  int woken = 0;
  Pulse pulse{[this] { return now; }, [this](Duration when) { alarm = when; }};

  std::shared_ptr<void> listen() {
    return pulse.listen([this] { ++woken; });
  }
};

}  // namespace

TEST_CASE("Who listens is woken every five seconds", "[pulse]") {
  Heart heart;
  heart.pulse.note();
  CHECK_FALSE(heart.alarm);  // nobody listens
  auto place = heart.listen();
  CHECK(heart.alarm == seconds{105});
  heart.now.mono = seconds{105};
  heart.pulse.tick();
  CHECK(heart.woken == 1);
  CHECK(heart.alarm == seconds{110});
  place.reset();
  heart.pulse.tick();
  CHECK(heart.woken == 1);
  CHECK(heart.pulse.listeners() == 0);
}

TEST_CASE("A change wakes all at once, but no more than ten times a second", "[pulse]") {
  Heart heart;
  const auto place = heart.listen();
  const auto revision = heart.pulse.revision();
  heart.pulse.note();
  CHECK(heart.alarm == heart.now.mono);
  heart.pulse.tick();
  heart.alarm.reset();
  heart.pulse.note();
  heart.pulse.note();
  CHECK(heart.alarm == heart.now.mono + milliseconds{100});
  CHECK(heart.pulse.revision() == revision + 3);
  heart.now.mono += milliseconds{100};
  heart.pulse.tick();
  CHECK(heart.alarm == heart.now.mono + seconds{5});
  CHECK(heart.woken == 2);
  heart.alarm.reset();
  heart.pulse.note_figures();
  CHECK_FALSE(heart.alarm);
  CHECK(heart.pulse.revision() == revision + 4);
}

TEST_CASE("There are no more than a thousand who listen", "[pulse]") {
  Heart heart;
  std::vector<std::shared_ptr<void>> places;
  for (std::size_t i = 0; i < Pulse::kMost; ++i) places.push_back(heart.listen());
  CHECK(places.back() != nullptr);
  CHECK(heart.listen() == nullptr);
  heart.pulse.tick();
  CHECK(heart.woken == static_cast<int>(Pulse::kMost));
  places.pop_back();
  CHECK(heart.listen() != nullptr);
}
