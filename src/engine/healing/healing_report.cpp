// SPDX-License-Identifier: MIT
#include "engine/healing/healing_report.hpp"

#include <algorithm>
#include <span>

#include "engine/events/record.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/workflow.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

struct Phrase {
  std::string_view begin;
  HealingTurn turn;
};

/// How records of a healing go on behind "healing of TARGET with WORKFLOW"; the first that fits counts.
constexpr std::array<Phrase, 23> kOfHealings{
    {{" requested by ", HealingTurn::Asked},
     {" asked for by ", HealingTurn::Asked},  // in recordings of earlier versions
     {" is held back: ", HealingTurn::Held},
     {" refused by its guard: ", HealingTurn::Refused},
     {" refused: ", HealingTurn::Refused},
     {" waits for approval, ", HealingTurn::Proposed},
     {" approved by ", HealingTurn::Approved},
     {" begins", HealingTurn::Begun},
     {": it has failed again in its probation", HealingTurn::Begun},
     {": try ", HealingTurn::TryFailed},
     {" goes on with ", HealingTurn::Escalated},
     {" recovered", HealingTurn::Recovered},
     {" done", HealingTurn::Done},
     {" failed: ", HealingTurn::Failed},
     {" cancelled", HealingTurn::Cancelled},
     {" not approved", HealingTurn::Rejected},
     {" ended: ", HealingTurn::Called},
     {" interrupted", HealingTurn::Interrupted},
     {" dropped", HealingTurn::Dropped},
     {" would have run", HealingTurn::WouldRun},
     {" abandoned: ", HealingTurn::Abandoned},
     {" is abandoned: ", HealingTurn::None},
     {" is to end: ", HealingTurn::None}}};

/// The same behind "workflow NAME".
constexpr std::array<Phrase, 4> kOfWorkflows{{{" is paused: ", HealingTurn::Paused},
                                              {" goes on: ", HealingTurn::Resumed},
                                              {" is stopped: ", HealingTurn::Stopped},
                                              {" reset by ", HealingTurn::Reset}}};

constexpr std::string_view kHealingOf = "healing of ";
constexpr std::string_view kWorkflow = "workflow ";
constexpr std::string_view kStep = ", step \"";

void read(std::string_view rest, std::span<const Phrase> phrases, HealingReport& report) {
  const auto found =
      std::ranges::find_if(phrases, [&](const Phrase& phrase) { return rest.starts_with(phrase.begin); });
  if (found == phrases.end()) return;
  report.turn = found->turn;
  report.why = rest.substr(found->begin.size());
}

bool is_end_of_name(std::string_view text, std::size_t at) {
  return at == text.size() || text[at] == ' ' || text[at] == ':' || text[at] == ',' || text[at] == ';';
}

}  // namespace

std::string_view to_string(HealingTurn turn) {
  const auto number = static_cast<std::size_t>(turn);
  if (turn == HealingTurn::None) return {};
  return number <= kTurnsOfHealings.size() ? kTurnsOfHealings[number - 1]
                                           : kTurnsOfWorkflows[number - 1 - kTurnsOfHealings.size()];
}

std::optional<HealingReport> healing_report_of(const Record& record, const Graph& graph) {
  const std::string_view text = record.text;
  HealingReport report;
  if (text.starts_with(kWorkflow)) {
    for (const auto& workflow : graph.workflows) {
      const std::size_t end = kWorkflow.size() + workflow->name.size();
      if (!text.substr(kWorkflow.size()).starts_with(workflow->name) || !is_end_of_name(text, end)) continue;
      report.workflow = workflow->name;
      read(text.substr(end), kOfWorkflows, report);
      return report;
    }
  }
  if (!text.starts_with(kHealingOf)) return std::nullopt;
  // The first that is named is its own; one whose name only begins so does not end there.
  std::size_t at = std::string_view::npos;
  for (const auto& workflow : graph.workflows) {
    const std::string with = " with " + workflow->name;
    const std::size_t found = text.find(with, kHealingOf.size());
    if (found >= at || !is_end_of_name(text, found + with.size())) continue;
    at = found;
    report.workflow = workflow->name;
  }
  if (report.workflow.empty()) return std::nullopt;
  report.target = text.substr(kHealingOf.size(), at - kHealingOf.size());
  const std::string_view rest = text.substr(at + std::string_view(" with ").size() + report.workflow.size());
  if (rest.starts_with(kStep)) {
    report.step = rest.substr(kStep.size(), rest.find("\": ") - kStep.size());
  } else if (rest.starts_with(", guard: ")) {
    report.step = "guard";
  } else {
    read(rest, kOfHealings, report);
  }
  // Its last try has failed, and `on failure` is next.
  if (report.turn == HealingTurn::Failed && record.kind == RecordKind::HealingStep)
    report.turn = HealingTurn::TryFailed;
  return report;
}

}  // namespace healer::engine
