// SPDX-License-Identifier: MIT
// What a rule asks: tests of a few shapes. What a test is about is a row of its kind of service (engine/rules/kind).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/rules/attribute.hpp"
#include "engine/rules/comparison.hpp"
#include "engine/rules/json_test.hpp"
#include "engine/rules/metric.hpp"
#include "engine/rules/postfix.hpp"
#include "engine/rules/quota.hpp"
#include "util/hash.hpp"
#include "util/rare.hpp"
#include "util/shared.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// `status != 0`, `cpu > 80%`: a quantity and a number in its own unit.
struct Compare {
  Metric what = Metric::Status;
  Comparison comparison = Comparison::NotEqual;
  double value = 0;
  /// Quantities of the same words that are as good: it holds where it does of one of those that are known. What goes
  /// over a network is as well its upload as its download.
  Shared<std::vector<Metric>> also{};
};

/// `total upload > 1 GB in last hour`: what has come together in the time before.
struct Total {
  Metric what = Metric::TotalUpload;
  Comparison comparison = Comparison::Greater;
  double value = 0;
  Duration span{0};  ///< 0: as long as is known
};

/// The longest time of which a total is known.
inline constexpr Duration kLongestTotal = hours{24};

/// `failed uid root`: holds where it is another one. `failed checksum` wants what it was in the first run that told it.
struct Differs {
  Attribute what = Attribute::Uid;
  Rare<Value> wanted;  ///< none: what it was at first (first_of())
};

/// `changed pid`: holds where it is not what it was in the run before; the first run is the baseline.
struct Changed {
  Attribute what = Attribute::Status;
  std::optional<Attribute> also{};  ///< holds as well where this one has changed
};

/// `security attribute =~ "re"`: holds where it is that text, or matches that expression; where negated, where not.
struct Worded {
  Attribute what = Attribute::Security;
  bool is_pattern = false;  ///< POSIX extended
  bool negated = false;
  std::string text;
};

/// `content changed`, `content not changed`, of a program: holds where its output is not, or is, that of the run
/// before; the first run is the baseline.
struct OutputChanged {
  bool negated = false;
};

/// `link up`, `link down`: whether a network interface can be used. One that is not there is down.
struct Linked {
  bool up = false;
};

/// `exist` and `not exist`: holds where what is looked for is there, or is not.
struct Present {
  bool wanted = false;
};

/// `content = "re"` / `content != "re"`: index into the patterns of the service.
struct Matches {
  std::uint8_t pattern = 0;
  bool negated = false;
};

/// `failed port 80`: holds where there is no answer as there should be; `succeeded port 80`: where there is.
struct Reached {
  std::uint16_t probe = 0;  ///< index into ServiceBlock::probes
  bool wanted = false;
};

/// `if N restarts within M cycles`: holds in a run since whose predecessor the service was restarted, or a restart was
/// held back; N and M are the rule's tolerance.
struct Restarts {};

/// `2 members failed`, `more than 40% members failed`: how many members of a composite must stand failed.
struct Members {
  Quota quota;
};

/// `json '.worst' > 90`: the first value that a filter of jq makes of what a program has written.
struct Queried {
  Shared<JsonTest> test;
};

/// `missed` and `failed`, of a heartbeat: nothing is heard of it in time; its last beat was no good one.
struct HeartbeatIs {
  enum class What : std::uint8_t { Missed, Failed } what = What::Missed;
};

/// `more than 5 events within 1 minute`, of a `check event`: so many distinct ones have come in that time.
struct EventCount {
  std::uint32_t above = 0;
  Duration within{0};
};

using Test = std::variant<Compare, Total, Differs, Changed, Linked, Present, Matches, Reached, Restarts, Members,
                          Queried, Worded, OutputChanged, HeartbeatIs, EventCount>;

/// What an `if` asks: tests, joined by `and`, `or`, `not` and parentheses.
struct RuleCondition {
  std::vector<Test> tests;  ///< in the order of writing
  /// How they are joined, operands first; each Op::Leaf is the next test. Empty: all of them must hold.
  std::vector<Op> postfix{};
  Hash128 hash{};  ///< of its words: RuleIdentity::condition

  /// The test, where that is all.
  [[nodiscard]] const Test* only() const { return tests.size() == 1 && postfix.empty() ? &tests.front() : nullptr; }
};

}  // namespace healer::engine
