// SPDX-License-Identifier: MIT
#include "engine/words/explain.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "engine/judging/clear.hpp"
#include "engine/judging/counting.hpp"
#include "engine/judging/delay.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/cause.hpp"
#include "engine/words/heartbeat.hpp"
#include "engine/words/occurrence.hpp"

namespace healer::engine {
namespace {

constexpr std::string_view kConditions[] = {"running",      "unknown",     "failing", "failed",
                                            "initialising", "unmonitored", "given up"};

bool last_run_bad(const RuleState& state) { return (state.window.bits & 1U) != 0; }

std::string lasting(Duration span) { return format_duration(std::chrono::floor<seconds>(std::max(span, Duration{0}))); }

std::string describe(const Action& action) {
  if (action.lasting > Duration{0})
    return fmt::format("{} for {}", to_string(action.kind), format_duration(action.lasting));
  if (action.kind != ActionKind::Exec || action.command->arguments.empty()) return std::string(to_string(action.kind));
  return fmt::format("exec {}", action.command->arguments.front());
}

/// `count` of `size` as a person says it: "3 runs in a row" or "3 of 5 runs".
std::string wanted(const Tolerance& tolerance) {
  if (tolerance.count == tolerance.window) return fmt::format("{} in a row", tolerance.count);
  return fmt::format("{} of {}", tolerance.count, tolerance.window);
}

/// What is missing to the recovery of a rule that stands failed.
/// `more`: so many runs are not counted in it yet.
std::string missing_to_recover(const Rule& rule, const RuleState& state, Duration now, unsigned more = 0) {
  const Tolerance& tolerance = rule->recovery->tolerance;
  if (tolerance.held > Duration{0})
    return fmt::format("it has passed for {} of {}",
                       lasting(state.past->clear_since ? now - *state.past->clear_since : Duration{0}),
                       format_duration(tolerance.held));
  return fmt::format("{} of the last {} runs passed, {} are needed",
                     clear_runs(rule, state, std::uint64_t{state.since_fired} + more), tolerance.window,
                     tolerance.count);
}

std::string where_it_stands(const Rule& rule, const RuleState& state, Instant now) {
  const std::string counts = count_text(rule, state, now.mono);
  if (state.status == RuleStatus::Failed) {
    std::string text = "stands failed";
    if (state.past->changed) text += fmt::format(" for {}", lasting(now.wall - *state.past->changed));
    text += fmt::format(", {} run{} since it fired", state.since_fired, state.since_fired == 1 ? "" : "s");
    if (!rule->recovery->tolerance.immediate())
      text += fmt::format("; to recover: {}", missing_to_recover(rule, state, now.mono));
    return text;
  }
  if (!state.judged && state.window.bits == 0) return "has not been judged yet";
  const bool bad = last_run_bad(state);
  std::string text = bad ? "the last run failed" : "the last run passed";
  if (rule->mode == Mode::EachMatch) text = bad ? "the last run matched" : "the last run did not match";
  if (rule->mode == Mode::EachChange) text = bad ? "the last run saw a change" : "the last run saw no change";
  if (!counts.empty()) text += "; " + counts;
  return text;
}

std::string if_failed(const Rule& rule, RuleState state, Hold hold, Duration at) {
  const bool stood = state.status == RuleStatus::Failed;
  const std::string action = describe(rule->action);
  if (rule->mode != Mode::Latched) {
    if (count_each(rule, state, true, at)) return fmt::format("acts: {}", action);
    return fmt::format("does nothing yet: {}", count_text(rule, state, at));
  }
  if (count_latched(rule, state, true, at) == Verdict::Fire) return fmt::format("fires: {}", action);
  if (!stood) return fmt::format("does nothing yet: {}", count_text(rule, state, at));
  if (rule->action.is_job()) {
    state.past.edit().again.push(true, 64);
    if (!due_again(rule, state, at)) return "stays failed; nothing is done until its tolerance is met again";
    return hold == Hold::None ? fmt::format("stays failed and is tried again: {}", action)
                              : fmt::format("stays failed; {} is held back", action);
  }
  if (rule->each_run) return fmt::format("stays failed and acts again: {}", action);
  const std::uint32_t count = state.since_fired + 1;
  if (rule->action.repeat == 0) return "stays failed; nothing new is done";
  if (count % rule->action.repeat == 0) return fmt::format("stays failed and acts again: {}", action);
  const std::uint32_t left = rule->action.repeat - count % rule->action.repeat;
  return fmt::format("stays failed; acts again {} run{} later", left, left == 1 ? "" : "s");
}

std::string if_clear(const Rule& rule, RuleState state, Duration at) {
  if (rule->mode != Mode::Latched || state.status == RuleStatus::Ok) return "does nothing";
  if (count_latched(rule, state, false, at) == Verdict::Recover)
    return fmt::format("recovers: {}", describe(rule->recovery->action));
  const std::uint16_t repeat = rule->action.repeat;
  const bool repeats = rule->newer_counting && repeat != 0 && (state.since_fired + 1) % repeat == 0;
  return fmt::format("stays failed{}: {}", repeats ? " and acts again" : "", missing_to_recover(rule, state, at, 1));
}

std::string held_back(Hold hold, std::string_view service) {
  switch (hold) {
    case Hold::None: break;
    case Hold::Dormant:
      return fmt::format("dormant: Monit would ignore this rule, so it does not act before `healerctl accept {}`",
                         service);
    case Hold::Shadow: return "shadow: everything is checked, no action is taken";
    case Hold::DryRun: return "dry run: alerts are sent, nothing else is done";
    case Hold::AlreadyRunning: return "its program is still running; it will be run once more when that has ended";
    case Hold::Passive: return "passive mode: healer does not start, stop or restart it";
    case Hold::Paused:
      return fmt::format("paused: only alerts are sent until the pause ends or `healerctl resume {}`", service);
    case Hold::Maintenance: return "maintenance: nothing is done and nobody is told until its window ends";
    case Hold::Healing:
      return "its target is being healed, or was healed just now: rules leave it alone until its cooldown is over "
             "or, if the healing did not help, until it has recovered";
  }
  return {};
}

/// What would hold back the action that the rule's next turn asks for.
Hold hold_of(const Engine& engine, ServiceId service, const Rule& rule, const RuleState& state, Instant now) {
  const ServiceBlock& block = engine.graph()->at(service);
  const bool recovery = state.status == RuleStatus::Failed;
  const bool again = rule->each_run || rule->action.repeat != 0 || rule->action.is_job();  // while it stands failed
  const Action& action = recovery && !again ? rule->recovery->action : rule->action;
  const Hold hold = engine.held_back().of(service, rule, state, action.kind, now);
  if (hold != Hold::None || action.kind != ActionKind::Exec || action.overlapping) return hold;
  auto cause = std::make_shared<effect::Cause>();
  cause->service = block.name;
  const effect::Exec next{.action = {},
                          .service = service,
                          .rule = rule.key,
                          .recovery = &action == &rule->recovery->action,
                          .command = *action.command,
                          .cause = std::move(cause)};
  return engine.programs().in_the_way(next) != nullptr ? Hold::AlreadyRunning : Hold::None;
}

/// What a person or a job has to do with the service; of an unmonitored one too.
void add_affairs(const Engine& engine, ServiceId service, Instant now, std::vector<std::string>& notes) {
  const ServiceBlock& block = engine.graph()->at(service);
  const ServiceState& state = engine.service(service);
  if (state.job) {
    if (const auto found = engine.jobs().find(state.job->number()); found != engine.jobs().end()) {
      const Job& job = found->second;
      std::string text = fmt::format("Under way: {}; it waits for {}", job_text(*engine.graph(), job, now.mono),
                                     job_waits_for(engine, job));
      if (job.run.acting()) text += fmt::format(", at most {} more", lasting(job.run.deadline - now.mono));
      text += is_rule(job.by) ? ". A rule requested it" : fmt::format(". {} requested it", words_of(job.by));
      notes.push_back(text + "; runs are not counted meanwhile.");
    }
  }
  if (!state.trouble->waits.empty())
    notes.push_back(fmt::format("A start or restart that its rules want is on hold: {}.", state.trouble->waits));
  if (const auto paused = engine.pauses().of(service, now)) {
    std::string text = "It is paused" + paused->with();
    if (paused->pause->until) text += fmt::format(" for {} more", lasting(*paused->pause->until - now.wall));
    text += fmt::format(" by {}", words_of(paused->pause->by));
    if (!paused->pause->reason.empty()) text += fmt::format(" ({})", paused->pause->reason);
    notes.push_back(text +
                    fmt::format(": checks and alerts continue, nothing else is done; `healerctl resume {}` ends it.",
                                paused->resumed_by(block.name)));
  }
  if (const Acknowledgement* const known = engine.alerts().acknowledged(service))
    notes.push_back(fmt::format("{} has acknowledged that it failed{}{}{}: there are no reminders until it recovers.",
                                words_of(known->by), known->reason.empty() ? "" : " (", known->reason,
                                known->reason.empty() ? "" : ")"));
  if (engine.maintenance().in_force(service, now))
    notes.push_back(
        "It is in a maintenance window: checks continue, nothing is done, and what still fails when the window is over "
        "is "
        "alerted then.");
  if (const std::string left = engine.leftovers().over(service); !left.empty())
    notes.push_back(fmt::format("P{}{}.", left.substr(1),  // it begins with "process"
                                block.end_leftovers
                                    ? ": it is ended before the next"
                                    : ", and may stand in the way of the next: 'with leftovers ended' ends it first"));
  if (const std::string doubt = engine.proofs().doubt(service); !doubt.empty())
    notes.push_back(fmt::format("P{}.", doubt.substr(1)));  // it begins with "process"
  for (const QueuedExec& queued : engine.programs().queued_of(block.name))
    notes.push_back(
        fmt::format("exec {} has been queued for {}: it will be run when the program before it has ended, if "
                    "its rule still asks for it.",
                    queued.exec.command.arguments.front(), lasting(now.mono - queued.since)));
  if (const auto& failure = state.trouble->action_failure;
      failure && (state.trouble->start_failure.empty() || !failure->text.ends_with(state.trouble->start_failure)))
    notes.push_back(
        fmt::format("Its last action failed {} ago: {}.", lasting(now.wall - failure->when), failure->text));
  if (!state.trouble->start_failure.empty())
    notes.push_back(fmt::format("Its last start failed: {}.", state.trouble->start_failure));
  const StartHistory& starts = *state.starts;
  if (starts.not_before && *starts.not_before > now.wall)
    notes.push_back(fmt::format(
        "Rules start it again in {} at the earliest: its last {} failed, or it died soon after.",
        lasting(*starts.not_before - now.wall), starts.quick == 1 ? "start" : fmt::format("{} starts", starts.quick)));
}

std::string why_unmonitored(const Engine& engine, ServiceId service, Instant now) {
  const std::string& name = engine.graph()->at(service).name;
  const TakenOut* const how = engine.monitoring().taken_out(service);
  if (how == nullptr)
    return fmt::format("It is not monitored, so it is not checked; `healerctl monitor {}` resumes that.", name);
  const std::string ago = lasting(now.wall - how->since);
  std::string text = fmt::format("It was unmonitored by {} {} ago, so it is not checked", words_of(how->by), ago);
  if (how->given_up())
    text = iequals(how->service, name)
               ? fmt::format("It was given up {} ago by its rule '{}'", ago, how->rule)
               : fmt::format("It was given up {} ago with {}, on which it depends, by the rule '{}' of that", ago,
                             how->service, how->rule);
  if (how->given_up()) text += ": it is not checked, and counts as failed";
  return text + (how->until ? fmt::format("; it is monitored again in {}, or after `healerctl monitor {}`.",
                                          lasting(*how->until - now.wall), name)
                            : fmt::format("; `healerctl monitor {}` resumes that.", name));
}

/// How a heartbeat stands, and when it is due.
void add_heartbeat(const Engine& engine, ServiceId service, Instant now, std::vector<std::string>& notes) {
  const Heartbeat* const heartbeat = engine.arrivals().find(service);
  if (heartbeat == nullptr) return;
  const HeartbeatSpec& spec = engine.graph()->at(service).other->heartbeat;
  const std::string_view text = trim(std::string_view(heartbeat->text).substr(0, heartbeat->text.find('\n')));
  if (heartbeat->word == BeatWord::None)
    notes.push_back(
        fmt::format("There was no beat yet; its rule was loaded {} ago.", lasting(now.wall - heartbeat->since)));
  else
    notes.push_back(fmt::format("Its last beat was {} ago: {}{}{}.", lasting(now.wall - heartbeat->since),
                                describe_beat(*heartbeat), text.empty() ? "" : ": ", text));
  const std::optional<Duration> deadline = engine.arrivals().deadline(service);
  const std::string left = deadline ? lasting(*deadline - now.mono) : std::string();
  if (heartbeat->missed)
    notes.push_back(fmt::format("It has been missed for {}{}.", lasting(now.wall - *heartbeat->missed),
                                deadline ? fmt::format("; without a beat that counts again in {}", left) : ""));
  else if (deadline)
    notes.push_back(fmt::format("It is missed in {}, if no beat comes (every {} within {}).", left,
                                format_duration(spec.every), format_duration(spec.within)));
  if (heartbeat->started)
    notes.push_back(fmt::format("A run has been under way for {}.", lasting(now.wall - *heartbeat->started)));
  else if (heartbeat->ran)
    notes.push_back(fmt::format("Its last run took {}.", format_duration(*heartbeat->ran)));
}
/// What is known of the events of a check, and of what they have come to.
void add_events(std::vector<std::string>& notes, const Engine& engine, ServiceId service, Instant now) {
  const Occurrences& events = engine.arrivals().events();
  const Occurrence* const newest = events.newest(service);
  if (newest == nullptr) {
    notes.emplace_back("No event has come yet.");
  } else {
    notes.push_back(fmt::format("The last event came {} ago: {}{}.", lasting(now.wall - newest->last),
                                describe_event(newest->key, newest->state),
                                newest->count > 1 ? fmt::format(" ({} times)", newest->count) : ""));
    if (!newest->outcome.empty()) notes.push_back(fmt::format("What became of it: {}.", newest->outcome));
  }
  if (const std::size_t waiting = events.waiting(service); waiting > 0) {
    const std::string held = events.held(service, now);
    notes.push_back(fmt::format("{} event{} to be judged{}{}.", waiting, waiting == 1 ? " is" : "s are",
                                held.empty() ? "" : ", and held back: ", held));
  }
  for (const auto& [target, until] : events.standing(service))
    notes.push_back(
        fmt::format("Its condition stands for {}, for another {} at most.", target, lasting(until - now.wall)));
}

/// By what a row of a list is judged, and from when on.
void add_listed(const Engine& engine, ServiceId service, Instant now, std::vector<std::string>& notes) {
  const ServiceBlock& block = engine.graph()->at(service);
  if (!block.is_listed()) return;
  const ServiceState& state = engine.service(service);
  notes.push_back(fmt::format("It is the row {} of the list {}, and is judged at each reading of that.",
                              block.other->listed.row, block.row ? block.row->lists.back() : std::string()));
  const auto from = state.last ? judged_from(engine, service, *state.last) : std::nullopt;
  if (!from || *from <= now.wall) return;
  const auto ended = healed(engine, block.target());
  const bool is_healed = ended && *ended + block.other->listed.delay == *from;
  notes.push_back(fmt::format("It is not judged before {} have gone by (delay {}): {}.", lasting(*from - now.wall),
                              format_duration(block.other->listed.delay),
                              is_healed ? "it was healed" : "its name has not been in the list for so long yet"));
}

std::vector<std::string> notes(const Engine& engine, ServiceId service, std::optional<Duration> next_run, Instant now) {
  const ServiceBlock& block = engine.graph()->at(service);
  const ServiceState& state = engine.service(service);
  std::vector<std::string> notes;
  add_affairs(engine, service, now, notes);
  add_heartbeat(engine, service, now, notes);
  add_listed(engine, service, now, notes);
  if (!state.monitored) {
    notes.push_back(why_unmonitored(engine, service, now));
    return notes;
  }
  if (block.activity == ServiceBlock::Activity::Passive)
    notes.emplace_back("It is in passive mode: healer does not start, stop or restart it; exec and alert still work.");
  if (block.has_members()) {
    constexpr std::size_t kMost = 20;
    const std::span<const ServiceId> members = engine.graph()->members[service.index()];
    std::string text;
    for (std::size_t i = 0; i < std::min(members.size(), kMost); ++i)
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", engine.graph()->at(members[i]).name,
                          to_string(engine.composites().health(members[i])));
    if (members.size() > kMost) text += fmt::format(" and {} more", members.size() - kMost);
    notes.push_back(members.empty() ? "It has no members now." : fmt::format("Its members: {}.", text));
  }
  if (state.trouble->unknown && block.has_members())
    notes.push_back(fmt::format("Nothing has been known about it for {}: {}.",
                                lasting(now.wall - state.trouble->unknown->since), state.trouble->unknown->why));
  else if (state.trouble->unknown)
    notes.push_back(fmt::format("It could not be checked for {}: {}.",
                                lasting(now.wall - state.trouble->unknown->since), state.trouble->unknown->why));
  if (state.flight) {
    const std::string time = format_duration(now.mono - state.flight->started);
    std::string text = state.flight->waits.empty()
                           ? fmt::format("A run is under way for {}", time)
                           : fmt::format("A run has waited for {} for its program to be started ({}; trying again)",
                                         time, state.flight->waits);
    if (block.has_members()) text += "; it waits for its members to be checked";
    if (!state.flight->counted) text += "; it was requested and is not counted";
    if (const std::uint32_t overruns = engine.times(service).irregular->overruns; overruns != 0)
      text += fmt::format("; {} run{} skipped meanwhile", overruns, overruns == 1 ? " was" : "s were");
    notes.push_back(text + ".");
  }
  if (block.is_event()) add_events(notes, engine, service, now);
  if (block.is_heard() || block.is_listed()) return notes;
  if (next_run) {
    std::string text = fmt::format("The next run is in {}", format_duration(*next_run));
    if (!block.schedule->text.empty()) text += fmt::format(" ({})", block.schedule->text);
    notes.push_back(text + ".");
  } else if (!block.schedule->text.empty()) {
    notes.push_back(fmt::format("It runs {}.", block.schedule->text));
  }
  return notes;
}

/// Whether it is known that a process is not there, and a rule will mind that: runs are judged a cycle apart, and none
/// is while a job goes on.
bool is_missed(const ServiceBlock& block, const ServiceState& state) {
  if (state.presence.is_up() || !state.last || state.trouble->unknown) return false;
  if (!block.has_process()) return false;
  return std::ranges::any_of(block.rules, [](const Rule& rule) {
    const auto* test = std::get_if<Present>(&rule->condition->tests.front());
    return rule->condition->postfix.empty() && test != nullptr && !test->wanted;
  });
}

/// Why it is not judged at all: its service does not have what it asks for.
std::string never_judged(const ServiceBlock& block, const Rule& rule, const RuleState& its, const ServiceState& state) {
  if (!state.last || state.trouble->unknown) return {};
  // Only the last run is kept; a rule that was never judged was not told by those before it either.
  return unknowable_part(block, rule, Seen{*state.last, state.memory, state.starts->restarted},
                         state.runs > 1 && !its.judged ? &*state.last : nullptr);
}

}  // namespace

