// SPDX-License-Identifier: MIT
// One `check` block: what is looked at, what is asked, and what it is started and stopped by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/rules/command.hpp"
#include "engine/rules/kind.hpp"
#include "engine/rules/listed.hpp"
#include "engine/rules/plan.hpp"
#include "engine/rules/recipient.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/schedule.hpp"
#include "engine/rules/source_place.hpp"
#include "util/few.hpp"
#include "util/hash.hpp"
#include "util/rare.hpp"
#include "util/shared.hpp"
#include "util/sparse.hpp"
#include "util/time.hpp"

namespace healer::protocols {
struct ProbePlan;
}  // namespace healer::protocols

namespace healer::engine {

/// What `check program` runs. `patterns` are the regular expressions (POSIX extended, as Monit) of its content tests,
/// in the order of writing; the worker matches them against the output and reports one bit each.
struct ProgramSpec {
  Command command;
  std::vector<std::string> patterns;   ///< at most kMaxPatterns
  std::uint32_t output_limit = 512;    ///< bytes of output kept (set limits programOutput)
  std::vector<std::string> filters{};  ///< of jq, of what it writes, or of the row of a list; at most kMaxFilters

  bool operator==(const ProgramSpec&) const = default;
};

inline constexpr std::size_t kMaxPatterns = 64;
inline constexpr std::size_t kMaxFilters = 16;

/// What `check process` looks for: the process that a pid file names, the one whose command line matches (of several
/// the topmost parent with the longest uptime, as Monit), or healer's own child.
struct ProcessSpec {
  std::string pid_file;  ///< empty where one of the others is used
  std::string pattern;   ///< POSIX extended regular expression
  Rare<ForegroundSpec> foreground{};

  bool operator==(const ProcessSpec&) const = default;
};

/// Which network interface `check network` looks at: by its name, or by an address that it has.
struct InterfaceSpec {
  std::string name;
  std::string address;  ///< empty where the name is used

  bool operator==(const InterfaceSpec&) const = default;
};

/// What a line of a file has to match, or not to match.
struct LinePattern {
  std::string text;  ///< POSIX extended regular expression
  bool negated = false;

  bool operator==(const LinePattern&) const = default;
};

/// What is looked for in the new lines of a file: Matches::pattern is an index into `patterns`.
struct LinesSpec {
  std::vector<LinePattern> patterns;  ///< at most kMaxPatterns
  std::vector<LinePattern> ignored;   ///< lines that fulfil one of these are passed over
  std::uint32_t limit = 512;          ///< bytes of a line that are looked at (set limits fileContentBuffer)

  bool operator==(const LinesSpec&) const = default;
};

/// What `check composite` is made of, as written.
struct CompositeSpec {
  std::vector<std::string> members;  ///< names of services
  std::vector<std::string> groups;   ///< with all services of these

  bool operator==(const CompositeSpec&) const = default;
};

/// How often a heartbeat is to be heard.
struct HeartbeatSpec {
  Duration every{0};
  Duration within{0};         ///< how late it may be
  std::string token;          ///< whoever gives it may beat; as written, with `${secret:NAME}`. Empty: there is none
  std::string certificate{};  ///< of whoever may beat over HTTP: "CN", or "sha256:..." of the certificate; or empty

  bool operator==(const HeartbeatSpec&) const = default;
};

/// What the body of an event is.
enum class EventFormat : std::uint8_t { Json, Aodh, Zaqar, Alertmanager, CloudEvents };

/// "json", "aodh", "zaqar", "alertmanager", "cloudevents".
[[nodiscard]] std::string_view to_string(EventFormat format);
/// By its name, in any case; none: there is none of that name.
[[nodiscard]] std::optional<EventFormat> event_format_of(std::string_view name);

/// Where the events of a `check event` come from, and how they are read. Secrets, tokens and certificates are as
/// written, with `${secret:NAME}`.
struct EventSpec {
  std::string hook;                  ///< the path of its URL: "/hooks/aodh"; empty: they come by `healerctl` alone
  std::vector<std::string> secrets;  ///< of signatures: one of them is enough
  std::string token;                 ///< whoever gives it may send; empty: there is none
  std::string certificate;           ///< of whoever may send: "CN", or "sha256:..." of the certificate; or empty
  EventFormat format = EventFormat::Json;
  std::string key;    ///< `key json F`, a filter of jq; only of EventFormat::Json, or empty
  std::string state;  ///< `state json F`, the same
  /// For so long from its first arrival on the same id and state are the same event.
  Duration within{600'000};
  Duration valid{3'600'000};         ///< for so long its condition stands
  std::vector<std::string> fields;   ///< that its rules and their workflows name, each once: "EVENT.a"
  std::vector<std::string> filters;  ///< of jq, of its document, as its rules ask for them

  bool operator==(const EventSpec&) const = default;
};

/// A connection, or an echo, that rules ask for. How it is made is not the engine's business.
using Probe = std::shared_ptr<const protocols::ProbePlan>;

/// The row of `for each` that a service is written for; of several the innermost.
struct Row {
  std::string target;  ///< its name, as written
  std::vector<std::pair<std::string, std::string>>
      variables;                   ///< of all rows around it: NODE, and NODE.ip of JSON rows
  std::vector<std::string> lists;  ///< names of their lists: "NODE"

