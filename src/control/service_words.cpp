// SPDX-License-Identifier: MIT
#include "control/service_words.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/cause.hpp"
#include "engine/words/explain.hpp"
#include "engine/words/heartbeat.hpp"
#include "engine/words/occurrence.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

using engine::Outcome;
using engine::ServiceBlock;
using engine::ServiceState;

constexpr std::size_t kLongestLine = 200;  // of a program's output

std::string_view cut_line(std::string_view line) { return line.substr(0, std::min(line.find('\n'), kLongestLine)); }

std::string milliseconds_text(std::chrono::microseconds time) {
  const auto ms = static_cast<double>(time.count()) / 1000;
  return ms < 10 ? fmt::format("{:.1f} ms", ms) : fmt::format("{:.0f} ms", ms);
}

/// "http localhost:80 in 3.1 ms", "3 connections, the slowest in 12 ms", or the first that fails, and why. Of what
/// nobody has tried nothing is said.
std::string describe_connections(const std::vector<engine::ConnectionSeen>& all) {
  const engine::ConnectionSeen* slowest = nullptr;
  std::size_t passed = 0;
  for (const engine::ConnectionSeen& one : all) {
    if (one.reach == engine::Reach::Failed) return std::string(cut_line(fmt::format("{}: {}", one.name, one.text)));
    if (one.reach != engine::Reach::Passed) continue;
    ++passed;
    if (slowest == nullptr || one.response > slowest->response) slowest = &one;
  }
  if (slowest == nullptr) return {};
  const std::string time = slowest->response ? " in " + milliseconds_text(*slowest->response) : std::string{};
  return passed == 1 ? slowest->name + time
                     : fmt::format("{} connections{}", passed, time.empty() ? "" : ", the slowest" + time);
}

/// What filters have found: ".worst 93, .free not known: ...". Of several that are not known the reason once.
std::string values_text(const engine::Facts& facts) {
  std::string text;
  const std::string* why = nullptr;
  for (const engine::ValueSeen& seen : facts.further->values) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(seen.filter),
                        seen.value ? engine::shown_value(*seen.value) : "not known");
    if (!seen.value && why == nullptr) why = &seen.why;
  }
  return why == nullptr ? text : fmt::format("{}: {}", text, cut_line(*why));
}

/// "pid 4242, up 3 h 2 m, cpu 1.2%, memory 12.3 MB", or of the system its load, processor and memory.
std::string describe_check(const engine::CheckKind& kind, const engine::Facts& facts) {
  if (facts.further->members) return describe(*facts.further->members);
  if (facts.further->event)
    return facts.further->event->number == 0
               ? std::string()
               : engine::describe_event(facts.further->event->key, facts.further->event->state);
  if (facts.further->beat) {
    const engine::Heartbeat& heartbeat = facts.further->beat->heartbeat;
    const std::string_view beat = cut_line(trim(heartbeat.text));
    return fmt::format("{}{}{}", describe_beat(heartbeat), beat.empty() ? "" : ": ", beat);
  }
  if (facts.further->row) return facts.further->values.empty() ? "in its list" : values_text(facts);
  std::string text = facts.process ? fmt::format("pid {}", facts.process->pid) : std::string{};
  for (const auto& [what, value] : facts.attributes)
    if (what == engine::Attribute::UnitStanding) text = engine::format_value(value);
  for (const engine::Metric metric : kind.summary) {
    const engine::Quantity* row = kind.find(metric);
    const auto value = engine::figure_of(facts, metric);
    if (row == nullptr || !value) continue;
    const std::string_view words = metric == engine::Metric::Uptime ? "up" : row->words;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", words, format_value(engine::unit_of(metric), *value));
  }
  if (facts.process && facts.process->zombie) text += ", a zombie";
  const std::string connections = describe_connections(facts.further->connections);
  if (!text.empty() && !connections.empty()) text += ", ";
  return text + connections;
}

