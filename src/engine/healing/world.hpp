// SPDX-License-Identifier: MIT
// What healing asks of the rest of the engine, and has it do. The engine implements it for one turn.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/act.hpp"
#include "engine/events/effect.hpp"
#include "engine/events/record.hpp"
#include "engine/healing/healing.hpp"
#include "engine/ids.hpp"
#include "engine/judging/health.hpp"
#include "engine/rules/event_kind.hpp"
#include "engine/rules/graph.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// What healings read: a view, through which nothing is changed.
class HealingContext {
 public:
  virtual ~HealingContext() = default;

  [[nodiscard]] virtual Instant now() const = 0;
  [[nodiscard]] virtual const Graph& graph() const = 0;
  /// The name of this machine.
  [[nodiscard]] virtual const std::string& host() const = 0;
  /// What tells its healings from all others': event::Started::state_word.
  [[nodiscard]] virtual const Hash128& state_word() const = 0;
  // What is known of services.
  [[nodiscard]] virtual Health health(ServiceId service) const = 0;
  /// Whether a rule of a service stands failed, as it is written now; of a `check event`: for that target.
  [[nodiscard]] virtual bool stands(ServiceId service, Hash128 rule, std::string_view target) const = 0;
  /// Whether the rule's condition held in the last run; nothing: that is not known.
  [[nodiscard]] virtual std::optional<bool> holds_now(ServiceId service, Hash128 rule) const = 0;
  /// Whether that held in the last run only because no name server has answered.
  [[nodiscard]] virtual bool holds_nameless(ServiceId service, Hash128 rule) const = 0;
  /// Why people want no action on it now: "paused by anna (rack move)", "maintenance"; empty: they do not.
  [[nodiscard]] virtual std::string paused(ServiceId service) const = 0;
  /// Whom to look at to know how it is: itself; of a composite its members, and theirs. Those that are monitored.
  [[nodiscard]] virtual std::vector<ServiceId> seen_by(ServiceId service) const = 0;
  /// Whether a rule, not a person, has unmonitored it.
  [[nodiscard]] virtual bool given_up(ServiceId service) const = 0;
  /// The start, stop or restart that is under way for it: "restart (job 7)"; empty: none.
  [[nodiscard]] virtual std::string busy(ServiceId service) const = 0;
  /// What it depends on, directly or not, that stands failed.
  [[nodiscard]] virtual std::vector<ServiceId> failed_requirements(ServiceId service) const = 0;
  /// Why nobody can tell how its target is: its row, or its list, is left out of the rules for now. Empty: it is not.
  [[nodiscard]] virtual std::string left_out(const Healing& healing) const = 0;
  /// Why people want no action on anything now; empty: they do not.
  [[nodiscard]] virtual std::string all_paused() const = 0;
  /// Why its lists say that nothing is to be healed for it: nobody knows yet whether one is right, or its row was
  /// missing before it failed. Empty: they do not.
  [[nodiscard]] virtual std::string list_doubt(ServiceId service) const = 0;
  /// The same of rows that are gone from the rules: some list is doubted.
  [[nodiscard]] virtual std::string lists_doubt() const = 0;
  /// Why healer doubts itself: "the state cannot be written", "its loop was late"; empty: it does not.
  [[nodiscard]] virtual std::string doubt() const = 0;
  /// Mono: when time alone ends, first, what paused(), all_paused() and doubt() tell of now; none: it ends nothing.
  [[nodiscard]] virtual std::optional<Duration> time_releases() const = 0;
  /// Why a rule would leave the service alone, and so does a step that is to do this; empty: it would not. `stopped`:
  /// what the healing has stopped itself.
  [[nodiscard]] virtual std::string left_alone(const Healing& healing, Bringing what, ServiceId service, bool of_target,
                                               const std::set<ServiceId>& stopped) const = 0;
};

/// What healings have done, beside what they read.
class HealingWorld : public HealingContext {
 public:
  [[nodiscard]] virtual IdSource& ids() = 0;
  /// Looks at a service soon, without counting. Healings::checked() tells of the end.
  virtual void check(ServiceId service) = 0;
  /// Starts a program of a healing when the journal knows of it; Healings::program_ended() tells of its end.
  virtual ActionId run(const Healing& healing, const step::Program& program, Duration timeout,
                       std::shared_ptr<const effect::Place> place, std::string_view step) = 0;
  virtual void end_program(ActionId action) = 0;
  /// Asks for a lock and a place; Healings::claimed() tells of the answer.
  virtual void claim(effect::Claim claim) = 0;
  /// Makes a request of a healing when the journal knows of it; Healings::answered() tells of the end.
  virtual void request(effect::Request request) = 0;
  /// The same at once: for one that may be made as often as one likes.
  virtual void ask(effect::Request request) = 0;
  /// Nobody waits for it any more.
  virtual void end_request(ActionId request) = 0;
  /// Starts, stops or restarts a service; Healings::brought() tells of the end.
  virtual void bring(const Healing& healing, std::size_t run, Bringing what, ServiceId service) = 0;
  /// Ends what the healing has begun so; Healings::brought() tells of that, too.
  virtual void leave(const Healing& healing) = 0;
  /// The rules of a service that stand failed recover.
  virtual void recover(ServiceId service) = 0;
  /// Mails those whom the service's, or the global, alerts name. `event`: "Healing failed".
  virtual void tell(const Healing& healing, std::string_view event, effect::Cause::State state,
                    const std::string& text) = 0;
  /// The same of what is no single healing's: a brake that closes, a list.
  virtual void notify_everyone(std::string_view event, effect::Cause::State state, const std::string& text) = 0;
  virtual Record& record(RecordKind kind, Severity severity, std::string service, std::string text) = 0;
  /// What is journalled at the end of this turn.
  virtual void save(const Healing& healing) = 0;
  virtual void forget(HealingId healing) = 0;
  virtual void save(const TargetMemory& target) = 0;
  virtual void forget(const TargetMemory& target) = 0;
  virtual void save(const WorkflowMemory& workflow) = 0;
  virtual void save(const std::vector<ClosedBrake>& closed) = 0;
};

}  // namespace healer::engine
