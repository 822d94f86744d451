// SPDX-License-Identifier: MIT
// Items as they are read: what item_code has written.
#include <algorithm>
#include <utility>
#include <variant>

#include "readings/evidence_code.hpp"
#include "readings/item_code.hpp"
#include "readings/item_tags.hpp"

namespace healer::readings {

using namespace engine;
using namespace engine::recorded;

namespace {

constexpr std::uint64_t kMostServices = 1U << 20;
constexpr std::uint64_t kMostTexts = 1U << 20;

std::vector<std::string> read_names(ByteReader& in) {
  std::vector<std::string> names;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) names.push_back(in.text());
  return names;
}

Duration sum(Duration a, std::int64_t b) { return Duration{readings::sum(a.count(), b)}; }

std::vector<std::optional<std::string>> read_values(ByteReader& in) {
  std::vector<std::optional<std::string>> values;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    values.emplace_back();
    if (in.byte() != 0) values.back() = in.text();
  }
  return values;
}

event::Command read_command(ByteReader& in) {
  event::Command command;
  const std::uint8_t kind = in.byte();
  if (kind > static_cast<std::uint8_t>(event::Command::Kind::Acknowledge)) in.fail();
  if (in.ok()) command.kind = static_cast<event::Command::Kind>(kind);
  command.by = engine::origin_of(in.text());
  if (in.byte() != 0) command.until = WallTime{Duration{in.difference()}};
  command.reason = in.text();
  command.job = JobId{in.number()};
  command.workflow = in.text();
  const std::uint8_t overrides = in.byte();
  command.overrides = {.limit = (overrides & 1) != 0, .cooldown = (overrides & 2) != 0, .pause = (overrides & 4) != 0};
  command.everything = (overrides & 8) != 0;
  if ((overrides & 16) != 0)
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) command.groups.push_back(in.text());
  if ((overrides & 32) != 0) command.plan = in.text();
  return command;
}

Outcome read_outcome(ByteReader& in) {
  const std::uint8_t value = in.byte();
  if (value > static_cast<std::uint8_t>(Outcome::Unmatched)) in.fail();
  return in.ok() ? static_cast<Outcome>(value) : Outcome::Exited;
}

// What stands behind the tags and the time; services are known by number.

recorded::Told read_told(Number service, ByteReader& in) {
  recorded::Told told{.service = service};
  told.key = in.text();
  told.state = in.text();
  told.document = in.text();
  told.again = in.number();
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) told.fields.push_back({in.text(), in.text()});
  return told;
}

recorded::Died read_died(Number service, ByteReader& in) {
  recorded::Died died{.service = service};
  died.pid = in.difference();
  died.start_ticks = in.number();
  if (in.byte() == 0) return died;
  const Outcome how = read_outcome(in);
  died.end = ProcessEnd{how, in.difference()};
  return died;
}

Launched read_launched(ByteReader& in) {
  const ActionId action{in.number()};
  const std::uint64_t high = in.number();
  return Launched{action, Hash128{.high = high, .low = in.number()}};
}

event::ActionStarted read_started(ByteReader& in) {
  event::ActionStarted started{.action = ActionId{in.number()}};
  started.pid = in.difference();
  started.start_ticks = in.number();
  return started;
}

event::ActionEnded read_ended(ByteReader& in) {
  event::ActionEnded ended{.action = ActionId{in.number()}, .output = {}};
  ended.outcome = read_outcome(in);
  ended.status = in.difference();
  ended.unseen = in.byte() != 0;
  ended.elapsed = Duration{in.difference()};
  ended.output = in.text();
  ended.left = in.difference();
  ended.saved = read_values(in);
  return ended;
}

event::Answered read_answered(ByteReader& in) {
  event::Answered answered{.request = ActionId{in.number()}};
  const std::uint8_t kind = in.byte();
  if (kind > static_cast<std::uint8_t>(event::Answered::Kind::Whole)) in.fail();
  if (in.ok()) answered.kind = static_cast<event::Answered::Kind>(kind);
  answered.status = static_cast<std::uint16_t>(in.number());
  answered.why = in.text();
  answered.elapsed = Duration{in.difference()};
  answered.values = read_values(in);
  answered.saved = read_values(in);
  return answered;
}

