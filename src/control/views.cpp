// SPDX-License-Identifier: MIT
#include "control/views.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "control/events/event_desk.hpp"
#include "control/healing_views.hpp"
#include "control/service_words.hpp"
#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/words/cause.hpp"
#include "engine/words/explain.hpp"
#include "engine/words/heartbeat.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

using engine::Condition;
using engine::Engine;
using engine::Outcome;
using engine::ServiceBlock;
using engine::ServiceId;
using engine::ServiceState;

/// Most bytes of a program's output that one answer shows of a service; all of it is in the history.
constexpr std::size_t kExcerpt = 1024;

std::string place_of(const Engine& engine, const engine::SourcePlace& place) {
  const auto& files = engine.graph()->files;
  return place.line != 0 && place.file < files.size() ? fmt::format("{}:{}", files[place.file], place.line)
                                                      : std::string{};
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::Exited: return "exited";
    case Outcome::Signalled: return "signalled";
    case Outcome::TimedOut: return "timed-out";
    case Outcome::NotStarted: return "not-started";
    case Outcome::Unmatched: return "unmatched";
  }
  return "";
}

std::string_view unit_name(engine::Unit unit) {
  using engine::Unit;
  switch (unit) {
    case Unit::Percent: return "percent";
    case Unit::Bytes: return "bytes";
    case Unit::Number: return "number";
    case Unit::BytesPerSecond: return "bytes/s";
    case Unit::OperationsPerSecond: return "operations/s";
    case Unit::Packets: return "packets";
    case Unit::PacketsPerSecond: return "packets/s";
    case Unit::PagesPerSecond: return "pages/s";
    case Unit::Seconds: return "seconds";
    case Unit::Milliseconds: return "ms/operation";
    case Unit::Load: return "load";
  }
  return "";
}

/// The first rule of the worst condition: what the matter is with the service.
struct Matter {
  Condition condition = Condition::Running;
  std::size_t rule = 0;
  std::size_t others = 0;  ///< rules in the same condition
};

Matter matter_of(const Engine& engine, ServiceId service) {
  const ServiceBlock& block = engine.graph()->at(service);
  const auto states = engine.rules(service);
  Matter worst;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Condition condition = engine::condition_of(block.rules[i], states[i]);
    if (condition == worst.condition && condition != Condition::Running) ++worst.others;
    if (condition > worst.condition) worst = {condition, i};
  }
  return worst;
}

/// Why it is not monitored; empty where nobody knows, or a person has said so without an end.
std::string unmonitored_text(const Engine& engine, ServiceId service, Instant now) {
  const engine::TakenOut* const how = engine.monitoring().taken_out(service);
  if (how == nullptr) return {};
  const ServiceBlock& block = engine.graph()->at(service);
  const std::string again =
      how->until
          ? fmt::format("monitored again in {}",
                        format_duration(std::chrono::ceil<seconds>(std::max(*how->until - now.wall, Duration{0}))))
          : std::string{};
  if (!how->given_up()) return again;
  if (!iequals(how->service, block.name))
    return fmt::format("with {}: {}{}{}", how->service, how->rule, again.empty() ? "" : "; ", again);
  const std::string& failure = engine.service(service).trouble->start_failure;
  std::string text = how->rule;
  if (!failure.empty()) text += "; " + engine::brief_failure(failure, block);
  return again.empty() ? text : text + "; " + again;
}

/// The program of an action, as people say it: "exec /usr/bin/heal".
std::string describe_program(const engine::effect::Exec& exec) {
  return exec.command.arguments.empty() ? "exec" : fmt::format("exec {}", exec.command.arguments.front());
}

/// What a firing waits for that waits for its turn.
std::string waits_for(const Engine& engine, const engine::QueuedExec& queued) {
  const engine::RunningAction* const earlier = engine.programs().in_the_way(queued.exec);
  if (earlier == nullptr) return "its turn";
  if (earlier->exec.command == queued.exec.command) return "its previous run to end";
  return fmt::format("{} to end", describe_program(earlier->exec));
}

