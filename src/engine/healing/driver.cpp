// SPDX-License-Identifier: MIT
#include "engine/healing/driver.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/driver_context.hpp"
#include "engine/healing/parts/lost_targets.hpp"
#include "engine/healing/variables.hpp"
#include "engine/judging/clear.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/parts/absent.hpp"
#include "engine/parts/alerts.hpp"
#include "engine/parts/bringing/jobs.hpp"
#include "engine/parts/bringing/starts.hpp"
#include "engine/parts/composites.hpp"
#include "engine/parts/doubts.hpp"
#include "engine/parts/hearing/arrivals.hpp"
#include "engine/parts/maintenance.hpp"
#include "engine/parts/monitoring.hpp"
#include "engine/parts/pauses.hpp"
#include "engine/parts/programs.hpp"
#include "engine/parts/releases.hpp"
#include "engine/parts/rule_states.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

/// How a program of a healing has ended, in words. `tells`: its output may be shown.
std::string text_of(const event::ActionEnded& event, bool tells) {
  const bool good = event.outcome == Outcome::Exited && event.status == 0 && !event.unseen;
  std::string text;
  if (event.unseen)
    text = kCutOff;
  else if (event.outcome == Outcome::TimedOut)
    text = describe_timeout(event.elapsed);
  else if (event.outcome == Outcome::NotStarted)
    text = fmt::format("could not be started: {}", event.output);
  else
    text = describe_exit(event.outcome, event.status);
  if (!good && event.outcome != Outcome::NotStarted && tells)
    if (const std::string_view line = telling_line(event.output); !line.empty())
      text += fmt::format("{}{}", event.unseen ? "; its last line: " : ": ", line);
  if (event.left != 0 && !good)
    text += fmt::format("; process {}{} that it has started still runs", event.left,
                        event.left_command.empty() ? "" : fmt::format(" ({})", event.left_command));
  return text;
}

}  // namespace

HealingDriver::HealingDriver(SavedState& found, HealingViews views, IdSource& ids)
    : views_(views), ids_(ids), healings_(std::move(found.healings), std::move(found.healing)) {}

/// The rule of a service that has that key, and its place.
std::optional<std::pair<std::size_t, const Rule*>> HealingDriver::rule_of(ServiceId id, Hash128 rule) const {
  const std::vector<Rule>& rules = views_.graph->at(id).rules;
  const auto found = std::ranges::find(rules, rule, &Rule::key);
  if (found == rules.end()) return std::nullopt;
  return std::pair{static_cast<std::size_t>(found - rules.begin()), &*found};
}

// ---- view ---------------------------------------------------------------------------------------------------------

std::string HealingDriver::doubt(Instant now) const {
  const Graph& graph = *views_.graph;
  if (views_.releases.is_sick()) return "the state cannot be written";
  if (now.mono - views_.started_at.mono < graph.settings->cycle_length()) return "healer has just started";
  if (std::string late = views_.doubts.of_time(now); !late.empty()) return late;
  for (const std::string& name : graph.settings->healing.only_while) {
    const std::optional<ServiceId> id = graph.find(name);
    if (!id) return fmt::format("{}, which must be healthy, is not in the rules", name);
    if (views_.pauses.in_force(*id, now)) return fmt::format("{}, which must be healthy, is paused", name);
    if (const Health its = views_.composites.health(*id); its != Health::Ok)
      return fmt::format("{}, which must be healthy, is {}", name, to_string(its));
  }
  return {};
}

/// When time alone ends, first, a doubt, a person's pause or a maintenance window.
std::optional<Duration> HealingDriver::time_releases(Instant now) const {
  std::optional<Duration> first;
  const auto at = [&](Duration when) {
    if (when > now.mono) first = std::min(first.value_or(when), when);
  };
  const auto at_wall = [&](WallTime when) { at(now.mono + (when - now.wall)); };
  at(views_.started_at.mono + views_.graph->settings->cycle_length());
  if (const auto end = views_.doubts.ends()) at(*end);
  for (const WallTime end : views_.pauses.ends(now)) at_wall(end);
  if (const auto end = views_.maintenance.first_end(now)) at_wall(*end);
  return first;
}

