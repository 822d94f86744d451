// SPDX-License-Identifier: MIT
#include "support/effect_text.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/rule.hpp"
#include "store/healing_fields.hpp"

namespace healer::test {

using namespace engine;

namespace {

/// Appends values, each in a form of its own.
class Text {
 public:
  std::string text;

  template <typename... Values>
  void all(const Values&... values) {
    text += '{';
    (add(values), ...);
    text += '}';
  }

  void add(const std::string& value) { text += fmt::format("\"{}\" ", value); }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void add(Number value) { text += fmt::format("{} ", value); }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void add(Enum value) { add(static_cast<std::int64_t>(value)); }
  template <typename Tag, typename Number>
  void add(Id<Tag, Number> id) {
    add(id.number());
  }
  void add(Duration value) { add(value.count()); }
  void add(WallTime value) { add(value.time_since_epoch()); }
  void add(const Hash128& value) { text += to_string(value) + " "; }
  void add(const Origin& by) { add(saved_text(by)); }
  template <typename A, typename B>
  void add(const std::pair<A, B>& pair) {
    all(pair.first, pair.second);
  }
  template <typename T>
  void add(const std::optional<T>& value) {
    value ? add(*value) : void(text += "- ");
  }
  template <typename T>
  void add(const Rare<T>& value) {
    value ? add(*value) : void(text += "- ");
  }
  template <typename T>
  void add(const Slim<T>& value) {
    value ? add(*value) : void(text += "- ");
  }
  template <typename T>
  void add(const Sparse<T>& value) {
    add(*value);
  }
  template <typename T>
  void add(const Shared<T>& value) {
    add(*value);
  }
  template <typename T>
  void add(const std::shared_ptr<const T>& value) {
    value ? add(*value) : void(text += "- ");
  }
  template <typename... Ts>
  requires(!std::is_same_v<std::variant<Ts...>, Origin>) void add(const std::variant<Ts...>& value) {
    std::visit([this](const auto& one) { add(one); }, value);
  }
  template <std::ranges::range Range>
  requires(!std::is_convertible_v<Range, std::string>) void add(const Range& values) {
    text += '[';
    for (const auto& one : values) add(one);
    text += ']';
  }
  /// What the store writes field by field.
  template <typename T>
  requires requires(Text& text, const T& value) { store::healing_fields::fields(text, value); }
  void add(const T& value) {
    text += '{';
    store::healing_fields::fields(*this, value);
    text += '}';
  }
  template <typename Value, typename... Rest>
  void operator()(const char*, const Value& value, const Rest&... rest) {
    add(value);
    if constexpr (sizeof...(rest) > 0) (*this)(rest...);
  }

  // ---- of effects

  void add(const effect::Measure& one) {
    const auto& [service, run, pid, start_ticks, left_by, came_by, position, document, presence_only] = one;
    all(service, run, pid, start_ticks, left_by, came_by, position, presence_only);
    if (document != nullptr) add(*document);
  }
  void add(const ReadPosition& one) { all(one.file, one.offset, one.begin); }
  void add(const effect::CancelRun& one) { all(one.service, one.run); }
  void add(const effect::Place& one) { all(one.environment, one.directory, one.hidden); }
  void add(const effect::Place::Part& one) { all(one.text, one.secret); }
  void add(const effect::Exec& one) {
    const auto& [action, service, rule, recovery, command, cause, job, foreground, healing, place] = one;
    all(action, service, rule, recovery, command, cause, job, foreground, healing, place);
  }
  void add(const effect::EndAction& one) { all(one.action, one.signals); }
  void add(const StopSignal& one) { all(one.number, one.within); }
  void add(const effect::Watch& one) { all(one.action, one.every); }
  void add(const effect::Signal& one) { all(one.pid, one.start_ticks, one.number); }
  void add(const effect::Adopt& one) { all(one.action, one.service, one.foreground, one.owner); }
  void add(const effect::Alert& one) { all(one.alert, one.recipients, one.cause, one.incident, one.reminder); }
  void add(const Recipient& one) {
    all(one.address, one.events.to_string(), one.listed, one.reminder, one.digest, one.format.from, one.format.reply_to,
        one.format.subject, one.format.message, one.contact);
  }
  void add(const effect::Request& one) {
    const auto& [request, healing, method, url, shown, headers, body, body_as, body_file, follow, insecure, safe, limit,
                 timeout, expected, wanted, failing, saves, hidden, secrets] = one;
    all(request, healing, method, url, shown, headers, body, body_as, body_file, follow, insecure, safe, limit, timeout,
        expected, wanted, failing, saves, hidden, secrets);
  }
  void add(const effect::EndRequest& one) { all(one.request); }
  void add(const effect::Claim& one) { all(one.healing, one.claim, one.target, one.workflow, one.identity); }
  void add(const effect::Note& one) { all(one.severity, one.service, one.text); }
  void add(const effect::Reply& one) { all(one.command, one.ok, one.text); }

