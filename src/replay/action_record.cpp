// SPDX-License-Identifier: MIT
#include "replay/action_record.hpp"

#include <array>

#include <spdlog/fmt/fmt.h>

namespace healer::engine {
namespace {

constexpr std::string_view kByRuleText = "unmonitored by rule";
constexpr std::array<std::string_view, 5> kActionRecordKinds{"alert", "exec", "job", "unmonitor", "heal"};

void add_action_records(std::vector<ActionRecord>& action_records, const effect::Exec& exec) {
  // Steps of jobs and healings are told by these.
  if (exec.job != JobId{} || exec.healing != HealingId{} || exec.foreground) return;
  action_records.push_back({.when = exec.cause->when,
                            .service = exec.cause->service,
                            .kind = ActionRecord::Kind::Exec,
                            .text = fmt::format("{}", fmt::join(exec.command.arguments, " "))});
}

void add_action_records(std::vector<ActionRecord>& action_records, const effect::Alert& alert) {
  const effect::Cause& cause = *alert.cause;
  if (cause.event == EventKind::Instance) return;  // of healer itself: no rule decides it
  action_records.push_back(
      {.when = cause.when, .service = cause.service, .kind = ActionRecord::Kind::Alert, .text = cause.event_text});
}

void add_action_records(std::vector<ActionRecord>& action_records, const effect::Commit& commit) {
  for (const Record& record : commit.records) {
    ActionRecord::Kind kind{};
    switch (record.kind) {
      case RecordKind::JobStarted: kind = ActionRecord::Kind::Job; break;
      case RecordKind::Unmonitored: kind = ActionRecord::Kind::Unmonitor; break;
      case RecordKind::HealingBegun: kind = ActionRecord::Kind::Heal; break;
      default: continue;
    }
    action_records.push_back({.when = record.when, .service = record.service, .kind = kind, .text = record.text});
    // Why, an earlier healer did not tell.
    if (std::string& text = action_records.back().text;
        kind == ActionRecord::Kind::Unmonitor && text.starts_with(kByRuleText))
      text.resize(kByRuleText.size());
  }
}

}  // namespace

std::string_view to_string(ActionRecord::Kind kind) { return kActionRecordKinds[static_cast<std::size_t>(kind)]; }

std::vector<ActionRecord> action_records_of(const Effect& effect) {
  std::vector<ActionRecord> action_records;
  if (const auto* exec = std::get_if<effect::Exec>(&effect)) add_action_records(action_records, *exec);
  if (const auto* alert = std::get_if<effect::Alert>(&effect)) add_action_records(action_records, *alert);
  if (const auto* commit = std::get_if<effect::Commit>(&effect)) add_action_records(action_records, *commit);
  return action_records;
}

}  // namespace healer::engine
