// SPDX-License-Identifier: MIT
// A run has ended: what follows from what parts/judge makes of it.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/healing/variables.hpp"
#include "engine/judging/delay.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/parts/judge.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr Duration kLinesLostPause = hours{1};

/// Where a file is replaced at each run nobody wants to read that each time.
void report_lines_lost(const std::string& service, Sparse<Trouble>& trouble, std::string text, Turn& turn) {
  const Slim<Duration> reported = trouble->lines_lost;
  if (reported && turn.now.mono - *reported < kLinesLostPause) return;
  trouble.set(&Trouble::lines_lost, turn.now.mono);
  turn.record(RecordKind::LinesLost, Severity::Warning, service, std::move(text));
}

/// Whether the run that has just ended was to know how things are, and no more: in the minutes of its `not every` a
/// service is judged where a person asks, not for a death or a start that was to be tried again.
bool only_checks(const Engine& engine, ServiceId id, Reason reason, const Starts& starts,
                 const PendingCommands& commands, Instant now) {
  if (reason != Reason::Death && reason != Reason::Again) return false;
  return engine.graph()->at(id).schedule->kind == Schedule::Kind::NotCron && !starts.in_schedule(id, now) &&
         !commands.awaits_run(id);
}

}  // namespace

void Engine::on(const event::Measured& event, Turn& turn) {
  const ServiceId id = event.service;
  if (id.index() >= services_.size()) return;
  ServiceState& state = services_[id.index()];
  const Job* const job = jobs_.of(id);
  if (job != nullptr ? job->run.check != event.run || job->step().service != id
                     : !state.flight || state.flight->run != event.run)
    return;
  std::shared_ptr<const Evidence> kept = event.evidence;
  if (std::optional<Evidence> without = proofs_.disproved(id, *event.evidence, turn))
    kept = std::make_shared<const Evidence>(*std::move(without));
  if (std::optional<Evidence> with = children_.with_last_status(id, *kept))
    kept = std::make_shared<const Evidence>(*std::move(with));
  if (graph_->at(id).is_event())
    kept = std::make_shared<const Evidence>(arrivals_.events().complete(id, *kept, turn.now));
  const Evidence& seen = *kept;
  if (graph_->at(id).foreground() && state.child->exists() && seen.answer == Answer::Absent) {
    // Of healer's own child the end will be told, with its status.
    if (!state.child->is_former()) return;
    children_.forget_former(id);
    proofs_.forget(id);
    turn.save(id);
  }
  if (job != nullptr) {
    take(id, kept, turn);
    return jobs_.checked(id, seen, turn);
  }
  const Flight flight = *std::exchange(state.flight, std::nullopt);
  state.last_run = event.run;
  const bool delayed = is_delayed(*this, id, seen, turn.now);
  if (delayed && flight.reason != Reason::Healing) {
    take(id, kept, turn);
    commands_.run_ended(id, false, turn);
    return;
  }
  if (starts_.newly_missing(id, seen, turn.now)) {
    composites_.note(id);
    starts_.settle(id, &seen, turn);
    return commands_.run_ended(id, true, turn);
  }
  monitoring_.judged(id);
  turn.before = state.last;
  take(id, kept, turn);
  composites_.note(id);
  ++state.runs;
  if (graph_->at(id).is_event()) {
    arrivals_.events().weigh(id, {seen, state.memory, state.starts->restarted}, turn);
    const std::size_t begin = turn.records();
    judge(id, seen, flight.counted, flight.reason, turn);
    arrivals_.events().judged(id, seen, begin, turn);
    programs_.run_queued(graph_->at(id).name, turn);
  } else if (healing_.healings().recoveries().awaits(id)) {  // the run is the healing's, and counts for no rule
    commands_.run_ended(id, false, turn);
  } else if (only_checks(*this, id, flight.reason, starts_, commands_, turn.now)) {
    return;
  } else if (delayed) {
    // A look before a healing: it is seen, and nothing is judged.
  } else if (!state.starts->restarted && state.memory.baselines.empty() && rules_.passes(id, seen)) {
    // The common run, in which nothing happens.
    if (flight.reason != Reason::Member) commands_.run_ended(id, false, turn);
  } else {
    judge(id, seen, flight.counted, flight.reason, turn);
  }
  if (!healing_.healings().follows_runs()) return;
  std::optional<bool> clear;
  if (healing_.healings().recoveries().awaits(id)) {
    clear = healing_.is_clear(id, seen, turn.before.get());
    turn.save(id, remember(state.memory, seen));
  }
  healing_.checked(id, flight.started, clear, turn);
  drain(turn);
  healing_.confirm_by(id, flight.started, turn);
}

