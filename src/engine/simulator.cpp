// SPDX-License-Identifier: MIT
#include "engine/simulator.hpp"

#include <regex.h>

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr Duration kLongest = days{400};
constexpr std::uint64_t kMostRuns = 20'000'000;

/// The patterns of a service, compiled (POSIX extended, as the daemon's).
class Patterns {
 public:
  explicit Patterns(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      compiled_.emplace_back();
      good_.push_back(::regcomp(&compiled_.back(), text.c_str(), REG_EXTENDED | REG_NOSUB) == 0);
    }
  }
  ~Patterns() {
    auto good = good_.begin();
    for (regex_t& pattern : compiled_)
      if (*good++) ::regfree(&pattern);
  }
  Patterns(const Patterns&) = delete;
  Patterns& operator=(const Patterns&) = delete;

  /// Bit i: pattern i matches.
  [[nodiscard]] std::uint64_t match(const std::string& text) const {
    std::uint64_t bits = 0;
    std::size_t i = 0;
    for (const regex_t& pattern : compiled_) {
      if (good_[i] && ::regexec(&pattern, text.c_str(), 0, nullptr, 0) == 0) bits |= std::uint64_t{1} << i;
      ++i;
    }
    return bits;
  }

 private:
  std::list<regex_t> compiled_;
  std::vector<bool> good_;
};

/// What the world plays for one service.
struct Played {
  const ScriptedService* script = nullptr;  // null: exits with 0
  std::unique_ptr<Patterns> patterns;
  std::uint64_t begun = 0;  // runs
  std::uint64_t ended = 0;

  [[nodiscard]] bool used_up() const { return script == nullptr || ended >= script->runs.size(); }
};

class Simulation final : public EffectSink {
 public:
  Simulation(const RuleSet& rules, const Script& script, const CivilClock& civil)
      : graph_(make_graph(rules)), script_(script), civil_(civil), played_(graph_->slots.size()) {
    for (const ServiceId id : graph_->order) {
      Played& played = played_[id.index()];
      const ServiceBlock& block = graph_->at(id);
      const auto found = script_.services.find(to_lower(block.name));
      played.script = found == script_.services.end() ? nullptr : &found->second;
      scripted_ = scripted_ || (played.script != nullptr && !played.script->runs.empty());
      if (!block.program.patterns.empty()) played.patterns = std::make_unique<Patterns>(block.program.patterns);
    }
  }