event::NotSignalled read_not_signalled(ByteReader& in) {
  event::NotSignalled denied{.pid = in.difference(), .why = {}};
  denied.start_ticks = in.number();
  denied.number = static_cast<int>(in.difference());
  denied.why = in.text();
  return denied;
}

event::ListsDoubted read_doubted(ByteReader& in) {
  event::ListsDoubted doubted;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) doubted.names.push_back(in.text());
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    const std::string list = in.text();
    doubted.missing.push_back({list, in.text()});
  }
  return doubted;
}

recorded::Begun read_begun(ByteReader& in) {
  recorded::Begun begun;
  begun.version = in.text();
  begun.host = in.text();
  begun.made.boot = in.number();
  begun.made.mono = Duration{in.difference()};
  begun.made.wall = WallTime{Duration{in.difference()}};
  const std::uint8_t flags = in.byte();
  begun.goes_on = (flags & 1) != 0;
  begun.shadow = (flags & 2) != 0;
  begun.first = Duration{in.difference()};
  if ((flags & 4) != 0) begun.cycle = Duration{in.difference()};
  if (begun.cycle && *begun.cycle <= Duration{0}) in.fail();
  return begun;
}

engine::ActionRecord read_action_record(ByteReader& in) {
  engine::ActionRecord action_record{.when = WallTime{Duration{in.difference()}}};
  action_record.service = in.text();
  const std::uint8_t kind = in.byte();
  if (kind > static_cast<std::uint8_t>(engine::ActionRecord::Kind::Heal)) in.fail();
  if (in.ok()) action_record.kind = static_cast<engine::ActionRecord::Kind>(kind);
  action_record.text = in.text();
  return action_record;
}

}  // namespace

bool ChunkReader::read(std::string_view part, std::vector<Item>& items) {
  ByteReader in(part);
  while (!in.at_end()) read_item(in, items);
  return in.ok();
}

ChunkReader::Known& ChunkReader::known(std::uint64_t number, ByteReader& in) {
  static thread_local Known none;
  if (number == 0 || number > known_.size()) {
    in.fail();
    none = {};
    return none;
  }
  return known_[static_cast<std::size_t>(number) - 1];
}

void ChunkReader::read_item(ByteReader& in, std::vector<Item>& items) {
  const std::uint8_t tag = in.byte();
  if (tag >= static_cast<std::uint8_t>(Tag::Count_)) return in.fail();
  if (tag == static_cast<std::uint8_t>(Tag::Named)) {
    Service service{.name = in.text(), .patterns = {}, .probes = {}};
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) service.patterns.push_back(in.text());
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
      const std::uint64_t high = in.number();
      service.probes.push_back({.high = high, .low = in.number()});
    }
    if (known_.size() >= kMostServices) in.fail();
    if (!in.ok()) return;
    // The same as in an earlier chunk keeps its number.
    const auto found = std::ranges::find(services_, service);
    known_.push_back({static_cast<Number>(found - services_.begin()), nullptr});
    if (found == services_.end()) services_.push_back(std::move(service));
    return;
  }
  if (tag == static_cast<std::uint8_t>(Tag::Services) || tag == static_cast<std::uint8_t>(Tag::Changes))
    return read_services(tag, in, items);
  if (tag == static_cast<std::uint8_t>(Tag::Text)) return read_text(in, items);
  if (tag == static_cast<std::uint8_t>(Tag::Clock)) {
    offset_ = Duration{in.difference()};
    return;
  }
  Item item;
  mono_ = sum(mono_, in.difference());
  item.mono = mono_;
  if (tag >= static_cast<std::uint8_t>(Tag::RanSame) && tag <= static_cast<std::uint8_t>(Tag::Cancelled))
    read_ran(tag, in, item);
  else
    item.what = read_other(tag, in);
  item.wall = WallTime{sum(item.mono, offset_.count())};
  if (in.ok()) items.push_back(std::move(item));
}

