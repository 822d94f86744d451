// SPDX-License-Identifier: MIT
#include "simulation/simulator.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/granting.hpp"
#include "engine/healing/healing_report.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/words/explain.hpp"
#include "simulation/expectation.hpp"
#include "simulation/simulated_operator_commands.hpp"
#include "simulation/simulation.hpp"
#include "simulation/timeline.hpp"
#include "util/hash.hpp"
#include "util/jq.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr Duration kLongest = days{400};
constexpr std::uint64_t kMostRuns = 20'000'000;
constexpr int kCyclesAfter = 3;               // the last command, where the script does not say how long it takes
constexpr Duration kHealingAfter = hours{2};  // the end: what is then healed, or held back

/// Which a daemon has made by itself, as nothing was measured.
std::uint64_t runs_of_heard(const Engine* engine) {
  std::uint64_t runs = 0;
  if (engine == nullptr) return runs;
  for (const ServiceId id : engine->graph()->order)
    if (engine->graph()->at(id).is_heard()) runs += engine->service(id).runs;
  return runs;
}

/// The plain value of a document that "EVENT.a.b" stands for; nothing: there is none.
std::optional<std::string> field_of(const std::string& document, std::string_view name) {
  std::string filter = ".";
  for (name.remove_prefix(name.find('.') + 1); !name.empty();) {
    const std::size_t end = std::min(name.find('.'), name.size());
    filter += fmt::format("[{}]", json_string(name.substr(0, end)));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  const auto value = value_in(document, filter + " | select(type != \"object\" and type != \"array\" and . != null)");
  return value ? std::optional(json_text(*value)) : std::nullopt;
}

/// What the filters of a check find in the document of an event.
Evidence values_of(const ServiceBlock& block, const std::string& document) {
  auto facts = std::make_shared<Facts>();
  for (const std::string& filter : block.other->event.filters) {
    ValueSeen seen{.filter = filter, .value = value_in(document, filter)};
    if (!seen.value) seen.why = "there is no such value in the event";
    facts->further.edit().values.push_back(std::move(seen));
  }
  Evidence seen;
  seen.output = std::make_shared<const std::string>();
  seen.facts = std::move(facts);
  return seen;
}

}  // namespace

Timeline Simulation::play() {
  now_ = {.boot = 1, .mono = kBegin, .wall = script_.start};
  start_ = now_.mono;
  const Duration limit = std::min(length(), kLongest);
  for (const ScriptedCommand& command : script_.commands) {
    ++commands_left_;
    plan(start_ + command.at, 1, [this, &command] { perform(command); });
  }
  begin_lists();
  begin();
  while (!shown(used_up())) {
    const std::optional<Duration> due = engine_ ? engine_->next_deadline() : std::nullopt;
    const bool happens = !happenings_.empty() && (!due || happenings_.begin()->first.when <= *due);
    if (!happens && !due) break;
    const Duration next = std::max(now_.mono, happens ? happenings_.begin()->first.when : *due);
    if (next - start_ >= limit && shown(true)) {
      move_to(std::max(start_ + limit, now_.mono));
      if (limit == kLongest) timeline_.stopped = "400 days have passed";
      break;
    }
    if (timeline_.runs >= kMostRuns) {
      timeline_.stopped = fmt::format("there were {} runs", kMostRuns);
      break;
    }
    note_states(next - start_);
    move_to(next);
    if (happens) {
      const auto happening = happenings_.extract(happenings_.begin());
      happening.mapped()();
    } else {
      handle(event::Wake{});
    }
  }
  timeline_.length = now_.mono - start_;
  timeline_.runs += runs_of_heard(engine_.get());
  note_states(std::nullopt);
  timeline_.unmet = unmet_expectations(script_.expectations, timeline_, states_);
  return std::move(timeline_);
}

Duration Simulation::length() const {
  if (script_.length) return *script_.length;
  if (world_.scripted()) return kLongest;
  // No run is scripted: a cycle shows what there is.
  return std::max(graph_->settings->start_delay + graph_->settings->cycle_length(), afterword());
}

Duration Simulation::afterword() const {
  if (script_.commands.empty()) return Duration{0};
  Duration last = script_.commands.back().at;
  if (lists_ != nullptr)  // what a list says is known when it is read
    for (const ScriptedCommand& command : script_.commands)
      for (const ListKeeper::Interval& list : lists_->lists())
        if (command.kind == ScriptedCommand::Kind::ListSays) last = std::max(last, command.at + list.every);
  return last + kCyclesAfter * graph_->settings->cycle_length();
}

