// SPDX-License-Identifier: MIT
// The fields of what is saved of healings, and the words of their enumerators: the one place that names them for
// reading and writing.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <variant>

#include "engine/healing/healing.hpp"

namespace healer::store::healing_fields {

using namespace engine;

// ---- words, in the order of the enumerators; what is written is never changed --------------------------------------

template <typename Enum>
using For = std::type_identity<Enum>;

template <typename... Alternatives>
constexpr auto words_of_alternatives(For<std::variant<Alternatives...>>) {
  return std::array{Alternatives::kWord...};
}

constexpr std::array<std::string_view, 3> words_of(For<Saving::From>) { return {"regex", "json", "header"}; }
constexpr std::array<std::string_view, 3> words_of(For<stage::Claiming::For>) { return {"try", "on failure", "undo"}; }
constexpr std::array<std::string_view, 3> words_of(For<Bringing>) { return {"start", "stop", "restart"}; }
constexpr std::array<std::string_view, 6> words_of(For<Comparison>) { return {"=", "!=", "<", "<=", ">", ">="}; }
constexpr std::array<std::string_view, 4> words_of(For<HealingMode>) {
  return {"shadow", "dry run", "approval", "automatic"};
}
constexpr std::array<std::string_view, 4> words_of(For<OccurrenceStage>) {
  return {"waiting", "judged", "dropped", "refused"};
}
constexpr std::array<std::string_view, 3> words_of(For<effect::Cause::State>) {
  return {"succeeded", "failed", "changed"};
}
constexpr std::array<std::string_view, 11> words_of(For<StepRun::State>) {
  return {"fresh",     "running", "requesting", "polling", "bringing", "waiting",
          "verifying", "pausing", "ending",     "done",    "failed"};
}
constexpr std::array<std::string_view, 11> words_of(For<HealingEnd>) {
  return {"verified",    "done",    "failed",    "refused",   "cancelled", "rejected",
          "interrupted", "dropped", "would run", "abandoned", "called"};
}
constexpr auto words_of(For<Healing::Stage>) { return words_of_alternatives(For<HealingStage>{}); }
inline std::array<std::string_view, kEventKinds> words_of(For<EventKind>) {
  std::array<std::string_view, kEventKinds> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = to_string(static_cast<EventKind>(i));
  return words;
}
constexpr std::array<std::string_view, kBrakes> words_of(For<Brake>) {
  return {"one at a time", "pause",    "doubt",    "names", "list",  "dependency", "jobs", "breaker", "pause while",
          "limit",         "recovery", "cooldown", "again", "storm", "secrets",    "look", "workflow"};
}
/// Of the alternatives of StepWhat.
inline constexpr auto kStepKinds = words_of_alternatives(For<StepWhat>{});

// ---- the fields of each struct --------------------------------------------------------------------------------------
// They are taken apart by name: one that gains a field does not compile until it is named here. Those of the kinds of
// steps are in their files.

using engine::fields;
using engine::step::fields;

template <typename T, typename Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

void fields(auto& all, Is<Saving> auto& saving) {
  auto& [from, what, name, secret] = saving;
  all("from", from, "what", what, "name", name, "secret", secret);
}

void fields(auto& all, Is<JsonTest> auto& test) {
  auto& [filter, comparison, value, quoted] = test;
  all("filter", filter, "comparison", comparison, "value", value, "quoted", quoted);
}

void fields(auto& all, Is<Identity> auto& identity) {
  auto& [uid, gid, user, home, group] = identity;
  all("uid", uid, "gid", gid, "user", user, "home", home, "group", group);
}

void fields(auto& all, Is<Command> auto& command) {
  auto& [arguments, identity, timeout] = command;
  all("arguments", arguments, "identity", identity, "timeout", timeout);
}

void fields(auto& all, Is<Step> auto& one) {
  auto& [name, what, timeout, retries, pause, repeatable] = one;
  all("name", name, "what", what, "timeout", timeout, "retries", retries, "pause", pause, "repeatable", repeatable);
}

void fields(auto& all, Is<Guard> auto& guard) {
  auto& [program, timeout, once] = guard;
  all("program", program, "timeout", timeout, "once", once);
}

void fields(auto& all, Is<HealingLimit> auto& limit) {
  auto& [number, percent, group, within] = limit;
  all("number", number, "percent", percent, "group", group, "within", within);
}

void fields(auto& all, Is<PauseWhile> auto& pause) {
  auto& [group, above, until] = pause;
  all("group", group, "above", above, "until", until);
}

void fields(auto& all, Is<Breaker> auto& breaker) {
  auto& [failed, within] = breaker;
  all("failed", failed, "within", within);
}

void fields(auto& all, Is<Approval> auto& approval) {
  auto& [within, else_run, when] = approval;
  all("within", within, "else_run", else_run, "when", when);
}

void fields(auto& all, Is<SourcePlace> auto& place) {
  auto& [file, column, line] = place;
  all("file", file, "column", column, "line", line);
}

void fields(auto& all, Is<Workflow> auto& workflow) {
  auto& [name, guard, steps, on_failure, on_cancel, limits, pauses, cooldown, tries, ramp, probation, breaker, approval,
         mode, key, place] = workflow;
  all("name", name, "guard", guard, "steps", steps, "on_failure", on_failure, "on_cancel", on_cancel, "limits", limits,
      "pauses", pauses, "cooldown", cooldown, "tries", tries, "ramp", ramp, "probation", probation, "breaker", breaker,
      "approval", approval, "mode", mode, "key", key, "place", place);
}

void fields(auto& all, Is<effect::Cause::Process> auto& process) {
  auto& [pid, memory_kb, children, cpu_percent] = process;
  all("pid", pid, "memory_kb", memory_kb, "children", children, "cpu_percent", cpu_percent);
}

void fields(auto& all, Is<effect::Cause> auto& cause) {
  auto& [service, event, state, event_text, action_text, description, rule, when, program_status, process, occurrence,
         event_fields] = cause;
  all("service", service, "event", event, "state", state, "event_text", event_text, "action_text", action_text,
      "description", description, "rule", rule, "when", when, "program_status", program_status, "process", process,
      "occurrence", occurrence, "fields", event_fields);
}

void fields(auto& all, Is<Standing> auto& standing) {
  auto& [rule, target, until] = standing;
  all("rule", rule, "target", target, "until", until);
}

/// Without its document.
void fields(auto& all, Is<Occurrence> auto& event) {
  [[maybe_unused]] auto& [number, service, key, state, sender, remark, first, last, count, again, status, answer, stage,
                          outcome, standing, event_fields, unsaved] = event;
  all("number", number, "service", service, "key", key, "state", state, "sender", sender, "remark", remark, "first",
      first, "last", last, "count", count, "again", again, "status", status, "answer", answer, "stage", stage,
      "outcome", outcome, "standing", standing, "fields", event_fields);
}

/// The fields of an event alone.
struct SavedFields {
  EventFields of_event;
};

void fields(auto& all, Is<SavedFields> auto& saved) {
  auto& [of_event] = saved;
  all("fields", of_event);
}

void fields(auto& all, Is<Deadline> auto& deadline) {
  auto& [wall, mono, boot, length] = deadline;
  all("wall", wall, "mono", mono, "boot", boot, "length", length);
}

void fields(auto& all, Is<Overrides> auto& overrides) {
  auto& [limit, cooldown, pause] = overrides;
  all("limit", limit, "cooldown", cooldown, "pause", pause);
}

void fields(auto& all, Is<StepRun> auto& run) {
  auto& [state, attempt, doubts, action, due, begun, failure, request] = run;
  all("state", state, "attempt", attempt, "doubts", doubts, "action", action, "due", due, "begun", begun, "failure",
      failure, "request", request);
}

void fields(auto& all, Is<Detour> auto& detour) {
  auto& [position, of_plan, under_way] = detour;
  all("position", position, "of_plan", of_plan, "under_way", under_way);
}

void fields(auto& all, Is<StepOutcome> auto& outcome) {
  auto& [round, name, good, took, text] = outcome;
  all("round", round, "name", name, "good", good, "took", took, "text", text);
}

void fields(auto& all, Is<Trigger> auto& trigger) {
  auto& [service, rule] = trigger;
  all("service", service, "rule", rule);
}

/// A stage as it is written: what belongs to the others is left out, and not read.
struct SavedStage {
  Healing::Stage stage = Healing::Stage::Held;
  stage::Waiting waiting{};
  stage::Progress progress{};
  stage::Claiming::For next = stage::Claiming::For::Try;