std::string summary_text(const Engine& engine, ServiceId service, Instant now) {
  const ServiceState& state = engine.service(service);
  if (!state.monitored && !state.job) return unmonitored_text(engine, service, now);
  if (state.job) {
    const auto job = engine.jobs().find(state.job->number());
    if (job != engine.jobs().end()) {
      const engine::RunningAction* const lacking = engine.programs().lacking(job->second.run.action());
      return engine::job_text(*engine.graph(), job->second, now.mono) +
             (lacking != nullptr ? fmt::format(", waits: {}", lacking->waits) : std::string{});
    }
  }
  const ServiceBlock& block = engine.graph()->at(service);
  const Matter matter = matter_of(engine, service);
  std::string text;
  if (matter.condition != Condition::Running)
    text = describe_failing(engine, service, matter.rule, now);
  else if (state.trouble->unknown && !state.presence.is_gone())
    text = fmt::format("not known: {}", state.trouble->unknown->why);
  else
    text = block.is_event()   ? describe_events(engine, service, now)
           : block.is_heard() ? describe_heartbeat(engine, service, now)
                              : describe_last(block, state);
  if (text.empty() && state.flight && now.mono - state.flight->started >= seconds{1})
    text = fmt::format("its first run is under way for {}",
                       format_duration(std::chrono::floor<seconds>(now.mono - state.flight->started)));
  if (matter.condition == Condition::Failing) {
    const std::string count =
        engine::count_text(block.rules[matter.rule], engine.rules(service)[matter.rule], now.mono);
    if (!count.empty()) text += fmt::format("{}({})", text.empty() ? "" : " ", count);
  }
  if (matter.others > 0) text += fmt::format(" (and {} more rule{})", matter.others, matter.others == 1 ? "" : "s");
  if (state.flight && !state.flight->waits.empty())
    text += fmt::format("{}(its run waits: {})", text.empty() ? "" : " ", state.flight->waits);
  const auto add = [&text](const std::string& note) { text += (text.empty() ? "(" : " (") + note + ")"; };
  for (const engine::QueuedExec& queued : engine.programs().queued_of(engine.graph()->at(service).name))
    add(fmt::format("{} waits for {}", describe_program(queued.exec), waits_for(engine, queued)));
  // Of what is down the failed start is told already.
  if (const auto& failure = state.trouble->action_failure;
      failure && (state.trouble->start_failure.empty() || !failure->text.ends_with(state.trouble->start_failure) ||
                  text.find(engine::brief_failure(state.trouble->start_failure, block)) == std::string::npos))
    add("last action: " + engine::brief_failure(failure->text, block));
  if (const std::string healing = healing_note(engine, service, now); !healing.empty()) add(healing);
  if (engine.alerts().acknowledged(service) != nullptr) add("acknowledged");
  if (engine.pauses().in_force(service, now)) add("paused");
  if (engine.maintenance().in_force(service, now)) add("in maintenance");
  return text;
}

void fill(ServiceSummary& view, const Engine& engine, ServiceId service, Instant now) {
  const ServiceBlock& block = engine.graph()->at(service);
  const Condition condition = engine::condition_of(engine, service);
  view.name = block.name;
  view.kind = block.kind->word;
  view.state = to_string(condition);
  view.text = summary_text(engine, service, now);
  if (const Matter matter = matter_of(engine, service); matter.condition != Condition::Running) {
    view.rule = block.rules[matter.rule]->text;
    view.rule_place = place_of(engine, block.rules[matter.rule].place);
  }
  const ServiceState& state = engine.service(service);
  view.dying = state.presence.is_gone() || (state.starts->not_before && *state.starts->not_before > now.wall);
  if (condition == Condition::Failed)
    for (const engine::RuleState& rule : engine.rules(service))
      if (rule.status == engine::RuleStatus::Failed && rule.past->changed)
        view.since = view.since ? std::min(*view.since, *rule.past->changed) : *rule.past->changed;
  if (condition == Condition::Unknown) view.since = state.trouble->unknown->since;
  if (condition == Condition::GivenUp) view.since = state.trouble->taken_out->since;
  view.next_run = engine.next_run(service, now);
  view.rests = rest_of(engine, service, now);
}