/// What is said of the services stands behind the item that it is about.
void ChunkReader::read_services(std::uint8_t tag, ByteReader& in, std::vector<Item>& items) {
  if (items.empty()) return in.fail();
  if (tag == static_cast<std::uint8_t>(Tag::Services)) {
    if (auto* const begun = std::get_if<recorded::Begun>(&items.back().what)) {
      begun->services = read_names(in);
      return;
    }
  } else if (auto* const reloaded = std::get_if<recorded::Reloaded>(&items.back().what)) {
    reloaded->edited = in.byte() != 0;
    std::vector<std::string> come = read_names(in);
    reloaded->services = {.come = std::move(come), .gone = read_names(in)};
    return;
  }
  in.fail();
}

void ChunkReader::read_text(ByteReader& in, std::vector<Item>& items) {
  const std::uint64_t number = in.number();
  if (items.empty() || number >= kMostTexts) return in.fail();
  if (auto* const begun = std::get_if<recorded::Begun>(&items.back().what))
    begun->number = static_cast<TextNumber>(number);
  else if (auto* const reloaded = std::get_if<recorded::Reloaded>(&items.back().what))
    reloaded->number = static_cast<TextNumber>(number);
  else
    in.fail();
}

void ChunkReader::read_ran(std::uint8_t tag, ByteReader& in, Item& item) {
  const std::uint64_t number = static_cast<std::uint64_t>(in.difference()) + last_ + 1;
  Known& service = known(number, in);
  Ran ran{.service = service.number, .begun = sum(item.mono, -in.difference()), .seen = nullptr};
  if (!in.ok()) return;
  last_ = static_cast<std::uint32_t>(number);
  if (tag == static_cast<std::uint8_t>(Tag::RanOther)) {
    Evidence seen = read_difference(service.seen ? *service.seen : nothing_seen(), in);
    seen.elapsed = item.mono - ran.begun;
    service.seen = std::make_shared<const Evidence>(std::move(seen));
  } else if (!service.seen) {
    service.seen = std::make_shared<const Evidence>(nothing_seen());
  }
  if (tag != static_cast<std::uint8_t>(Tag::Cancelled)) ran.seen = service.seen;
  item.what = std::move(ran);
}

What ChunkReader::read_other(std::uint8_t tag, ByteReader& in) {
  switch (static_cast<Tag>(tag)) {
    case Tag::Woke: return Woke{sum(mono_, -in.difference())};
    case Tag::WokeAtWill: return Woke{};
    case Tag::Heard:  // from left to right
      return recorded::Heard{known(in.number(), in).number, in.text(), in.difference(), in.text()};
    case Tag::Told: return read_told(known(in.number(), in).number, in);
    case Tag::Died: return read_died(known(in.number(), in).number, in);
    case Tag::Launched: return read_launched(in);
    case Tag::Started: return read_started(in);
    case Tag::Ready: return event::ActionReady{ActionId{in.number()}};
    case Tag::Ended: return read_ended(in);
    case Tag::Answered: return read_answered(in);
    case Tag::NotSignalled: return read_not_signalled(in);
    case Tag::Ordered: {
      recorded::Ordered ordered{read_command(in), {}};
      for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
        ordered.services.push_back(known(in.number(), in).number);
      return ordered;
    }
    case Tag::Doubted: return read_doubted(in);
    case Tag::Sick: return recorded::Sick{in.text()};
    case Tag::Begun: return read_begun(in);
    case Tag::Reloaded: return recorded::Reloaded{};
    case Tag::Stopping: return event::Stopping{};
    case Tag::Gap: return recorded::Gap{in.text()};
    case Tag::ActionRecord: return read_action_record(in);
    default: in.fail(); return recorded::Gap{};
  }
}

}  // namespace healer::readings