  SavedStage() = default;
  explicit SavedStage(const HealingStage& at) : stage(static_cast<Healing::Stage>(at.index())) {
    if (const auto* const waits = part_of<stage::Waiting>(at)) waiting = *waits;
    if (const auto* const steps = part_of<stage::Progress>(at)) progress = *steps;
    if (const auto* const guarding = std::get_if<stage::Guarding>(&at)) progress.under_way = {guarding->run};
    if (const auto* const claiming = std::get_if<stage::Claiming>(&at)) next = claiming->next;
    if (std::holds_alternative<stage::Confirming>(at)) waiting.reason = stage::Confirming::kReason;
  }
  [[nodiscard]] HealingStage restored() const {
    return restored(std::make_index_sequence<std::variant_size_v<HealingStage>>());
  }

 private:
  template <std::size_t... indices>
  [[nodiscard]] HealingStage restored(std::index_sequence<indices...>) const {
    HealingStage at;
    (void)((static_cast<std::size_t>(stage) == indices && (at.emplace<indices>(), true)) || ...);
    if (auto* const waits = part_of<stage::Waiting>(at)) *waits = waiting;
    if (auto* const steps = part_of<stage::Progress>(at)) *steps = progress;
    if (auto* const claiming = std::get_if<stage::Claiming>(&at)) claiming->next = next;
    if (auto* const guarding = std::get_if<stage::Guarding>(&at); guarding != nullptr && !progress.under_way.empty())
      guarding->run = progress.under_way.front();
    return at;
  }
};

void fields(auto& all, Is<Healing> auto& healing) {
  auto& [id, target, service, rule, by, cause, workflow, plan, dry_run, overrides, overridden_by, also, row, asked,
         mode, at, approved_by, approved_early, seen, refused, notified_long, held_since, round, outcomes, saved, begun,
         failure, cancelled_by, abandoned, queued, escalated, cleared, in_probation, identity] = healing;
  SavedStage its(at);
  auto& [reason, held_by, not_before] = its.waiting;
  auto& [position, under_way, detour] = its.progress;
  all("id", id, "target", target, "service", service, "rule", rule, "by", by, "cause", cause, "workflow", workflow,
      "plan", plan, "dry_run", dry_run, "overrides", overrides, "overridden_by", overridden_by, "also", also, "row",
      row, "asked", asked, "mode", mode, "stage", its.stage, "reason", reason, "held_by", held_by, "not_before",
      not_before, "approved_by", approved_by, "approved_early", approved_early, "seen", seen, "refused", refused,
      "told_long", notified_long, "held_since", held_since, "round", round, "position", position, "under_way",
      under_way, "detour", detour, "outcomes", outcomes, "saved", saved, "begun", begun, "failure", failure,
      "cancelled_by", cancelled_by, "abandoned", abandoned, "queued", queued, "escalated", escalated, "cleared",
      cleared, "in_probation", in_probation, "identity", identity);
  if (its.stage == Healing::Stage::Claiming) all("claims", its.next);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(healing)>>) at = its.restored();
}