/// What a program writes when it is told to end often says best why it took so long.
void Engine::on(const event::RunWrote& event, Turn& turn) {
  if (event.service.index() >= services_.size()) return;
  ServiceState& state = services_[event.service.index()];
  if (!state.last || state.last_run != event.run) return;
  Evidence more = *state.last;
  more.output = event.output;
  state.last = std::make_shared<const Evidence>(std::move(more));
  Record& record = turn.record(RecordKind::RunTimedOut, Severity::Info, graph_->at(event.service).name,
                               "its program has written more before it ended");
  record.output = *event.output;
}

/// Keeps what was seen last, and what follows from it for starts. What nobody could look at is as it was.
void Engine::take(ServiceId id, std::shared_ptr<const Evidence> kept, Turn& turn) {
  const Evidence& seen = *kept;
  ServiceState& state = services_[id.index()];
  if (!graph_->at(id).is_run()) {
    if (seen.answer == Answer::Unknown) {
      if (!state.trouble->unknown) {
        if (!graph_->at(id).has_members() && !graph_->at(id).is_listed())  // its list tells of that
          turn.record(RecordKind::RunTimedOut, Severity::Warning, graph_->at(id).name, *seen.output);
        state.trouble.set(&Trouble::unknown, Unknown{.since = turn.now.wall, .why = {}});
      }
      state.trouble.edit().unknown->why = *seen.output;
      return;
    }
    state.trouble.set(&Trouble::unknown, {});
    state.checked = turn.now.mono;
    if (graph_->at(id).has_process()) starts_.observe(id, seen, turn);
  }
  if (const auto lost = attribute_of(seen, Attribute::LinesLost))
    report_lines_lost(graph_->at(id).name, state.trouble, format_value(*lost), turn);
  state.last = std::move(kept);
  state.last_when = turn.now.wall;
}

