// SPDX-License-Identifier: MIT
#include "simulation/expectation.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healing_report.hpp"
#include "engine/job.hpp"
#include "engine/words/explain.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr std::size_t kMostMissed = 5;

/// An escalation is with the workflow that it goes on with, too.
bool goes_on_with(const Expectation& wanted, const TimelineEntry& entry) {
  return entry.turn == to_string(HealingTurn::Escalated) &&
         iequals(std::string_view(entry.why).substr(0, entry.why.find(':')), wanted.workflow);
}

/// Whether an entry is what an expectation speaks of, whenever it comes.
bool is_meant(const Expectation& wanted, const TimelineEntry& entry) {
  using What = Expectation::What;
  if (wanted.what == What::Workflow)
    return entry.turn == wanted.state && entry.target.empty() && iequals(entry.workflow, wanted.workflow);
  if (wanted.what == What::List) {
    const std::string begin = fmt::format("list {}: ", wanted.service);
    return entry.kind == to_string(RecordKind::List) &&
           iequals(std::string_view(entry.text).substr(0, begin.size()), begin) &&
           entry.text.find(wanted.why, begin.size()) != std::string::npos;
  }
  if (wanted.what == What::Healing) {
    if (!iequals(entry.target, wanted.service)) return false;
    if (!wanted.workflow.empty() && !iequals(entry.workflow, wanted.workflow) && !goes_on_with(wanted, entry))
      return false;
    // Of a step: that its program is started, its request made, or what else it does.
    if (wanted.state == "step")
      return iequals(entry.step, wanted.step) && (entry.kind == "exec" || entry.kind == "request");
    return entry.turn == wanted.state && entry.why.find(wanted.why) != std::string::npos;
  }
  if (!iequals(entry.service, wanted.service) || !entry.target.empty()) return false;
  if (wanted.what == Expectation::What::Recovered) return entry.kind == "rule-recovered";
  if (wanted.action.empty())
    return entry.kind == "rule-failed" || entry.kind == "rule-matched" || entry.kind == "rule-changed";
  if (wanted.action == "exec") return entry.kind == "exec" && entry.program.empty();
  if (wanted.action == "alert") return entry.kind == "alert";
  if (wanted.action == "unmonitor")
    return entry.kind == "unmonitored" && entry.text.starts_with(fmt::format("unmonitored by {}", words_of(ByRule{})));
  return entry.kind == "job-started" &&
         entry.text.starts_with(fmt::format("{} by {}:", wanted.action, words_of(ByRule{})));
}

bool is_in_time(const Expectation& wanted, const TimelineEntry& entry) {
  if (wanted.run) return entry.run == *wanted.run;
  return !wanted.time || entry.at <= *wanted.time;
}

std::string time_text(Duration at) {
  const auto whole = std::chrono::floor<seconds>(at).count();
  return fmt::format("{:02}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

/// "web to fire exec at run 3", "web not to be failed at 00:05:00".
std::string describe(const Expectation& wanted) {
  const auto about = [&] {
    if (wanted.what == Expectation::What::Healing) return fmt::format("the healing of {}", wanted.service);
    if (wanted.what == Expectation::What::List) return fmt::format("list {}", wanted.service);
    return wanted.what == Expectation::What::Workflow ? fmt::format("workflow {}", wanted.workflow) : wanted.service;
  };
  std::string text = about() + (wanted.negated ? " not to " : " to ");
  switch (wanted.what) {
    case Expectation::What::Fired:
      text += wanted.action.empty() ? "fire a rule" : fmt::format("fire {}", wanted.action);
      break;
    case Expectation::What::Recovered: text += "recover"; break;
    case Expectation::What::List: text += fmt::format("tell \"{}\"", wanted.why); break;
    case Expectation::What::State:
    case Expectation::What::Workflow: text += fmt::format("be {}", wanted.state); break;
    case Expectation::What::Healing:
      text +=
          wanted.state == "step" ? fmt::format("come to step \"{}\"", wanted.step) : fmt::format("be {}", wanted.state);
      if (!wanted.why.empty()) text += fmt::format(" \"{}\"", wanted.why);
      if (!wanted.workflow.empty()) text += fmt::format(" with {}", wanted.workflow);
      break;
  }
  if (wanted.run) text += fmt::format(" at run {}", *wanted.run);
  if (wanted.time)
    text += fmt::format(" {} {}", wanted.what == Expectation::What::State ? "at" : "by", time_text(*wanted.time));
  if (wanted.times) text += fmt::format(" {} time{}", *wanted.times, *wanted.times == 1 ? "" : "s");
  return text;
}

/// "it happened at run 4 (00:02:00), run 9 (00:04:30)".
std::string describe_actual(const std::vector<const TimelineEntry*>& entries) {
  if (entries.empty()) return "it never happened";
  std::vector<std::string> listed;
  for (const TimelineEntry* entry : entries) {
    if (listed.size() == kMostMissed) break;
    listed.push_back(entry->target.empty() && entry->turn.empty() && !entry->service.empty()
                         ? fmt::format("run {} ({})", entry->run, time_text(entry->at))
                         : time_text(entry->at));
  }
  std::string text = fmt::format("it happened at {}", fmt::join(listed, ", "));
  if (entries.size() > listed.size()) text += fmt::format(" and {} times more", entries.size() - listed.size());
  return text;
}

/// Why it is not met; empty where it is.
std::string fault_of(const Expectation& wanted, const Timeline& timeline, const std::optional<std::string>& state) {
  if (wanted.what == Expectation::What::State) {
    if (!state) return fmt::format("the simulation ended earlier, at {}", time_text(timeline.length));
    // What was given up is unmonitored, too.
    const bool is = *state == wanted.state ||
                    (wanted.state == to_string(Condition::Unmonitored) && *state == to_string(Condition::GivenUp));
    return is != wanted.negated ? std::string{} : fmt::format("it is {}", *state);
  }
  std::vector<const TimelineEntry*> meant;
  std::uint64_t in_time = 0;
  for (const TimelineEntry& entry : timeline.entries) {
    if (!is_meant(wanted, entry)) continue;
    meant.push_back(&entry);
    if (is_in_time(wanted, entry)) ++in_time;
  }
  const bool came = wanted.times ? in_time == *wanted.times : in_time > 0;
  return came != wanted.negated ? std::string{} : describe_actual(meant);
}

}  // namespace

std::vector<ScriptError> unmet_expectations(const std::vector<Expectation>& expectations, const Timeline& timeline,
                                            const std::vector<std::optional<std::string>>& states) {
  std::vector<ScriptError> unmet;
  for (std::size_t i = 0; i < expectations.size(); ++i) {
    const Expectation& wanted = expectations[i];
    const std::string fault = fault_of(wanted, timeline, i < states.size() ? states[i] : std::nullopt);
    if (!fault.empty())
      unmet.push_back({wanted.line, wanted.column, fmt::format("expected {}: {}", describe(wanted), fault), {}});
  }
  return unmet;
}

}  // namespace healer::engine
