// SPDX-License-Identifier: MIT
#include "engine/events/record.hpp"

#include <algorithm>
#include <array>

#include "engine/rules/event_kind.hpp"
#include "engine/state.hpp"

namespace healer::engine {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(RecordKind::Count_)> kRecordKinds{
    "daemon-started", "daemon-stopped", "reloaded",       "reload-failed",  "rule-failed",  "rule-recovered",
    "rule-matched",   "rule-changed",   "rule-repeated",  "action-started", "action-ended", "action-failed",
    "action-held",    "action-long",    "mail-sent",      "mail-failed",    "mail-dropped", "run-timed-out",
    "run-overrun",    "monitored",      "unmonitored",    "accepted",       "job-started",  "job-step",
    "job-ended",      "job-failed",     "job-held",       "process-died",   "paused",       "resumed",
    "acknowledged",   "store-sick",     "store-well",     "healing-asked",  "healing-held", "healing-begun",
    "healing-step",   "healing-ended",  "healing-failed", "list",           "lines-lost",   "state-damaged",
    "alert-sent",     "alert-failed",   "alert-dropped",  "beat",           "event"};

constexpr std::array<std::string_view, 4> kSeverities{"debug", "info", "warning", "error"};

constexpr std::array<std::string_view, 4> kDoubts{"none", "younger", "foreign", "confirmed"};

constexpr std::array<std::string_view, 3> kNotified{"alerted", "kept", "acknowledged"};

constexpr std::array<std::string_view, kEventKinds> kEvents{
    "action",   "bytein",    "byteout",    "checksum",  "connection", "content",  "data",       "exec",
    "exist",    "fsflags",   "gid",        "icmp",      "instance",   "invalid",  "link",       "nonexist",
    "packetin", "packetout", "permission", "pid",       "ppid",       "resource", "saturation", "size",
    "speed",    "status",    "timeout",    "timestamp", "uid",        "uptime"};

}  // namespace

std::string_view to_string(RecordKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kRecordKinds.size() ? kRecordKinds[index] : "unknown";
}

std::string_view to_string(Severity severity) { return kSeverities[static_cast<std::size_t>(severity)]; }

RecordKind record_kind(std::string_view name) {
  const auto found = std::ranges::find(kRecordKinds, name);
  return static_cast<RecordKind>(found - kRecordKinds.begin());
}

std::string_view to_string(Doubt doubt) { return kDoubts[static_cast<std::size_t>(doubt)]; }

std::string_view to_string(Notified notified) { return kNotified[static_cast<std::size_t>(notified)]; }

Notified notified_of(std::string_view name) {
  const auto found = std::ranges::find(kNotified, name);
  return found == kNotified.end() ? Notified::Alerted : static_cast<Notified>(found - kNotified.begin());
}

std::string_view to_string(EventKind kind) { return kEvents[static_cast<std::size_t>(kind)]; }

}  // namespace healer::engine
