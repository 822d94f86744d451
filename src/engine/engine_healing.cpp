// SPDX-License-Identifier: MIT
// Between the engine and healing (engine/healing): what healings are told, and what they have done.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/healing/variables.hpp"
#include "engine/judging/clear.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/parts/judge.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/timing/cron.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr int kRunShift = 56;

CommandId command_of(HealingId healing, std::size_t run) {
  return CommandId{kOfHealing | (static_cast<std::uint64_t>(run) & 0x7F) << kRunShift | healing.number()};
}

}  // namespace

class Engine::HealingContext final : public HealingWorld {
 public:
  HealingContext(Engine& engine, Turn& turn) : engine_(engine), turn_(turn) {}

  [[nodiscard]] Instant now() const override { return turn_.now; }
  [[nodiscard]] const Graph& graph() const override { return *engine_.graph_; }
  [[nodiscard]] const std::string& host() const override { return engine_.host_; }
  [[nodiscard]] Health health(ServiceId service) const override {
    const Health health = engine_.composites_.health(service);
    return health == Health::GivenUp ? Health::Unmonitored : health;
  }
  [[nodiscard]] bool stands(ServiceId service, Hash128 rule, std::string_view target) const override {
    const auto found = engine_.healing_rule(service, rule);
    if (found && graph().at(service).is_event() && (*found->second)->mode == Mode::EachMatch)
      return engine_.arrivals_.events().stands(service, rule, target);
    return found && ((*found->second)->mode != Mode::Latched ||
                     engine_.rules(service)[found->first].status == RuleStatus::Failed);
  }
  [[nodiscard]] std::optional<bool> holds_now(ServiceId service, Hash128 rule) const override {
    const auto found = engine_.healing_rule(service, rule);
    if (!found) return false;
    const ServiceState& state = engine_.services_[service.index()];
    // What is over when it has happened cannot be seen once more.
    if ((*found->second)->mode != Mode::Latched || (*found->second)->counts_restarts()) return true;
    if (graph().at(service).has_members()) {
      const Evidence members = engine_.composites_.check(service);
      return holds(*(*found->second)->condition, Seen{members, state.memory, state.starts->restarted});
    }
    if (state.trouble->unknown || !state.last) return std::nullopt;
    return holds(*(*found->second)->condition, Seen{*state.last, state.memory, state.starts->restarted});
  }
  [[nodiscard]] bool holds_nameless(ServiceId service, Hash128 rule) const override {
    const auto found = engine_.healing_rule(service, rule);
    return found && engine_.composites_.holds_nameless(service, *found->second);
  }
  [[nodiscard]] std::string paused(ServiceId service) const override {
    if (const auto by = engine_.pauses_.of(service, turn_.now))
      return graph().at(service).name + paused_by(*by->pause, by->with());
    return engine_.maintenance_.in_force(service, turn_.now) ? "maintenance of " + graph().at(service).name : "";
  }
  [[nodiscard]] std::string all_paused() const override {
    const WidePause* const everything = engine_.pauses_.of_everything(turn_.now);
    if (everything != nullptr) return "everything" + paused_by(everything->pause, {});
    return engine_.maintenance_.of_everything(turn_.now) ? "maintenance of everything" : "";
  }
  [[nodiscard]] std::vector<ServiceId> seen_by(ServiceId service) const override {
    std::vector<ServiceId> seen;
    if (graph().at(service).has_members()) {
      for (const ServiceId member : graph().members[service.index()])
        for (const ServiceId one : seen_by(member))
          if (std::ranges::find(seen, one) == seen.end()) seen.push_back(one);
    } else if (engine_.services_[service.index()].monitored && !graph().at(service).rules.empty() &&
               !graph().at(service).is_event()) {
      seen.push_back(service);
    }
    return seen;
  }
  [[nodiscard]] bool given_up(ServiceId service) const override { return engine_.given_up(service) != nullptr; }
  [[nodiscard]] std::string busy(ServiceId service) const override {
    for (const ActionId action : engine_.programs_.of(graph().at(service).name)) {
      const effect::Exec& exec = engine_.programs_.find(action)->exec;
      if (exec.healing != HealingId{} && !engine_.healings_.all().contains(exec.healing))
        return fmt::format("program {} of an earlier healing ({})", exec.command.arguments.front(),
                           exec.healing.number());
    }
    const Rare<JobId>& job = engine_.services_[service.index()].job;
    if (!job) return {};
    return fmt::format("{} of {} (job {})", to_string(engine_.jobs_.at(job->number()).kind), graph().at(service).name,
                       job->number());
  }
  [[nodiscard]] std::vector<ServiceId> failed_requirements(ServiceId service) const override {
    std::vector<ServiceId> failed;
    if (graph().requirements[service.index()].empty()) return failed;
    for (const ServiceId needed : requirements_of(graph(), service))
      if (const Health its = engine_.composites_.health(needed); its == Health::Failed || its == Health::GivenUp)
        failed.push_back(needed);
    return failed;
  }
  [[nodiscard]] std::string list_doubt(ServiceId service) const override {
    const auto& row = graph().at(service).row;
    if (row == nullptr) return {};
    for (const std::string& list : row->lists)
      if (engine_.doubts_.of_list(to_lower(list))) return not_known_to_be_right(list);
    for (const std::string& list : row->lists) {
      const auto value = std::ranges::find(row->variables, list, &std::pair<std::string, std::string>::first);
      if (value != row->variables.end() && engine_.doubts_.is_missing(to_lower(list), to_lower(value->second)))
        return fmt::format("{} is missing from the list {}, and was so before it failed", value->second, list);
    }
    return {};
  }
  [[nodiscard]] std::string lists_doubt() const override {
    const std::string list = engine_.doubts_.first_list();
    if (list.empty()) return {};
    const auto written =
        std::ranges::find_if(graph().lists, [&](const std::string& one) { return iequals(one, list); });
    return not_known_to_be_right(written == graph().lists.end() ? list : *written);
  }
  [[nodiscard]] std::string left_out(const Healing& healing) const override {
    if (!engine_.absent_.contains(healing.service) && !graph().left_out.holds(healing.row)) return {};
    if (graph().find(healing.service)) return {};
    return fmt::format("{} is left out of the rules for now; `healerctl lists` shows why", healing.service);
  }
  [[nodiscard]] std::string doubt() const override { return engine_.doubt(turn_.now); }
  [[nodiscard]] std::optional<Duration> time_releases() const override { return engine_.time_releases(turn_.now); }

