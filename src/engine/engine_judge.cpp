// SPDX-License-Identifier: MIT
// Judging a run: conditions, counting (Monit's, as the header says), and what follows from it.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/cause.hpp"
#include "engine/counting.hpp"
#include "engine/evaluate.hpp"
#include "engine/service.hpp"
#include "engine/settings.hpp"
#include "engine/turn.hpp"

namespace healer::engine {
void Engine::on(const event::Measured& event, Turn& turn) {
  const ServiceId id = event.service;
  if (id.index() >= services_.size()) return;
  ServiceState& state = services_[id.index()];
  Job* const job = state.job ? &jobs_.at(state.job->number()) : nullptr;
  if (job != nullptr ? job->look != event.run || job->step().service != id : state.flight != event.run) return;
  const std::optional<Evidence> without = disproved(id, event.evidence, turn);
  const Evidence& seen = without ? *without : event.evidence;
  if (graph_->at(id).foreground() && state.child && seen.answer == Answer::Absent) {
    // Of healer's own child the end will be told, with its status.
    if (state.child->action != ActionId{}) return;
    forget_former(id, turn);
  }
  if (job != nullptr) {
    take(id, seen, turn);
    return looked(*job, seen, turn);
  }
  const bool counted = state.counted;
  const Duration began = state.flight_started;
  state.flight.reset();
  state.last_run = event.run;
  if (newly_missing(id, seen, turn.now)) {
    tell_owners(id);
    return settle(id, &seen, turn);
  }
  state.initialising = false;
  take(id, seen, turn);
  tell_owners(id);
  ++state.runs;
  if (healings_.verifies(id)) {  // the run is the healing's, and counts for no rule
    finish_validate(id, false, turn);
  } else if (only_looks(id, turn.now)) {
    return;
  } else if (passes(state, seen)) {
    if (state.reason != Reason::Member) finish_validate(id, false, turn);
  } else {
    judge(id, seen, counted, state.reason, turn);
  }
  if (healings_.heeds_runs()) healing_looked(id, began, seen, turn);
}

/// What a program writes when it is told to end often says best why it took so long.
void Engine::on(const event::RunWrote& event, Turn& turn) {
  if (event.service.index() >= services_.size()) return;
  ServiceState& state = services_[event.service.index()];
  if (!state.last || state.last_run != event.run) return;
  state.last->output = event.output;
  Record& record = turn.record(RecordKind::RunTimedOut, Severity::Info, graph_->at(event.service).name,
                               "its program has written more before it ended");
  record.output = *event.output;
}

/// Whether the run that has just ended was to know how things are, and no more: in the minutes of its `not every` a
/// service is judged where a person asks, not for a death or a start that was to be tried again.
bool Engine::only_looks(ServiceId id, Instant now) const {
  const Reason reason = services_[id.index()].reason;
  if (reason != Reason::Death && reason != Reason::Again) return false;
  return graph_->at(id).schedule.kind == Schedule::Kind::NotCron && !in_schedule(id, now) &&
         !validating_.contains(id.number());
}

/// Keeps what was seen last, and what follows from it for starts. What nobody could look at is as it was.
void Engine::take(ServiceId id, const Evidence& seen, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (!graph_->at(id).is_run()) {
    if (seen.answer == Answer::Unknown) {
      if (!state.unknown) {
        if (!graph_->at(id).has_members())
          turn.record(RecordKind::RunTimedOut, Severity::Warning, graph_->at(id).name, *seen.output);
        state.unknown = Unknown{.since = turn.now.wall, .why = {}};
      }
      state.unknown->why = *seen.output;
      return;
    }
    state.unknown.reset();
    const bool was_up = state.last && process_of(*state.last) != nullptr;
    const bool up = process_of(seen) != nullptr;
    state.died = false;
    state.restored = false;
    state.looked = turn.now.mono;
    if (!up && !state.job) note_missing(id, was_up, turn);
    if (up && state.starts.left_by != ActionId{}) {
      state.starts.came_by = std::exchange(state.starts.left_by, ActionId{});
      turn.save(id);
    }
    if (up) state.told_left = 0;
    if (up && !was_up) wake_dependents(id, turn.now);
  }
  state.last = seen;
  state.last_when = turn.now.wall;
}

Engine::PlainTest Engine::plain_test(const Rule& rule) {
  const Test* only = rule.condition.only();
  if (const auto* test = std::get_if<Compare>(only); test != nullptr && test->also.empty())
    return {test->value, test->comparison, test->what, PlainTest::Kind::Figure};
  if (const auto* test = std::get_if<Present>(only); test != nullptr && !test->wanted)
    return {.kind = PlainTest::Kind::Gone};
  return {};
}

/// The common run, in which nothing happens: no rule counts or stands failed, and no condition holds.
bool Engine::passes(const ServiceState& state, const Evidence& seen) const {
  if (!state.resting || seen.outcome != Outcome::Exited || seen.answer != Answer::Told) return false;
  if (state.starts.restarted || !state.memory.baselines.empty()) return false;
  for (std::size_t i = state.first_rule; i < state.first_rule + state.rule_count; ++i) {
    const PlainTest& test = tests_[i];
    if (test.kind == PlainTest::Kind::Other) return false;
    if (test.kind == PlainTest::Kind::Figure) {
      const std::optional<double> value = value_of(seen, test.what);
      if (!value) continue;  // nothing is told of it
      if (compare(test.comparison, *value, test.value)) return false;
    }
    if (!rule_states_[i].judged) return false;
  }
  return true;
}

void Engine::judge(ServiceId id, const Evidence& seen, bool counted, Reason reason, Turn& turn) {
  const ServiceBlock& block = graph_->at(id);
  ServiceState& state = services_[id.index()];
  const Seen run{seen, state.memory, state.starts.restarted};
  if (seen.outcome == Outcome::TimedOut && block.is_run()) {
    Record& record = turn.record(RecordKind::RunTimedOut, Severity::Warning, block.name,
                                 describe_timeout(block.program.command.timeout));
    record.output = *seen.output;
  } else if (seen.outcome == Outcome::Unmatched) {
    const std::string_view output = *seen.output;
    turn.record(RecordKind::RunTimedOut, Severity::Warning, block.name,
                std::string(output.substr(0, output.find('\n'))))
        .output = *seen.output;
  }

  // All rules are judged before anything is done.
  const std::span<RuleState> states = rules_of(state);
  std::vector<Decision> decisions;
  bool failed = state.unknown.has_value();
  for (std::uint32_t i = 0; i < states.size(); ++i) {
    const Rule& rule = block.rules[i];
    const std::optional<bool> told = holds(rule.condition, run);
    if (!told) continue;
    // A process that is still down has not recovered from its restart limit, whatever this run counts.
    if (rule.counts_restarts() && !*told && states[i].status == RuleStatus::Failed && block.has_process() &&
        process_of(seen) == nullptr)
      continue;
    const bool bad = *told;
    const RuleState before = states[i];
    RuleState& now = states[i];
    if (rule.mode == Mode::Latched) {
      switch (counted ? count_latched(rule, now, bad, turn.now.mono) : peek_latched(rule, now, bad)) {
        case Verdict::Fire:
          now.status = RuleStatus::Failed;
          now.window = {1};
          now.since_fired = 1;
          now.again = rule.action.is_job() ? Window{~std::uint64_t{0}} : Window{};
          now.changed = turn.now.wall;
          now.told = in_maintenance(id, turn.now) ? Told::Kept : Told::Alerted;
          decisions.push_back({i, Decision::What::Fire});
          break;
        case Verdict::Recover:
          decisions.push_back({.rule = i, .what = Decision::What::Recover, .told = now.told});
          now.status = RuleStatus::Ok;
          now.told = Told::Alerted;
          now.window = {};
          now.since_fired = 0;
          now.again = {};
          if (rule.action.is_job()) state.waits.clear();
          now.clear_since.reset();
          now.changed = turn.now.wall;
          if (state.action_failure && state.action_failure->rule == rule.key) state.action_failure.reset();
          forget_acknowledgement(id, turn);
          break;
        case Verdict::Failing:
          ++now.since_fired;
          if (rule.action.is_job()) now.again.push(bad, 64);
          if (!bad) break;
          if (rule.action.is_job() && due_again(rule, now, turn.now.mono))
            decisions.push_back({i, Decision::What::Again, now.since_fired});
          // It was held back while its target was healed.
          if (rule.action.kind == ActionKind::Unmonitor)
            decisions.push_back({i, Decision::What::Again, now.since_fired});
          if (now.told == Told::Kept && !in_maintenance(id, turn.now))
            decisions.push_back({i, Decision::What::Tell, now.since_fired});
          if (rule.action.repeat != 0 && now.since_fired % rule.action.repeat == 0)
            decisions.push_back({i, Decision::What::Repeat, now.since_fired});
          decisions.push_back({i, Decision::What::Remind, now.since_fired});
          break;
        case Verdict::Nothing:
          // A run that does not count moves nothing; but what is down is not left down until the next that does, nor
          // what has died before anybody had seen that its start had done good.
          if (bad && !counted && reason != Reason::Asked && reason != Reason::Member && reason != Reason::Healing &&
              now.status == RuleStatus::Failed && rule.action.is_job() &&
              (due_again(rule, now, turn.now.mono) || (reason == Reason::Death && rule.tolerance.immediate())))
            decisions.push_back({i, Decision::What::Again, now.since_fired});
          if (bad && counted && !rule.counts_restarts())
            turn.note(Severity::Warning, block.name,
                      fmt::format("{} (tolerance not met yet: {})", describe(block, rule, run, true), rule.text));
          break;
      }
    } else if (counted ? count_each(rule, now, bad, turn.now.mono)
                       : bad && rule.mode == Mode::EachMatch && rule.tolerance.immediate()) {
      decisions.push_back({i, Decision::What::Fire});
    }
    now.judged = now.judged || counted || now.status != before.status;
    failed = failed || (bad && !rule.counts_restarts());  // that it was restarted is no failure now
    if (now != before || (counted && now.counting())) turn.save(id);
  }

  // One cause a rule; repeats and reminders of it share the text. Before the run is remembered, for it tells of
  // changes.
  for (Decision& decision : decisions) {
    const Rule& rule = block.rules[decision.rule];
    const bool recovered = decision.what == Decision::What::Recover;
    std::optional<EventKind>& fired_as = states[decision.rule].event;
    if (decision.what == Decision::What::Fire) {
      const EventKind event = event_of(rule, run);
      fired_as = event == rule.event ? std::nullopt : std::optional(event);
    }
    decision.cause = cause_of(block, rule, run, fired_as.value_or(rule.event), recovered, turn.now.wall);
    if (recovered) fired_as.reset();
  }
  if (counted && remember(state.memory, seen)) turn.save(id);
  if (counted && state.starts.restarted) {
    state.starts.restarted = false;
    turn.save(id);
  }
  state.resting = std::ranges::all_of(states, &RuleState::resting);
  if (reason != Reason::Member) finish_validate(id, failed, turn);  // before an action may take the service out of it
  tell_owners(id);
  if (decisions.empty()) return;
  if (std::ranges::find(decisions, Decision::What::Recover, &Decision::what) != decisions.end())
    note_recovered(id, turn);

  // What a run stops or unmonitors, it does not start.
  const auto kind_of = [&](const Decision& decision) {
    const Rule& rule = block.rules[decision.rule];
    return (decision.what == Decision::What::Recover ? rule.recovery.action : rule.action).kind;
  };
  const bool ends = std::ranges::any_of(decisions, [&](const Decision& decision) {
    const ActionKind kind = kind_of(decision);
    if (decision.what == Decision::What::Remind || (kind != ActionKind::Stop && kind != ActionKind::Unmonitor))
      return false;
    return hold(id, block.rules[decision.rule], states[decision.rule], kind, turn.now) == Hold::None;
  });
  const auto goes_on = [&](const Decision& decision) {
    return kind_of(decision) != ActionKind::Unmonitor && kind_of(decision) != ActionKind::Stop;
  };
  std::stable_partition(decisions.begin(), decisions.end(), goes_on);
  for (const Decision& decision : decisions) act(id, decision, ends, turn);
}

/// `ends`: the same run stops or unmonitors the service.
void Engine::act(ServiceId id, const Decision& decision, bool ends, Turn& turn) {
  using What = Decision::What;
  const ServiceBlock& block = graph_->at(id);
  const Rule& rule = block.rules[decision.rule];
  RuleState& state = rules_of(services_[id.index()])[decision.rule];
  const bool recovered = decision.what == What::Recover;
  const Action& action = recovered ? rule.recovery.action : rule.action;
  if (decision.what == What::Again) {
    if (hold(id, rule, state, action.kind, turn.now) != Hold::None) return;
    if (action.kind == ActionKind::Unmonitor) return unmonitor(id, "rule", turn);
    if (action.kind == ActionKind::Stop || !ends) want_job(id, action.kind, decision.cause, true, turn);
    return;
  }

  const bool reminds = decision.what == What::Remind;
  if (reminds && (state.told != Told::Alerted || in_maintenance(id, turn.now))) return;
  std::vector<Recipient> recipients;
  for (const Recipient& recipient : block.recipients) {
    if (!recipient.events.test(static_cast<std::size_t>(decision.cause->event))) continue;
    const bool due = recipient.reminder != 0 && decision.count % recipient.reminder == 0;
    if (decision.what != What::Repeat && (!reminds || due)) recipients.push_back(recipient);
  }
  if (reminds && recipients.empty()) return;
  if (decision.what == What::Tell) {
    state.told = Told::Alerted;
    turn.save(id);
  }

  const bool failed = !recovered;
  RecordKind kind = recovered ? RecordKind::RuleRecovered : RecordKind::RuleFailed;
  if (decision.what == What::Repeat || decision.what == What::Tell || reminds) kind = RecordKind::RuleRepeated;
  if (decision.what == What::Fire && rule.mode == Mode::EachMatch) kind = RecordKind::RuleMatched;
  if (decision.what == What::Fire && rule.mode == Mode::EachChange) kind = RecordKind::RuleChanged;
  turn.record(kind, failed ? Severity::Error : Severity::Info, block.name, decision.cause->description).rule = rule.key;

  const Hold held = hold(id, rule, state, action.kind, turn.now);
  // What people were not told of has not recovered for them either.
  const bool kept = recovered ? decision.told == Told::Kept : in_maintenance(id, turn.now);
  if (held != Hold::Dormant && held != Hold::Shadow && !recipients.empty()) {
    if (!kept)
      alert(std::move(recipients), decision.cause, turn);
    else
      turn.record(RecordKind::ActionHeld, Severity::Info, block.name, "alert held: maintenance").rule = rule.key;
  }
  if (reminds || decision.what == What::Tell) return;
  if (held != Hold::None) {
    turn.record(RecordKind::ActionHeld, Severity::Info, block.name,
                fmt::format("{} held: {}", to_string(action.kind), to_string(held)))
        .rule = rule.key;
    return;
  }
  switch (action.kind) {
    case ActionKind::Alert: break;
    case ActionKind::Start:
    case ActionKind::Restart:
      if (!ends)
        want_job(id, action.kind, decision.cause, decision.what == What::Fire && rule.mode == Mode::Latched, turn);
      break;
    case ActionKind::Stop:
      want_job(id, action.kind, decision.cause, decision.what == What::Fire && rule.mode == Mode::Latched, turn);
      break;
    case ActionKind::Exec: exec(id, rule, recovered, decision.cause, turn); break;
    case ActionKind::Unmonitor: unmonitor(id, "rule", turn); break;
    case ActionKind::Heal: heal(id, rule, *action.heal, decision.cause, turn); break;
  }
}

void Engine::alert(std::vector<Recipient> recipients, std::shared_ptr<const effect::Cause> cause, Turn& turn) {
  if (recipients.empty()) return;
  turn.acts.emplace_back(effect::Alert{AlertId{next_id_++}, std::move(recipients), std::move(cause)});
  turn.commit.pending.emplace_back(std::get<effect::Alert>(turn.acts.back()));
}

/// Alerts of what is no rule's doing.
void Engine::tell_people(ServiceId id, effect::Cause cause, EventKind event, effect::Cause::State state,
                         const std::string& text, Turn& turn, bool listed_only) {
  const ServiceBlock& block = graph_->at(id);
  if (graph_->settings->shadow) return;
  std::vector<Recipient> recipients;
  for (const Recipient& recipient : block.recipients)
    if (recipient.events.test(static_cast<std::size_t>(event)) && (recipient.listed || !listed_only))
      recipients.push_back(recipient);
  cause.service = block.name;
  cause.event = event;
  cause.state = state;
  cause.event_text = event_text(event, state);
  cause.action_text = "alert";
  cause.description = text;
  cause.when = turn.now.wall;
  alert(std::move(recipients), std::make_shared<const effect::Cause>(std::move(cause)), turn);
}

/// `action` is what Monit calls it: "start", "stop"; `event` what has happened, where Monit has no word for it.
void Engine::instance_alert(const std::string& text, std::string_view action, Turn& turn, std::string_view event) {
  if (graph_->settings->shadow) return;
  std::vector<Recipient> recipients;
  for (const Recipient& recipient : graph_->settings->mail.recipients)
    if (recipient.events.test(static_cast<std::size_t>(EventKind::Instance))) recipients.push_back(recipient);
  auto cause = std::make_shared<effect::Cause>();
  cause->service = "healer";
  cause->event = EventKind::Instance;
  cause->state = effect::Cause::State::Changed;
  cause->event_text = event.empty() ? event_text(cause->event, cause->state) : event;
  cause->action_text = action;
  cause->description = text;
  cause->when = turn.now.wall;
  alert(std::move(recipients), std::move(cause), turn);
}

}  // namespace healer::engine