std::string_view to_string(Condition condition) { return kConditions[static_cast<std::size_t>(condition)]; }

Condition condition_of(const Rule& rule, const RuleState& state) {
  if (state.status == RuleStatus::Failed) return Condition::Failed;
  // The rule itself, which lies elsewhere in memory, is not looked at where all is well: many are asked at once.
  if (!last_run_bad(state)) return Condition::Running;
  // What an event says is over when it was judged; for whom it stands is told elsewhere.
  const bool of_event =
      rule->mode == Mode::EachMatch && std::holds_alternative<Queried>(rule->condition->tests.front());
  const bool tells = rule->mode != Mode::EachChange && !rule->counts_restarts() && !of_event;
  return tells ? Condition::Failing : Condition::Running;
}

std::string unreported(const Rule& rule, const ServiceState& state) {
  if (!state.last || holds(*rule->condition, Seen{*state.last, state.memory, state.starts->restarted})) return {};
  for (const Test& asked : rule->condition->tests) {
    const auto* test = std::get_if<Reached>(&asked);
    const ConnectionSeen* seen = test != nullptr ? connection_of(*state.last, *test) : nullptr;
    if (seen != nullptr && (seen->reach == Reach::Untried || seen->reach == Reach::Unknown)) return seen->text;
    if (lacks_inodes(asked, *state.last)) return std::string(kNoInodes);
    const auto* queried = std::get_if<Queried>(&asked);
    if (queried != nullptr && !holds(asked, Seen{*state.last, state.memory})) return describe(*state.last, *queried);
  }
  return {};
}

