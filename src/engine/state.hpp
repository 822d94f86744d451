// SPDX-License-Identifier: MIT
// What the engine remembers of a service and its rules between runs, and the form in which it is saved.
//
// The living state and the saved state are the same structs; the store writes them field by field. In steady OK the
// saved part reaches a fixed point (windows saturate, nothing counts), so nothing is written while nothing happens.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/origin.hpp"
#include "engine/heartbeat.hpp"
#include "engine/ids.hpp"
#include "engine/rules/attribute.hpp"
#include "engine/rules/event_kind.hpp"
#include "engine/rules/rule_identity.hpp"
#include "util/few.hpp"
#include "util/hash.hpp"
#include "util/rare.hpp"
#include "util/slim.hpp"
#include "util/sparse.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// The outcomes of the last runs, the latest in bit 0: 1 is failed. Slots that no run has filled count as clear.
struct Window {
  std::uint64_t bits = 0;

  bool operator==(const Window&) const = default;

  /// Adds a run; only the last `size` (1..64) are kept, so that what no rule asks for any more is no change of state.
  void push(bool failed, int size) { bits = (bits << 1 | (failed ? 1U : 0U)) & mask(size); }
  /// How many of the last `size` (1..64) runs failed.
  [[nodiscard]] int failed(int size) const { return std::popcount(bits & mask(size)); }

 private:
  static std::uint64_t mask(int size) { return size >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1; }
};

enum class RuleStatus : std::uint8_t { Ok, Failed };

/// What people know of a rule that stands failed, and so whether they are reminded of it.
enum class Notified : std::uint8_t {
  Alerted,      ///< those who want its alerts have had them
  Kept,         ///< it fired in a maintenance window: nobody was told, until the window is over
  Acknowledged  ///< a person knows: no reminders until it has recovered
};

/// "alerted", "kept", "acknowledged".
[[nodiscard]] std::string_view to_string(Notified notified);
/// By its name; Alerted where there is none.
[[nodiscard]] Notified notified_of(std::string_view name);

/// What else a rule remembers that fails or has failed.
struct RulePast {
  Slim<Duration> failing_since;  ///< mono time of the first of the unbroken failed runs up to now
  Slim<Duration> clear_since;    ///< the same for clear runs, kept only while Failed
  Slim<WallTime> changed;        ///< when its status last changed
  Window again;                  ///< runs since the firing or the last completed job, for Action::is_job
  /// What kind of event its firing was, where that is not the rule's own. Not saved: after a restart it recovers as the
  /// rule's own.
  std::optional<EventKind> event{};

  bool operator==(const RulePast&) const = default;
};

/// Counting state of one rule. A default-constructed one is a rule that has seen nothing.
struct RuleState {
  Window window;
  RuleStatus status = RuleStatus::Ok;
  Notified notified = Notified::Alerted;  ///< while Failed
  bool accepted = false;                  ///< a dormant rule that a person accepted
  bool judged = false;                    ///< by a run since it began, or since its service was monitored again
  std::uint32_t since_fired = 0;          ///< runs since the firing, the firing being 1; 0 while Ok
  std::uint64_t born = 0;                 ///< actions with a lower number were decided on before it began
  Sparse<RulePast> past;

  bool operator==(const RuleState&) const = default;
  /// Whether it counts towards something: such a state is saved at each run, for when it was saved last tells how long
  /// a gap was.
  [[nodiscard]] bool counting() const { return window.bits != 0 || past->failing_since || past->clear_since; }
  /// Whether a run that passes changes nothing.
  [[nodiscard]] bool resting() const { return status == RuleStatus::Ok && !counting(); }
};

/// What an attribute was in the last run that told it: the baseline of `changed`.
struct Baseline {
  Attribute what{};
  std::optional<Value> value;  ///< none: no run has told it yet

  bool operator==(const Baseline&) const = default;
};

/// What the tests of a service must remember between runs: only what a rule of it asks for.
struct Memory {
  Few<Baseline> baselines;  ///< each attribute once, in their order

  bool operator==(const Memory&) const = default;
  /// What is remembered of an attribute; null: nothing, or it is not asked for.
  [[nodiscard]] const Value* find(Attribute what) const {
    const auto found = std::ranges::find(baselines, what, &Baseline::what);
    return found != baselines.end() && found->value ? &*found->value : nullptr;
  }
  /// Adds one, unless it is there.
  void add(Baseline baseline) {
    std::vector<Baseline>& all = baselines.edit();
    const auto place = std::ranges::lower_bound(all, baseline.what, {}, &Baseline::what);
    if (place == all.end() || place->what != baseline.what) all.insert(place, std::move(baseline));
  }
  /// Adds one, in place of what is remembered of that attribute.
  void put(Baseline baseline) {
    if (const auto same = std::ranges::find(baselines, baseline.what, &Baseline::what); same != baselines.end()) {
      baselines.edit()[static_cast<std::size_t>(same - baselines.begin())] = std::move(baseline);
    } else {
      add(std::move(baseline));
    }
  }
};