void fields(auto& all, Is<TargetMemory> auto& memory) {
  auto& [target, rehearsed, cooldown, probation, plan, healing, end, ended, recovered] = memory;
  all("target", target, "rehearsed", rehearsed, "cooldown", cooldown, "probation", probation, "plan", plan, "healing",
      healing, "end", end, "ended", ended, "recovered", recovered);
}

void fields(auto& all, Is<WorkflowMemory::Counts> auto& counts) {
  auto& [proposed, would_run, approved, rejected, ran, recovered, failed, abandoned] = counts;
  all("proposed", proposed, "would_run", would_run, "approved", approved, "rejected", rejected, "ran", ran, "recovered",
      recovered, "failed", failed, "abandoned", abandoned);
}

void fields(auto& all, Is<WorkflowMemory::Try> auto& one) {
  auto& [when, target, rehearsed] = one;
  all("when", when, "target", target, "rehearsed", rehearsed);
}

void fields(auto& all, Is<WorkflowMemory> auto& memory) {
  auto& [workflow, tries, failures, failed, open, ramp, verified, active, counts] = memory;
  all("workflow", workflow, "tries", tries, "failures", failures, "failed", failed, "open", open, "ramp", ramp,
      "verified", verified, "active", active, "counts", counts);
}

void fields(auto& all, Is<ClosedBrake> auto& brake) {
  auto& [workflow, group, above, until, since, notified] = brake;
  all("workflow", workflow, "group", group, "above", above, "until", until, "since", since, "told", notified);
}

}  // namespace healer::store::healing_fields