/// "process is not running; failed to start (exit status 3): no such port".
std::string describe_missing(std::string_view seen, const ServiceBlock& block, const ServiceState& state) {
  std::string text(cut_line(trim(seen)));
  const std::string& end = state.child->last_end();
  // A foreground process is said to be gone by how it has ended, and so is a start of it that has failed so.
  const bool is_included = !end.empty() && state.trouble->start_failure.ends_with(end);
  if (state.trouble->start_failure.empty() || is_included) return text;
  return text + "; " + std::string(cut_line(engine::brief_failure(state.trouble->start_failure, block)));
}

/// Whether a rule asks for nothing but that the process is there.
bool wants_existence(const engine::Rule& rule) {
  const auto* present = std::get_if<engine::Present>(rule->condition->only());
  return present != nullptr && !present->wanted;
}

/// What came of the connections that the rule asks for. Empty: it asks for none.
std::string connection_texts(const engine::Rule& rule, const engine::Evidence& last) {
  std::string text;
  for (const engine::Test& asked : rule->condition->tests) {
    const auto* test = std::get_if<engine::Reached>(&asked);
    const engine::ConnectionSeen* seen = test != nullptr ? engine::connection_of(last, *test) : nullptr;
    if (seen != nullptr) text += fmt::format("{}{}", text.empty() ? "" : ", ", seen->text);
  }
  return text;
}

/// The values that the rule compares: "cpu 95.0%, memory 12.3 MB". Empty: it compares none.
std::string compared_values(const engine::CheckKind& kind, const engine::Rule& rule, const engine::Evidence& last) {
  std::vector<engine::Metric> listed;
  std::string text;
  for (const engine::Test& asked : rule->condition->tests) {
    const auto* test = std::get_if<engine::Compare>(&asked);
    if (test == nullptr || std::ranges::find(listed, test->what) != listed.end()) continue;
    const engine::Quantity* row = kind.find(test->what);
    const auto value = engine::value_of(last, test->what);
    if (row == nullptr || !value) continue;
    listed.push_back(test->what);
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", row->words, format_value(engine::unit_of(test->what), *value));
  }
  return text;
}

}  // namespace

std::string format_value(engine::Unit unit, double value) {
  if (unit != engine::Unit::Seconds) return engine::format_metric(unit, value);
  return value < 1 ? "0 s" : format_duration(seconds{static_cast<std::int64_t>(value)});
}

std::string describe_last(const ServiceBlock& block, const ServiceState& state) {
  // What was measured of a process that has died since is no news of it.
  if (state.presence.is_gone()) return describe_missing(state.presence.how(), block, state);
  if (!state.last) return {};
  const engine::Evidence& last = *state.last;
  if (!block.is_run()) {
    const bool there = last.facts && (last.answer == engine::Answer::Present || last.facts->process);
    if (there) return describe_check(*block.kind, *last.facts);
    return describe_missing(last.output && !last.output->empty() ? *last.output : engine::describe_absence(block),
                            block, state);
  }
  const std::string elapsed = format_duration(last.elapsed);
  std::string text;
  switch (last.outcome) {
    case Outcome::Exited: text = fmt::format("exit status {} in {}", last.status, elapsed); break;
    case Outcome::Signalled: text = fmt::format("killed by signal {} after {}", last.status, elapsed); break;
    case Outcome::TimedOut: text = fmt::format("timed out after {}", elapsed); break;
    case Outcome::NotStarted: text = "could not be started"; break;
    case Outcome::Unmatched: text = fmt::format("ended after {}", elapsed); break;
  }
  if (last.facts != nullptr && !last.facts->further->values.empty())
    return fmt::format("{}: {}", text, values_text(*last.facts));
  const std::string_view line = last.telling  ? cut_line(*last.telling)
                                : last.output ? cut_line(engine::telling_line(*last.output, last.errors))
                                              : std::string_view{};
  return line.empty() ? text : fmt::format("{}: {}", text, line);
}

