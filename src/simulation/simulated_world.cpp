// SPDX-License-Identifier: MIT
#include "simulation/simulated_world.hpp"

#include <regex.h>

#include <algorithm>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/request.hpp"
#include "engine/rules/json_test.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/unit.hpp"
#include "util/regex.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

/// The place of a script's list at which run `place` (from 0) is: the last stays, or the first comes again.
std::size_t place_in(std::size_t size, bool repeated, std::uint64_t place) {
  return static_cast<std::size_t>(repeated ? place % size : std::min<std::uint64_t>(place, size - 1));
}

double seconds_of(Duration span) { return static_cast<double>(span.count()) / 1000; }

/// An attribute by which no rule of the service fails, where there is one.
std::string usual_attribute(const ServiceBlock& block, std::string given) {
  std::vector<std::string> candidates{std::move(given), "unconfined", ""};
  std::vector<const Worded*> tests;
  for (const Rule& rule : block.rules)
    for (const Test& asked : rule->condition->tests)
      if (const auto* test = std::get_if<Worded>(&asked); test != nullptr && test->what == Attribute::Security) {
        tests.push_back(test);
        candidates.push_back(test->text);
      }
  for (const std::string& candidate : candidates) {
    const auto holds_of = [&](const Worded* test) {
      const bool same = test->is_pattern ? matches_pattern(test->text, candidate) == true : candidate == test->text;
      return same != test->negated;
    };
    if (std::ranges::none_of(tests, holds_of)) return candidate;
  }
  return candidates.front();
}

/// A process whose owner and security attribute are what the rules ask for.
ProcessFacts process_for(const ServiceBlock& block, std::int64_t pid) {
  ProcessFacts process{.pid = pid, .parent = 1, .start_ticks = static_cast<std::uint64_t>(pid)};
  for (const Rule& rule : block.rules) {
    for (const Test& asked : rule->condition->tests) {
      const auto* test = std::get_if<Differs>(&asked);
      if (test == nullptr || !test->wanted) continue;
      const auto* number = std::get_if<std::int64_t>(&*test->wanted);
      const auto id = static_cast<std::uint32_t>(number != nullptr ? *number : 0);
      switch (test->what) {
        case Attribute::Uid: process.uid = id; break;
        case Attribute::Euid: process.euid = id; break;
        case Attribute::Gid: process.gid = id; break;
        case Attribute::Security: process.attribute = format_value(*test->wanted); break;
        default: break;
      }
    }
  }
  process.attribute = usual_attribute(block, std::move(process.attribute));
  return process;
}

/// What a path or an interface is like by which no rule of it fails: as the rules ask for it, and always the same.
std::vector<std::pair<Attribute, Value>> usual_attributes(const ServiceBlock& block) {
  std::vector<std::pair<Attribute, Value>> known;
  const auto add = [&](Attribute what, Value value) {
    if (std::ranges::find(known, what, &std::pair<Attribute, Value>::first) == known.end())
      known.emplace_back(what, std::move(value));
  };
  const auto add_usual = [&](Attribute what) {
    const AttributeRow* row = block.kind->find(what);
    const bool text = row != nullptr && (row->form == Form::Text || row->form == Form::Checksum);
    add(what, text ? Value(std::string("usual")) : Value(std::int64_t{0}));
  };
  // What a rule wants goes before what others only compare.
  for (const Rule& rule : block.rules)
    for (const Test& asked : rule->condition->tests)
      if (const auto* test = std::get_if<Differs>(&asked); test != nullptr && test->wanted)
        add(test->what, *test->wanted);
  for (const Rule& rule : block.rules) {
    for (const Test& asked : rule->condition->tests) {
      if (const auto* test = std::get_if<Differs>(&asked)) add_usual(test->what);
      if (const auto* test = std::get_if<Changed>(&asked)) {
        add_usual(test->what);
        if (test->also) add_usual(*test->also);
      }
    }
  }
  return known;
}