  // ---- of a commit

  void add(const Record& one) {
    const auto& [id, sequence, when, kind, severity, service, rule, subject, text_, output] = one;
    all(id, sequence, when, kind, severity, service, rule, subject, text_, output);
  }
  void add(const Baseline& one) { all(one.what, one.value); }
  void add(const Memory& one) { add(one.baselines); }
  void add(const StartHistory& one) {
    const auto& [quick, last, not_before, restarted, left_by, came_by] = one;
    all(quick, last, not_before, restarted, left_by, came_by);
  }
  void add(const Pause& one) { all(one.until, one.reason, one.by); }
  void add(const WidePause& one) { all(one.group, one.pause); }
  void add(const KnownProcess& one) { all(one.pid, one.start_ticks, one.file, one.doubt, one.path); }
  void add(const ActionFailure& one) { all(one.rule, one.when, one.text); }
  void add(const Acknowledgement& one) { all(one.reason, one.by, one.when); }
  void add(const TakenOut& one) { all(one.by, one.service, one.rule, one.since, one.until); }
  void add(const RulePast& one) { all(one.failing_since, one.clear_since, one.changed, one.again.bits, one.event); }
  void add(const RuleState& one) {
    const auto& [window, status, notified, accepted, judged, since_fired, born, past] = one;
    all(window.bits, status, notified, accepted, judged, since_fired, born, past);
  }
  void add(const RuleIdentity& one) { all(one.text, one.condition, one.actions, one.kind); }
  void add(const SavedRule& one) {
    const auto& [key, identity, state] = one;
    all(key, identity, state);
  }
  void add(const SavedService& one) {
    const auto& [monitored, memory, cron_minute, boot, saved, starts, pause, known, first, failure, acknowledged, out,
                 tells_out, heartbeat, rules] = one;
    all(monitored, memory, cron_minute, boot, saved, starts, pause, known, first, failure, acknowledged, out, tells_out,
        rules);
    if (heartbeat) add(*heartbeat);  // of others it is as it always was
  }
  void add(const Heartbeat& one) {
    const auto& [since, word, status, text_of_it, started, ran, missed] = one;
    all(since, word, status, text_of_it, started, ran, missed);
  }
  void add(const effect::Remembered& one) { all(one.service, one.changed); }
  void add(const effect::SavedStep& one) { all(one.service, one.kind, one.named); }
  void add(const effect::SavedJob& one) {
    const auto& [job, kind, service, steps, position, action, unmonitor, by, cause, begun] = one;
    all(job, kind, service, steps, position, action, unmonitor, by, cause, begun);
  }
  void add(const effect::MovedJob& one) { all(one.job, one.position, one.action, one.begun); }
  void add(const effect::Commit& one) {
    const auto& [sequence, records, services, remembered, heartbeats, occurrences, forgotten_occurrences, forgotten,
                 pending, started, ended, handed_over, jobs, moved_jobs, ended_jobs, healings, ended_healings, targets,
                 forgotten_targets, workflows, closed_brakes, wide_pauses, by_person, awaited] = one;
    all(sequence, records, services, remembered, forgotten, pending, started, ended, handed_over, jobs, moved_jobs,
        ended_jobs, healings, ended_healings, targets, forgotten_targets, workflows, closed_brakes, wide_pauses,
        by_person, awaited);
    if (!heartbeats.empty()) add(heartbeats);
    if (!occurrences.empty() || !forgotten_occurrences.empty()) all(occurrences, forgotten_occurrences);
  }
};

constexpr std::array<std::string_view, std::variant_size_v<Effect>> kNames{
    "measure", "cancel-run", "exec",        "end-action", "watch",  "signal", "adopt",
    "alert",   "request",    "end-request", "claim",      "commit", "note",   "reply"};

const char* file_of_effects() { return std::getenv("HEALER_EFFECTS"); }

}  // namespace

std::string to_text(const Effect& effect) {
  Text out;
  out.text = fmt::format("{} ", kNames.at(effect.index()));
  out.add(effect);
  return std::move(out.text);
}

std::string to_text(const effect::Cause& cause) {
  Text out;
  out.add(cause);
  return std::move(out.text);
}

bool traces_effects() {
  static const bool traces = file_of_effects() != nullptr;
  return traces;
}

void trace_turn(const Instant& now, const std::vector<Effect>& effects) {
  static std::ofstream file(file_of_effects(), std::ios::app);
  file << "turn " << now.mono.count() << '\n';
  for (const Effect& effect : effects) file << "  " << to_text(effect) << '\n';
}

}  // namespace healer::test
