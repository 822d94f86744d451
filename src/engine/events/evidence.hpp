// SPDX-License-Identifier: MIT
// What one run of a check has seen.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/events/outcome.hpp"
#include "engine/heartbeat.hpp"
#include "engine/ids.hpp"
#include "engine/rules/attribute.hpp"
#include "engine/rules/event_kind.hpp"
#include "engine/rules/metric.hpp"
#include "util/few.hpp"
#include "util/rare.hpp"
#include "util/sparse.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// A process as one look has found it.
struct ProcessFacts {
  std::int64_t pid = 0;
  std::int64_t parent = 0;
  std::uint32_t uid = 0;
  std::uint32_t euid = 0;
  std::uint32_t gid = 0;
  std::uint64_t start_ticks = 0;  ///< with the pid, which process it is
  bool zombie = false;
  std::string attribute;  ///< its security attribute; looked up only where a rule asks for it
  std::int64_t file = 0;  ///< when its pid file was written: nanoseconds since the epoch; 0: there is none
  bool younger = false;   ///< it was started after that, by more than clocks may differ
  /// Who, root apart, can have written its number there: a uid; 0: nobody.
  std::int64_t named_by = 0;
  static constexpr std::int64_t kAnybody = -1;  ///< of `named_by`
  bool spared = false;                          ///< healer itself or the first process of the machine: never signalled

  bool operator==(const ProcessFacts&) const = default;
};

/// A file, a directory or a pipe as one look has found it.
struct PathFacts {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t permission = 0;  ///< its mode, without its type
  bool has_size = false;         ///< it is a file
  std::int64_t size = 0;         ///< in bytes
  std::int64_t accessed = 0;     ///< seconds since the epoch, as are the next
  std::int64_t modified = 0;
  std::int64_t changed = 0;
  std::int64_t seen = 0;   ///< when it was looked at
  std::int64_t links = 0;  ///< how many names it has; 0: not told

  bool operator==(const PathFacts&) const = default;
  [[nodiscard]] std::int64_t touched() const { return std::max(modified, changed); }
};

/// A process that runs still of those that a start program has left.
struct LeftProcess {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::string command;  ///< its command line, or what could be seen of it; for people

  bool operator==(const LeftProcess&) const = default;
};

/// What has come together in a time.
struct TotalSeen {
  Metric what{};
  Duration span{0};
  double value = 0;

  bool operator==(const TotalSeen&) const = default;
};

/// What came of a connection, or a ping, that a rule asks for.
enum class Reach : std::uint8_t {
  Untried,  ///< nobody has tried: ConnectionSeen::text says why
  Unknown,  ///< the machine could not try, which says nothing of the other side
  Failed,
  Passed
};
/// What is said in JSON: "untried", "unknown", "failed", "passed".
[[nodiscard]] std::string_view to_string(Reach reach);

struct ConnectionSeen {
  Reach reach = Reach::Untried;
  std::string name;      ///< "http localhost:80", "ping node5"; for people
  std::string text;      ///< what was found, or why it failed or was not tried; for people, on one line
  std::string sentence;  ///< Failed, Passed: as Monit tells it
  std::string in_time;   ///< Passed: the same of its time; empty: its test asks for none
  std::string address;   ///< whom it went to: "10.0.0.7:443"; empty: nobody was tried
  std::optional<std::chrono::microseconds> response;  ///< Failed: only where the other side has answered
  std::optional<WallTime> expires;                    ///< when its certificate does; none: it has none
  /// Failed: what kind of event that is, where it is none of its test: Monit's Timestamp where the certificate expires
  /// too soon, and Speed where the answer comes late.
  std::optional<EventKind> event{};
  bool nameless = false;  ///< Failed: no name server has answered, which says nothing of the other side

  bool operator==(const ConnectionSeen&) const = default;
};