  IdSource& ids() override { return engine_.ids_; }
  void check(ServiceId service) override { engine_.timetable_.check_later(service, Reason::Healing, turn_.now.mono); }
  ActionId run(const Healing& healing, const step::Program& program, Duration timeout,
               std::shared_ptr<const effect::Place> place, std::string_view step) override {
    auto cause = std::make_shared<effect::Cause>(*healing.cause);
    cause->action_text = "heal";
    effect::Exec exec{.action = engine_.ids_.action(),
                      .service = graph().find(healing.service).value_or(ServiceId{}),
                      .rule = healing.rule,
                      .command = program.command,
                      .cause = std::move(cause),
                      .healing = healing.id,
                      .place = std::move(place)};
    if (timeout > Duration{0}) exec.command.timeout = timeout;
    turn_
        .record(RecordKind::HealingStep, Severity::Info, healing.service,
                fmt::format("healing of {} with {}, {}: {}", healing.target, healing.plan->name,
                            step == "guard" ? std::string(step) : fmt::format("step \"{}\"", step),
                            program.command.arguments.front()))
        .subject = healing.id.number();
    turn_.commit.pending.emplace_back(exec);
    engine_.programs_.add(exec, turn_.now);
    const ActionId action = exec.action;
    turn_.acts.emplace_back(std::move(exec));
    return action;
  }
  void end_program(ActionId action) override { engine_.end_program(action, turn_); }
  void request(effect::Request request) override { turn_.acts.emplace_back(std::move(request)); }
  void ask(effect::Request request) override { turn_.sink.emit(std::move(request)); }
  void end_request(ActionId request) override { turn_.sink.emit(effect::EndRequest{request}); }
  [[nodiscard]] std::string left_alone(const Healing& healing, Bringing what, ServiceId service, bool of_target,
                                       const std::set<ServiceId>& stopped) const override {
    const ServiceBlock& block = graph().at(service);
    const ServiceState& state = engine_.services_[service.index()];
    if (state.job && is_healing(engine_.jobs_.at(state.job->number()).by, healing.id)) return {};  // it is under way
    if (block.activity == ServiceBlock::Activity::Passive) return block.name + " is passive";
    if (const std::string why = of_target ? std::string() : paused(service); !why.empty()) return why;
    if (!state.monitored && !stopped.contains(service) && !given_up(service)) return block.name + " is not monitored";
    if (what == Bringing::Stop) return {};
    for (const ServiceId needed : requirements_of(graph(), service)) {
      if (stopped.contains(needed)) continue;
      const ServiceState& its = engine_.services_[needed.index()];
      const ServiceBlock& other = graph().at(needed);
      const bool seen = its.last != nullptr || other.foreground();
      // A start looks first at what was not seen yet, and would start it.
      const bool held = other.activity == ServiceBlock::Activity::Passive || !paused(needed).empty();
      const bool down = its.monitored && other.has_process() && (seen ? !engine_.is_up(needed) : held);
      if (!its.monitored || down)
        return fmt::format("{} depends on {}, which is not {}", block.name, other.name,
                           !down  ? "monitored"
                           : seen ? "running"
                                  : "known to run yet");
    }
    return {};
  }
  void bring(const Healing& healing, std::size_t run, Bringing what, ServiceId service) override {
    using Kind = event::Command::Kind;
    const Kind kind = what == Bringing::Start ? Kind::Start : what == Bringing::Stop ? Kind::Stop : Kind::Restart;
    // After this turn's other work, for what it says comes back to the healing.
    engine_.orders_.push_back({.id = command_of(healing.id, run),
                               .kind = kind,
                               .services = {service},
                               .by = ByHealing{.id = healing.id, .run = static_cast<std::uint32_t>(run)}});
  }
  void leave(const Healing& healing) override {
    std::erase_if(engine_.orders_, [&](const event::Command& order) {
      if (!is_healing(order.by, healing.id)) return false;
      turn_.replies.push_back({order.id, false, "was ended"});
      return true;
    });
    std::vector<JobId> jobs;
    for (const auto& [id, job] : engine_.jobs_)
      if (is_healing(job.by, healing.id)) jobs.push_back(job.id);
    for (const JobId job : jobs) engine_.fail_job(job, "its healing is ended", turn_);
  }
  void recover(ServiceId service) override { engine_.recover_rules(service, turn_); }
  void tell(const Healing& healing, std::string_view event, effect::Cause::State state,
            const std::string& text) override {
    const std::optional<ServiceId> service = graph().find(healing.service);
    mail(service ? *graph().at(*service).recipients : graph().settings->mail.recipients, *healing.cause,
         healing.service, event, state, text, uuid_of(name_of(healing)));
  }
  void notify_everyone(std::string_view event, effect::Cause::State state, const std::string& text) override {
    mail(graph().settings->mail.recipients, {}, "healer", event, state, text);
  }
  Record& record(RecordKind kind, Severity severity, std::string service, std::string text) override {
    return turn_.record(kind, severity, std::move(service), std::move(text));
  }
  void save(const Healing& healing) override { turn_.changed_healings.push_back(healing.id); }
  void forget(HealingId healing) override { turn_.commit.ended_healings.push_back(healing); }
  void save(const TargetMemory& target) override {
    std::erase_if(turn_.commit.targets, [&](const TargetMemory& other) {
      return other.rehearsed == target.rehearsed && to_lower(other.target) == to_lower(target.target);
    });
    turn_.commit.targets.push_back(target);
  }
  void forget(const TargetMemory& target) override {
    turn_.commit.forgotten_targets.emplace_back(to_lower(target.target), target.rehearsed);
  }
  void save(const WorkflowMemory& workflow) override {
    std::erase_if(turn_.commit.workflows,
                  [&](const WorkflowMemory& other) { return to_lower(other.workflow) == to_lower(workflow.workflow); });
    turn_.commit.workflows.push_back(workflow);
  }
  void save(const std::vector<ClosedBrake>& closed) override { turn_.commit.closed_brakes = closed; }

