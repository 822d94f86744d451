// SPDX-License-Identifier: MIT
// The kinds of items, and their fields: the one place that names them for writing and reading. A kind is told by its
// tag. Structs are taken apart by name: one that gains a field does not compile until it is named here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "readings/evidence_fields.hpp"
#include "readings/walk.hpp"
#include "replay/recorded.hpp"

namespace healer::readings {

/// The first byte of an item. What is published never changes; new ones are added at the end.
enum class Tag : std::uint8_t {
  Named,  ///< a service, which has the next number from here on
  Clock,  ///< another wall clock
  RanSame,
  RanOther,
  Cancelled,
  Woke,
  WokeAtWill,  ///< without a deadline
  Died,
  Launched,
  Started,
  Ready,
  Ended,
  NotSignalled,
  Ordered,
  Doubted,
  Sick,
  Begun,
  Reloaded,
  Stopping,
  Gap,
  ActionRecord,
  Answered,
  Services,  ///< of the Begun before it: which there are
  Changes,   ///< of the Reloaded before it: which have come and gone
  Text,      ///< of the Begun or Reloaded before it: the rules' text, by its number in the chunk
  Heard,
  Told
};
constexpr auto last_of(For<Tag>) { return Tag::Told; }

inline constexpr std::size_t kMostOutput = 256;                        // bytes of what only people read
inline constexpr std::size_t kMostValue = (std::size_t{1} << 16) + 1;  // what is longer is refused as this is

constexpr auto last_of(For<engine::event::Command::Kind>) { return engine::event::Command::Kind::Acknowledge; }
constexpr auto last_of(For<engine::event::Answered::Kind>) { return engine::event::Answered::Kind::Whole; }
constexpr auto last_of(For<engine::ActionRecord::Kind>) { return engine::ActionRecord::Kind::Heal; }

// ---- parts of items -------------------------------------------------------------------------------------------------

void fields(auto& walk, Is<Hash128> auto& hash) {
  auto& [high, low] = hash;
  walk(high, low);
}

void fields(auto& walk, Is<Instant> auto& instant) {
  auto& [boot, mono, wall] = instant;
  walk(boot, mono, wall);
}

void fields(auto& walk, Is<engine::ProcessEnd> auto& end) {
  auto& [outcome, status] = end;
  walk(outcome, status);
}

/// Without its services, which the item of it names.
void fields(auto& walk, Is<engine::event::Command> auto& command) {
  auto& [id, kind, services, by, until, reason, job, workflow, plan, overrides, everything, groups] = command;
  auto& [limit, cooldown, pause] = overrides;
  bool has_groups = is_there(groups);
  bool has_plan = is_there(plan);
  walk(kind);
  walk.as_text(by, engine::saved_text, engine::origin_of);
  walk(until, reason, job, workflow);
  walk.flags(limit, cooldown, pause, everything, has_groups, has_plan);
  walk.where(has_groups, groups);
  walk.where(has_plan, plan);
}

void fields(auto& walk, Is<engine::event::ListsDoubted::Row> auto& row) {
  auto& [list, name] = row;
  walk(list, name);
}

void fields(auto& walk, Is<engine::recorded::Service> auto& service) {
  auto& [name, patterns, probes] = service;
  walk(name, patterns, probes);
}

void fields(auto& walk, Is<engine::recorded::Reloaded::Difference> auto& difference) {
  auto& [come, gone] = difference;
  walk(come, gone);
}

// ---- items: of each kind its tag, and what stands behind that and the time ------------------------------------------
// Ran and Woke have several tags, and are told by what came before them: see item_code.

constexpr Tag tag_of(For<engine::recorded::Died>) { return Tag::Died; }
void fields(auto& walk, Is<engine::recorded::Died> auto& died) {
  auto& [service, pid, start_ticks, end] = died;
  walk.service(service);
  walk(pid, start_ticks, end);
}

constexpr Tag tag_of(For<engine::recorded::Launched>) { return Tag::Launched; }
void fields(auto& walk, Is<engine::recorded::Launched> auto& launched) {
  auto& [action, what] = launched;
  walk(action, what);
}

constexpr Tag tag_of(For<engine::event::ActionStarted>) { return Tag::Started; }
void fields(auto& walk, Is<engine::event::ActionStarted> auto& started) {
  auto& [action, pid, start_ticks] = started;
  walk(action, pid, start_ticks);
}

constexpr Tag tag_of(For<engine::event::ActionReady>) { return Tag::Ready; }
void fields(auto& walk, Is<engine::event::ActionReady> auto& ready) {
  auto& [action] = ready;
  walk(action);
}

constexpr Tag tag_of(For<engine::event::ActionEnded>) { return Tag::Ended; }
void fields(auto& walk, Is<engine::event::ActionEnded> auto& ended) {
  auto& [action, outcome, status, unseen, elapsed, output, saved, left, left_command] = ended;
  walk(action, outcome, status, unseen, elapsed, clipped(output, kMostOutput), left, clipped(saved, kMostValue));
}

constexpr Tag tag_of(For<engine::event::NotSignalled>) { return Tag::NotSignalled; }
void fields(auto& walk, Is<engine::event::NotSignalled> auto& denied) {
  auto& [pid, start_ticks, number, why] = denied;
  walk(pid, start_ticks, number, why);
}

constexpr Tag tag_of(For<engine::event::Answered>) { return Tag::Answered; }
void fields(auto& walk, Is<engine::event::Answered> auto& answered) {
  auto& [request, kind, status, why, elapsed, values, shown, saved] = answered;
  walk(request, kind, status, why, elapsed, clipped(values, kMostValue), clipped(saved, kMostValue));
}

constexpr Tag tag_of(For<engine::recorded::Ordered>) { return Tag::Ordered; }
void fields(auto& walk, Is<engine::recorded::Ordered> auto& ordered) {
  auto& [command, services] = ordered;
  walk(command);
  walk.each(services, [](auto& one, auto& service) { one.service(service); });
}

constexpr Tag tag_of(For<engine::event::ListsDoubted>) { return Tag::Doubted; }
void fields(auto& walk, Is<engine::event::ListsDoubted> auto& doubted) {
  auto& [names, missing] = doubted;
  walk(names, missing);
}

constexpr Tag tag_of(For<engine::recorded::Sick>) { return Tag::Sick; }
void fields(auto& walk, Is<engine::recorded::Sick> auto& sick) {
  auto& [why] = sick;
  walk(why);
}

/// Its services and its text have tags of their own; its state stands beside the items.
constexpr Tag tag_of(For<engine::recorded::Begun>) { return Tag::Begun; }
void fields(auto& walk, Is<engine::recorded::Begun> auto& begun) {
  auto& [version, host, goes_on, made, first, cycle, shadow, state, rules, services, text, number] = begun;
  bool has_cycle = is_there(cycle);
  walk(version, host, made);
  walk.flags(goes_on, shadow, has_cycle);
  walk(first);
  walk.where(has_cycle, cycle);
  walk.require(!cycle || *cycle > Duration{0});
}

/// All that there is to say has tags of its own.
constexpr Tag tag_of(For<engine::recorded::Reloaded>) { return Tag::Reloaded; }
void fields(auto& /*walk*/, Is<engine::recorded::Reloaded> auto& reloaded) {
  [[maybe_unused]] auto& [rules, edited, services, text, number] = reloaded;
}

constexpr Tag tag_of(For<engine::event::Stopping>) { return Tag::Stopping; }
void fields(auto& /*walk*/, Is<engine::event::Stopping> auto& stopping) { [[maybe_unused]] auto& [waits] = stopping; }

constexpr Tag tag_of(For<engine::recorded::Gap>) { return Tag::Gap; }
void fields(auto& walk, Is<engine::recorded::Gap> auto& gap) {
  auto& [why] = gap;
  walk(why);
}

constexpr Tag tag_of(For<engine::ActionRecord>) { return Tag::ActionRecord; }
void fields(auto& walk, Is<engine::ActionRecord> auto& done) {
  auto& [when, service, kind, text] = done;
  walk(when, service, kind, text);
}

constexpr Tag tag_of(For<engine::recorded::Heard>) { return Tag::Heard; }
void fields(auto& walk, Is<engine::recorded::Heard> auto& heard) {
  auto& [service, state, status, text] = heard;
  walk.service(service);
  walk(state, status, clipped(text, kMostOutput));
}

constexpr Tag tag_of(For<engine::recorded::Told>) { return Tag::Told; }
void fields(auto& walk, Is<engine::recorded::Told> auto& told) {
  auto& [service, key, state, document, event_fields, again] = told;
  walk.service(service);
  walk(clipped(key, kMostValue), clipped(state, kMostValue));
  const auto short_or_empty = [](std::string_view text) { return text.size() <= kMostValue ? text : "{}"; };
  walk.as_text(document, short_or_empty, std::identity());
  walk(again);
  walk.each(event_fields, [](auto& one, auto& field) {
    auto& [name, value] = field;
    one(name, clipped(value, kMostValue));
  });
}

// ---- the text of rules: what is long is kept once, beside it --------------------------------------------------------

void fields(auto& walk, Is<engine::recorded::RulesText::Row> auto& row) {
  auto& [name, row_fields] = row;
  walk(name, row_fields);
}

void fields(auto& walk, Is<engine::recorded::RulesText::File> auto& file) {
  auto& [path, text] = file;
  walk(path);
  walk.part(text);
}

void fields(auto& walk, Is<engine::recorded::RulesText::List> auto& list) {
  auto& [name, command, file, rows] = list;
  walk(name, command, file);
  walk.part(rows);
}

void fields(auto& walk, Is<engine::recorded::RulesText> auto& text) {
  auto& [path, files, lists] = text;
  walk(path, files, lists);
}

}  // namespace healer::readings
