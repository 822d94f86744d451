// SPDX-License-Identifier: MIT
// The fields of what a run has seen: the one place that names them for writing, reading, and telling whether they have
// changed since the run before. Structs are taken apart by name, as in recorded_fields.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/events/evidence.hpp"
#include "readings/walk.hpp"

namespace healer::readings {

inline constexpr std::size_t kMostText = 256;  // bytes of what only people read

constexpr auto last_of(For<engine::Answer>) { return engine::Answer::Unknown; }
constexpr auto last_of(For<engine::Outcome>) { return engine::Outcome::Unmatched; }
constexpr auto last_of(For<engine::Reach>) { return engine::Reach::Passed; }
constexpr auto last_of(For<engine::Metric>) { return static_cast<engine::Metric>(engine::kMetrics - 1); }
constexpr auto last_of(For<engine::EventKind>) { return static_cast<engine::EventKind>(engine::kEventKinds - 1); }

/// The answer. Facts are told by their parts; how long it took, by the item.
void fields(auto& walk, Is<engine::Evidence> auto& seen) {
  auto& [answer, outcome, errors, status, matches, elapsed, output, facts, telling] = seen;
  walk(answer, outcome, status, matches, clipped(output, kMostText));
}
inline bool same_answer(const engine::Evidence& a, const engine::Evidence& b) {
  return a.answer == b.answer && a.outcome == b.outcome && a.status == b.status && a.matches == b.matches;
}

void fields(auto& walk, Is<engine::ProcessFacts> auto& process) {
  auto& [pid, parent, uid, euid, gid, start_ticks, zombie, attribute, file, younger, named_by, spared] = process;
  walk(pid, parent, uid, euid, gid, start_ticks);
  walk.flags(zombie, younger, spared);
  walk(attribute, file, named_by);
}

/// What changes most often first.
void fields(auto& walk, Is<engine::PathFacts> auto& path) {
  auto& [uid, gid, permission, has_size, size, accessed, modified, changed, seen, links] = path;
  walk(seen, accessed, modified, changed, size, uid, gid, permission, has_size, links);
}

// Their sentences tell the time of the answer: they are kept when something else changes.
inline bool same_course(const engine::ConnectionSeen& a, const engine::ConnectionSeen& b) {
  return a.reach == b.reach && a.name == b.name && a.event == b.event && a.nameless == b.nameless &&
         a.in_time.empty() == b.in_time.empty();
}
inline bool same_connection(const engine::ConnectionSeen& a, const engine::ConnectionSeen& b) {
  return same_course(a, b) && a.response == b.response && a.expires == b.expires;
}
/// `before`: the same connection in the run before; null: there was none.
void fields(auto& walk, Is<engine::ConnectionSeen> auto& now, const engine::ConnectionSeen* before) {
  static const engine::ConnectionSeen kNone{};
  const engine::ConnectionSeen& was = before != nullptr ? *before : kNone;
  auto& [reach, name, text, sentence, in_time, address, response, expires, event, nameless] = now;
  bool is_kept = before != nullptr && same_course(was, now);
  bool has_response = is_there(response);
  bool has_expires = is_there(expires);
  bool has_event = is_there(event);
  walk.flags(is_kept, has_response, has_expires, has_event, nameless);
  walk.require(!is_kept || before != nullptr);
  if (is_kept) {
    walk.leave(now, was);
  } else {
    walk(reach, clipped(name, kMostText), clipped(text, kMostText), clipped(sentence, kMostText));
    walk(clipped(in_time, kMostText), clipped(address, kMostText));
    walk.where(has_event, event);
  }
  walk.where(has_response, response, was.response);
  walk.where(has_expires, expires, was.expires);
}

void fields(auto& walk, Is<engine::TotalSeen> auto& total) {
  auto& [what, span, value] = total;
  walk(what, span, value);
}

void fields(auto& walk, Is<engine::LeftProcess> auto& left) {
  auto& [pid, start_ticks, command] = left;
  walk(pid, start_ticks, clipped(command, kMostText));
}

/// What seldom changes. Connections, and what filters have found, are parts of their own; the others are the engine's.
void fields(auto& walk, Is<engine::FurtherFacts> auto& facts) {
  auto& [totals, lines, connections, left, left_by, members, values, beat, event, row] = facts;
  walk(totals, clipped(lines, kMostText), left, left_by);
}
inline bool same_rest(const engine::FurtherFacts& a, const engine::FurtherFacts& b) {
  return a.totals == b.totals && a.lines == b.lines && a.left == b.left && a.left_by == b.left_by;
}

/// What a filter has found, or why that is not known.
void fields(auto& walk, Is<engine::ValueSeen> auto& seen) {
  auto& [filter, value, why] = seen;
  bool is_known = is_there(value);
  walk(filter, is_known);
  walk.where(is_known, value);
  if (!is_known) walk(clipped(why, kMostText));
}

}  // namespace healer::readings