 private:
  void mail(const std::vector<Recipient>& known, effect::Cause cause, const std::string& service,
            std::string_view event, effect::Cause::State state, const std::string& text, std::string incident = {}) {
    if (graph().settings->shadow) return;
    std::vector<Recipient> recipients;
    for (const Recipient& recipient : known)
      if (recipient.events.test(static_cast<std::size_t>(EventKind::Action))) recipients.push_back(recipient);
    cause.service = service;
    cause.event = EventKind::Action;
    cause.state = state;
    cause.event_text = event;
    cause.action_text = "heal";
    cause.description = text;
    cause.when = turn_.now.wall;
    engine_.alerts_.send(std::move(recipients), std::make_shared<const effect::Cause>(std::move(cause)), turn_,
                         {.incident = std::move(incident)});
  }

  static std::string paused_by(const Pause& pause, const std::string& with) {
    return fmt::format(" was paused{} by {}{}{}", with, words_of(pause.by), pause.reason.empty() ? "" : ": ",
                       pause.reason);
  }
  static std::string not_known_to_be_right(const std::string& list) {
    return fmt::format("it is not certain yet that the list {} is right; `healerctl accept list {}` confirms it", list,
                       list);
  }

  Engine& engine_;
  Turn& turn_;
};

void Engine::on(const event::ListsDoubted& event, Turn& turn) {
  doubts_.hear_lists(event);
  reevaluate_healings(turn);
}