bool Simulation::shown(bool reached) {
  if (!reached) return false;
  if (!reached_) reached_ = now_;
  if (script_.length || !engine_) return true;
  if (now_.mono - reached_->mono < kHealingAfter &&
      std::ranges::any_of(engine_->healings().all(),
                          [this](const auto& one) { return one.second.asked <= reached_->wall; }))
    return false;
  return std::ranges::none_of(engine_->jobs(),
                              [this](const auto& job) { return job.second.begun <= reached_->mono; }) &&
         std::ranges::none_of(running_, [this](const auto& one) {
           return one.second.ends && !one.second.step && one.second.began <= reached_->mono;
         });
}

bool Simulation::used_up() const {
  if (script_.length || !world_.scripted() || commands_left_ > 0 || now_.mono - start_ < afterword()) return false;
  if (!happenings_.empty() && happenings_.begin()->first.when <= now_.mono) return false;
  return std::ranges::all_of(graph_->order, [this](ServiceId id) {
    return world_.used_up(id) || (engine_ && !engine_->service(id).monitored);
  });
}

void Simulation::note_states(std::optional<Duration> next) {
  states_.resize(script_.expectations.size());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Expectation& wanted = script_.expectations[i];
    if (wanted.what != Expectation::What::State || states_[i] || (next && (!wanted.time || *wanted.time >= *next)) ||
        (wanted.time && *wanted.time > now_.mono - start_ && !next))
      continue;
    const std::optional<ServiceId> id = graph_->find(wanted.service);
    states_[i] = !id       ? "absent"
                 : engine_ ? std::string(to_string(condition_of(*engine_, *id)))
                           : "unknown, as no healer runs";
  }
}

void Simulation::move_to(Duration mono) {
  now_.wall += mono - now_.mono;
  now_.mono = mono;
}

void Simulation::plan(Duration when, int rank, std::function<void()> what) {
  happenings_.emplace(Place{when, rank, next_number_++}, std::move(what));
}

// ---- the daemon -------------------------------------------------------------------------------------------------

void Simulation::begin() {
  engine_ = std::make_unique<Engine>(graph_, civil_, saved_, now_);
  handle(event::Started{HEALER_VERSION});
  if (lists_ != nullptr) handle(lists_->doubted());
}

void Simulation::end(Duration away, bool reboot) {
  ++life_;  // what the old daemon waited for is not told to the new one
  timeline_.runs += runs_of_heard(engine_.get());
  engine_.reset();
  world_.drop_all_runs();
  if (reboot) {
    ++now_.boot;
    world_.reboot(now_.mono);
    for (auto& [id, running] : running_) {
      running.over = true;
      running.ends = now_.mono;
    }
  }
  plan(now_.mono + away, 0, [this] { begin(); });
}

void Simulation::handle(const Event& event) {
  engine::handle(*engine_, event, now_, *this);
  while (engine_ && !inbox_.empty()) {
    const std::vector<Effect> batch = std::exchange(inbox_, {});
    for (const Effect& effect : batch) std::visit([this](const auto& known) { perform(known); }, effect);
  }
  before_.clear();
}

void Simulation::tell(Duration when, std::function<void()> what) {
  plan(when, 0, [this, life = life_, what = std::move(what)] {
    if (life == life_) what();
  });
}

// ---- the world --------------------------------------------------------------------------------------------------

void Simulation::perform(const effect::Measure& start) {
  if (start.document != nullptr) {
    tell(now_.mono, [this, start] {
      if (is_there(start.service))
        handle(event::measured(start.service, start.run, values_of(graph_->at(start.service), *start.document)));
    });
    return;
  }
  // Else a look of a job, or one beside the schedule.
  const ServiceState& state = engine_->service(start.service);
  const bool run =
      state.flight && state.flight->run == start.run &&
      (state.flight->counted || state.flight->reason != Reason::Again || graph_->at(start.service).is_run());
  Evidence seen = run ? world_.run(start.service, now_.mono) : world_.check(start.service, now_.mono);
  if (graph_->at(start.service).is_listed()) seen = of_row(start.service, std::move(seen));
  tell(now_.mono + seen.elapsed, [this, start, run, seen = std::move(seen)] {
    if (run)
      observe(start, seen);
    else
      handle(event::measured(start.service, start.run, seen));
  });
}

