// SPDX-License-Identifier: MIT
// Private to control/wire and control/wire_schema: the fields of what goes over the wire, and how each type of field is
// written and read.
#pragma once

#include <concepts>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "control/wire.hpp"

namespace healer::control::wiring {

// ---- fields: each struct names its fields once; Writer and Reader walk them ---------------------------------------

template <typename T, typename U>
concept Same = std::same_as<std::remove_const_t<T>, U>;

struct Writer;
struct Reader;

/// A field that is written only where there is something to say.
template <typename Walk, typename T>
void if_any(Walk& walk, const char* name, T& value) {
  if constexpr (requires { walk.optional(name, value); }) return walk.optional(name, value);
  if constexpr (std::same_as<Walk, Writer>) {
    if constexpr (requires { value.empty(); }) {
      if (value.empty()) return;
    } else {
      if (!value) return;
    }
  }
  walk(name, value);
}

template <typename Walk, Same<Request> T>
void fields(Walk walk, T& v) {
  walk("names", v.names);
  walk("groups", v.groups);
  walk("all", v.all);
  walk("failed", v.failed);
  walk("since_ms", v.since);
  walk("after", v.after);
  walk("follow", v.follow);
  walk("limit", v.limit);
  walk("id", v.id);
  walk("for_ms", v.span);
  walk("reason", v.reason);
  walk("confirmed", v.confirmed);
  walk("workflow", v.workflow);
  walk("overrides", v.overrides);
  walk("plan", v.plan);
  walk("beat", v.beat);
  walk("event", v.event);
}

template <typename Walk, Same<DiagnosticView> T>
void fields(Walk walk, T& v) {
  walk("severity", v.severity);
  walk("place", v.place);
  walk("message", v.message);
  walk("remedy", v.remedy);
  walk("code", v.code);
  if_any(walk, "length", v.length);
}

template <typename Walk, Same<Failure> T>
void fields(Walk walk, T& v) {
  walk("code", v.code);
  walk("message", v.message);
  walk("remedy", v.remedy);
  if_any(walk, "diagnostics", v.diagnostics);
}

template <typename Walk, Same<CountsView> T>
void fields(Walk walk, T& v) {
  walk("runs", v.runs);
  walk("changes", v.changes);
  walk("deaths", v.deaths);
  walk("programs", v.programs);
  walk("mails", v.mails);
  walk("mails_waiting", v.mails_waiting);
}

template <typename Walk, Same<StaleView> T>
void fields(Walk walk, T& v) {
  walk("since", v.since);
  walk("error", v.error);
}

template <typename Walk, Same<DaemonView> T>
void fields(Walk walk, T& v) {
  walk("version", v.version);
  walk("pid", v.pid);
  walk("up_ms", v.up);
  walk("cycle_ms", v.cycle);
  walk("cycles", v.cycles);
  walk("generation", v.generation);
  walk("files", v.files);
  walk("shadow", v.shadow);
  walk("dry_run", v.dry_run);
  walk("counts", v.counts);
  walk("mail", v.mail);
  walk("troubles", v.troubles);
  walk("stale", v.stale);
  walk("refused_rows", v.refused_rows);
  walk("damages", v.damages);
  if_any(walk, "contacts", v.contacts);
}

template <typename Walk, Same<ServiceSummary> T>
void fields(Walk walk, T& v) {
  walk("name", v.name);
  walk("kind", v.kind);
  walk("state", v.state);
  walk("text", v.text);
  walk("since", v.since);
  walk("next_run_ms", v.next_run);
  walk("dying", v.dying);
  walk("rule", v.rule);
  walk("rule_place", v.rule_place);
  if_any(walk, "rests", v.rests);
}

template <typename Walk, Same<ServiceName> T>
void fields(Walk walk, T& v) {
  walk("name", v.name);
  walk("groups", v.groups);
}

template <typename Walk, Same<RunView> T>
void fields(Walk walk, T& v) {
  walk("outcome", v.outcome);
  walk("status", v.status);
  walk("when", v.when);
  walk("elapsed_ms", v.elapsed);
  walk("output", v.output);
}

template <typename Walk, Same<RuleView> T>
void fields(Walk walk, T& v) {
  walk("text", v.text);
  walk("place", v.place);
  walk("state", v.state);
  walk("failed", v.failed);
  walk("count", v.count);
  walk("window", v.window);
  walk("held_ms", v.held);
  walk("hold_ms", v.hold);
  walk("since", v.since);
  walk("held_back", v.held_back);
  walk("restarts", v.restarts);
}

template <typename Walk, Same<ActionView> T>
void fields(Walk walk, T& v) {
  walk("id", v.id);
  walk("rule", v.rule);
  walk("pid", v.pid);
  walk("started", v.started);
  walk("age_ms", v.age);
  walk("again", v.again);
  walk("waits", v.waits);
}

template <typename Walk, Same<ProcessView> T>
void fields(Walk walk, T& v) {
  walk("pid", v.pid);
  walk("parent", v.parent);
  walk("uid", v.uid);
  walk("euid", v.euid);
  walk("gid", v.gid);
  walk("zombie", v.zombie);
  walk("doubt", v.doubt);
}

template <typename Walk, Same<MeasureView> T>
void fields(Walk walk, T& v) {
  walk("name", v.name);
  walk("unit", v.unit);
  walk("value", v.value);
  walk("text", v.text);
}

template <typename Walk, Same<ConnectionView> T>
void fields(Walk walk, T& v) {
  walk("name", v.name);
  walk("verdict", v.verdict);
  walk("address", v.address);
  walk("response_ms", v.response);
  walk("expires", v.expires);
  walk("text", v.text);
}

template <typename Walk, Same<JobView> T>
void fields(Walk walk, T& v) {
  walk("id", v.id);
  walk("kind", v.kind);
  walk("service", v.service);
  walk("step", v.step);
  walk("steps", v.steps);
  walk("doing", v.doing);
  walk("waits_for", v.waits_for);
  walk("age_ms", v.age);
  walk("left_ms", v.left);
  walk("by", v.by);
  walk("by_kind", v.by_kind);
  walk("rule", v.rule);
  walk("action", v.action);
  walk("pid", v.pid);
}

template <typename Walk, Same<PauseView> T>
void fields(Walk walk, T& v) {
  walk("until", v.until);
  walk("by", v.by);
  walk("by_kind", v.by_kind);
  walk("reason", v.reason);
  walk("scope", v.scope);
}

template <typename Walk, Same<TakenOutView> T>
void fields(Walk walk, T& v) {
  walk("when", v.when);
  walk("by", v.by);
  walk("by_kind", v.by_kind);
  walk("service", v.service);
  walk("rule", v.rule);
  walk("until", v.until);
}

template <typename Walk, Same<AcknowledgementView> T>
void fields(Walk walk, T& v) {
  walk("when", v.when);
  walk("by", v.by);
  walk("by_kind", v.by_kind);
  walk("reason", v.reason);
}

template <typename Walk, Same<StartsView> T>
void fields(Walk walk, T& v) {
  walk("quick", v.quick);
  walk("last", v.last);
  walk("not_before", v.not_before);
}

template <typename Walk, Same<OutputView> T>
void fields(Walk walk, T& v) {
  walk("action", v.action);
  walk("service", v.service);
  walk("doing", v.doing);
  walk("text", v.text);
  if_any(walk, "waits_for", v.waits_for);
  if_any(walk, "left_ms", v.left);
}

template <typename Walk, Same<MemberView> T>
void fields(Walk walk, T& v) {
  walk("name", v.name);
  walk("health", v.health);
}

template <typename Walk, Same<BrakeView> T>
void fields(Walk walk, T& v) {
  walk("brake", v.brake);
  walk("lets", v.lets);
  walk("text", v.text);
  if_any(walk, "left_ms", v.left);
}

template <typename Walk, Same<HealingView> T>
void fields(Walk walk, T& v) {
  walk("id", v.id);
  walk("target", v.target);
  walk("service", v.service);
  walk("workflow", v.workflow);
  walk("plan", v.plan);
  walk("stage", v.stage);
  walk("waits", v.waits);
  walk("mode", v.mode);
  walk("reason", v.reason);
  if_any(walk, "hint", v.hint);
  walk("asked", v.asked);
  walk("by", v.by);
  walk("by_kind", v.by_kind);
  walk("rule", v.rule);
  walk("try", v.round);
  walk("tries", v.tries);
  walk("step", v.step);
  walk("steps", v.steps);
  walk("doing", v.doing);
  walk("waits_for", v.waits_for);
  walk("since", v.since);
  walk("left_ms", v.left);
  walk("action", v.action);
  walk("pid", v.pid);
  walk("failure", v.failure);
  walk("overrides", v.overrides);
  walk("approved_by", v.approved_by);
  walk("cancelled_by", v.cancelled_by);
  if_any(walk, "abandoned", v.abandoned);
  if_any(walk, "plan_hash", v.plan_hash);
  if_any(walk, "plan_lines", v.plan_lines);
}

template <typename Walk, Same<ClosedBrakeView> T>
void fields(Walk walk, T& v) {
  walk("workflow", v.workflow);
  walk("group", v.group);
  walk("list", v.list);
  walk("above", v.above);
  walk("since", v.since);
  walk("text", v.text);
}

template <typename Walk, Same<OpenBreakerView> T>
void fields(Walk walk, T& v) {
  walk("workflow", v.workflow);
  walk("failed", v.failed);
  walk("failed_at", v.failed_at);
  walk("targets", v.targets);
}

template <typename Walk, Same<CooldownView> T>
void fields(Walk walk, T& v) {
  walk("target", v.target);
  walk("left_ms", v.left);
  walk("probation_ms", v.probation);
  walk("healing", v.healing);
  walk("end", v.end);
  walk("ended", v.ended);
  walk("rehearsed", v.rehearsed);
  walk("until_recovered", v.until_recovered);
}

template <typename Walk, Same<HealingHolds> T>
void fields(Walk walk, T& v) {
  walk("doubt", v.doubt);
  walk("pauses", v.pauses);
  walk("closed", v.closed);
  walk("open", v.open);
  walk("cooldowns", v.cooldowns);
  walk("spent", v.spent);
}

template <typename Walk, Same<WorkflowReport> T>
void fields(Walk walk, T& v) {
  walk("workflow", v.workflow);
  walk("known", v.known);
  walk("proposed", v.proposed);
  walk("would_run", v.would_run);
  walk("approved", v.approved);
  walk("rejected", v.rejected);
  walk("ran", v.ran);
  walk("recovered", v.recovered);
  walk("failed", v.failed);
  walk("abandoned", v.abandoned);
}

template <typename Walk, Same<HealExplanation> T>
void fields(Walk walk, T& v) {
  walk("workflow", v.workflow);
  walk("target", v.target);
  walk("mode", v.mode);
  walk("guard", v.guard);
  walk("healing", v.healing);
  walk("spent", v.spent);
  walk("brakes", v.brakes);
}

template <typename Walk, Same<ServiceStatus> T>
void fields(Walk walk, T& v) {
  if constexpr (std::is_const_v<T>) {
    fields(walk, static_cast<const ServiceSummary&>(v));
  } else {
    fields(walk, static_cast<ServiceSummary&>(v));
  }
  walk("monitored", v.monitored);
  walk("passive", v.passive);
  walk("groups", v.groups);
  walk("depends", v.depends);
  if_any(walk, "members", v.members);
  if_any(walk, "heartbeat", v.heartbeat);
  if_any(walk, "events", v.events);
  if_any(walk, "unit", v.unit);
  walk("place", v.place);
  walk("schedule", v.schedule);
  walk("last", v.last);
  walk("running_ms", v.running);
  walk("run_waits", v.run_waits);
  walk("runs", v.runs);
  walk("overruns", v.overruns);
  walk("process", v.process);
  walk("measured", v.measured);
  if_any(walk, "booted", v.booted);
  walk("connections", v.connections);
  walk("job", v.job);
  walk("waits", v.waits);
  walk("left", v.left);
  walk("pause", v.pause);
  walk("acknowledged", v.acknowledged);
  walk("taken_out", v.taken_out);
  walk("starts", v.starts);
  walk("rules", v.rules);
  walk("action_failure", v.action_failure);
  walk("action_failed_at", v.action_failed_at);
  walk("actions", v.actions);
  walk("healing", v.healing);
}

template <typename Walk, Same<Totals> T>
void fields(Walk walk, T& v) {
  walk("services", v.services);
  walk("running", v.running);
  walk("failing", v.failing);
  walk("failed", v.failed);
  walk("initialising", v.initialising);
  walk("unknown", v.unknown);
  walk("unmonitored", v.unmonitored);
  walk("given_up", v.given_up);
}

template <typename Walk, Same<RecordView> T>
void fields(Walk walk, T& v) {
  walk("id", v.id);
  walk("sequence", v.sequence);
  walk("when", v.when);
  walk("kind", v.kind);
  walk("severity", v.severity);
  walk("service", v.service);
  walk("text", v.text);
  walk("output", v.output);
}

template <typename Walk, Same<RuleExplanation> T>
void fields(Walk walk, T& v) {
  walk("text", v.text);
  walk("place", v.place);
  walk("state", v.state);
  walk("now", v.now);
  walk("if_failed", v.if_failed);
  walk("if_clear", v.if_clear);
  walk("held_back", v.held_back);
  walk("last_fired", v.last_fired);
  if_any(walk, "heals", v.heals);
}

template <typename Walk, Same<ServiceExplanation> T>
void fields(Walk walk, T& v) {
  walk("name", v.name);
  walk("kind", v.kind);
  walk("state", v.state);
  walk("place", v.place);
  walk("notes", v.notes);
  walk("rules", v.rules);
  walk("actions", v.actions);
}

template <typename Walk, Same<ChangeView> T>
void fields(Walk walk, T& v) {
  walk("service", v.service);
  walk("change", v.change);
  walk("place", v.place);
  if_any(walk, "kept", v.kept);
  if_any(walk, "begun", v.begun);
  if_any(walk, "gone", v.gone);
  if_any(walk, "note", v.note);
}

template <typename Walk, Same<ChangesView> T>
void fields(Walk walk, T& v) {
  walk("services", v.services);
  walk("kept", v.kept);
  walk("settings", v.settings);
  if_any(walk, "changed_settings", v.changed_settings);
  if_any(walk, "workflows", v.workflows);
  if_any(walk, "meaning", v.meaning);
  if_any(walk, "healings", v.healings);
}

template <typename Walk, Same<Done> T>
void fields(Walk walk, T& v) {
  walk("ok", v.ok);
  walk("text", v.text);
  if_any(walk, "diagnostics", v.diagnostics);
  if_any(walk, "changes", v.changes);
}

// ---- values ---------------------------------------------------------------------------------------------------------

template <typename T>
Json encode(const T& value);

struct Writer {
  Json& json;
  template <typename T>
  void operator()(const char* name, const T& value) {
    json[name] = encode(value);
  }
};

template <typename T>
Json write(const T& value) {
  Json json = Json::object();
  fields(Writer{json}, value);
  return json;
}

template <typename T>
constexpr bool is_vector = false;
template <typename T>
constexpr bool is_vector<std::vector<T>> = true;
template <typename T>
constexpr bool is_optional = false;
template <typename T>
constexpr bool is_optional<std::optional<T>> = true;

template <typename T>
Json encode(const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
    return value;
  } else if constexpr (std::same_as<T, Duration>) {
    return value.count();
  } else if constexpr (std::same_as<T, WallTime>) {
    return format_iso(value);
  } else if constexpr (is_optional<T>) {
    return value ? encode(*value) : Json(nullptr);
  } else if constexpr (is_vector<T>) {
    Json array = Json::array();
    for (const auto& element : value) array.push_back(encode(element));
    return array;
  } else {
    return write(value);
  }
}

