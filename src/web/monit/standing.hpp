// SPDX-License-Identifier: MIT
// How Monit would say that a service is: its status bits and words, and what it is being told to do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/supervisor.hpp"
#include "engine/ids.hpp"
#include "engine/rules/event_kind.hpp"
#include "engine/rules/kind.hpp"
#include "engine/rules/schedule.hpp"
#include "util/monit_version.hpp"

namespace healer::web::monit {

/// What answers are made from: who is asked, and when. Of one page or one pull of a stream.
struct Scene {
  const control::Supervisor& daemon;
  const engine::Engine& engine;
  Instant now;
  MonitVersion version;  ///< whose form is spoken

  explicit Scene(const control::Supervisor& supervisor);
  [[nodiscard]] bool since(MonitVersion other) const { return version >= other; }
};

/// "5.33.0".
[[nodiscard]] std::string_view version_of(MonitVersion version);
/// The version of Monit that is spoken.
[[nodiscard]] inline std::string_view version_of(const Scene& scene) { return version_of(scene.version); }

/// What Monit calls a kind of service.
struct Kind {
  int number = 7;                      ///< of its XML
  std::string_view title = "Program";  ///< "Remote Host"
  int place = 0;                       ///< in its summary
  int page_place = 0;                  ///< in its list of HTML
};
inline constexpr std::size_t kKindPlaces = 10;  ///< places are smaller
/// Of one that Monit has not: a program's number, and a title of its own.
[[nodiscard]] Kind kind_of(const engine::CheckKind& kind);

/// The bit of an event in `status` of the XML.
[[nodiscard]] std::uint64_t bit_of(engine::EventKind event);

/// How a text is coloured.
enum class Tone : std::uint8_t { None, Plain, Good, Bad, Notice, Begun, Waiting, Absent };
[[nodiscard]] std::string_view colour_of(Tone tone);  ///< of a terminal; empty: none
[[nodiscard]] std::string_view class_of(Tone tone);   ///< of HTML; empty: none
/// With the codes of a terminal around it.
[[nodiscard]] std::string coloured(std::string_view text, Tone tone);

struct Word {
  std::string text;
  Tone tone = Tone::None;
};

/// How often a service is looked at, where that is not each cycle.
struct Every {
  int type = 0;               ///< of the XML: 2 each few cycles, 3 at certain minutes, 4 but at these
  std::uint32_t counter = 0;  ///< of type 2: cycles since its run
  std::uint32_t number = 0;   ///< of type 2
  std::string cron{};         ///< of the others
};

struct Standing {
  std::uint64_t status = 0;  ///< bits of events that stand failed, or have just happened
  std::uint64_t hint = 0;    ///< those of them that are a change, or a match
  int monitor = 1;           ///< a sum: 1 monitored, 2 not looked at yet, 4 not in this cycle; 0: not monitored
  int pending = 0;           ///< the number of the action that is being done; 0: none
  std::string_view action{};
  std::vector<Word> words;  ///< what `status` says; one at least
  std::optional<Every> every{};
  bool told = false;  ///< its last look has something to tell of it

  [[nodiscard]] bool has(engine::EventKind event) const { return (status & bit_of(event)) != 0; }
  /// Of a value that tests of that event are about.
  [[nodiscard]] Tone tone(engine::EventKind event) const { return has(event) ? Tone::Bad : Tone::Plain; }
};
[[nodiscard]] Standing standing_of(const Scene& scene, engine::ServiceId id);
/// Its `status` alone, for who asks that of very many.
[[nodiscard]] std::uint64_t status_of(const Scene& scene, engine::ServiceId id);

/// "Monitored", "Waiting", ...
[[nodiscard]] Word monitoring_of(const Standing& standing);
/// "Connection failed | Resource limit matched - restart pending".
[[nodiscard]] std::string status_text(const Standing& standing);

/// As Monit's `report` counts.
enum class Count : std::uint8_t { Up, Down, Initialising, Unmonitored };
struct Counts {
  std::array<std::size_t, 4> of{};  ///< by Count
  void add(Count one) { ++of[static_cast<std::size_t>(one)]; }
  [[nodiscard]] std::size_t all() const { return of[0] + of[1] + of[2] + of[3]; }
};
[[nodiscard]] Count count_of(const Scene& scene, engine::ServiceId id);

}  // namespace healer::web::monit
