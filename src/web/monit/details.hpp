// SPDX-License-Identifier: MIT
// What Monit tells of a service line by line: the same in its text and on its page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.hpp"
#include "engine/ids.hpp"
#include "web/monit/standing.hpp"

namespace healer::web::monit {

struct Line {
  std::string_view label;
  std::string value;
  Tone tone = Tone::Plain;
};

/// What the last look has found; nothing where it has nothing to tell.
[[nodiscard]] std::vector<Line> details_of(const Scene& scene, engine::ServiceId id, const Standing& standing);

/// When that was, in the form of Monit's dates.
[[nodiscard]] std::string collected_text(const Scene& scene, engine::ServiceId id);
[[nodiscard]] WallTime collected(const Scene& scene, engine::ServiceId id);

/// "3h 46m", "12d 0h 5m".
[[nodiscard]] std::string uptime_text(std::int64_t seconds);
/// "1.5 MB".
[[nodiscard]] std::string bytes_text(double bytes);
/// The whole of which `part` is `percent`; nothing where that cannot be told.
[[nodiscard]] std::optional<std::int64_t> whole_of(std::optional<double> part, std::optional<double> percent);

/// Figures and attributes of the last look, by what they are called in the engine.
class Found {
 public:
  /// Requires: the service has been looked at.
  Found(const Scene& scene, engine::ServiceId id);
  [[nodiscard]] const engine::Evidence& run() const { return run_; }
  [[nodiscard]] std::optional<double> figure(engine::Metric metric) const;
  [[nodiscard]] std::optional<std::int64_t> number(engine::Attribute what) const;
  [[nodiscard]] std::string text(engine::Attribute what) const;
  [[nodiscard]] const engine::ProcessFacts* process() const;
  /// Whether what was looked for is there and has told of itself.
  [[nodiscard]] bool present() const;

 private:
  const engine::Evidence& run_;
};

/// A checksum of a file, and what kind it is.
struct Checksum {
  std::string_view kind;  ///< "MD5"; empty: none is known
  std::string digits;
};
[[nodiscard]] Checksum checksum_of(const Found& found);

/// Of the link of a network interface: whether it is up, and what errors it has.
struct LinkFound {
  bool up = false;
  std::int64_t errors_in = 0, errors_out = 0;
  std::optional<std::int64_t> speed;  ///< in Mb/s
  bool full = true;
};
[[nodiscard]] LinkFound link_of(const Found& found);

/// What a program has written, without the end of its last line.
[[nodiscard]] std::string output_of(const engine::Evidence& run);
/// Its exit value as Monit has it: the number of a signal that has ended it.
[[nodiscard]] std::int64_t exit_value(const engine::Evidence& run);

}  // namespace healer::web::monit