/// The rule of a service that has that key, and its place.
std::optional<std::pair<std::size_t, const Rule*>> Engine::healing_rule(ServiceId id, Hash128 rule) const {
  const std::vector<Rule>& rules = graph_->at(id).rules;
  const auto found = std::ranges::find(rules, rule, &Rule::key);
  if (found == rules.end()) return std::nullopt;
  return std::pair{static_cast<std::size_t>(found - rules.begin()), &*found};
}

void Engine::heal(ServiceId id, const Rule& rule, const HealOrder& order, std::shared_ptr<const effect::Cause> cause,
                  Turn& turn) {
  HealingContext context(*this, turn);
  healings_.want(context, id, &rule, order, std::move(cause), ByRule{});
}

/// What commands have come to that a healing gave; and those that it gives.
void Engine::notify_healings(Turn& turn) {
  for (int round = 0; round < 64; ++round) {
    for (event::Command& order : std::exchange(orders_, {})) command_jobs(order, turn);
    std::vector<effect::Reply> own;
    std::erase_if(turn.replies, [&](effect::Reply& reply) {
      if (!of_healing(reply.command)) return false;
      own.push_back(std::move(reply));
      return true;
    });
    if (own.empty() && orders_.empty()) return;
    HealingContext context(*this, turn);
    for (const effect::Reply& reply : own) {
      const std::uint64_t number = reply.command.number() & ~kOfHealing;
      healings_.brought(context, HealingId{number & ((std::uint64_t{1} << kRunShift) - 1)}, number >> kRunShift,
                        reply.ok ? StepEnd::Done : StepEnd::Failed, reply.text);
    }
  }
}

void Engine::save_healings(Turn& turn) {
  std::ranges::sort(turn.changed_healings);
  const auto twice = std::ranges::unique(turn.changed_healings);
  turn.changed_healings.erase(twice.begin(), twice.end());
  for (const HealingId id : turn.changed_healings)
    if (const auto healing = healings_.all().find(id); healing != healings_.all().end())
      turn.commit.healings.push_back(healing->second);
}

void Engine::healing_checked(ServiceId id, Duration began, const Evidence& seen, Turn& turn) {
  std::optional<bool> clear;
  if (healings_.verifies(id)) {
    ServiceState& state = services_[id.index()];
    const Seen run{seen, state.memory, state.starts->restarted};
    clear = true;
    const std::span<const RuleState> states = rules(id);
    for (std::size_t i = 0; i < states.size() && clear; ++i) {
      const std::optional<bool> one =
          is_clear(graph_->at(id).rules[i], states[i].status == RuleStatus::Failed, run, turn.before.get());
      clear = one ? std::optional(*clear && *one) : std::nullopt;
    }
    turn.save(id, remember(state.memory, seen));
  }
  HealingContext context(*this, turn);
  healings_.checked(context, id, began, clear);
}

void Engine::healing_program_ended(const effect::Exec& exec, const event::ActionEnded& event, Turn& turn) {
  healing_programs_.erase(exec.action);
  const bool good = event.outcome == Outcome::Exited && event.status == 0;
  const StepEnd how = event.unseen ? StepEnd::InDoubt : good ? StepEnd::Done : StepEnd::Failed;
  std::string text;
  if (event.unseen)
    text = kCutOff;
  else if (event.outcome == Outcome::TimedOut)
    text = describe_timeout(event.elapsed);
  else if (event.outcome == Outcome::NotStarted)
    text = fmt::format("could not be started: {}", event.output);
  else
    text = describe_exit(event.outcome, event.status);
  if (how != StepEnd::Done && event.outcome != Outcome::NotStarted && !healings_.saves_secret(exec.action))
    if (const std::string_view line = telling_line(event.output); !line.empty())
      text += fmt::format("{}{}", event.unseen ? "; its last line: " : ": ", line);
  if (event.left != 0 && how != StepEnd::Done)
    text += fmt::format("; process {}{} that it has started still runs", event.left,
                        event.left_command.empty() ? "" : fmt::format(" ({})", event.left_command));
  HealingContext context(*this, turn);
  healings_.program_ended(context, exec.action,
                          {.end = how,
                           .text = std::move(text),
                           .output = event.output,
                           .saved = event.saved,
                           .elapsed = event.unseen ? std::nullopt : std::optional(event.elapsed)});
  if (!healings_.all().contains(exec.healing)) healings_.reevaluate(context);  // it may have held another one back
}