void Engine::judge(ServiceId id, const Evidence& seen, bool counted, Reason reason, Turn& turn) {
  const ServiceBlock& block = graph_->at(id);
  ServiceState& state = services_[id.index()];
  if (seen.outcome == Outcome::TimedOut && block.is_run()) {
    Record& record = turn.record(RecordKind::RunTimedOut, Severity::Warning, block.name,
                                 describe_timeout(block.program->command.timeout));
    record.output = *seen.output;
  } else if (seen.outcome == Outcome::Unmatched) {
    const std::string_view output = *seen.output;
    turn.record(RecordKind::RunTimedOut, Severity::Warning, block.name,
                std::string(output.substr(0, output.find('\n'))))
        .output = *seen.output;
  }

  const JudgedRun run{.block = block,
                      .seen = {seen, state.memory, state.starts->restarted},
                      .counted = counted,
                      .reason = reason,
                      .in_maintenance = maintenance_.in_force(id, turn.now),
                      .now = turn.now};
  auto [decisions, failed, changed, tolerated] = rules_.judge(id, run);
  if (block.is_event()) arrivals_.events().tell_cause(id, decisions);
  if (changed) turn.save(id);
  for (std::string& text : tolerated) turn.note(Severity::Warning, block.name, std::move(text));
  for (const RuleDecision& decision : decisions) {
    if (decision.what != RuleDecision::What::Recover) continue;
    const Rule& rule = block.rules[decision.rule];
    if (rule->action.is_job()) starts_.wait_no_more(id);
    failures_.forget(id, rule.key);
    alerts_.forget_acknowledged(id, turn);
  }
  if (counted) turn.save(id, remember(state.memory, seen));
  if (counted && state.starts->restarted) starts_.count_restart(id, turn);
  if (reason != Reason::Member)
    commands_.run_ended(id, failed || state.trouble->unknown, turn);  // before an action may take the service out of it
  composites_.note(id);
  if (decisions.empty()) return;
  if (std::ranges::find(decisions, RuleDecision::What::Recover, &RuleDecision::what) != decisions.end())
    healing_.recovered(id, turn);

  // What a run stops or unmonitors, it does not start.
  const auto kind_of = [&](const RuleDecision& decision) {
    const Rule& rule = block.rules[decision.rule];
    return (decision.what == RuleDecision::What::Recover ? rule->recovery->action : rule->action).kind;
  };
  const bool ends = std::ranges::any_of(decisions, [&](const RuleDecision& decision) {
    const ActionKind kind = kind_of(decision);
    if (decision.what == RuleDecision::What::Remind || (kind != ActionKind::Stop && kind != ActionKind::Unmonitor))
      return false;
    return holds_.of(id, block.rules[decision.rule], rules_.of(id)[decision.rule], kind, turn.now) == Hold::None;
  });
  const auto goes_on = [&](const RuleDecision& decision) {
    return kind_of(decision) != ActionKind::Unmonitor && kind_of(decision) != ActionKind::Stop;
  };
  std::stable_partition(decisions.begin(), decisions.end(), goes_on);
  for (const RuleDecision& decision : decisions) act(id, decision, ends, turn);
}

namespace {

/// With the values of an event in what is written of a mail.
void fill_format(MailFormat& format, const effect::Cause& cause) {
  const Variables values(cause.fields.begin(), cause.fields.end());
  for (std::optional<std::string>* const part : {&format.subject, &format.message})
    if (*part) *part = fill(**part, values).text;
}

/// Names the firing of a rule: the same until it has recovered.
std::string incident_of(const ServiceBlock& block, const Rule& rule, WallTime fired) {
  return to_string(
      hash128(fmt::format("{}\n{}\n{}", to_lower(block.name), to_string(rule.key), fired.time_since_epoch().count())));
}

RecordKind record_kind(RuleDecision::What what, Mode mode) {
  using What = RuleDecision::What;
  switch (what) {
    case What::Recover: return RecordKind::RuleRecovered;
    case What::Repeat:
    case What::Remind:
    case What::Tell: return RecordKind::RuleRepeated;
    default: break;
  }
  if (what == What::Fire && mode == Mode::EachMatch) return RecordKind::RuleMatched;
  return what == What::Fire && mode == Mode::EachChange ? RecordKind::RuleChanged : RecordKind::RuleFailed;
}

/// A mail says what is done; and why not, where that is held back.
std::shared_ptr<const effect::Cause> reported_as_held(std::shared_ptr<const effect::Cause> cause, const Action& action,
                                                      Hold held, const Graph& graph) {
  if (action.kind == ActionKind::Alert) return cause;
  std::string why;
  if (held != Hold::None) why = fmt::format("held back: {}", to_string(held));
  if (held == Hold::None && action.kind == ActionKind::Heal)
    if (const auto plan = graph.workflow(action.heal->workflow);
        plan != nullptr && mode_of(*plan, *graph.settings, action.heal->dry_run) == HealingMode::DryRun)
      why = "dry run";
  if (why.empty()) return cause;
  auto explained = std::make_shared<effect::Cause>(*cause);
  explained->action_text += fmt::format(" ({})", why);
  return explained;
}

}  // namespace