template <typename T>
void decode(const Json& json, T& value);

struct Reader {
  const Json& json;
  template <typename T>
  void operator()(const char* name, T& value) {
    if (const auto found = json.find(name); found != json.end()) decode(*found, value);
  }
};

template <typename T>
void read(const Json& json, T& value) {
  if (!json.is_object()) throw std::invalid_argument("not an object");
  fields(Reader{json}, value);
}

template <typename T>
void decode(const Json& json, T& value) {
  if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
    value = json.get<T>();
  } else if constexpr (std::floating_point<T>) {
    if (!json.is_number()) throw std::invalid_argument("not a number");
    value = json.get<T>();
  } else if constexpr (std::integral<T>) {
    // get<> would cut a number that does not fit.
    if (!json.is_number_integer()) throw std::invalid_argument("not a whole number");
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                                : std::in_range<T>(json.get<std::int64_t>());
    if (!fits) throw std::invalid_argument("a number out of range");
    value = json.get<T>();
  } else if constexpr (std::same_as<T, Duration>) {
    Duration::rep count = 0;
    decode(json, count);
    value = Duration{count};
  } else if constexpr (std::same_as<T, WallTime>) {
    const std::optional<WallTime> when = parse_iso(json.get<std::string>());
    if (!when) throw std::invalid_argument("not a time");
    value = *when;
  } else if constexpr (is_optional<T>) {
    if (json.is_null()) {
      value.reset();
    } else {
      decode(json, value.emplace());
    }
  } else if constexpr (is_vector<T>) {
    if (!json.is_array()) throw std::invalid_argument("not a list");
    value.clear();
    for (const Json& element : json) decode(element, value.emplace_back());
  } else {
    read(json, value);
  }
}

}  // namespace healer::control::wiring

#include "control/wire_alert_fields.hpp"
#include "control/wire_event_fields.hpp"
#include "control/wire_heartbeat_fields.hpp"