/// What systemd says of a unit in run `place`: it is well where nothing else is said. Nothing: it does not answer.
std::optional<UnitFacts> unit_for(const ScriptedService* script, bool is_scripted, bool fails, std::uint64_t place) {
  UnitFacts unit{.load = "loaded", .active = fails ? "failed" : "active", .sub = {}};
  const auto told = [&](Attribute what) -> const std::optional<std::string>* {
    if (script == nullptr || !is_scripted) return nullptr;
    const auto found = script->told.find(what);
    if (found == script->told.end()) return nullptr;
    return &found->second.values[place_in(found->second.values.size(), found->second.repeated, place)];
  };
  const std::optional<std::string>* const state = told(Attribute::UnitState);
  const std::optional<std::string>* const substate = told(Attribute::UnitSubstate);
  if ((state != nullptr && !*state) || (substate != nullptr && !*substate)) return std::nullopt;
  if (substate != nullptr && is_restarted_by_systemd(**substate)) unit.active = "activating";
  if (state != nullptr) unit.active = **state;
  unit.sub = substate != nullptr           ? **substate
             : unit.active == "active"     ? "running"
             : unit.active == "inactive"   ? "dead"
             : unit.active == "activating" ? "start"
                                           : unit.active;
  return unit;
}

/// Whether a program whose output never changes would fail.
bool wants_new_output(const ServiceBlock& block) {
  bool wants = false, minds = false;
  for (const Rule& rule : block.rules)
    for (const Test& asked : rule->condition->tests)
      if (const auto* test = std::get_if<OutputChanged>(&asked)) (test->negated ? wants : minds) = true;
  return wants && !minds;
}

JsonTest opposite(JsonTest test) {
  test.comparison = opposite(test.comparison);
  return test;
}

/// The tests of JSON that a rule fails by: those behind `not` the other way round.
std::vector<JsonTest> json_tests(const RuleCondition& condition) {
  using Tests = std::vector<JsonTest>;
  return fold<Tests>(
      condition.postfix, condition.tests.size(),
      [&](std::size_t test) {
        const auto* queried = std::get_if<Queried>(&condition.tests[test]);
        return queried != nullptr ? Tests{*queried->test} : Tests{};
      },
      [](Tests tests) {
        for (JsonTest& test : tests) test = opposite(std::move(test));
        return tests;
      },
      [](Op, Tests left, const Tests& right) {
        left.insert(left.end(), right.begin(), right.end());
        return left;
      });
}

/// Values by which no rule of the service fails; in a bad run, by which the rules fail.
std::vector<ValueSeen> usual_values(const ServiceBlock& block, bool bad) {
  std::vector<ValueSeen> values;
  for (const std::string& filter : block.program->filters) {
    std::vector<JsonTest> wanted;
    for (const Rule& rule : block.rules)
      for (JsonTest& test : json_tests(*rule->condition))
        if (test.filter == filter) wanted.push_back(bad ? std::move(test) : opposite(std::move(test)));
    ValueSeen seen{.filter = filter, .value = std::nullopt, .why = "nothing says what it is"};
    for (const JsonTest& test : wanted) {
      const std::optional<std::string> value = value_that_meets(test);
      const bool meets = std::ranges::all_of(wanted, [&](const JsonTest& one) { return is_met(one, value); });
      if (meets || !seen.value) seen.value = value;
      if (meets) break;
    }
    values.push_back(std::move(seen));
  }
  return values;
}

/// Values of what a run has written.
std::vector<ValueSeen> found_values(const ServiceBlock& block, const Evidence& run) {
  std::vector<ValueSeen> values;
  const bool ended = run.outcome == Outcome::Exited || run.outcome == Outcome::Signalled;
  for (const std::string& filter : block.program->filters) {
    ValueSeen seen{.filter = filter, .value = ended ? value_in(*run.output, filter) : std::nullopt};
    if (!seen.value) seen.why = ended ? "there is no such value in its output" : "the program has not ended";
    values.push_back(std::move(seen));
  }
  return values;
}

}  // namespace

/// The patterns of a service, compiled (POSIX extended, as the daemon's).
class SimulatedWorld::Patterns {
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
      regmatch_t whole[1] = {{0, static_cast<regoff_t>(text.size())}};  // zero bytes and all
      if (good_[i] && ::regexec(&pattern, text.c_str(), 0, whole, REG_STARTEND) == 0) bits |= std::uint64_t{1} << i;
      ++i;
    }
    return bits;
  }

 private:
  std::list<regex_t> compiled_;
  std::vector<bool> good_;
};

SimulatedWorld::SimulatedWorld(const Graph& graph, const Script& script, Duration now)
    : graph_(&graph), script_(script), played_(graph.slots.size()), booted_(now) {
  for (const ServiceId id : graph_->order) begin(id, now);
}