std::vector<ActionView> view_actions(const Engine& engine, const ServiceBlock& block, const ActionIndex& index,
                                     Instant now) {
  const auto again = [&](const engine::effect::Exec& exec) {
    return std::ranges::any_of(engine.programs().queued_of(block.name), [&](const engine::QueuedExec& queued) {
      return queued.exec.rule == exec.rule && queued.exec.recovery == exec.recovery;
    });
  };
  std::vector<ActionView> views;
  const auto [begin, end] = index.equal_range(to_lower(block.name));
  for (auto entry = begin; entry != end; ++entry) {
    const engine::RunningAction& action = *entry->second;
    views.push_back({.id = action.exec.action.number(),
                     .rule = action.exec.cause->rule,
                     .pid = action.pid,
                     .started = action.started,
                     .age = std::max(now.mono - action.since, Duration{0}),
                     .again = again(action.exec),
                     .waits = action.waits});
  }
  std::ranges::sort(views, {}, &ActionView::id);
  return views;
}

JobView view(const Engine& engine, const engine::Job& job, Instant now) {
  const engine::Graph& graph = *engine.graph();
  JobView view{.id = job.id.number(),
               .kind = std::string(to_string(job.kind)),
               .service = graph.at(job.service).name,
               .step = job.position + 1,
               .steps = static_cast<std::uint32_t>(job.steps.size()),
               .doing = job.position < job.steps.size() ? engine::describe_step(graph, job.step()) : std::string{},
               .waits_for = engine::job_waits_for(engine, job),
               .age = std::max(now.mono - job.begun, Duration{0}),
               .left = {},
               .by = words_of(job.by),
               .by_kind = std::string(kind_of(job.by)),
               .rule = job.cause ? job.cause->rule : std::string{},
               .action = job.run.running().number()};
  if (job.run.acting()) view.left = std::max(job.run.deadline - now.mono, Duration{0});
  if (const auto program = engine.programs().all().find(view.action);
      view.action != 0 && program != engine.programs().all().end())
    view.pid = program->second.pid;
  return view;
}

JobView view(const engine::RunningAction& action, Instant now) {
  return {.id = action.exec.action.number(),
          .kind = "exec",
          .service = action.exec.cause->service,
          .doing = describe_program(action.exec),
          .waits_for = engine::action_waits_for(action),
          .age = std::max(now.mono - action.since, Duration{0}),
          .left = {},
          .by = "rule",
          .by_kind = "rule",
          .rule = action.exec.cause->rule,
          .action = action.exec.action.number(),
          .pid = action.pid};
}

JobView view(const Engine& engine, const engine::QueuedExec& queued, Instant now) {
  return {.id = queued.exec.action.number(),
          .kind = "exec",
          .service = queued.exec.cause->service,
          .doing = describe_program(queued.exec),
          .waits_for = waits_for(engine, queued),
          .age = std::max(now.mono - queued.since, Duration{0}),
          .left = {},
          .by = "rule",
          .by_kind = "rule",
          .rule = queued.exec.cause->rule};
}

bool of_rule(const engine::RunningAction& action) {
  return action.exec.job == engine::JobId{} && action.exec.healing == engine::HealingId{};
}

