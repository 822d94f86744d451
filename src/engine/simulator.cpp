// SPDX-License-Identifier: MIT
#include "engine/simulator.hpp"

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/expectation.hpp"
#include "engine/explain.hpp"
#include "engine/healing/request.hpp"
#include "engine/service.hpp"
#include "engine/simulated_world.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr Duration kBegin = hours{1};  // mono
constexpr Duration kLongest = days{400};
constexpr std::uint64_t kMostRuns = 20'000'000;
constexpr int kCyclesAfter = 3;  // the last command, where the script does not say how long it takes

/// The command to healer that one of a script is; none: it is no such command.
std::optional<event::Command::Kind> command_kind(ScriptedCommand::Kind kind) {
  using To = event::Command::Kind;
  switch (kind) {
    case ScriptedCommand::Kind::Monitor: return To::Monitor;
    case ScriptedCommand::Kind::Unmonitor: return To::Unmonitor;
    case ScriptedCommand::Kind::Validate: return To::Validate;
    case ScriptedCommand::Kind::Accept: return To::Accept;
    case ScriptedCommand::Kind::Start: return To::Start;
    case ScriptedCommand::Kind::Stop: return To::Stop;
    case ScriptedCommand::Kind::Restart: return To::Restart;
    case ScriptedCommand::Kind::Pause: return To::Pause;
    case ScriptedCommand::Kind::Resume: return To::Resume;
    case ScriptedCommand::Kind::Dies:
    case ScriptedCommand::Kind::ComesUp:
    case ScriptedCommand::Kind::Crash:
    case ScriptedCommand::Kind::Reboot:
    case ScriptedCommand::Kind::StepClock:
    case ScriptedCommand::Kind::SetClock: break;
  }
  return std::nullopt;
}

class Simulation final : public EffectSink {
 public:
  Simulation(const RuleSet& rules, const Script& script, const CivilClock& civil)
      : graph_(make_graph(rules)), script_(script), civil_(civil), world_(*graph_, script, kBegin) {}

  Timeline play() {
    now_ = {.boot = 1, .mono = kBegin, .wall = script_.start};
    start_ = now_.mono;
    const Duration limit = std::min(length(), kLongest);
    for (const ScriptedCommand& command : script_.commands) {
      ++commands_left_;
      plan(start_ + command.at, 1, [this, &command] { perform(command); });
    }
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
    note_states(std::nullopt);
    timeline_.unmet = unmet_expectations(script_.expectations, timeline_, states_);
    return std::move(timeline_);
  }

  void emit(Effect effect) override { inbox_.push_back(std::move(effect)); }

 private:
  /// When something happens; what is decided at the same instant goes by class, then in order.
  struct Place {
    Duration when{0};
    int rank = 0;  // 0: the end of a run or action; 1: a command
    std::uint64_t number = 0;

    auto operator<=>(const Place&) const = default;
  };

  /// A program of an action that runs, whether or not a healer is there to see it; until healer knows of its end.
  struct Running {
    effect::Exec exec;
    std::optional<effect::SavedStep::Kind> step{};  // whose program it is; none: a rule's own
    Duration began{0};
    std::optional<Duration> ends{};  // none: not by itself
    bool over = false;
    event::ActionEnded end{};
  };

  [[nodiscard]] Duration length() const {
    if (script_.length) return *script_.length;
    if (world_.scripted()) return kLongest;
    // No run is scripted: a cycle shows what there is.
    return std::max(graph_->settings.start_delay + graph_->settings.cycle_length(), afterword());
  }

  /// Until then, since the start, is shown what the last command has led to.
  [[nodiscard]] Duration afterword() const {
    if (script_.commands.empty()) return Duration{0};
    return script_.commands.back().at + kCyclesAfter * graph_->settings.cycle_length();
  }