void Engine::on(const fact::StandingEnded& fact, Turn& turn) {
  if (healings_.idle() || graph_->block(fact.service) == nullptr) return;
  HealingContext context(*this, turn);
  healings_.unsettled(context, {graph_->at(fact.service).name, fact.rule}, fact.target, fact.lapsed);
}

std::optional<Event> Engine::without_secrets(const Event& event) const {
  if (!std::holds_alternative<event::ActionEnded>(event) && !std::holds_alternative<event::Answered>(event))
    return std::nullopt;
  Event rest = event;
  auto* const ended = std::get_if<event::ActionEnded>(&rest);
  const bool held = ended != nullptr ? healings_.leave_out_secrets(*ended)
                                     : healings_.leave_out_secrets(std::get<event::Answered>(rest));
  return held ? std::optional(std::move(rest)) : std::nullopt;
}

void Engine::on(const event::Answered& event, Turn& turn) {
  HealingContext context(*this, turn);
  healings_.answered(context, event);
}

/// The rules of a service count as recovered, and their windows are emptied: it was seen to be well.
void Engine::recover_rules(ServiceId id, Turn& turn) {
  const ServiceBlock& block = graph_->at(id);
  ServiceState& state = services_[id.index()];
  // Its members have recovered just before, and what was seen of it last was before that.
  if (block.has_members()) take(id, std::make_shared<const Evidence>(composites_.check(id)), turn);
  std::vector<RuleDecision> decisions;
  if (state.last) {
    const Seen seen{*state.last, state.memory, state.starts->restarted};
    decisions = rules_.recover(id, &seen, turn.now.wall);
  } else {
    decisions = rules_.recover(id, nullptr, turn.now.wall);
  }
  alerts_.forget_acknowledged(id, turn);
  turn.save(id);
  note_recovered(id, turn);
  for (const RuleDecision& decision : decisions) act(id, decision, false, turn);
}

/// A program that was to end has not: people are told, once. Nothing else is done to its target until it has.
void Engine::healing_lingers(const effect::Exec& exec, const std::string& what, Turn& turn) {
  const auto found = healings_.all().find(exec.healing);
  if (found == healings_.all().end()) return;
  const Healing& healing = found->second;
  const std::string text = fmt::format(
      "healing of {} with {}: {} was told to end over a minute ago and has not: nothing else is done to {} "
      "until it has gone",
      healing.target, healing.plan->name, what, healing.target);
  turn.record(RecordKind::HealingStep, Severity::Error, healing.service, text).subject = healing.id.number();
  HealingContext(*this, turn).tell(healing, "Healing held up", effect::Cause::State::Failed, text);
}

/// A target whose healing did not help may be healed by rules again when these rules have recovered.
void Engine::note_recovered(ServiceId id, Turn& turn) {
  if (healings_.memory().targets.empty()) return;
  HealingContext context(*this, turn);
  healings_.recovered(context, id);
}

void Engine::wake_healings(Turn& turn) {
  HealingContext context(*this, turn);
  healings_.wake(context);
}

void Engine::stop_healings(Turn& turn) {
  HealingContext context(*this, turn);
  healings_.stop(context);
}

void Engine::reload_healings(const std::set<HealingId>& taken, Turn& turn) {
  HealingContext context(*this, turn);
  healings_.reloaded(context, taken);
}

/// A person stops or unmonitors these services: what healings that ends.
std::vector<std::string> Engine::take_from_healings(const std::set<ServiceId>& services, const std::string& how,
                                                    Turn& turn) {
  if (healings_.idle()) return {};
  HealingContext context(*this, turn);
  return healings_.taken_away(context, services, how);
}

// ---- after a restart ----------------------------------------------------------------------------------------------