std::optional<Event> HealingDriver::without_secrets(const Event& event) const {
  if (!std::holds_alternative<event::ActionEnded>(event) && !std::holds_alternative<event::Answered>(event))
    return std::nullopt;
  Event rest = event;
  auto* const ended = std::get_if<event::ActionEnded>(&rest);
  const bool held = ended != nullptr ? healings_.askers().leave_out_secrets(*ended)
                                     : healings_.askers().leave_out_secrets(std::get<event::Answered>(rest));
  return held ? std::optional(std::move(rest)) : std::nullopt;
}

std::optional<bool> HealingDriver::is_clear(ServiceId id, const Evidence& seen, const Evidence* before) const {
  const ServiceState& state = views_.services[id.index()];
  const Seen run{seen, state.memory, state.starts->restarted};
  bool clear = true;
  const std::span<const RuleState> states = views_.rules.of(id);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::optional<bool> one =
        engine::is_clear(views_.graph->at(id).rules[i], states[i].status == RuleStatus::Failed, run, before);
    if (!one) return std::nullopt;
    clear = clear && *one;
  }
  return clear;
}

/// A turn through which nothing is done: what is asked then is asked of a constant.
struct HealingDriver::Question {
  struct Nowhere final : EffectSink {
    void emit(Effect) override {}
  } nowhere{};
  Turn turn;

  Question(const HealingViews& views, Instant now)
      : turn(now, nowhere, const_cast<RunningPrograms&>(views.programs), views.releases) {}
};

std::vector<BrakeVerdict> HealingDriver::verdicts(const Healing& healing, Instant now) const {
  Question question(views_, now);
  return healings_.brakes().fresh_verdicts(Context(*this, question.turn), healing);
}

std::vector<Saving> HealingDriver::savings_of(ActionId action, Instant now) const {
  if (healings_.idle()) return {};
  Question question(views_, now);
  return healings_.askers().savings_of(Context(*this, question.turn), action);
}

std::vector<BrakeVerdict> HealingDriver::preview_brakes(ServiceId service, const HealOrder& order, Instant now) const {
  Question question(views_, now);
  return healings_.brakes().preview(Context(*this, question.turn), service, order);
}

std::vector<std::string> HealingDriver::unwell_of_closed(Instant now) const {
  Question question(views_, now);
  return healings_.brakes().unwell_of_closed(Context(*this, question.turn));
}

std::set<HealingId> HealingDriver::taken_by(const Graph& next) const {
  return engine::taken_by(healings_.all(), healings_.targets(), *views_.graph, next);
}

std::vector<std::string> HealingDriver::lost_to(const Graph& next) const {
  return engine::lost_to(healings_.all(), healings_.targets(), *views_.graph, next);
}

// ---- what it hears ------------------------------------------------------------------------------------------------

void HealingDriver::want(ServiceId id, const Rule& rule, const HealOrder& order,
                         std::shared_ptr<const effect::Cause> cause, Turn& turn) {
  Context context(*this, turn);
  healings_.want(context, id, &rule, order, std::move(cause), ByRule{});
}

void HealingDriver::checked(ServiceId id, Duration began, std::optional<bool> clear, Turn& turn) {
  Context context(*this, turn);
  healings_.checked(context, id, began, clear);
}

void HealingDriver::confirm_by(ServiceId id, Duration began, Turn& turn) {
  Context context(*this, turn);
  healings_.confirm_by(context, id, began);
}