void SimulatedWorld::begin(ServiceId id, Duration now) {
  Played& played = played_[id.index()];
  const ServiceBlock& block = graph_->at(id);
  const auto found = script_.services.find(to_lower(block.name));
  if (found != script_.services.end()) played.script = &found->second;
  scripted_ = scripted_ || !used_up(id);
  if (!block.program->patterns.empty()) played.patterns = std::make_shared<const Patterns>(block.program->patterns);
  if (block.has_process() && !block.foreground() && (played.script == nullptr || !played.script->down))
    bring_up(id, now);
}

void SimulatedWorld::take_over(const Graph& before, const Graph& graph, Duration now) {
  graph_ = &graph;
  played_.resize(graph.slots.size());
  for (std::size_t slot = 0; slot < graph.slots.size(); ++slot) {
    const auto& block = graph.slots[slot];
    const auto& former = slot < before.slots.size() ? before.slots[slot] : nullptr;
    if (block && former && iequals(block->name, former->name)) continue;
    const std::uint64_t changes = played_[slot].changes;  // those of the former are not taken back any more
    played_[slot] = {};
    played_[slot].changes = changes + 1;
    if (block) begin(ServiceId{static_cast<std::uint32_t>(slot)}, now);
  }
}

SimulatedWorld::~SimulatedWorld() = default;

// ---- runs ---------------------------------------------------------------------------------------------------------

Evidence SimulatedWorld::run(ServiceId id, Duration now) { return seen(id, played_[id.index()].begun++, now); }

Evidence SimulatedWorld::seen(ServiceId id, std::uint64_t place, Duration now) const {
  const Played& played = played_[id.index()];
  const ServiceBlock& block = graph_->at(id);
  if (block.is_run() || block.is_listed()) return answer(played, block, place);
  Evidence seen{.elapsed = played.script == nullptr ? Duration{0} : played.script->takes};
  seen.facts = std::make_shared<const Facts>(facts(played, block, place, now));
  if (block.is_unit()) {
    const bool is_scripted = played.scripted_state == ScriptedState::Scripted;
    const auto unit = unit_for(played.script, is_scripted, played.scripted_state == ScriptedState::Failing, place);
    if (!unit) {
      seen.answer = Answer::Unknown;
      seen.facts = nullptr;
      seen.output = std::make_shared<const std::string>("systemd does not answer");
      return seen;
    }
    auto facts = std::make_shared<Facts>(*seen.facts);
    facts->attributes.edit() = {{Attribute::UnitState, unit->active},
                                {Attribute::UnitSubstate, unit->sub},
                                {Attribute::UnitStanding, standing_of(*unit)}};
    seen.facts = std::move(facts);
  }
  const bool missing = block.has_process() && !played.pid;
  if (missing) seen.answer = Answer::Absent;
  seen.output = std::make_shared<const std::string>(missing ? block.kind->absent : std::string_view{});
  return seen;
}

/// What a check program answers.
Evidence SimulatedWorld::answer(const Played& played, const ServiceBlock& block, std::uint64_t place) const {
  static const ScriptedRun kGood;
  static const ScriptedRun kBad{.status = 1, .takes = {}, .output = {}};
  const ScriptedRun* run = &kGood;
  Duration takes{0};
  if (played.script != nullptr) {
    const auto& runs = played.script->runs;
    if (!runs.empty()) run = &runs[place_in(runs.size(), played.script->repeated, place)];
    if (played.scripted_state != ScriptedState::Scripted) run = &kGood;
    takes = run->takes.value_or(played.script->takes);
  }
  if (played.scripted_state == ScriptedState::Failing) run = &kBad;
  Evidence seen{.outcome = run->outcome,
                .status = run->status,
                .matches = 0,
                .elapsed = takes,
                .output = std::make_shared<const std::string>(run->output)};
  const Duration timeout = block.program->command.timeout;
  if (timeout > Duration{0} && (takes >= timeout || seen.outcome == Outcome::TimedOut)) {
    seen.outcome = Outcome::TimedOut;
    seen.status = 9;
    seen.elapsed = timeout;
  }
  if (run == &kGood && wants_new_output(block))
    seen.output = std::make_shared<const std::string>(fmt::format("run {}", place + 1));
  const bool compares = std::ranges::any_of(block.plan->parts, [](const Measurement& part) {
    const auto* run_of = std::get_if<measure::Run>(&part);
    return run_of != nullptr && run_of->output;
  });
  const bool ended = seen.outcome == Outcome::Exited || seen.outcome == Outcome::Signalled;
  if (compares && ended) {
    auto facts = std::make_shared<Facts>();
    facts->attributes.push_back({Attribute::Output, output_value(*seen.output)});
    seen.facts = std::move(facts);
  }
  if (played.patterns) seen.matches = played.patterns->match(*seen.output);
  if (!block.program->filters.empty()) {
    auto facts = seen.facts ? std::make_shared<Facts>(*seen.facts) : std::make_shared<Facts>();
    // Of a row an exit value says whether it is well, where it is not written out.
    const bool usual = run == &kGood || run == &kBad || (block.is_listed() && run->output.empty());
    facts->further.edit().values = usual ? usual_values(block, run->status != 0) : found_values(block, seen);
    seen.facts = std::move(facts);
  }
  if (block.is_listed()) seen.status = 0;
  return seen;
}