void Simulation::observe(const effect::Measure& start, const Evidence& seen) {
  const Rare<Flight>& flight = engine_->service(start.service).flight;
  if (!flight || flight->run != start.run) return;  // cancelled
  world_.end_run(start.service);
  ++timeline_.runs;
  const std::span<const RuleState> rules = engine_->rules(start.service);
  before_.assign(rules.begin(), rules.end());
  judged_ = start.service;
  handle(event::measured(start.service, start.run, seen));
}

void Simulation::perform(const effect::CancelRun& cancel) { world_.drop_runs(cancel.service); }

void Simulation::perform(const effect::Alert& alert) {
  TimelineEntry entry{.kind = "alert", .service = alert.cause->service, .text = alert.cause->event_text};
  for (const Recipient& recipient : alert.recipients) entry.recipients.push_back(recipient.address);
  const std::optional<ServiceId> id = graph_->find(entry.service);
  if (id) entry.run = run_of(alert.cause, *id);
  add(std::move(entry), nullptr);
  tell(now_.mono, [this, id = alert.alert] { handle(event::AlertTaken{id}); });
}

void Simulation::perform(const effect::Commit& commit) {
  keep(saved_, commit);
  for (const auto& act : commit.pending)
    std::visit(
        [this](const auto& known) {
          if (const auto id = graph_->find(known.cause->service)) run_of(known.cause, *id);
        },
        act);
  for (auto record = commit.records.begin(); record != commit.records.end(); ++record)
    if (!is_reported(*record, {std::next(record), commit.records.end()})) report_record(*record);
  if (lists_ != nullptr &&
      std::ranges::find(commit.records, RecordKind::RuleRecovered, &Record::kind) != commit.records.end())
    tell(now_.mono, [this] { see_rows(); });
  engine::handle(*engine_, event::Committed{.up_to = commit.sequence}, now_, *this);
}

void Simulation::perform(const effect::Reply& reply) { add({.kind = "reply", .text = reply.text}, nullptr); }

void Simulation::perform(const ScriptedCommand& command) {
  using Kind = ScriptedCommand::Kind;
  --commands_left_;
  if (command.kind == Kind::StepClock || command.kind == Kind::SetClock) {
    now_.wall = command.kind == Kind::SetClock ? command.clock : now_.wall + command.span;
    add({.kind = "clock", .text = "the clock was set"}, nullptr);
    if (engine_) handle(event::Wake{});
    return;
  }
  if (command.kind == Kind::Fails || command.kind == Kind::Recovers) {
    const std::vector<ServiceId> services = there(command.services);
    const bool fails = command.kind == Kind::Fails;
    return set_scripted_states(
        services, fails ? SimulatedWorld::ScriptedState::Failing : SimulatedWorld::ScriptedState::Well, Duration{0});
  }
  if (command.kind == Kind::Dies || command.kind == Kind::Hangs || command.kind == Kind::ComesUp) {
    for (const ServiceId id : there(command.services)) another_hand(id, command.kind);
    return;
  }
  if (command.kind == Kind::ListSays || command.kind == Kind::AcceptList || command.kind == Kind::ForgetRow)
    return change_list(command);
  if (!engine_) {
    add({.kind = "reply", .text = "no healer runs: the command was lost"}, nullptr);
    return;
  }
  if (command.kind == Kind::Crash || command.kind == Kind::Reboot) {
    const bool reboot = command.kind == Kind::Reboot;
    add({.kind = reboot ? "reboot" : "crash",
         .text = fmt::format("{}; healer is away for {}", reboot ? "the machine reboots" : "healer is killed",
                             format_duration(command.span))},
        nullptr);
    return end(command.span, reboot);
  }
  if (command.kind == Kind::Beat) return beat(command);
  if (command.kind == Kind::Occurs) return occurs(command);
  std::string why;
  std::optional<event::Command> command_event = order_of(command, *engine_, now_, why);
  if (!command_event) return add({.kind = "reply", .text = why}, nullptr);
  command_event->id = CommandId{next_number_++};
  handle(*command_event);
}

void Simulation::beat(const ScriptedCommand& command) {
  for (const ServiceId id : there(command.services))
    handle(event::arrived(id, std::string(to_string(command.word)), command.status, command.text,
                          CommandId{next_number_++}));
}