void HealingDriver::program_ended(const effect::Exec& exec, const event::ActionEnded& event, Turn& turn) {
  lives_.erase(exec.action);
  const bool good = event.outcome == Outcome::Exited && event.status == 0;
  Context context(*this, turn);
  healings_.program_ended(context, exec.action,
                          {.end = event.unseen ? StepEnd::InDoubt
                                  : good       ? StepEnd::Done
                                               : StepEnd::Failed,
                           .text = text_of(event, !healings_.askers().saves_secret(exec.action)),
                           .output = event.output,
                           .saved = event.saved,
                           .elapsed = event.unseen ? std::nullopt : std::optional(event.elapsed)});
  if (!healings_.all().contains(exec.healing)) healings_.reevaluate(context);  // it may have held another one back
}

void HealingDriver::program_lingers(const effect::Exec& exec, const std::string& what, Turn& turn) {
  const auto found = healings_.all().find(exec.healing);
  if (found == healings_.all().end()) return;
  const Healing& healing = found->second;
  const std::string text = fmt::format(
      "healing of {} with {}: {} was told to end over a minute ago and has not: nothing else is done to {} "
      "until it has gone",
      healing.target, healing.plan->name, what, healing.target);
  turn.record(RecordKind::HealingStep, Severity::Error, healing.service, text).subject = healing.id.number();
  Context(*this, turn).tell(healing, "Healing held up", effect::Cause::State::Failed, text);
}

void HealingDriver::answered(const event::Answered& event, Turn& turn) {
  Context context(*this, turn);
  healings_.answered(context, event);
}

void HealingDriver::claimed(const event::Claimed& event, Turn& turn) {
  Context context(*this, turn);
  healings_.claimed(context, event.healing, event.claim);
}

void HealingDriver::denied(const event::Denied& event, Turn& turn) {
  Context context(*this, turn);
  healings_.claimed(context, event.healing, event.claim,
                    BrakeVerdict{.brake = event.by, .lets = false, .text = event.why});
}

void HealingDriver::unsettled(const fact::StandingEnded& fact, Turn& turn) {
  if (healings_.idle() || views_.graph->block(fact.service) == nullptr) return;
  Context context(*this, turn);
  healings_.unsettled(context, {views_.graph->at(fact.service).name, fact.rule}, fact.target, fact.lapsed);
}

void HealingDriver::brought(const std::vector<OrderEnded>& ended, Turn& turn) {
  Context context(*this, turn);
  for (const OrderEnded& one : ended)
    healings_.brought(context, one.run.healing, one.run.run, one.good ? StepEnd::Done : StepEnd::Failed, one.text);
}

void HealingDriver::recovered(ServiceId id, Turn& turn) {
  if (healings_.memory().targets.empty()) return;
  Context context(*this, turn);
  healings_.recovered(context, id);
}

void HealingDriver::reevaluate(Turn& turn) {
  Context context(*this, turn);
  healings_.reevaluate(context);
}

bool HealingDriver::wake(Turn& turn) {
  Context context(*this, turn);
  return healings_.wake(context);
}

void HealingDriver::wake_waiting(Turn& turn) {
  Context context(*this, turn);
  healings_.wake_waiting(context);
}

void HealingDriver::stop(Turn& turn) {
  Context context(*this, turn);
  healings_.stop(context);
}

std::vector<std::string> HealingDriver::take_away(const std::set<ServiceId>& services, const std::string& how,
                                                  Turn& turn) {
  if (healings_.idle()) return {};
  Context context(*this, turn);
  return healings_.taken_away(context, services, how);
}

// ---- commands -----------------------------------------------------------------------------------------------------

bool HealingDriver::cancel(const event::Command& command, Turn& turn) {
  HealingId id{command.job.number()};
  if (const RunningAction* const action = views_.programs.find(ActionId{command.job.number()}))
    id = action->exec.healing;
  if (!healings_.all().contains(id)) return false;
  Context context(*this, turn);
  const Healings::Answer answer = healings_.cancel(context, id, words_of(command.by));
  turn.replies.push_back({command.id, answer.good, answer.text});
  return true;
}