  bool operator==(const Row&) const = default;
};

/// What a service is started and stopped by; timeouts are set. Absent: not written.
struct Programs {
  Rare<Command> start;
  Rare<Command> stop;
  Rare<Command> restart;

  bool operator==(const Programs&) const = default;
  [[nodiscard]] std::array<const Rare<Command>*, 3> all() const { return {&start, &stop, &restart}; }
};

/// What is looked at, where it is no path, process or program.
struct OtherSubject {
  std::string host;         ///< Target::Host: its name or address
  InterfaceSpec interface;  ///< Target::Interface
  CompositeSpec composite;  ///< Target::Members
  HeartbeatSpec heartbeat;  ///< Target::Heartbeat
  EventSpec event;          ///< Target::Events
  ListedSpec listed;        ///< Target::Row
  std::string unit;         ///< Target::Unit: its name, with the type

  bool operator==(const OtherSubject&) const = default;
};

/// One `check` block.
struct ServiceBlock {
  std::string name;
  const CheckKind* kind = all_kinds().front();  ///< never null
  // What is not written takes no place, and what is the same in many services is there once.
  Shared<Plan> plan;            ///< what is measured: as CheckKind::plan says
  Shared<ProgramSpec> program;  ///< Target::Program
  Shared<ProcessSpec> process;  ///< Target::Process
  std::string path;             ///< Target::Path
  Few<Probe> probes;            ///< never null; Reached::probe is an index
  Sparse<OtherSubject> other;   ///< the other targets
  Shared<LinesSpec> lines;      ///< of a file whose lines are read (Traits::has_lines)
  Sparse<Programs> programs;
  Few<std::string> depends;  ///< names of the services that must be up before it
  Shared<Schedule> schedule;
  std::vector<Rule> rules;
  Few<std::string> groups;
  std::shared_ptr<const Row> row;             ///< null: it is in no `for each`
  Shared<std::vector<Recipient>> recipients;  ///< local over global, `noalert` taken out
  using OnReboot = engine::OnReboot;
  OnReboot on_reboot = OnReboot::Start;
  enum class Activity : std::uint8_t { Active, Passive } activity = Activity::Active;
  bool end_leftovers = false;  ///< what its start program has left is ended before the next start
  bool shares_memory = false;  ///< its memory is its share of it (PSS), as to Monit 6, not all that is resident
  Hash128 key;                 ///< hash of all that the block says (places left out)
  SourcePlace place;

  /// What is healed where one of its rules says so: one target may have several services. Compared without case.
  [[nodiscard]] const std::string& target() const { return row ? row->target : name; }
  /// Whether it is healer's own child.
  [[nodiscard]] bool foreground() const { return process->foreground.has_value(); }
  [[nodiscard]] bool has_process() const { return kind->traits.has_process; }
  [[nodiscard]] bool has_members() const { return kind->traits.has_members; }
  [[nodiscard]] bool is_heard() const { return kind->traits.is_heard; }
  /// Whether it is a `check event`; of all that are heard the others are heartbeats.
  [[nodiscard]] bool is_event() const { return kind->target == Target::Events; }
  [[nodiscard]] bool is_heartbeat() const { return kind->target == Target::Heartbeat; }
  [[nodiscard]] bool is_listed() const { return kind->traits.is_listed; }
  [[nodiscard]] bool is_measured() const { return kind->traits.is_measured(); }
  [[nodiscard]] bool is_unit() const { return kind->traits.is_unit; }
  /// Whether a program answers, not a look.
  [[nodiscard]] bool is_run() const { return kind->traits.is_run; }
  /// Whether something says how to start it; what is no process needs nothing.
  [[nodiscard]] bool can_start() const {
    return !has_process() || programs->start || programs->restart || foreground();
  }
};

/// Whether a process that runs for `one` is that of `other`, too. Of a foreground process it is, whatever its program.
[[nodiscard]] bool same_target(const ServiceBlock& one, const ServiceBlock& other);

}  // namespace healer::engine