/// `ends`: the same run stops or unmonitors the service.
void Engine::act(ServiceId id, const RuleDecision& decision, bool ends, Turn& turn) {
  using What = RuleDecision::What;
  const ServiceBlock& block = graph_->at(id);
  const Rule& rule = block.rules[decision.rule];
  const RuleState& state = rules_.of(id)[decision.rule];
  const bool recovered = decision.what == What::Recover;
  const Action& action = recovered ? rule->recovery->action : rule->action;
  if (decision.what == What::Again) {
    if (holds_.of(id, rule, state, action.kind, turn.now) != Hold::None) return;
    if (action.kind == ActionKind::Unmonitor)
      return unmonitor(id, Monitoring::by_rule(*decision.cause, turn.now, action.lasting), turn);
    if (action.kind == ActionKind::Stop || !ends) want_job(id, action.kind, decision.cause, true, turn);
    return;
  }

  const bool reminds = decision.what == What::Remind;
  if (!action.tells() && (reminds || decision.what == What::Tell)) return;
  if (reminds && (state.notified != Notified::Alerted || maintenance_.in_force(id, turn.now))) return;
  std::vector<Recipient> recipients;
  for (const Recipient& recipient : *block.recipients) {
    if (!action.tells() || !recipient.events.test(static_cast<std::size_t>(decision.cause->event))) continue;
    const bool due = recipient.reminder != 0 && decision.count % recipient.reminder == 0;
    if (decision.what != What::Repeat && (!reminds || due)) recipients.push_back(recipient);
  }
  if (reminds && recipients.empty()) return;
  if (decision.cause->occurrence != 0)
    for (Recipient& recipient : recipients) fill_format(recipient.format, *decision.cause);
  if (decision.what == What::Tell) {
    rules_.notified(id, decision.rule);
    turn.save(id);
  }

  const bool failed = !recovered;
  turn.record(record_kind(decision.what, rule->mode), failed ? Severity::Error : Severity::Info, block.name,
              decision.cause->description)
      .rule = rule.key;

  const Hold held = holds_.of(id, rule, state, action.kind, turn.now);
  const bool gives_up = action.kind == ActionKind::Unmonitor || action.kind == ActionKind::Stop;
  // What people were not told of has not recovered for them either.
  const bool kept = recovered ? decision.notified == Notified::Kept : maintenance_.in_force(id, turn.now);
  if (held != Hold::Dormant && held != Hold::Shadow && !recipients.empty()) {
    if (!kept)
      alerts_.send(std::move(recipients),
                   gives_up && held == Hold::None ? monitoring_.giving_up(id, *decision.cause, action)
                                                  : reported_as_held(decision.cause, action, held, *graph_),
                   turn, {.incident = incident_of(block, rule, decision.fired), .reminder = reminds});
    else
      turn.record(RecordKind::ActionHeld, Severity::Info, block.name, "alert held: maintenance").rule = rule.key;
    if (kept && !recovered) alerts_.keep(id, turn.now);
  }
  if (reminds || decision.what == What::Tell) return;
  if (held != Hold::None) {
    turn.record(RecordKind::ActionHeld, Severity::Info, block.name,
                fmt::format("{} held: {}", to_string(action.kind), to_string(held)))
        .rule = rule.key;
    return;
  }
  switch (action.kind) {
    case ActionKind::Alert:
    case ActionKind::Ignore: break;
    case ActionKind::Start:
    case ActionKind::Restart:
      if (!ends)
        want_job(id, action.kind, decision.cause, decision.what == What::Fire && rule->mode == Mode::Latched, turn);
      break;
    case ActionKind::Stop:
      want_job(id, action.kind, decision.cause, decision.what == What::Fire && rule->mode == Mode::Latched, turn);
      break;
    case ActionKind::Exec: programs_.run(id, rule, recovered, decision.cause, turn); break;
    case ActionKind::Unmonitor:
      unmonitor(id, Monitoring::by_rule(*decision.cause, turn.now, action.lasting), turn);
      break;
    case ActionKind::Heal:
      healing_.want(id, rule, *action.heal, decision.cause, turn);
      drain(turn);
      break;
  }
}

}  // namespace healer::engine