/// What only processes and the system have, and what jobs and people have done.
void fill_supervision(ServiceStatus& view, const Engine& engine, ServiceId service, Instant now) {
  const ServiceState& state = engine.service(service);
  if (const auto facts =
          state.last && !state.presence.is_gone() && !state.trouble->unknown ? state.last->facts : nullptr) {
    if (facts->process)
      view.process = ProcessView{.pid = facts->process->pid,
                                 .parent = facts->process->parent,
                                 .uid = facts->process->uid,
                                 .euid = facts->process->euid,
                                 .gid = facts->process->gid,
                                 .zombie = facts->process->zombie,
                                 .doubt = engine.proofs().doubt(service)};
    const engine::CheckKind& kind = *engine.graph()->at(service).kind;
    const engine::Metrics figures = engine::all_figures(*facts);
    for (const auto& [metric, value] : figures.all()) {
      const engine::Quantity* row = kind.find(metric);
      if (row == nullptr) continue;
      const engine::Unit unit = engine::unit_of(metric);
      view.measured.push_back({.name = std::string(row->shown.empty() ? row->words : row->shown),
                               .unit = std::string(unit_name(unit)),
                               .value = value,
                               .text = format_value(unit, value)});
    }
    for (const engine::ConnectionSeen& one : facts->further->connections)
      view.connections.push_back(
          {.name = one.name,
           .verdict = std::string(to_string(one.reach)),
           .address = one.address,
           .response = one.response ? std::optional(static_cast<double>(one.response->count()) / 1000) : std::nullopt,
           .expires = one.expires,
           .text = one.text});
    for (const engine::TotalSeen& total : facts->further->totals) {
      const engine::Quantity* row = kind.find(total.what);
      if (row == nullptr) continue;
      const engine::Unit unit = engine::unit_of(total.what);
      view.measured.push_back({.name = fmt::format("{} in last {}", row->words, engine::describe_span(total.span)),
                               .unit = std::string(unit_name(unit)),
                               .value = total.value,
                               .text = format_value(unit, total.value)});
    }
  }
  if (state.job) view.job = view_job(engine, state.job->number(), now);
  view.waits = state.trouble->waits;
  view.left = engine.leftovers().over(service);
  if (const auto& failure = state.trouble->action_failure) {
    view.action_failure = failure->text;
    view.action_failed_at = failure->when;
  }
  if (const auto paused = engine.pauses().of(service, now)) view.pause = view_pause(*paused->pause, paused->wide);
  if (const engine::Acknowledgement* const known = engine.alerts().acknowledged(service))
    view.acknowledged = AcknowledgementView{.when = known->when,
                                            .by = words_of(known->by),
                                            .by_kind = std::string(kind_of(known->by)),
                                            .reason = known->reason};
  if (const engine::TakenOut* const how = engine.monitoring().taken_out(service))
    view.taken_out = TakenOutView{.when = how->since,
                                  .by = words_of(how->by),
                                  .by_kind = std::string(kind_of(how->by)),
                                  .service = how->service,
                                  .rule = how->rule,
                                  .until = how->until};
  const engine::StartHistory& starts = *state.starts;
  if (starts.last || starts.quick != 0 || starts.not_before)
    view.starts = StartsView{.quick = starts.quick, .last = starts.last, .not_before = starts.not_before};
}

std::optional<HeartbeatView> view_heartbeat(const Engine& engine, ServiceId service, Instant now) {
  const engine::Heartbeat* const heartbeat = engine.arrivals().find(service);
  if (heartbeat == nullptr) return std::nullopt;
  const engine::HeartbeatSpec& spec = engine.graph()->at(service).other->heartbeat;
  const bool is_known = heartbeat->word != engine::BeatWord::None;
  HeartbeatView view{.last = is_known ? std::optional(heartbeat->since) : std::nullopt,
                     .word = std::string(to_string(heartbeat->word)),
                     .status = heartbeat->status,
                     .text = heartbeat->text,
                     .beat = describe_beat(*heartbeat),
                     .every = spec.every,
                     .within = spec.within,
                     .due = heartbeat->since + spec.every,
                     .missed_at = {},
                     .missed = heartbeat->missed,
                     .started = heartbeat->started,
                     .ran = heartbeat->ran};
  if (const auto deadline = engine.arrivals().deadline(service); deadline && !heartbeat->missed)
    view.missed_at = now.wall + (*deadline - now.mono);
  return view;
}

std::optional<EventCheckView> view_event_check(const Engine& engine, ServiceId service, Instant now) {
  const ServiceBlock& block = engine.graph()->at(service);
  if (!block.is_event()) return std::nullopt;
  const engine::EventSpec& spec = block.other->event;
  EventCheckView view{.hook = spec.hook,
                      .format = std::string(to_string(spec.format)),
                      .within = spec.within,
                      .valid = spec.valid,
                      .waiting = engine.arrivals().events().waiting(service),
                      .held = engine.arrivals().events().held(service, now),
                      .targets = {},
                      .last = {}};
  for (const auto& [target, until] : engine.arrivals().events().standing(service)) view.targets.push_back(target);
  if (const engine::Occurrence* const event = engine.arrivals().events().newest(service))
    view.last = view_event(*event);
  return view;
}