/// The program of a guard or step that an earlier daemon has decided on. It is started at most once, ever: where it
/// was, it is found again.
void Engine::restore_healing_program(const PendingExec& pending, Turn& turn) {
  effect::Exec exec = pending.exec;
  const bool known = healings_.all().contains(exec.healing);
  if (!known && !pending.started) {
    turn.commit.ended.push_back(exec.action);
    turn.record(RecordKind::ActionHeld, Severity::Warning, exec.cause->service,
                "a program of a healing that no longer exists is not started");
    return;
  }
  const bool only_watched = graph_->settings->shadow || !known;
  programs_.restore(pending, only_watched, turn.now);
  healing_programs_.insert(exec.action);
  // Without a secret that was lost it cannot be started, and what was told to end must not be; but it may run.
  if (pending.started || only_watched || healings_.ends(exec.action) ||
      !healings_.complete(HealingContext(*this, turn), exec)) {
    turn.sink.emit(effect::Adopt{exec.action, exec.service, false, exec.command.identity->uid});
    return;
  }
  turn.sink.emit(std::move(exec));
}

void Engine::resume_healings(Turn& turn) {
  HealingContext context(*this, turn);
  if (found_.boot != 0 && found_.boot != turn.now.boot && found_.seen) healings_.carry(context, *found_.seen);
  for (const auto& [target, rehearsed] : found_.damaged_targets) healings_.rest(context, target, rehearsed);
  for (const DamagedHealing& damaged : found_.damaged_healings) healings_.lost(context, damaged);
  healings_.resume(context, healing_programs_);
}

// ---- what brakes say ----------------------------------------------------------------------------------------------

/// Something that holds healings back may have changed.
void Engine::reevaluate_healings(Turn& turn) {
  HealingContext context(*this, turn);
  healings_.reevaluate(context);
}

std::vector<BrakeVerdict> Engine::verdicts(const Healing& healing, Instant now) const {
  struct Nowhere final : EffectSink {
    void emit(Effect) override {}
  } nowhere;
  Turn turn{.now = now, .sink = nowhere};
  // Nothing is done through it: verdicts are asked of a constant.
  return healings_.fresh_verdicts(HealingContext(const_cast<Engine&>(*this), turn), healing);
}

std::vector<Saving> Engine::savings_of(ActionId action, Instant now) const {
  if (healings_.idle()) return {};
  struct Nowhere final : EffectSink {
    void emit(Effect) override {}
  } nowhere;
  Turn turn{.now = now, .sink = nowhere};
  return healings_.savings_of(HealingContext(const_cast<Engine&>(*this), turn), action);
}

std::vector<BrakeVerdict> Engine::preview_brakes(ServiceId service, const HealOrder& order, Instant now) const {
  struct Nowhere final : EffectSink {
    void emit(Effect) override {}
  } nowhere;
  Turn turn{.now = now, .sink = nowhere};
  return healings_.preview_brakes(HealingContext(const_cast<Engine&>(*this), turn), service, order);
}

std::vector<std::string> Engine::unwell_of_closed(Instant now) const {
  struct Nowhere final : EffectSink {
    void emit(Effect) override {}
  } nowhere;
  Turn turn{.now = now, .sink = nowhere};
  return healings_.unwell_of_closed(HealingContext(const_cast<Engine&>(*this), turn));
}

// ---- commands -----------------------------------------------------------------------------------------------------

bool Engine::cancel_healing(const event::Command& command, Turn& turn) {
  HealingId id{command.job.number()};
  if (const RunningAction* const action = programs_.find(ActionId{command.job.number()})) id = action->exec.healing;
  if (!healings_.all().contains(id)) return false;
  HealingContext context(*this, turn);
  const Healings::Answer answer = healings_.cancel(context, id, words_of(command.by));
  turn.replies.push_back({command.id, answer.good, answer.text});
  return true;
}

void Engine::command_healing(const event::Command& command, Turn& turn) {
  using Kind = event::Command::Kind;
  HealingContext context(*this, turn);
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
    if (service.index() >= services_.size() || !graph_->slots[service.index()]) continue;
    const ServiceBlock& block = graph_->at(service);
    HealOrder order{.workflow = command.workflow, .target = {}, .dry_run = false};
    if (order.workflow.empty())
      for (const Rule& rule : block.rules)
        if (rule->action.heal != nullptr && order.workflow.empty()) order = *rule->action.heal;
    if (order.workflow.empty() || graph_->workflow(order.workflow) == nullptr) {
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

}  // namespace healer::engine