Condition condition_of(const Engine& engine, ServiceId service) {
  const ServiceState& state = engine.service(service);
  if (!state.monitored)
    return engine.monitoring().given_up(service) != nullptr ? Condition::GivenUp : Condition::Unmonitored;
  const std::span<const RuleState> states = engine.rules(service);
  const ServiceBlock& block = engine.graph()->at(service);
  Condition worst = Condition::Running;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (!states[i].resting()) worst = std::max(worst, condition_of(block.rules[i], states[i]));
  if (state.trouble->unknown) worst = std::max(worst, Condition::Unknown);
  if (is_missed(block, state)) worst = std::max(worst, Condition::Failing);
  // A failed state outlives the daemon: it stands, whether it has been judged again or not.
  return state.initialising && worst != Condition::Failed ? Condition::Initialising : worst;
}

std::string count_text(const Rule& rule, const RuleState& state, Duration now) {
  const Tolerance& tolerance = rule->tolerance;
  if (tolerance.held > Duration{0})
    return fmt::format("it has failed for {}, {} are needed",
                       lasting(state.past->failing_since ? now - *state.past->failing_since : Duration{0}),
                       format_duration(tolerance.held));
  if (std::holds_alternative<Restarts>(rule->condition->tests.front()))
    return fmt::format("restarts in {} of the last {} runs, {} are needed", state.window.failed(tolerance.window),
                       tolerance.window, tolerance.count);
  if (tolerance.window == 1) return {};
  return fmt::format("{} of the last {} runs failed, {} are needed", state.window.failed(tolerance.window),
                     tolerance.window, wanted(tolerance));
}

