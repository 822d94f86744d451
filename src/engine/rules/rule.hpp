// SPDX-License-Identifier: MIT
// One `if`: what it asks, how often that must hold, and what is done then.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/rules/command.hpp"
#include "engine/rules/event_kind.hpp"
#include "engine/rules/rule_identity.hpp"
#include "engine/rules/source_place.hpp"
#include "engine/rules/test.hpp"
#include "util/hash.hpp"
#include "util/rare.hpp"
#include "util/shared.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// The most runs that a tolerance looks back on.
inline constexpr std::uint64_t kMaxWindow = 64;

/// Fault tolerance. `count` of the last `window` runs (`for 3 cycles` is 3 of 3); or, where `held` is set, the
/// condition has held over every run since at least that long (`for 90 seconds`).
struct Tolerance {
  std::uint8_t count = 1;   ///< 1..64, at most `window`
  std::uint8_t window = 1;  ///< 1..64
  Duration held{0};

  bool operator==(const Tolerance&) const = default;
  /// Whether a single run decides.
  [[nodiscard]] bool immediate() const { return count == 1 && held == Duration{0}; }
};

/// `heal with W`, `heal NAME with W`, `heal with W dry run`.
struct HealOrder {
  std::string workflow;
  std::string target;  ///< empty: the service's own
  bool dry_run = false;
  bool any_target = false;  ///< of a `check event`: also one that no rule knows

  bool operator==(const HealOrder&) const = default;
};

/// The action of a branch. Every action but `ignore` and a plain recovery also raises an alert, as in Monit.
struct Action {
  ActionKind kind = ActionKind::Alert;
  Shared<Command> command;                  ///< Exec only
  std::shared_ptr<const HealOrder> heal{};  ///< Heal only, and never null there
  std::uint16_t repeat = 0;                 ///< `repeat every N cycles`; 0: never
  bool overlapping = false;                 ///< Exec may overlap its own earlier instance
  bool implied = false;                     ///< not written: the alert that Monit raises on recovery
  Duration lasting{0};                      ///< Unmonitor only: `unmonitor for D`; 0: until it is monitored again

  /// Whether it starts or stops the service: such an action is tried again at each failing run that meets the
  /// tolerance.
  [[nodiscard]] bool is_job() const {
    return kind == ActionKind::Start || kind == ActionKind::Stop || kind == ActionKind::Restart;
  }
  /// Whether it waits while the target of its service is being healed and, if that did not help, until it recovers.
  [[nodiscard]] bool waits_for_healing() const {
    return is_job() || kind == ActionKind::Heal || kind == ActionKind::Unmonitor;
  }
  /// Whether people are told of what led to it.
  [[nodiscard]] bool tells() const { return kind != ActionKind::Ignore; }
};

/// The `else` branch, or the implied one (recovers at the first clear run, alerts).
struct Recovery {
  Tolerance tolerance;
  Action action{
      .kind = ActionKind::Alert, .command = {}, .heal = {}, .repeat = 0, .overlapping = false, .implied = true};
};

/// How a rule behaves once its tolerance is met.
enum class Mode : std::uint8_t {
  Latched,    ///< acts on the transition, stands failed until it recovers (status tests)
  EachMatch,  ///< acts on every run that meets it; nothing stands (content tests)
  EachChange  ///< acts on every change; nothing stands (`changed` tests)
};

/// What a rule says: the same for all rules of the same words, in whatever service.
struct RuleBody {
  Shared<RuleCondition> condition;
  Tolerance tolerance;
  Action action;
  Shared<Recovery> recovery;  ///< used by Mode::Latched only
  Mode mode = Mode::Latched;
  EventKind event = EventKind::Status;
  /// Of Mode::Latched: acts at each failing run, as on the first, while it stands failed (`content changed`).
  bool each_run = false;
  /// Counts as Monit 6 (`set monit 6`): only runs since the firing count towards recovery, and `repeat` goes on in
  /// clear runs before that.
  bool newer_counting = false;
  /// Comes alive only in healer where Monit silently drops it (language 1.4): judged and shown, not acted on until
  /// accepted.
  bool dormant = false;
  std::string text;      ///< canonical, on one line: for people
  Hash128 actions_hash;  ///< RuleIdentity::actions

  /// `if N restarts within M cycles`: below its tolerance it says nothing of how the service is.
  [[nodiscard]] bool counts_restarts() const {
    return !condition->tests.empty() && std::holds_alternative<Restarts>(condition->tests.front());
  }
};

}  // namespace healer::engine

extern template class healer::Shared<healer::engine::RuleBody>;  // in graph.cpp

namespace healer::engine {

/// One `if`: what it says, and which it is.
struct Rule {
  Shared<RuleBody> body;
  /// Names the rule within its service, in the saved state and the history. A new rule's is that of its text; an edited
  /// rule keeps the one it had.
  Hash128 key;
  Rare<Hash128> text_hash;  ///< RuleIdentity::text, where the key is another
  SourcePlace place;

  const RuleBody* operator->() const { return body.operator->(); }
  RuleBody* operator->() { return body.operator->(); }
  /// From now on it has that key, and says what it said.
  void become(const Hash128& other) {
    if (!text_hash && other != key) text_hash = key;
    key = other;
  }
  [[nodiscard]] RuleIdentity identity() const {
    return {.text = text_hash.value_or(key),
            .condition = body->condition->hash,
            .actions = body->actions_hash,
            .kind = body->action.kind};
  }
};

}  // namespace healer::engine