std::string describe_heartbeat(const engine::Engine& engine, engine::ServiceId service, Instant now) {
  const engine::Heartbeat* const heartbeat = engine.arrivals().find(service);
  if (heartbeat == nullptr) return {};
  const auto lasting = [](Duration span) {
    return format_duration(std::chrono::floor<seconds>(std::max(span, Duration{0})));
  };
  std::string text = "no beat yet";
  if (heartbeat->word != engine::BeatWord::None) {
    const std::string_view line = cut_line(trim(heartbeat->text));
    text = fmt::format("last beat {} ago: {}{}{}", lasting(now.wall - heartbeat->since), describe_beat(*heartbeat),
                       line.empty() ? "" : ": ", line);
  }
  if (heartbeat->started) text += fmt::format("; a run for {}", lasting(now.wall - *heartbeat->started));
  return text;
}

std::string describe_events(const engine::Engine& engine, engine::ServiceId service, Instant now) {
  if (!engine.graph()->at(service).is_event()) return {};
  std::string text = "no event yet";
  const engine::Occurrences& events = engine.arrivals().events();
  if (const engine::Occurrence* const event = events.newest(service))
    text = fmt::format("last event {} ago: {}",
                       format_duration(std::chrono::floor<seconds>(std::max(now.wall - event->last, Duration{0}))),
                       engine::describe_event(event->key, event->state));
  if (const std::size_t waiting = events.waiting(service); waiting > 0) {
    const std::string held = events.held(service, now);
    text += fmt::format("; {} wait{}{}{}", waiting, waiting == 1 ? "s" : "", held.empty() ? "" : ": ", held);
  }
  std::vector<std::string> targets;
  for (const auto& [target, until] : events.standing(service)) targets.push_back(target);
  constexpr std::size_t kMostNamed = 3;
  if (targets.size() > kMostNamed)
    text += fmt::format("; stands for {} targets", targets.size());
  else if (!targets.empty())
    text += fmt::format("; stands for {}", fmt::join(targets, ", "));
  return text;
}

std::string_view condition_of_text(std::string_view rule) {
  if (rule.starts_with("if ")) rule.remove_prefix(3);
  bool quoted = false;
  std::size_t end = rule.size();
  std::size_t tolerance = std::string_view::npos;
  for (std::size_t i = 0; i < rule.size(); ++i) {
    if (rule[i] == '\\' && quoted) {
      ++i;
    } else if (rule[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && rule.substr(i).starts_with(" then ")) {
      end = i;
      break;
    } else if (!quoted && rule.substr(i).starts_with(" for ")) {
      tolerance = i;
    }
  }
  return rule.substr(0, std::min(end, tolerance));
}

std::string describe_failing(const engine::Engine& engine, engine::ServiceId service, std::size_t index, Instant now) {
  const ServiceBlock& block = engine.graph()->at(service);
  const ServiceState& state = engine.service(service);
  const engine::Rule& rule = block.rules[index];
  const std::string last = describe_last(block, state);
  const auto named = [&](std::string_view words) {
    return fmt::format("{}{}{}", condition_of_text(rule->text), words.empty() ? "" : ": ", words);
  };
  if (state.trouble->unknown && !state.presence.is_gone())
    return named(fmt::format("not known: {}", state.trouble->unknown->why));
  const bool absent = state.last && (block.has_process() ? engine::process_of(*state.last) == nullptr
                                                         : state.last->answer == engine::Answer::Absent);
  const bool missing = !block.is_run() && (state.presence.is_gone() || (absent && !last.empty()));
  // What is not there is told in its own words, which say the same as the rule.
  if (missing) return wants_existence(rule) ? last : named(last);
  if (!state.last) return named("not checked since healer was started");
  const engine::Seen seen{*state.last, state.memory, state.starts->restarted};
  const std::optional<bool> held = engine::holds(*rule->condition, seen);
  if (!rule->counts_restarts() && held == false) {
    const std::string needed = engine::recovery_text(rule, engine.rules(service)[index], now.mono);
    return named(fmt::format("{}; {}", last, needed.empty() ? "the last run passed" : needed));
  }
  if (block.is_run() || rule->counts_restarts()) return named(last);
  if (block.has_members()) return last;
  if (const std::string values = compared_values(*block.kind, rule, *state.last); !values.empty()) return named(values);
  if (const std::string texts = connection_texts(rule, *state.last); !texts.empty()) return named(texts);
  return named(engine::describe(block, rule, seen, true));
}

}  // namespace healer::control