  /// Whether all is shown, where the end is `reached`: but what is started, stopped or restarted then, and programs of
  /// actions that run then, are shown to their end, if the script does not say how long it takes.
  bool shown(bool reached) {
    if (!reached) return false;
    if (!reached_) reached_ = now_.mono;
    if (script_.length || !engine_) return true;
    return std::ranges::none_of(engine_->jobs(), [this](const auto& job) { return job.second.begun <= *reached_; }) &&
           std::ranges::none_of(running_, [this](const auto& one) {
             return one.second.ends && !one.second.step && one.second.began <= *reached_;
           });
  }

  /// Whether the scripts are used up, where they say how long it takes.
  [[nodiscard]] bool used_up() const {
    if (script_.length || !world_.scripted() || commands_left_ > 0 || now_.mono - start_ < afterword()) return false;
    if (!happenings_.empty() && happenings_.begin()->first.when <= now_.mono) return false;
    return std::ranges::all_of(graph_->order, [this](ServiceId id) {
      return world_.used_up(id) || (engine_ && !engine_->service(id).monitored);
    });
  }

  /// Notes how services are, for what the script expects of their states, before time goes on to `next` since the
  /// start; none: it is the end.
  void note_states(std::optional<Duration> next) {
    states_.resize(script_.expectations.size());
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const Expectation& wanted = script_.expectations[i];
      if (wanted.what != Expectation::What::State || states_[i] || (next && (!wanted.time || *wanted.time >= *next)) ||
          (wanted.time && *wanted.time > now_.mono - start_ && !next))
        continue;
      const std::optional<ServiceId> id = graph_->find(wanted.service);
      states_[i] = id && engine_ ? std::string(to_string(condition_of(*engine_, *id))) : "unknown, as no healer runs";
    }
  }

  void move_to(Duration mono) {
    now_.wall += mono - now_.mono;
    now_.mono = mono;
  }

  void plan(Duration when, int rank, std::function<void()> what) {
    happenings_.emplace(Place{when, rank, next_number_++}, std::move(what));
  }

  // ---- the daemon -------------------------------------------------------------------------------------------------

  void begin() {
    engine_ = std::make_unique<Engine>(graph_, civil_, saved_, now_);
    handle(event::Started{HEALER_VERSION});
  }

  void end(Duration away, bool reboot) {
    ++life_;  // what the old daemon waited for is not told to the new one
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

  void handle(const Event& event) {
    engine_->handle(event, now_, *this);
    while (engine_ && !inbox_.empty()) {
      const std::vector<Effect> batch = std::exchange(inbox_, {});
      for (const Effect& effect : batch) std::visit([this](const auto& known) { perform(known); }, effect);
    }
    before_.clear();
  }

  /// Tells the daemon of this life something later.
  void tell(Duration when, std::function<void()> what) {
    plan(when, 0, [this, life = life_, what = std::move(what)] {
      if (life == life_) what();
    });
  }

  // ---- the world --------------------------------------------------------------------------------------------------

  void perform(const effect::Measure& start) {
    // Else a look of a job, or one beside the schedule.
    const ServiceState& state = engine_->service(start.service);
    const bool run = state.flight == start.run &&
                     (state.counted || state.reason != Reason::Again || graph_->at(start.service).is_run());
    Evidence seen = run ? world_.run(start.service, now_.mono) : world_.look(start.service, now_.mono);
    tell(now_.mono + seen.elapsed, [this, start, run, seen = std::move(seen)] {
      if (run)
        observe(start, seen);
      else
        handle(event::Measured{start.service, start.run, seen});
    });
  }

  void observe(const effect::Measure& start, const Evidence& seen) {
    if (engine_->service(start.service).flight != start.run) return;  // cancelled
    world_.end_run(start.service);
    ++timeline_.runs;
    const std::span<const RuleState> rules = engine_->rules(start.service);
    before_.assign(rules.begin(), rules.end());
    judged_ = start.service;
    handle(event::Measured{start.service, start.run, seen});
  }

  void perform(const effect::CancelRun& cancel) { world_.drop_runs(cancel.service); }

  void perform(const effect::Exec& exec) {
    const std::string command = fmt::format("{}", fmt::join(exec.command.arguments, " "));
    const ServiceBlock& block = graph_->at(exec.service);
    const Rule* rule = rule_of(exec.service, exec.rule);
    const std::uint64_t run = run_of(exec.cause, exec.service);
    add({.kind = "exec", .service = block.name, .run = run, .text = command, .program = program_of(exec)}, rule);
    if (rule != nullptr)
      timeline_.firings.push_back(
          {block.name, exec.recovery, static_cast<std::size_t>(rule - block.rules.data()), run});

    auto found = script_.actions.find(command);
    if (found == script_.actions.end()) found = script_.actions.find(exec.command.arguments.front());
    const ScriptedAction action = found == script_.actions.end() ? ScriptedAction{} : found->second;
    const bool starts = action.outcome != Outcome::NotStarted;
    Running running{.exec = exec, .step = step_of(exec), .began = now_.mono};
    running.end = {.action = exec.action,
                   .outcome = action.outcome,
                   .status = action.status,
                   .elapsed = action.takes,
                   .output = starts ? "" : "No such file or directory"};
    for (const Saving& saving : engine_->savings_of(exec.action, now_)) running.end.saved.emplace_back(saving.name);
    const Duration timeout = exec.foreground ? Duration{0} : exec.command.timeout;
    const bool ends = action.ends.value_or(!exec.foreground);
    if (!starts) {
      running.ends = now_.mono;
    } else if (timeout > Duration{0} && (!ends || action.takes >= timeout)) {
      running.end.outcome = Outcome::TimedOut;
      running.end.elapsed = timeout;
      running.ends = now_.mono + timeout;
    } else if (ends) {
      running.ends = now_.mono + action.takes;
    }
    std::int64_t pid = 1;
    if (starts && exec.foreground) {
      bring_up(exec.service, fmt::format("was started: {}", command));
      pid = world_.pid(exec.service).value_or(pid);
    }
    const event::ActionStarted started{exec.action, pid, static_cast<std::uint64_t>(pid)};
    if (starts) tell(now_.mono, [this, started] { handle(started); });
    if (starts && exec.foreground && action.ready && (!ends || *action.ready < action.takes))
      tell(now_.mono + *action.ready, [this, id = exec.action] { say_ready(id); });
    if (running.ends) plan(*running.ends, 0, [this, id = exec.action] { finish(id); });
    watch(running_.insert_or_assign(exec.action.number(), std::move(running)).first->second);
  }

  /// A foreground process says that it is ready, where it lives to do so and its service waits for that.
  void say_ready(ActionId id) {
    const auto found = running_.find(id.number());
    if (found == running_.end() || found->second.over) return;
    const auto& foreground = graph_->at(found->second.exec.service).process.foreground;
    if (foreground && foreground->by_notice) handle(event::ActionReady{id});
  }

  /// The kind of the step whose program this is; none: it is a rule's own action.
  [[nodiscard]] std::optional<effect::SavedStep::Kind> step_of(const effect::Exec& exec) const {
    const auto job = engine_->jobs().find(exec.job.number());
    if (job == engine_->jobs().end() || job->second.action != exec.action) return std::nullopt;
    return job->second.step().kind;
  }

  /// Which of the service's programs it is; empty: that of a rule's action.
  [[nodiscard]] std::string program_of(const effect::Exec& exec) const {
    using Doing = effect::SavedStep::Kind;
    if (exec.foreground) return "foreground";
    const std::optional<Doing> step = step_of(exec);
    if (!step) return {};
    return *step == Doing::Stop ? "stop" : *step == Doing::Start ? "start" : "restart";
  }

  /// A program has ended, whether or not healer is there to see it: what it was to do is done.
  void finish(ActionId id) {
    using Doing = effect::SavedStep::Kind;
    const auto found = running_.find(id.number());
    if (found == running_.end() || found->second.over || found->second.ends != now_.mono) return;
    Running& running = found->second;
    running.over = true;
    if (running.exec.foreground) return drop_process(running.exec.service, "has ended");
    if (!running.step || running.end.outcome != Outcome::Exited || running.end.status != 0) return;
    const ServiceId service = running.exec.service;
    const Doing step = *running.step;
    const std::string by = fmt::format("{}", fmt::join(running.exec.command.arguments, " "));
    if (step != Doing::Start) take_down(service, fmt::format("was ended by {}", by));
    if (step != Doing::Stop) bring_up(service, fmt::format("was started by {}", by));
  }

  void perform(const effect::EndAction& end) {
    const auto found = running_.find(end.action.number());
    if (found == running_.end() || found->second.over) return;
    Running& running = found->second;
    running.over = true;
    running.ends = now_.mono;
    running.end.outcome = Outcome::Signalled;
    running.end.status = end.signals.empty() ? SIGTERM : end.signals.front().number;
    running.end.elapsed = now_.mono - running.began;
    if (running.exec.foreground)
      drop_process(running.exec.service, fmt::format("was ended by signal {}", running.end.status));
    watch(running);
  }

  void perform(const effect::Adopt& adopt) {
    const auto found = running_.find(adopt.action.number());
    if (found == running_.end()) {
      tell(now_.mono, [this, adopt] { handle(event::ActionEnded{.action = adopt.action, .unseen = true}); });
      return;
    }
    Running& running = found->second;
    if (running.ends) {
      running.end.unseen = *running.ends <= now_.mono;
      running.end.elapsed = *running.ends - running.began;
    }
    if (adopt.foreground && !running.over) {
      const std::int64_t pid = world_.pid(running.exec.service).value_or(1);
      const event::ActionStarted known{adopt.action, pid, static_cast<std::uint64_t>(pid)};
      tell(now_.mono, [this, known] { handle(known); });
    }
    watch(running);
  }

  /// Tells the daemon of the end of a program, if it is known when that is: now, where it has been meanwhile.
  void watch(const Running& running) {
    if (!running.ends) return;
    tell(std::max(*running.ends, now_.mono), [this, id = running.exec.action] {
      const auto found = running_.find(id.number());
      if (found == running_.end()) return;  // it was ended before
      const event::ActionEnded end = found->second.end;
      running_.erase(found);
      handle(end);
    });
  }

  /// Its process comes up, if it is a process and does not run.
  void bring_up(ServiceId id, const std::string& how) {
    if (!graph_->at(id).has_process() || world_.pid(id)) return;
    tell_of_process("process-up", id, world_.bring_up(id, now_.mono), how);
  }

  /// Its process is gone, if there was one; the kernel tells healer at once.
  void take_down(ServiceId id, const std::string& how) {
    const std::optional<std::int64_t> pid = world_.pid(id);
    if (!pid) return;
    drop_process(id, how);
    for (auto& [number, running] : running_) {
      if (!running.exec.foreground || running.exec.service != id || running.over) continue;
      running.over = true;
      running.ends = now_.mono;
      running.end.outcome = Outcome::Signalled;
      running.end.status = SIGKILL;
      running.end.elapsed = now_.mono - running.began;
      return engine_ ? watch(running) : void();
    }
    if (engine_) handle(event::ProcessDied{id, *pid, static_cast<std::uint64_t>(*pid)});
  }

  void drop_process(ServiceId id, const std::string& how) {
    const std::optional<std::int64_t> pid = world_.pid(id);
    if (!pid) return;
    world_.take_down(id);
    tell_of_process("process-down", id, *pid, how);
  }

  void tell_of_process(std::string kind, ServiceId id, std::int64_t pid, const std::string& how) {
    add({.kind = std::move(kind),
         .service = graph_->at(id).name,
         .run = runs_of(id),
         .text = fmt::format("process {} {}", pid, how)},
        nullptr);
  }

  void perform(const effect::Signal& signal) {
    plan(now_.mono, 0, [this, signal] {
      if (const auto id = world_.owner(signal.pid))
        take_down(*id, fmt::format("was ended by signal {}", signal.number));
    });
  }

  void perform(const effect::Alert& alert) {
    TimelineEntry entry{.kind = "alert", .service = alert.cause->service, .text = alert.cause->event_text};
    for (const Recipient& recipient : alert.recipients) entry.recipients.push_back(recipient.address);
    const std::optional<ServiceId> id = graph_->find(entry.service);
    if (id) entry.run = run_of(alert.cause, *id);
    add(std::move(entry), nullptr);
    tell(now_.mono, [this, id = alert.alert] { handle(event::AlertTaken{id}); });
  }

  /// Others answer as the step expects it.
  void perform(const effect::Request& request) {
    add({.kind = "request", .text = fmt::format("{} {}", request.method, request.shown)}, nullptr);
    tell(now_.mono, [this, answer = expected_answer(request)] { handle(answer); });
  }

  void perform(const effect::EndRequest&) {}

  void perform(const effect::Commit& commit) {
    keep(saved_, commit);
    for (const auto& act : commit.pending)
      std::visit(
          [this](const auto& known) {
            if (const auto id = graph_->find(known.cause->service)) run_of(known.cause, *id);
          },
          act);
    for (const Record& record : commit.records) tell_of(record);
    engine_->handle(event::Committed{.up_to = commit.sequence}, now_, *this);
  }

  void perform(const effect::Note&) {}

  void perform(const effect::Reply& reply) { add({.kind = "reply", .text = reply.text}, nullptr); }

  void perform(const ScriptedCommand& command) {
    using Kind = ScriptedCommand::Kind;
    --commands_left_;
    if (command.kind == Kind::StepClock || command.kind == Kind::SetClock) {
      now_.wall = command.kind == Kind::SetClock ? command.clock : now_.wall + command.span;
      add({.kind = "clock", .text = "the clock was set"}, nullptr);
      if (engine_) handle(event::Wake{});
      return;
    }
    if (command.kind == Kind::Dies || command.kind == Kind::ComesUp) {
      for (const std::string& name : command.services) another_hand(*graph_->find(name), command.kind);
      return;
    }
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
    event::Command told{.id = CommandId{next_number_++}, .kind = *command_kind(command.kind), .by = "the script"};
    if (command.kind == Kind::Pause && command.span > Duration{0}) told.until = now_.wall + command.span;
    for (const std::string& name : command.services)
      if (const auto id = graph_->find(name)) told.services.push_back(*id);
    handle(told);
  }

  void another_hand(ServiceId id, ScriptedCommand::Kind kind) {
    const bool dies = kind == ScriptedCommand::Kind::Dies;
    const bool own = graph_->at(id).foreground();  // only healer starts it
    if (const auto pid = world_.pid(id); dies == pid.has_value() && (dies || !own))
      return dies ? take_down(id, "has died by another hand") : bring_up(id, "was started by another hand");
    add({.kind = "left-out",
         .service = graph_->at(id).name,
         .run = runs_of(id),
         .text = dies  ? "nothing dies: no process runs"
                 : own ? "nothing comes up: its process is healer's own child"
                       : "nothing comes up: the process runs"},
        nullptr);
  }

  // ---- the timeline -----------------------------------------------------------------------------------------------

  void add(TimelineEntry entry, const Rule* rule) {
    entry.at = now_.mono - start_;
    entry.when = now_.wall;
    entry.cycle = engine_ ? engine_->cycle(now_) : 0;
    if (rule != nullptr) {
      entry.rule = rule->text;
      const SourcePlace& place = rule->place;
      if (place.line != 0 && place.file < graph_->files.size())
        entry.place = fmt::format("{}:{}", graph_->files[place.file], place.line);
    }
    timeline_.entries.push_back(std::move(entry));
  }

  [[nodiscard]] const Rule* rule_of(ServiceId id, const Hash128& key) const {
    const auto& rules = graph_->at(id).rules;
    const auto found = std::ranges::find(rules, key, &Rule::key);
    return found == rules.end() ? nullptr : &*found;
  }

  /// How many runs of a service have ended. Those of a composite the engine makes by itself.
  [[nodiscard]] std::uint64_t runs_of(ServiceId id) const {
    if (!graph_->at(id).has_members()) return world_.ended(id);
    return engine_ ? engine_->service(id).runs : 0;
  }

  /// The run that a cause belongs to: the one that was judged last when the cause was first met.
  std::uint64_t run_of(const std::shared_ptr<const effect::Cause>& cause, ServiceId id) {
    return runs_of_causes_.try_emplace(cause, runs_of(id)).first->second;
  }

  void tell_of(const Record& record) {
    TimelineEntry entry{.kind = std::string{to_string(record.kind)}, .service = record.service, .text = record.text};
    const std::optional<ServiceId> id = record.service.empty() ? std::nullopt : graph_->find(record.service);
    const Rule* rule = id ? rule_of(*id, record.rule) : nullptr;
    if (id) entry.run = runs_of(*id);
    if (rule != nullptr) entry.counters = counters(record.kind, *id, *rule);
    add(std::move(entry), rule);
  }

  [[nodiscard]] std::string counters(RecordKind kind, ServiceId id, const Rule& rule) const {
    const auto index = static_cast<std::size_t>(&rule - graph_->at(id).rules.data());
    if (judged_ != id || index >= before_.size()) return {};
    const RuleState& before = before_[index];
    const auto of_last = [](int count, const Tolerance& tolerance, std::string_view what) {
      return tolerance.window == 1 ? std::string{}
                                   : fmt::format("{} of the last {} runs {}", count, tolerance.window, what);
    };
    const auto lasted = [&](std::optional<Duration> since, std::string_view what) {
      return fmt::format("{} for {}", what, format_duration(now_.mono - since.value_or(now_.mono)));
    };
    switch (kind) {
      case RecordKind::RuleFailed:
      case RecordKind::RuleMatched:
        if (rule.tolerance.held > Duration{0}) return lasted(before.failing_since, "failing");
        return of_last(before.window.failed(rule.tolerance.window - 1) + 1, rule.tolerance,
                       kind == RecordKind::RuleFailed ? "failed" : "matched");
      case RecordKind::RuleRecovered: {
        const Tolerance& tolerance = rule.recovery.tolerance;
        if (tolerance.held > Duration{0}) return lasted(before.clear_since, "clear");
        return of_last(tolerance.window - before.window.failed(tolerance.window - 1), tolerance, "clear");
      }
      case RecordKind::RuleRepeated: return fmt::format("run {} since it failed", before.since_fired + 1);
      default: return {};
    }
  }

  std::shared_ptr<const Graph> graph_;
  const Script& script_;
  const CivilClock& civil_;
  SimulatedWorld world_;
  SavedState saved_;
  std::unique_ptr<Engine> engine_;  // null: healer is away
  Instant now_;
  Duration start_{0};
  std::optional<Duration> reached_;  // when the end was reached first
  std::uint64_t life_ = 0;
  std::uint64_t next_number_ = 1;
  std::size_t commands_left_ = 0;
  std::map<Place, std::function<void()>> happenings_;
  std::map<std::uint64_t, Running> running_;
  std::vector<Effect> inbox_;
  std::unordered_map<std::shared_ptr<const effect::Cause>, std::uint64_t> runs_of_causes_;
  std::vector<RuleState> before_;                   // of the service that is judged
  std::vector<std::optional<std::string>> states_;  // for the expectations of the script
  ServiceId judged_;
  Timeline timeline_;
};

}  // namespace

Timeline simulate(const RuleSet& rules, const Script& script, const CivilClock& civil) {
  return Simulation(rules, script, civil).play();
}

}  // namespace healer::engine