std::optional<UnitView> view_unit(const Engine& engine, ServiceId service) {
  const ServiceBlock& block = engine.graph()->at(service);
  if (!block.is_unit()) return std::nullopt;
  UnitView view{.name = block.other->unit, .state = {}, .substate = {}, .standing = {}};
  const engine::ServiceState& state = engine.service(service);
  if (!state.last) return view;
  const auto text = [&](engine::Attribute what) {
    const auto value = engine::attribute_of(*state.last, what);
    return value ? engine::format_value(*value) : std::string();
  };
  view.state = text(engine::Attribute::UnitState);
  view.substate = text(engine::Attribute::UnitSubstate);
  view.standing = text(engine::Attribute::UnitStanding);
  return view;
}

std::string rule_state(Condition condition) {
  return std::string(condition == Condition::Running ? "ok" : to_string(condition));
}

RuleView view_rule(const Engine& engine, ServiceId service, const engine::Rule& rule, const engine::RuleState& state,
                   Instant now) {
  RuleView view{
      .text = rule->text,
      .place = place_of(engine, rule.place),
      .state = rule_state(engine::condition_of(rule, state)),
      .failed = static_cast<std::uint32_t>(state.window.failed(rule->tolerance.window)),
      .count = rule->tolerance.count,
      .window = rule->tolerance.window,
      .since = state.past->changed,
      .held_back = std::string(to_string(engine.held_back().of(service, rule, state, rule->action.kind, now))),
      .restarts = rule->counts_restarts()};
  const engine::ServiceState& seen = engine.service(service);
  if (view.state == "ok" && ((seen.trouble->unknown && !state.judged) || !engine::unreported(rule, seen).empty()))
    view.state = to_string(Condition::Unknown);
  if (rule->tolerance.held > Duration{0}) {
    view.hold = rule->tolerance.held;
    if (state.past->failing_since) view.held = std::max(now.mono - *state.past->failing_since, Duration{0});
  }
  return view;
}

}  // namespace

ActionIndex index_actions(const Engine& engine) {
  ActionIndex index;
  for (const auto& [number, action] : engine.programs().all())
    if (of_rule(action)) index.emplace(to_lower(action.exec.cause->service), &action);
  return index;
}

std::vector<JobView> view_jobs(const Engine& engine, Instant now) {
  std::vector<JobView> views;
  for (const auto& [number, job] : engine.jobs()) views.push_back(view(engine, job, now));
  for (const auto& [id, healing] : engine.healings().all())
    if (!healing.waits()) views.push_back(view_healing_job(engine, healing, now));
  const std::size_t jobs = views.size();
  for (const auto& [number, action] : engine.programs().all())
    if (of_rule(action)) views.push_back(view(action, now));
  for (const auto& [service, waiting] : engine.programs().queued())
    for (const engine::QueuedExec& queued : waiting) views.push_back(view(engine, queued, now));
  std::sort(views.begin() + static_cast<std::ptrdiff_t>(jobs), views.end(),
            [](const JobView& a, const JobView& b) { return a.id < b.id; });
  return views;
}

std::optional<JobView> view_job(const Engine& engine, std::uint64_t id, Instant now) {
  if (const auto job = engine.jobs().find(id); job != engine.jobs().end()) return view(engine, job->second, now);
  const auto& healings = engine.healings().all();
  if (const auto healing = healings.find(engine::HealingId{id}); healing != healings.end())
    return view_healing_job(engine, healing->second, now);
  const auto action = engine.programs().all().find(id);
  if (action != engine.programs().all().end())
    return of_rule(action->second) ? std::optional(view(action->second, now)) : std::nullopt;
  for (const auto& [service, waiting] : engine.programs().queued())
    for (const engine::QueuedExec& queued : waiting)
      if (queued.exec.action.number() == id) return view(engine, queued, now);
  return std::nullopt;
}

ServiceSummary summarise(const Engine& engine, ServiceId service, Instant now) {
  ServiceSummary view;
  fill(view, engine, service, now);
  return view;
}