  Timeline play() {
    now_ = {.boot = 1, .mono = hours{1}, .wall = script_.start};
    start_ = now_.mono;
    const Duration limit = std::min(length(), kLongest);
    for (const ScriptedCommand& command : script_.commands) {
      ++commands_left_;
      plan(start_ + command.at, 1, [this, &command] { perform(command); });
    }
    begin();
    while (!over()) {
      const std::optional<Duration> due = engine_ ? engine_->next_deadline() : std::nullopt;
      const bool happens = !happenings_.empty() && (!due || happenings_.begin()->first.when <= *due);
      if (!happens && !due) break;
      const Duration next = std::max(now_.mono, happens ? happenings_.begin()->first.when : *due);
      if (next - start_ >= limit) {
        move_to(start_ + limit);
        if (limit == kLongest) timeline_.stopped = "400 days have passed";
        break;
      }
      if (timeline_.runs >= kMostRuns) {
        timeline_.stopped = fmt::format("there were {} runs", kMostRuns);
        break;
      }
      move_to(next);
      if (happens) {
        const auto happening = happenings_.extract(happenings_.begin());
        happening.mapped()();
      } else {
        handle(event::Wake{});
      }
    }
    timeline_.length = now_.mono - start_;
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

  /// A program of an action that runs, whether or not a healer is there to see it.
  struct Running {
    effect::Exec exec;
    Duration began{0};
    Duration ends{0};
    event::ActionEnded end;
  };

  [[nodiscard]] Duration length() const {
    if (script_.length) return *script_.length;
    if (scripted_) return kLongest;
    // No run is scripted: a cycle from the last command on shows what there is.
    const Duration last = script_.commands.empty() ? Duration{0} : script_.commands.back().at;
    return last + graph_->settings.start_delay + graph_->settings.cycle_length();
  }

  /// Whether the scripts are used up, where they say how long it takes.
  [[nodiscard]] bool over() const {
    if (script_.length || !scripted_ || commands_left_ > 0) return false;
    if (!happenings_.empty() && happenings_.begin()->first.when <= now_.mono) return false;
    return std::ranges::all_of(graph_->order, [this](ServiceId id) {
      return played_[id.index()].used_up() || (engine_ && !engine_->service(id).monitored);
    });
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
    for (Played& played : played_) played.ended = played.begun;
    if (reboot) {
      ++now_.boot;
      for (auto& [id, running] : running_) running.ends = now_.mono;
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

  void perform(const effect::StartRun& start) {
    Played& played = played_[start.service.index()];
    const ServiceBlock& block = graph_->at(start.service);
    static const ScriptedRun kGood;
    const ScriptedRun* run = &kGood;
    Duration takes{0};
    if (played.script != nullptr) {
      const auto& runs = played.script->runs;
      const std::size_t size = runs.size();
      if (size > 0) run = &runs[played.script->repeated ? played.begun % size : std::min(played.begun, size - 1)];
      takes = run->takes.value_or(played.script->takes);
    }
    ++played.begun;
    Observation seen{.outcome = run->outcome,
                     .status = run->status,
                     .matches = 0,
                     .elapsed = takes,
                     .output = std::make_shared<const std::string>(run->output)};
    const Duration timeout = block.program.command.timeout;
    if (timeout > Duration{0} && (takes >= timeout || seen.outcome == Outcome::TimedOut)) {
      seen.outcome = Outcome::TimedOut;
      seen.status = 9;
      seen.elapsed = timeout;
    }
    if (played.patterns) seen.matches = played.patterns->match(*seen.output);
    const Duration ends = now_.mono + seen.elapsed;
    tell(ends, [this, start, seen] { observe(start, seen); });
  }

  void observe(const effect::StartRun& start, const Observation& seen) {
    if (engine_->service(start.service).flight != start.run) return;  // cancelled
    ++played_[start.service.index()].ended;
    ++timeline_.runs;
    const std::span<const RuleState> rules = engine_->rules(start.service);
    before_.assign(rules.begin(), rules.end());
    judged_ = start.service;
    handle(event::Observed{start.service, start.run, seen});
  }

  void perform(const effect::CancelRun& cancel) {
    Played& played = played_[cancel.service.index()];
    played.ended = played.begun;
  }

  void perform(const effect::Exec& exec) {
    const std::string command = fmt::format("{}", fmt::join(exec.command.arguments, " "));
    const ServiceBlock& block = graph_->at(exec.service);
    const Rule* rule = rule_of(exec.service, exec.rule);
    const std::uint64_t run = run_of(exec.cause, exec.service);
    add({.kind = "exec", .service = block.name, .run = run, .text = command}, rule);
    if (rule != nullptr)
      timeline_.firings.push_back(
          {block.name, exec.recovery, static_cast<std::size_t>(rule - block.rules.data()), run});

    auto found = script_.actions.find(command);
    if (found == script_.actions.end()) found = script_.actions.find(exec.command.arguments.front());
    const ScriptedAction action = found == script_.actions.end() ? ScriptedAction{} : found->second;
    Running running{.exec = exec, .began = now_.mono, .ends = now_.mono + action.takes};
    running.end = {.action = exec.action,
                   .outcome = action.outcome,
                   .status = action.status,
                   .elapsed = action.takes,
                   .output = action.outcome == Outcome::NotStarted ? "No such file or directory" : ""};
    if (exec.command.timeout > Duration{0} && action.takes >= exec.command.timeout) {
      running.end.outcome = Outcome::TimedOut;
      running.end.elapsed = exec.command.timeout;
      running.ends = now_.mono + exec.command.timeout;
    }
    const bool started = action.outcome != Outcome::NotStarted;
    if (!started) running.ends = now_.mono;
    watch(running_.insert_or_assign(exec.action.number(), std::move(running)).first->second, started);
  }

  void perform(const effect::Adopt& adopt) {
    const auto found = running_.find(adopt.action.number());
    if (found == running_.end()) {
      tell(now_.mono, [this, adopt] { handle(event::ActionEnded{.action = adopt.action, .unseen = true}); });
      return;
    }
    Running& running = found->second;
    running.end.unseen = running.ends <= now_.mono;
    running.end.elapsed = running.ends - running.began;
    running.ends = std::max(running.ends, now_.mono);
    watch(running, false);
  }

  void watch(const Running& running, bool starts) {
    const ActionId id = running.exec.action;
    if (starts) tell(now_.mono, [this, id] { handle(event::ActionStarted{id, 1}); });
    tell(running.ends, [this, id] {
      const auto ended = running_.extract(id.number());
      handle(ended.mapped().end);
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
  void perform(const effect::EndAction&) {}
  void perform(const effect::Signal&) {}

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
    event::Command told{.id = CommandId{next_number_++}, .by = "the script"};
    told.kind = command.kind == Kind::Monitor     ? event::Command::Kind::Monitor
                : command.kind == Kind::Unmonitor ? event::Command::Kind::Unmonitor
                : command.kind == Kind::Accept    ? event::Command::Kind::Accept
                                                  : event::Command::Kind::Validate;
    for (const std::string& name : command.services)
      if (const auto id = graph_->find(name)) told.services.push_back(*id);
    handle(told);
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

  /// The run that a cause belongs to: the one that was judged last when the cause was first met.
  std::uint64_t run_of(const std::shared_ptr<const effect::Cause>& cause, ServiceId id) {
    return runs_of_causes_.try_emplace(cause, played_[id.index()].ended).first->second;
  }

  void tell_of(const Record& record) {
    TimelineEntry entry{.kind = std::string{to_string(record.kind)}, .service = record.service, .text = record.text};
    const std::optional<ServiceId> id = record.service.empty() ? std::nullopt : graph_->find(record.service);
    const Rule* rule = id ? rule_of(*id, record.rule) : nullptr;
    if (id) entry.run = played_[id->index()].ended;
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
  std::vector<Played> played_;  // by slot
  SavedState saved_;
  std::unique_ptr<Engine> engine_;  // null: healer is away
  Instant now_;
  Duration start_{0};
  std::uint64_t life_ = 0;
  std::uint64_t next_number_ = 1;
  std::size_t commands_left_ = 0;
  bool scripted_ = false;
  std::map<Place, std::function<void()>> happenings_;
  std::map<std::uint64_t, Running> running_;
  std::vector<Effect> inbox_;
  std::unordered_map<std::shared_ptr<const effect::Cause>, std::uint64_t> runs_of_causes_;
  std::vector<RuleState> before_;  // of the service that is judged
  ServiceId judged_;
  Timeline timeline_;
};

}  // namespace

Timeline simulate(const RuleSet& rules, const Script& script, const CivilClock& civil) {
  return Simulation(rules, script, civil).play();
}

std::string to_string(const TimelineEntry& entry) {
  std::string line =
      fmt::format("{}  cycle {}  ", format_civil(utc_civil(entry.when), subsecond_ms(entry.when)), entry.cycle);
  if (!entry.service.empty())
    line += entry.run == 0 ? entry.service : fmt::format("{} run {}", entry.service, entry.run);
  line += (entry.service.empty() ? "" : "  ") + entry.kind + "  " + printable(entry.text);
  if (!entry.recipients.empty()) line += fmt::format(" to {}", fmt::join(entry.recipients, ", "));
  if (!entry.counters.empty()) line += fmt::format("  [{}]", entry.counters);
  if (!entry.rule.empty()) line += fmt::format("  {}: {}", entry.place.empty() ? "rule" : entry.place, entry.rule);
  return line;
}

std::string to_string(const Firing& firing) {
  return fmt::format("{} {}{} {}", firing.service, firing.recovery ? 'c' : 'r', firing.rule, firing.run);
}

}  // namespace healer::engine