void Simulation::occurs(const ScriptedCommand& command) {
  for (const ServiceId id : there(command.services)) {
    EventFields fields;
    for (const std::string& name : graph_->at(id).other->event.fields)
      if (auto value = field_of(command.text, name)) fields.emplace_back(name, *std::move(value));
    const std::string key = command.key.empty() ? to_string(hash128(command.text)) : command.key;
    handle(event::occurred(id, key, command.state, command.text, std::move(fields), CommandId{next_number_++}));
  }
}

// ---- the timeline -----------------------------------------------------------------------------------------------

void Simulation::add(TimelineEntry entry, const Rule* rule) {
  entry.at = now_.mono - start_;
  entry.when = now_.wall;
  entry.cycle = engine_ ? engine_->cycle(now_) : 0;
  if (rule != nullptr) {
    entry.rule = (*rule)->text;
    const SourcePlace& place = rule->place;
    if (place.line != 0 && place.file < graph_->files.size())
      entry.place = fmt::format("{}:{}", graph_->files[place.file], place.line);
  }
  timeline_.entries.push_back(std::move(entry));
}

const Rule* Simulation::rule_of(ServiceId id, const Hash128& key) const {
  if (!is_there(id)) return nullptr;
  const auto& rules = graph_->at(id).rules;
  const auto found = std::ranges::find(rules, key, &Rule::key);
  return found == rules.end() ? nullptr : &*found;
}

std::uint64_t Simulation::runs_of(ServiceId id) const {
  if (graph_->at(id).is_measured()) return world_.ended(id);
  return engine_ ? engine_->service(id).runs : 0;
}

std::uint64_t Simulation::run_of(const std::shared_ptr<const effect::Cause>& cause, ServiceId id) {
  return runs_of_causes_.try_emplace(cause, runs_of(id)).first->second;
}

bool Simulation::is_reported(const Record& record, std::span<const Record> later) const {
  const bool ends = record.kind == RecordKind::ActionEnded || record.kind == RecordKind::ActionFailed;
  if (record.kind == RecordKind::ActionStarted) return record.text.ends_with(" started");  // by its exec
  const auto program = ends ? programs_.find(record.subject) : programs_.end();
  if (program == programs_.end()) return false;
  const auto& [target, step] = program->second;
  return std::ranges::any_of(later, [&](const Record& other) {
    const std::optional<HealingReport> report = healing_report_of(other, *graph_);
    return report && iequals(report->target, target) &&
           (step == report->step || (step == kGuard && report->turn == HealingTurn::Refused));
  });
}

void Simulation::drop_begin(const TimelineEntry& report, std::string_view what) {
  for (auto entry = timeline_.entries.end(); entry != timeline_.entries.begin();) {
    --entry;
    if (entry->at != now_.mono - start_) return;
    if (entry->kind != to_string(RecordKind::HealingStep) || entry->target != report.target ||
        entry->step != report.step || !entry->text.ends_with(fmt::format(": {}", what)))
      continue;
    timeline_.entries.erase(entry);
    return;
  }
}

void Simulation::report_record(const Record& record) {
  TimelineEntry entry{.kind = std::string{to_string(record.kind)}, .service = record.service, .text = record.text};
  const std::optional<ServiceId> id = record.service.empty() ? std::nullopt : graph_->find(record.service);
  const Rule* rule = id ? rule_of(*id, record.rule) : nullptr;
  if (id) entry.run = runs_of(*id);
  if (rule != nullptr) entry.counters = counters(record.kind, *id, *rule);
  if (std::optional<HealingReport> report = healing_report_of(record, *graph_)) {
    entry.target = std::move(report->target);
    entry.workflow = std::move(report->workflow);
    entry.step = std::move(report->step);
    entry.turn = to_string(report->turn);
    entry.why = std::move(report->why);
  }
  add(std::move(entry), rule);
}

std::string Simulation::counters(RecordKind kind, ServiceId id, const Rule& rule) const {
  const auto index = static_cast<std::size_t>(&rule - graph_->at(id).rules.data());
  return judged_ == id && index < before_.size() ? counters_of(kind, rule, before_[index], now_.mono) : std::string{};
}

Timeline simulate(const RuleSet& rules, const Script& script, const CivilClock& civil, ListKeeper* lists) {
  return Simulation(rules, script, civil, lists).play();
}

}  // namespace healer::engine
