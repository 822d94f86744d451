// SPDX-License-Identifier: MIT
#include "control/views.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/explain.hpp"
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
constexpr std::size_t kFirstLine = 200;

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
  }
  return "";
}

std::string_view first_line(std::string_view output) {
  output = trim(output);
  return output.substr(0, std::min(output.find('\n'), kFirstLine));
}

/// "exit status 1 in 120 ms: no route".
std::string describe_last(const ServiceState& state) {
  if (!state.last) return {};
  const engine::Observation& last = *state.last;
  const std::string elapsed = format_duration(last.elapsed);
  std::string text;
  switch (last.outcome) {
    case Outcome::Exited: text = fmt::format("exit status {} in {}", last.status, elapsed); break;
    case Outcome::Signalled: text = fmt::format("killed by signal {} after {}", last.status, elapsed); break;
    case Outcome::TimedOut: text = fmt::format("timed out after {}", elapsed); break;
    case Outcome::NotStarted: text = "could not be started"; break;
  }
  const std::string_view line = last.output ? first_line(*last.output) : std::string_view{};
  return line.empty() ? text : fmt::format("{}: {}", text, line);
}

/// The first rule of the worst condition: what the matter is with the service.
struct Matter {
  Condition condition = Condition::Running;
  std::size_t rule = 0;
};

Matter matter_of(const Engine& engine, ServiceId service) {
  const ServiceBlock& block = engine.graph()->at(service);
  const auto states = engine.rules(service);
  Matter worst;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Condition condition = engine::condition_of(block.rules[i], states[i]);
    if (condition > worst.condition) worst = {condition, i};
  }
  return worst;
}

std::string summary_text(const Engine& engine, ServiceId service, Instant now) {
  const ServiceState& state = engine.service(service);
  std::string text = describe_last(state);
  if (!state.monitored) return {};
  const Matter matter = matter_of(engine, service);
  if (matter.condition == Condition::Failing) {
    const std::string count = engine::count_text(engine.graph()->at(service).rules[matter.rule],
                                                 engine.rules(service)[matter.rule], now.mono);
    if (!count.empty()) text += fmt::format("{}({})", text.empty() ? "" : " ", count);
  }
  return text;
}

void fill(ServiceSummary& view, const Engine& engine, ServiceId service, Instant now) {
  const ServiceBlock& block = engine.graph()->at(service);
  const Condition condition = engine::condition_of(engine, service);
  view.name = block.name;
  view.kind = "program";
  view.state = to_string(condition);
  view.text = summary_text(engine, service, now);
  if (condition == Condition::Failed)
    for (const engine::RuleState& rule : engine.rules(service))
      if (rule.status == engine::RuleStatus::Failed && rule.changed)
        view.since = view.since ? std::min(*view.since, *rule.changed) : *rule.changed;
  view.next_run = engine.next_run(service, now);
}

std::vector<ActionView> view_actions(const ServiceBlock& block, const ActionIndex& index, Instant now) {
  std::vector<ActionView> views;
  const auto [begin, end] = index.equal_range(to_lower(block.name));
  for (auto entry = begin; entry != end; ++entry) {
    const engine::RunningAction& action = *entry->second;
    views.push_back({.id = action.exec.action.number(),
                     .rule = action.exec.cause->rule,
                     .pid = action.pid,
                     .started = action.started,
                     .age = std::max(now.mono - action.since, Duration{0}),
                     .again = action.again.has_value()});
  }
  std::ranges::sort(views, {}, &ActionView::id);
  return views;
}

std::string rule_state(Condition condition) {
  return std::string(condition == Condition::Running ? "ok" : to_string(condition));
}

RuleView view_rule(const Engine& engine, ServiceId service, const engine::Rule& rule, const engine::RuleState& state,
                   Instant now) {
  RuleView view{.text = rule.text,
                .place = place_of(engine, rule.place),
                .state = rule_state(engine::condition_of(rule, state)),
                .failed = static_cast<std::uint32_t>(state.window.failed(rule.tolerance.window)),
                .count = rule.tolerance.count,
                .window = rule.tolerance.window,
                .since = state.changed,
                .held_back = std::string(to_string(engine.hold(service, rule, state, rule.action.kind, now)))};
  if (rule.tolerance.held > Duration{0}) {
    view.hold = rule.tolerance.held;
    if (state.failing_since) view.held = std::max(now.mono - *state.failing_since, Duration{0});
  }
  return view;
}

}  // namespace

ActionIndex index_actions(const Engine& engine) {
  ActionIndex index;
  for (const auto& [number, action] : engine.actions()) index.emplace(to_lower(action.exec.cause->service), &action);
  return index;
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
  view.place = place_of(engine, block.place);
  view.schedule = block.schedule.text;
  if (state.last)
    view.last = RunView{.outcome = std::string(outcome_name(state.last->outcome)),
                        .status = state.last->status,
                        .when = state.last_when.value_or(now.wall),
                        .elapsed = state.last->elapsed,
                        .output = state.last->output ? state.last->output->substr(0, kExcerpt) : std::string{}};
  if (state.flight) view.running = std::max(now.mono - state.flight_started, Duration{0});
  view.runs = state.runs;
  view.overruns = state.overruns;
  const auto states = engine.rules(service);
  for (std::size_t i = 0; i < states.size(); ++i)
    view.rules.push_back(view_rule(engine, service, block.rules[i], states[i], now));
  view.actions = view_actions(block, actions, now);
  return view;
}

ServiceExplanation view_explanation(const Engine& engine, ServiceId service, const ActionIndex& actions, Instant now) {
  const ServiceBlock& block = engine.graph()->at(service);
  engine::Explanation explained = engine::explain(engine, service, now);
  ServiceExplanation view{.name = block.name,
                          .kind = "program",
                          .state = std::string(to_string(explained.condition)),
                          .place = place_of(engine, block.place),
                          .notes = std::move(explained.notes),
                          .rules = {},
                          .actions = view_actions(block, actions, now)};
  if (const std::string last = describe_last(engine.service(service)); !last.empty())
    view.notes.push_back(fmt::format("The last run: {}.", last));
  for (std::size_t i = 0; i < explained.rules.size(); ++i) {
    engine::RuleAccount& account = explained.rules[i];
    const engine::Rule& rule = block.rules[i];
    view.rules.push_back({.text = rule.text,
                          .place = place_of(engine, rule.place),
                          .state = rule_state(account.condition),
                          .now = std::move(account.now),
                          .if_failed = std::move(account.if_failed),
                          .if_clear = std::move(account.if_clear),
                          .held_back = std::move(account.held_back),
                          .last_fired = {}});
  }
  return view;
}

RecordView view_record(const engine::Record& record) {
  return {.sequence = record.sequence,
          .when = record.when,
          .kind = std::string(to_string(record.kind)),
          .severity = std::string(to_string(record.severity)),
          .service = record.service,
          .text = record.text,
          .output = record.output};
}

DaemonView view_daemon(const Engine& engine, std::string_view version, Instant now) {
  const engine::Graph& graph = *engine.graph();
  return {.version = std::string(version),
          .pid = getpid(),
          .up = std::max(now.mono - engine.started_at().mono, Duration{0}),
          .cycle = graph.settings.cycle_length(),
          .cycles = engine.cycle(now),
          .generation = graph.generation,
          .files = graph.files,
          .shadow = graph.settings.shadow,
          .dry_run = graph.settings.dry_run};
}

}  // namespace healer::control