ServiceStatus view_status(const Engine& engine, ServiceId service, const ActionIndex& actions, Instant now) {
  const ServiceBlock& block = engine.graph()->at(service);
  const ServiceState& state = engine.service(service);
  ServiceStatus view;
  fill(view, engine, service, now);
  view.monitored = state.monitored;
  view.passive = block.activity == ServiceBlock::Activity::Passive;
  view.groups = block.groups;
  view.depends = block.depends;
  for (const ServiceId member : engine.graph()->members[service.index()])
    view.members.push_back({.name = engine.graph()->at(member).name,
                            .health = std::string(to_string(engine.composites().health(member)))});
  view.heartbeat = view_heartbeat(engine, service, now);
  view.events = view_event_check(engine, service, now);
  view.unit = view_unit(engine, service);
  view.place = place_of(engine, block.place);
  view.schedule = block.schedule->text;
  if (state.last)
    view.last = RunView{.outcome = std::string(block.is_run() ? outcome_name(state.last->outcome) : "looked"),
                        .status = state.last->status,
                        .when = state.last_when.value_or(now.wall),
                        .elapsed = state.last->elapsed,
                        .output = state.last->output ? state.last->output->substr(0, kExcerpt) : std::string{}};
  if (block.kind->traits.is_machine && state.last && state.last_when)
    if (const auto uptime = engine::value_of(*state.last, engine::Metric::Uptime))
      view.booted = *state.last_when - seconds{static_cast<std::int64_t>(*uptime)};
  if (state.flight) {
    view.running = std::max(now.mono - state.flight->started, Duration{0});
    view.run_waits = state.flight->waits;
  }
  view.runs = state.runs;
  view.overruns = engine.times(service).irregular->overruns;
  fill_supervision(view, engine, service, now);
  const auto states = engine.rules(service);
  for (std::size_t i = 0; i < states.size(); ++i)
    view.rules.push_back(view_rule(engine, service, block.rules[i], states[i], now));
  view.actions = view_actions(engine, block, actions, now);
  if (const engine::Healing* const healing = healing_of(engine, service))
    view.healing = view_healing(engine, *healing, now);
  return view;
}

ServiceExplanation view_explanation(const Engine& engine, ServiceId service, const ActionIndex& actions, Instant now) {
  const ServiceBlock& block = engine.graph()->at(service);
  engine::Explanation explained = engine::explain(engine, service, now);
  ServiceExplanation view{.name = block.name,
                          .kind = std::string(block.kind->word),
                          .state = std::string(to_string(explained.condition)),
                          .place = place_of(engine, block.place),
                          .notes = std::move(explained.notes),
                          .rules = {},
                          .actions = view_actions(engine, block, actions, now)};
  if (const std::string last = describe_last(block, engine.service(service)); !last.empty() && !block.is_heard())
    view.notes.push_back(fmt::format("The last {}{}: {}.", block.is_run() ? "run" : "check",
                                     engine.service(service).trouble->unknown ? " that had an answer" : "", last));
  for (std::size_t i = 0; i < explained.rules.size(); ++i) {
    engine::RuleAccount& account = explained.rules[i];
    const engine::Rule& rule = block.rules[i];
    view.rules.push_back({.text = rule->text,
                          .place = place_of(engine, rule.place),
                          .state = rule_state(account.condition),
                          .now = std::move(account.now),
                          .if_failed = std::move(account.if_failed),
                          .if_clear = std::move(account.if_clear),
                          .held_back = std::move(account.held_back),
                          .last_fired = {},
                          .heals = explain_healing(engine, service, rule, now)});
  }
  return view;
}

PauseView view_pause(const engine::Pause& pause, const engine::WidePause* wide) {
  return {.until = pause.until,
          .by = words_of(pause.by),
          .by_kind = std::string(kind_of(pause.by)),
          .reason = pause.reason,
          .scope = wide == nullptr ? "" : engine::scope_of(*wide)};
}

RecordView view_record(const engine::Record& record) {
  return {.sequence = record.sequence,
          .when = record.when,
          .kind = std::string(to_string(record.kind)),
          .severity = std::string(to_string(record.severity)),
          .service = record.service,
          .text = record.text,
          .output = record.output,
          .id = record.id};
}

DaemonView view_daemon(const Engine& engine, std::string_view version, Instant now) {
  const engine::Graph& graph = *engine.graph();
  return {.version = std::string(version),
          .pid = getpid(),
          .up = std::max(now.mono - engine.started_at().mono, Duration{0}),
          .cycle = graph.settings->cycle_length(),
          .cycles = engine.cycle(now),
          .generation = graph.generation,
          .files = graph.files,
          .shadow = graph.settings->shadow,
          .dry_run = graph.settings->dry_run};
}

}  // namespace healer::control