std::string recovery_text(const Rule& rule, const RuleState& state, Duration now) {
  return state.status != RuleStatus::Failed || rule->recovery->tolerance.immediate()
             ? std::string{}
             : missing_to_recover(rule, state, now);
}

std::string job_text(const Graph& graph, const Job& job, Duration now) {
  std::string text = fmt::format("{} {}", to_string(job.kind), graph.at(job.service).name);
  if (job.position < job.steps.size())
    text += fmt::format(": step {} of {}, {}", job.position + 1, job.steps.size(), describe_step(graph, job.step()));
  return text + fmt::format(", for {}", lasting(now - job.begun));
}

std::string action_waits_for(const RunningAction& action) {
  if (!action.cancelled_by.empty()) return fmt::format("its program to end: cancelled by {}", action.cancelled_by);
  if (!action.waits.empty())
    return fmt::format("its program to be {} ({}; tried again)", action.started ? "found again" : "started",
                       action.waits);
  return action.started ? "its program to end" : "its program to be started";
}

std::string job_waits_for(const Engine& engine, const Job& job) {
  const Graph& graph = *engine.graph();
  if (job.position >= job.steps.size()) return "its end";
  const JobStep& step = job.step();
  const ServiceBlock& block = graph.at(step.service);
  if (const auto other = job.run.awaited())
    return fmt::format("the job of {}, which it depends on", graph.at(*other).name);
  if (const RunningAction* const lacking = engine.programs().lacking(job.run.action()))
    return action_waits_for(*lacking);
  if (const JobStepRun::Held* const held = job.run.held(); held != nullptr && held->left)
    return fmt::format("{}, which an earlier start has left, to {}", held->left->processes,
                       held->left->signal != 0 ? "end" : "come up or end");
  if (!job.run.acting()) return fmt::format("a check of {}", block.name);
  if (block.foreground() && step.kind != Bringing::Stop) return fmt::format("{} to be ready", block.name);
  if (job.run.running() != ActionId{}) return "its program to end";
  if (step.kind != Bringing::Stop) return fmt::format("the process of {} to appear", block.name);
  const JobStepRun::Signalled* const sent = job.run.signalled();
  return fmt::format("the process of {} to end{}", block.name,
                     sent == nullptr ? ""
                     : sent->killed  ? " (SIGKILL was sent)"
                                     : " (SIGTERM was sent)");
}