/// How the starts of a service went, for its backoff and its restart limit.
struct StartHistory {
  std::uint32_t quick = 0;               ///< starts in a row that failed, or after which it died within kQuickDeath
  std::optional<WallTime> last;          ///< when it was last started
  std::optional<WallTime> not_before{};  ///< until then it is not started again by a rule; a heartbeat: not missed
  bool restarted = false;                ///< since the last counted run, or held back since then
  /// The program of the last start, where no process was seen after it: what it has left may yet come up. A foreground
  /// process that was not ready in time is itself that, and is being ended.
  ActionId left_by{};
  /// The program of the last start, where a process was seen after it: what that has left when it died.
  ActionId came_by{};

  bool operator==(const StartHistory&) const = default;
};

/// Why the process that a pid file names is not signalled.
enum class Doubt : std::uint8_t {
  None,
  Younger,   ///< it was started after the file was written, as far as clocks can tell: it may be a stranger
  Foreign,   ///< it is another user's than the one who can have written its number there
  Confirmed  ///< it is signalled: a person has said that it is the service's
};
[[nodiscard]] std::string_view to_string(Doubt doubt);

/// The process that the pid file of a service was found to name. A number alone proves nothing: the process may be long
/// gone, and its number another's.
struct KnownProcess {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::int64_t file = 0;  ///< when its pid file was written: nanoseconds since the epoch
  Doubt doubt = Doubt::None;
  Hash128 path;  ///< of its pid file; zero: not known

  bool operator==(const KnownProcess&) const = default;
};

/// A person's pause: checks and alerts go on, no other action.
struct Pause {
  std::optional<WallTime> until;  ///< none: until `resume`
  std::string reason;
  Origin by;

  bool operator==(const Pause&) const = default;
};

/// A pause of everything, or of a group: also of services that come later.
struct WidePause {
  std::string group;  ///< as written; empty: everything
  Pause pause;

  bool operator==(const WidePause&) const = default;
};

/// "everything", "group webs".
[[nodiscard]] std::string scope_of(const WidePause& wide);

/// How a service came to be unmonitored.
struct TakenOut {
  Origin by;
  std::string service;  ///< by a rule: of which service; the service's own, or one that it depends on
  std::string rule;     ///< the text of that rule
  WallTime since{};
  std::optional<WallTime> until{};  ///< it is monitored again then; none: until somebody says so

  bool operator==(const TakenOut&) const = default;
  /// Whether a rule did it: it counts as failed until a person has taken it up, or has unmonitored it himself.
  [[nodiscard]] bool given_up() const { return !service.empty(); }
};

/// A person's word that what has failed is known.
struct Acknowledgement {
  std::string reason;
  Origin by;
  WallTime when{};

  bool operator==(const Acknowledgement&) const = default;
};

/// How the last program of a rule's action has failed, while none has ended well since and the rule has not recovered.
struct ActionFailure {
  Hash128 rule;
  WallTime when{};
  std::string text;  ///< "exec /bin/heal exited with status 2 after 5 s"

  bool operator==(const ActionFailure&) const = default;
};

/// A rule as it is saved, with what tells it from the others.
struct SavedRule {
  Hash128 key;
  RuleIdentity identity;
  RuleState state;

  bool operator==(const SavedRule&) const = default;
};

/// The part of a service's state that is saved.
struct SavedService {
  bool monitored = true;
  Memory memory;
  std::optional<std::int64_t> cron_minute;  ///< last minute (since the epoch, UTC) in which a cron schedule ran
  std::uint64_t boot = 0;                   ///< kernel boot to which the mono times belong
  WallTime saved{};                         ///< when it was saved whole; what it remembers may be of later
  Sparse<StartHistory> starts;
  Rare<Pause> pause;
  Rare<KnownProcess> known;
  std::optional<Duration> first;  ///< mono: of a phase, where it does not run each cycle; a heartbeat: of `saved`
  Rare<ActionFailure> action_failure;
  Rare<Acknowledgement> acknowledged{};  ///< while one of its rules is
  Rare<TakenOut> taken_out{};            ///< why it is not monitored; none: it is, or that is not known
  bool reports_taken_out = true;         ///< false: written by a healer that did not know of `taken_out`
  Rare<Heartbeat> heartbeat{};           ///< where it is one
  std::vector<SavedRule> rules;          ///< in the order of writing

  bool operator==(const SavedService&) const = default;
};

}  // namespace healer::engine
