// SPDX-License-Identifier: MIT
#include "store/sqlite_services.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "store/healing_json.hpp"

namespace healer::store {

using namespace engine;

namespace {

constexpr std::string_view kOk = "ok";
constexpr std::string_view kFailed = "failed";

Doubt doubt_of(std::string_view text) {
  for (const auto doubt : {Doubt::Younger, Doubt::Foreign, Doubt::Confirmed})
    if (text == to_string(doubt)) return doubt;
  return Doubt::None;
}

}  // namespace

ServiceWriter::ServiceWriter(Database& database) {
  save_service_ = database.prepare(
      "INSERT OR REPLACE INTO services(name, monitored, cron_minute, boot, saved_ms, "
      " quick_starts, last_start_ms, not_before_ms, restarted, left_by, came_by, paused, paused_until_ms, "
      "pause_reason, paused_by, known_pid, known_start_ticks, known_file_ns, known_doubt, known_path, first_ms, "
      "failed_rule, action_failed_ms, action_failure, acknowledged_ms, acknowledged_by, acknowledge_reason, "
      "taken_out_by, taken_out_ms, taken_out_service, taken_out_rule, taken_out_until_ms) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  save_rule_ = database.prepare(
      "INSERT OR REPLACE INTO rules(service, position, key, window_bits, status, since_fired, failing_since_ms, "
      "clear_since_ms, changed_ms, again_bits, accepted, judged, born, text_key, condition_key, actions_key, action, "
      "told) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  cut_rules_ = database.prepare("DELETE FROM rules WHERE service = ? AND position >= ?");
  save_baseline_ = database.prepare(
      "INSERT OR REPLACE INTO baselines(service, what, number, text) SELECT ?1, ?2, ?3, ?4 "
      "WHERE EXISTS(SELECT 1 FROM services WHERE name = ?1)");
  move_baseline_ = database.prepare("UPDATE baselines SET number = ?3, text = ?4 WHERE service = ?1 AND what = ?2");
  forget_baselines_ = database.prepare("DELETE FROM baselines WHERE service = ?");
  save_heartbeat_ = database.prepare(
      "INSERT OR REPLACE INTO heartbeats(service, since_ms, word, status, text, started_ms, ran_ms, missed_ms) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  forget_heartbeat_ = database.prepare("DELETE FROM heartbeats WHERE service = ?");
  forget_service_ = database.prepare("DELETE FROM services WHERE name = ?");
  forget_rules_ = database.prepare("DELETE FROM rules WHERE service = ?");
}

// The structs are taken apart by name: one that gains a field does not compile until it is saved here.

void ServiceWriter::write(const Batch& batch) {
  for (const std::string& name : batch.forgotten()) {
    forget_service_.run(name);
    forget_rules_.run(name);
    forget_baselines_.run(name);
    forget_heartbeat_.run(name);
  }
  for (const auto& [name, service] : batch.services()) {
    const auto& [monitored, memory, cron_minute, boot, saved, starts, pause, known, first, failure, acknowledged,
                 taken_out, reports_taken_out, heartbeat, rules] = service;
    const auto& [quick, last_start, not_before, restarted, left_by, came_by] = *starts;
    const auto& [until, reason, by] = pause.value_or(Pause{});
    const auto& [baselines] = memory;
    const auto& [known_pid, ticks, file, doubt, path] = known.value_or(KnownProcess{});
    const auto& [failed_rule, failed_when, failed_text] = failure.value_or(ActionFailure{});
    const auto& [ack_reason, ack_by, ack_when] = acknowledged.value_or(Acknowledgement{});
    const auto& [out_by, out_service, out_rule, out_since, out_until] = taken_out.value_or(TakenOut{});
    save_service_.run(
        name, monitored, cron_minute, boot, saved, quick, last_start, not_before, restarted, left_by.number(),
        came_by.number(), pause.has_value(), until, reason, pause ? saved_text(by) : std::string(),
        known ? std::optional(known_pid) : std::nullopt, ticks, file, to_string(doubt), path, first, failed_rule,
        failure ? std::optional(failed_when) : std::nullopt, failed_text,
        acknowledged ? std::optional(ack_when) : std::nullopt, acknowledged ? saved_text(ack_by) : std::string(),
        ack_reason, reports_taken_out ? std::optional(taken_out ? saved_text(out_by) : std::string()) : std::nullopt,
        out_since, out_service, out_rule, out_until);
    forget_baselines_.run(name);
    for (const Baseline& baseline : baselines) write(name, baseline, save_baseline_);
    heartbeat ? write(name, *heartbeat) : static_cast<void>(forget_heartbeat_.run(name));
    std::size_t position = 0;
    for (const auto& [key, identity, rule] : rules) {
      const auto& [window, status, notified, accepted, judged, since_fired, born, past] = rule;
      const auto& [failing_since, clear_since, changed, again, unsaved] = *past;
      const auto& [text, condition, actions, action] = identity;
      save_rule_.run(name, position++, key, window.bits, status == RuleStatus::Failed ? kFailed : kOk, since_fired,
                     failing_since, clear_since, changed, again.bits, accepted, judged, born, text, condition, actions,
                     to_string(action), to_string(notified));
    }
    cut_rules_.run(name, position);
  }
  // Mostly it is there: to find its place once is all that this takes then.
  for (const auto& [name, memory] : batch.remembered())
    for (const Baseline& baseline : memory.baselines)
      if (write(name, baseline, move_baseline_) && move_baseline_.changed() == 0) write(name, baseline, save_baseline_);
  for (const auto& [name, heartbeat] : batch.heartbeats()) write(name, heartbeat);
}

void ServiceWriter::write(const std::string& name, const Heartbeat& heartbeat) {
  const auto& [since, word, status, text, started, ran, missed] = heartbeat;
  save_heartbeat_.run(name, since, to_string(word), status, text, started, ran, missed);
}

bool ServiceWriter::write(const std::string& name, const Baseline& baseline, Statement& statement) {
  const auto& [what, value] = baseline;
  const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
  const auto* text = value ? engine::text_in(*value) : nullptr;
  return statement.run(name, to_string(what), number != nullptr ? std::optional(*number) : std::nullopt,
                       text != nullptr ? std::optional(*text) : std::nullopt);
}

void read_services(Database& database, SavedState& state) {
  database
      .prepare(
          "SELECT name, monitored, cron_minute, boot, saved_ms, "
          "quick_starts, last_start_ms, not_before_ms, restarted, left_by, came_by, paused, paused_until_ms, "
          "pause_reason, paused_by, known_pid, known_start_ticks, known_file_ns, known_doubt, known_path, first_ms, "
          "failed_rule, action_failed_ms, action_failure, acknowledged_ms, acknowledged_by, acknowledge_reason, "
          "taken_out_by, taken_out_ms, taken_out_service, taken_out_rule, taken_out_until_ms "
          "FROM services")
      .rows([&state](Statement& row) {
        std::string name, doubt;
        SavedService service;
        StartHistory starts;
        bool paused = false;
        Pause pause;
        std::uint64_t left_by = 0;
        std::uint64_t came_by = 0;
        std::optional<std::int64_t> known_pid;
        KnownProcess known;
        ActionFailure failure;
        std::optional<WallTime> failed, acknowledged;
        Acknowledgement known_by;
        std::optional<std::string> out_by;
        TakenOut taken_out;
        row.read(name, service.monitored, service.cron_minute, service.boot, service.saved, starts.quick, starts.last,
                 starts.not_before, starts.restarted, left_by, came_by, paused, pause.until, pause.reason, pause.by,
                 known_pid, known.start_ticks, known.file, doubt, known.path, service.first, failure.rule, failed,
                 failure.text, acknowledged, known_by.by, known_by.reason, out_by, taken_out.since, taken_out.service,
                 taken_out.rule, taken_out.until);
        known_by.when = acknowledged.value_or(WallTime{});
        if (acknowledged) service.acknowledged = std::move(known_by);
        service.reports_taken_out = out_by.has_value();
        taken_out.by = origin_of(out_by.value_or(std::string{}));
        if (out_by && !out_by->empty()) service.taken_out = std::move(taken_out);
        failure.when = failed.value_or(WallTime{});
        if (failed) service.action_failure = std::move(failure);
        starts.left_by = ActionId(left_by);
        starts.came_by = ActionId(came_by);
        service.starts = starts;
        known.doubt = doubt_of(doubt);
        known.pid = known_pid.value_or(0);
        if (known_pid) service.known = known;
        if (paused) service.pause = std::move(pause);
        state.services.insert_or_assign(std::move(name), std::move(service));
      });
  database.prepare("SELECT service, what, number, text FROM baselines").rows([&state](Statement& row) {
    std::string name, what;
    std::optional<std::int64_t> number;
    std::optional<std::string> text;
    row.read(name, what, number, text);
    const std::optional<Attribute> attribute = attribute_named(what);  // none: of a later version
    const auto service = state.services.find(name);
    if (!attribute || service == state.services.end()) return;
    Baseline baseline{.what = *attribute, .value = {}};
    if (number) baseline.value = *number;
    if (text) baseline.value = std::move(*text);
    service->second.memory.add(std::move(baseline));
  });
  database
      .prepare(
          "SELECT service, key, window_bits, status, since_fired, failing_since_ms, clear_since_ms, changed_ms, "
          "again_bits, accepted, judged, born, text_key, condition_key, actions_key, action, told FROM rules "
          "ORDER BY service, position")
      .rows([&state](Statement& row) {
        std::string name, status, action, notified;
        SavedRule saved;
        auto& [key, identity, rule] = saved;
        RulePast past;
        row.read(name, key, rule.window.bits, status, rule.since_fired, past.failing_since, past.clear_since,
                 past.changed, past.again.bits, rule.accepted, rule.judged, rule.born, identity.text,
                 identity.condition, identity.actions, action, notified);
        rule.past = std::move(past);
        rule.notified = notified_of(notified);
        rule.status = status == kFailed ? RuleStatus::Failed : RuleStatus::Ok;
        identity.kind = action_kind_of(action);
        if (const auto service = state.services.find(name); service != state.services.end())
          service->second.rules.push_back(std::move(saved));
      });
}

void read_heartbeats(Database& database, SavedState& state) {
  database.prepare("SELECT service, since_ms, word, status, text, started_ms, ran_ms, missed_ms FROM heartbeats")
      .rows([&state](Statement& row) {
        std::string name, word;
        Heartbeat known;
        row.read(name, known.since, word, known.status, known.text, known.started, known.ran, known.missed);
        known.word = beat_word_of(word);
        const auto service = state.services.find(name);
        if (service != state.services.end()) service->second.heartbeat = std::move(known);
      });
}

OccurrenceWriter::OccurrenceWriter(Database& database)
    : save_(database.prepare("INSERT INTO occurrences(number, state, document) VALUES(?, ?, ?) ON CONFLICT(number) DO "
                             "UPDATE SET state = excluded.state, document = coalesce(excluded.document, document)")),
      forget_(database.prepare("DELETE FROM occurrences WHERE number = ?")) {}

void OccurrenceWriter::write(const Batch& batch) {
  for (const auto& [number, event] : batch.occurrences())
    save_.run(number, to_json(event), event.document ? std::optional<std::string>(*event.document) : std::nullopt);
  for (const std::uint64_t number : batch.forgotten_occurrences()) forget_.run(number);
  save_.unbind();
}

std::vector<Occurrence> read_occurrences(Database& database, std::vector<std::string>& notes) {
  std::vector<Occurrence> events;
  database.prepare("SELECT number, state, document FROM occurrences ORDER BY number").rows([&](Statement& row) {
    std::uint64_t number = 0;
    std::string state;
    std::optional<std::string> document;
    row.read(number, state, document);
    Result<Occurrence> event = occurrence_from_json(state);
    if (!event || event->number != number) {
      notes.push_back(fmt::format("event {} is forgotten, because its saved record is damaged{}", number,
                                  event ? "" : ": " + event.error().what));
      return;
    }
    if (document && !document->empty()) event->document = std::make_shared<const std::string>(*std::move(document));
    events.push_back(std::move(*event));
  });
  return events;
}

}  // namespace healer::store