/// What a look at a process or the machine finds. Of a process that is not there nothing is measured.
Facts SimulatedWorld::facts(const Played& played, const ServiceBlock& block, std::uint64_t place, Duration now) const {
  Facts facts;
  if (played.scripted_state == ScriptedState::Well) place = 0;
  const bool process = block.has_process();
  if (process && !played.pid) return facts;
  if (process)
    facts.process = process_for(block, *played.pid);
  else if (std::vector<std::pair<Attribute, Value>> usual = usual_attributes(block); !usual.empty())
    facts.attributes.edit() = std::move(usual);
  if (played.script == nullptr || !played.script->measured.contains(Metric::Uptime))
    facts.metrics.set(Metric::Uptime, seconds_of(now - (process ? played.up_since : booted_)));
  for (std::size_t i = 0; i < block.probes.size(); ++i)
    facts.further.edit().connections.push_back(connection(played, i, place));
  if (played.script == nullptr) return facts;
  for (const auto& [metric, series] : played.script->measured)
    if (const auto value = series.values[place_in(series.values.size(), series.repeated, place)])
      facts.metrics.set(metric, *value);
  return facts;
}

ConnectionSeen SimulatedWorld::connection(const Played& played, std::size_t index, std::uint64_t place) const {
  const auto seen = [&](Reach reach, std::string text) {
    return ConnectionSeen{
        .reach = reach, .name = fmt::format("connection {}", index + 1), .text = text, .sentence = text};
  };
  const ScriptedSeries* series = nullptr;
  if (played.scripted_state == ScriptedState::Failing) return seen(Reach::Failed, "connection failed");
  if (played.script != nullptr && played.scripted_state == ScriptedState::Scripted) {
    const auto& all = played.script->connections;
    auto found = all.find(index);
    if (found == all.end()) found = all.find(kEveryConnection);
    if (found != all.end()) series = &found->second;
  }
  const std::optional<double> value =
      series == nullptr ? 1.0 : series->values[place_in(series->values.size(), series->repeated, place)];
  if (!value) return seen(Reach::Unknown, "could not be tried");
  if (*value == kUnresolved) {
    ConnectionSeen failed = seen(Reach::Failed, "connection failed: the name servers do not answer");
    failed.nameless = true;
    return failed;
  }
  return *value != 0 ? seen(Reach::Passed, "connection succeeded") : seen(Reach::Failed, "connection failed");
}

void SimulatedWorld::drop_all_runs() {
  for (Played& played : played_) played.ended = played.begun;
}

bool SimulatedWorld::used_up(ServiceId id) const {
  const Played& played = played_[id.index()];
  if (played.script == nullptr) return true;
  std::size_t most = played.script->runs.size();
  for (const auto& [metric, series] : played.script->measured) most = std::max(most, series.values.size());
  for (const auto& [what, texts] : played.script->told) most = std::max(most, texts.values.size());
  for (const auto& [index, series] : played.script->connections) most = std::max(most, series.values.size());
  return played.ended >= most;
}

// ---- processes ----------------------------------------------------------------------------------------------------

std::optional<ServiceId> SimulatedWorld::owner(std::int64_t pid) const {
  const auto found = std::ranges::find_if(graph_->order, [&](ServiceId id) { return played_[id.index()].pid == pid; });
  return found == graph_->order.end() ? std::nullopt : std::optional(*found);
}

std::int64_t SimulatedWorld::bring_up(ServiceId id, Duration now) {
  Played& played = played_[id.index()];
  played.up_since = now;
  return played.pid.emplace(next_pid_++);
}

void SimulatedWorld::reboot(Duration now) {
  booted_ = now;
  for (Played& played : played_) played.pid.reset();
}

}  // namespace healer::engine