Explanation explain(const Engine& engine, ServiceId service, Instant now) {
  const ServiceBlock& block = engine.graph()->at(service);
  const ServiceState& state = engine.service(service);
  const std::span<const RuleState> states = engine.rules(service);
  const std::optional<Duration> next_run = engine.next_run(service, now);
  Explanation result{
      .condition = condition_of(engine, service), .notes = notes(engine, service, next_run, now), .rules = {}};
  // The run under way is the next to be judged, unless it does not count.
  const Duration next =
      now.mono + (state.flight && state.flight->counted ? Duration{0} : next_run.value_or(Duration{0}));
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Rule& rule = block.rules[i];
    const Hold hold = hold_of(engine, service, rule, states[i], now);
    RuleAccount account{.condition = condition_of(rule, states[i]),
                        .now = where_it_stands(rule, states[i], now),
                        .if_failed = {},
                        .if_clear = {},
                        .held_back = held_back(hold, block.name)};
    if (state.trouble->unknown) account.now = "is not known now; " + account.now;
    if (const std::string missing = never_judged(block, rule, states[i], state); !missing.empty())
      account.now = fmt::format("cannot be judged: {}", missing);
    else if (const std::string why = unreported(rule, state); !why.empty() && !state.trouble->unknown)
      account.now = fmt::format("was not reported by the last run ({}); {}", why, account.now);
    if (state.monitored) {
      account.if_failed = if_failed(rule, states[i], hold, next);
      account.if_clear = if_clear(rule, states[i], next);
    }
    result.rules.push_back(std::move(account));
  }
  return result;
}

}  // namespace healer::engine