/// How the members of a composite are. Those that are not judged or not monitored are left out of the whole.
struct MembersSeen {
  std::size_t failed = 0;
  std::size_t whole = 0;
  std::size_t left_out = 0;
  std::vector<std::string> failed_names{};    ///< the first of them, at most kNamed
  std::vector<std::string> left_out_names{};  ///< the same
  static constexpr std::size_t kNamed = 12;

  bool operator==(const MembersSeen&) const = default;
};
/// "2 of 3 members failed: ping_5, http_5; left out: port_5".
[[nodiscard]] std::string describe(const MembersSeen& members);

/// How a heartbeat stands.
struct BeatSeen {
  Heartbeat heartbeat;
  Duration silent{0};  ///< since its last beat; before the first, since its rule was loaded

  bool operator==(const BeatSeen&) const = default;
};

/// By what a `check event` is judged, beside what its filters find.
struct EventSeen {
  std::uint64_t number = 0;      ///< of the event; 0: there is none, time alone has gone by
  std::string key;               ///< of what it is about
  std::string state;             ///< of that
  std::vector<Duration> ages{};  ///< how long ago distinct events came, the newest first, as far as rules ask for them

  bool operator==(const EventSeen&) const = default;
};

/// The row of a list, as a reading has found it.
struct RowSeen {
  WallTime known{};  ///< since when the list has a row of its name; the epoch: for as long as anybody knows

  bool operator==(const RowSeen&) const = default;
};

/// What a filter of jq has made of what a program wrote, or of the row of a list.
struct ValueSeen {
  std::string filter;
  std::optional<std::string> value;  ///< JSON; none: it is not known
  std::string why{};                 ///< then; for people, on one line

  bool operator==(const ValueSeen&) const = default;
};

/// What only a few kinds of looks find.
struct FurtherFacts {
  Few<TotalSeen> totals;            ///< of the times that were asked for
  Few<std::string> lines;           ///< by LinesSpec::patterns: the new lines that fulfil each
  Few<ConnectionSeen> connections;  ///< by ServiceBlock::probes; empty: nobody was to try
  /// Where there is none: what runs still of what the program `left_by` has left, the eldest first; one of those that
  /// Measure names.
  Few<LeftProcess> left;
  ActionId left_by{};
  Rare<MembersSeen> members{};  ///< of a composite
  Few<ValueSeen> values{};      ///< of the output of a program, or a row: by ProgramSpec::filters
  Rare<BeatSeen> beat{};        ///< of a heartbeat
  Rare<EventSeen> event{};      ///< of a `check event`
  Rare<RowSeen> row{};          ///< of a row of a list

  bool operator==(const FurtherFacts&) const = default;
};

/// What a look at a process or at the system has found, or what was asked of a program's output.
struct Facts {
  Rare<ProcessFacts> process;  ///< none: there is no such process; where it is a zombie, it is not there either
  std::optional<PathFacts> path{};
  // What these two do not tell; of a recording by an earlier version, all that is told of a path.
  Metrics metrics;
  Few<std::pair<Attribute, Value>> attributes;
  Sparse<FurtherFacts> further{};
};

/// Whether what was to be looked at was found.
enum class Answer : std::uint8_t {
  Present,  ///< it is there, and tells of itself
  Absent,   ///< it is not there; Evidence::output says why
  Unknown   ///< nobody could tell: Evidence::output says why, and all is as it was before
};

/// What was seen. Output is shared, never copied.
struct Evidence {
  Answer answer = Answer::Present;
  Outcome outcome = Outcome::Exited;
  std::uint32_t errors = 0;  ///< bytes of `output` that came on stderr
  std::int64_t status = 0;
  std::uint64_t matches = 0;  ///< bit i: ProgramSpec::patterns[i] matched the output, or LinesSpec::patterns[i] a line
  Duration elapsed{0};
  std::shared_ptr<const std::string> output;  ///< stderr first, then stdout; never null once observed
  std::shared_ptr<const Facts> facts;         ///< null for a program of which no values are asked
  Rare<std::string> telling{};                ///< the most telling line, where more was written than `output` holds
};

}  // namespace healer::engine