void HealingDriver::command(const event::Command& command, Turn& turn) {
  using Kind = event::Command::Kind;
  const Graph& graph = *views_.graph;
  Context context(*this, turn);
  const auto reply = [&](const Healings::Answer& answer) {
    turn.replies.push_back({command.id, answer.good, answer.text});
  };
  const HealingId id{command.job.number()};
  if (command.kind == Kind::Approve) return reply(healings_.approve(context, id, words_of(command.by), command.plan));
  if (command.kind == Kind::Reject) return reply(healings_.reject(context, id, words_of(command.by)));
  if (command.kind == Kind::ResetHealing)
    return reply(healings_.reset(context, command.workflow, words_of(command.by)));
  std::vector<Healings::Asked> asked;
  bool good = true;
  for (const ServiceId service : command.services) {
    if (graph.block(service) == nullptr) continue;
    const ServiceBlock& block = graph.at(service);
    HealOrder order{.workflow = command.workflow, .target = {}, .dry_run = false};
    if (order.workflow.empty())
      for (const Rule& rule : block.rules)
        if (rule->action.heal != nullptr && order.workflow.empty()) order = *rule->action.heal;
    if (order.workflow.empty() || graph.workflow(order.workflow) == nullptr) {
      good = false;
      asked.push_back(
          {fmt::format("{}: {}", block.name,
                       order.workflow.empty() ? "none of its rules names a workflow to heal it with: name one (--with)"
                                              : "there is no workflow " + order.workflow)});
      continue;
    }
    auto cause = std::make_shared<effect::Cause>();
    cause->service = block.name;
    cause->event = EventKind::Action;
    cause->state = effect::Cause::State::Changed;
    cause->event_text = "Healing requested";
    cause->action_text = "heal";
    cause->description = fmt::format("requested by {}", words_of(command.by));
    if (command.overrides != Overrides{}) cause->description += ", with brakes overridden";
    cause->when = turn.now.wall;
    asked.push_back(healings_.want(context, service, nullptr, order, std::move(cause), command.by, command.overrides));
  }
  const std::string text =
      asked.empty() ? "no such service" : fmt::format("{}", fmt::join(healings_.begin(context, asked), "\n"));
  turn.replies.push_back({command.id, good, text});
}

// ---- life ---------------------------------------------------------------------------------------------------------

void HealingDriver::restore_program(const PendingExec& pending, Turn& turn) {
  effect::Exec exec = pending.exec;
  const bool known = healings_.all().contains(exec.healing);
  if (!known && !pending.started) {
    turn.commit().ended.push_back(exec.action);
    turn.record(RecordKind::ActionHeld, Severity::Warning, exec.cause->service,
                "a program of a healing that no longer exists is not started");
    return;
  }
  const bool only_watched = views_.graph->settings->shadow || !known;
  turn.programs.restore(pending, only_watched, turn.now);
  lives_.insert(exec.action);
  // Without a secret that was lost it cannot be started, and what was told to end must not be; but it may run.
  if (pending.started || only_watched || healings_.askers().ends(exec.action) ||
      !healings_.askers().complete(Context(*this, turn), exec)) {
    turn.sink.emit(effect::Adopt{exec.action, exec.service, false, exec.command.identity->uid});
    return;
  }
  turn.releases.pass(std::move(exec), turn);
}

void HealingDriver::resume(const SavedState& found, Turn& turn) {
  Context context(*this, turn);
  healings_.resume(context, found, lives_);
}

void HealingDriver::reload(const std::set<HealingId>& taken, Turn& turn) {
  Context context(*this, turn);
  healings_.reloaded(context, taken);
}

void HealingDriver::save(Turn& turn) const {
  std::ranges::sort(turn.changed_healings);
  const auto twice = std::ranges::unique(turn.changed_healings);
  turn.changed_healings.erase(twice.begin(), twice.end());
  for (const HealingId id : turn.changed_healings)
    if (const auto healing = healings_.all().find(id); healing != healings_.all().end())
      turn.commit().healings.push_back(healing->second);
}

}  // namespace healer::engine
