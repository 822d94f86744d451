// SPDX-License-Identifier: MIT
#include "readings/item_code.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "readings/evidence_code.hpp"

namespace healer::readings {

using namespace engine;
using namespace engine::recorded;

namespace {

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
  Told,
  Count_
};

/// The wall clock is told again where it is off by more: it is slewed all the time.
constexpr Duration kSlewed{20};
constexpr std::size_t kMostOutput = 256;
constexpr std::size_t kMostValue = (std::size_t{1} << 16) + 1;  // what is longer is refused as this is
constexpr std::uint64_t kMostServices = 1U << 20;
constexpr std::uint64_t kMostTexts = 1U << 20;

void head(Tag tag, ByteWriter& out) { out.byte(static_cast<std::uint8_t>(tag)); }

void put(const std::vector<std::optional<std::string>>& values, ByteWriter& out) {
  out.number(values.size());
  for (const std::optional<std::string>& value : values) {
    out.byte(value ? 1 : 0);
    if (value) out.text(std::string_view(*value).substr(0, kMostValue));
  }
}
void put(const std::vector<std::string>& names, ByteWriter& out) {
  out.number(names.size());
  for (const std::string& name : names) out.text(name);
}
void put(const Launched& what, ByteWriter& out) {
  out.number(what.action.number());
  out.number(what.what.high);
  out.number(what.what.low);
}
void put(const event::ActionStarted& what, ByteWriter& out) {
  out.number(what.action.number());
  out.difference(what.pid);
  out.number(what.start_ticks);
}
void put(const event::ActionReady& what, ByteWriter& out) { out.number(what.action.number()); }
void put(const event::ActionEnded& what, ByteWriter& out) {
  out.number(what.action.number());
  out.byte(static_cast<std::uint8_t>(what.outcome));
  out.difference(what.status);
  out.byte(what.unseen ? 1 : 0);
  out.difference(what.elapsed.count());
  out.text(std::string_view(what.output).substr(0, kMostOutput));
  out.difference(what.left);
  put(what.saved, out);
}
void put(const event::NotSignalled& what, ByteWriter& out) {
  out.difference(what.pid);
  out.number(what.start_ticks);
  out.difference(what.number);
  out.text(what.why);
}
void put(const event::ListsDoubted& what, ByteWriter& out) {
  put(what.names, out);
  out.number(what.missing.size());
  for (const event::ListsDoubted::Row& row : what.missing) {
    out.text(row.list);
    out.text(row.name);
  }
}
void put(const recorded::Sick& what, ByteWriter& out) { out.text(what.why); }
void put(const recorded::Begun& what, ByteWriter& out) {
  out.text(what.version);
  out.text(what.host);
  out.number(what.made.boot);
  out.difference(what.made.mono.count());
  out.difference(what.made.wall.time_since_epoch().count());
  out.byte(static_cast<std::uint8_t>((what.goes_on ? 1 : 0) | (what.shadow ? 2 : 0) | (what.cycle ? 4 : 0)));
  out.difference(what.first.count());
  if (what.cycle) out.difference(what.cycle->count());
}
void put(const recorded::Reloaded&, ByteWriter&) {}
void put(const event::Stopping&, ByteWriter&) {}
void put(const recorded::Gap& what, ByteWriter& out) { out.text(what.why); }
void put(const engine::ActionRecord& what, ByteWriter& out) {
  out.difference(what.when.time_since_epoch().count());
  out.text(what.service);
  out.byte(static_cast<std::uint8_t>(what.kind));
  out.text(what.text);
}

void put(const event::Answered& what, ByteWriter& out) {
  out.number(what.request.number());
  out.byte(static_cast<std::uint8_t>(what.kind));
  out.number(what.status);
  out.text(what.why);
  out.difference(what.elapsed.count());
  put(what.values, out);
  put(what.saved, out);
}

constexpr Tag tag_of(const Launched&) { return Tag::Launched; }
constexpr Tag tag_of(const event::ActionStarted&) { return Tag::Started; }
constexpr Tag tag_of(const event::ActionReady&) { return Tag::Ready; }
constexpr Tag tag_of(const event::ActionEnded&) { return Tag::Ended; }
constexpr Tag tag_of(const event::NotSignalled&) { return Tag::NotSignalled; }
constexpr Tag tag_of(const event::ListsDoubted&) { return Tag::Doubted; }
constexpr Tag tag_of(const recorded::Sick&) { return Tag::Sick; }
constexpr Tag tag_of(const recorded::Begun&) { return Tag::Begun; }
constexpr Tag tag_of(const recorded::Reloaded&) { return Tag::Reloaded; }
constexpr Tag tag_of(const event::Stopping&) { return Tag::Stopping; }
constexpr Tag tag_of(const recorded::Gap&) { return Tag::Gap; }
constexpr Tag tag_of(const engine::ActionRecord&) { return Tag::ActionRecord; }
constexpr Tag tag_of(const event::Answered&) { return Tag::Answered; }
Tag tag_of(const Woke& woke) { return woke.deadline ? Tag::Woke : Tag::WokeAtWill; }

std::vector<std::string> read_names(ByteReader& in) {
  std::vector<std::string> names;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) names.push_back(in.text());
  return names;
}

/// The services of `rules` that `others` do not have.
std::vector<std::string> names_beyond(const Graph& rules, const Graph& others) {
  std::vector<std::string> names;
  for (const ServiceId id : rules.order)
    if (!others.find(rules.at(id).name)) names.push_back(rules.at(id).name);
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

void write_command(const event::Command& command, ByteWriter& out) {
  out.byte(static_cast<std::uint8_t>(command.kind));
  out.text(engine::saved_text(command.by));
  out.byte(command.until ? 1 : 0);
  if (command.until) out.difference(command.until->time_since_epoch().count());
  out.text(command.reason);
  out.number(command.job.number());
  out.text(command.workflow);
  const Overrides& overrides = command.overrides;
  out.byte(static_cast<std::uint8_t>((overrides.limit ? 1 : 0) | (overrides.cooldown ? 2 : 0) |
                                     (overrides.pause ? 4 : 0) | (command.everything ? 8 : 0) |
                                     (command.groups.empty() ? 0 : 16) | (command.plan.empty() ? 0 : 32)));
  if (!command.groups.empty()) {
    out.number(command.groups.size());
    for (const std::string& group : command.groups) out.text(group);
  }
  if (!command.plan.empty()) out.text(command.plan);
}

Outcome read_outcome(ByteReader& in) {
  const std::uint8_t value = in.byte();
  if (value > static_cast<std::uint8_t>(Outcome::Unmatched)) in.fail();
  return in.ok() ? static_cast<Outcome>(value) : Outcome::Exited;
}

}  // namespace

// ---- writing ------------------------------------------------------------------------------------------------------

void ChunkWriter::take_rules(const std::shared_ptr<const Graph>& rules) {
  if (!rules) return;
  // A service that is asked for something else is named again.
  for (std::size_t slot = 0; slot < known_.size(); ++slot) {
    const auto before = slot < rules_->slots.size() ? rules_->slots[slot] : nullptr;
    const auto after = slot < rules->slots.size() ? rules->slots[slot] : nullptr;
    if (before != after && (!before || !after || service_of(*before) != service_of(*after))) known_[slot] = {};
  }
  rules_ = rules;
}

/// The service, named where it was not.
ChunkWriter::Known& ChunkWriter::name(Number slot, std::string& bytes) {
  if (known_.size() <= slot) {
    known_.reserve(rules_ ? rules_->slots.size() : 0);
    known_.resize(slot + 1);
  }
  Known& known = known_[slot];
  if (known.number != 0) return known;
  known.number = ++named_;
  ByteWriter out(bytes);
  head(Tag::Named, out);
  const Service service =
      slot < rules_->slots.size() && rules_->slots[slot] ? service_of(*rules_->slots[slot]) : Service{};
  out.text(service.name);
  out.number(service.patterns.size());
  for (const std::string& pattern : service.patterns) out.text(pattern);
  out.number(service.probes.size());
  for (const Hash128& probe : service.probes) {
    out.number(probe.high);
    out.number(probe.low);
  }
  return known;
}

void ChunkWriter::tell_time(const Item& item, ByteWriter& out) {
  const Duration offset = item.wall.time_since_epoch() - item.mono;
  if (timed_ && std::chrono::abs(offset - offset_) <= kSlewed) return;
  timed_ = true;
  offset_ = offset;
  head(Tag::Clock, out);
  out.difference(offset.count());
}

void ChunkWriter::write(const Item& item, std::string& bytes) {
  ByteWriter out(bytes);
  const auto* const begun = std::get_if<recorded::Begun>(&item.what);
  const auto* const reloaded = std::get_if<recorded::Reloaded>(&item.what);
  // A run that was cancelled, since a reload has taken its service away, is nobody's; the same of a beat and an event.
  const auto is_gone = [this](Number slot) { return slot >= rules_->slots.size() || !rules_->slots[slot]; };
  if (const auto* const ran = std::get_if<Ran>(&item.what); ran != nullptr && is_gone(ran->service)) return;
  const auto* const heard = std::get_if<recorded::Heard>(&item.what);
  if (heard != nullptr && is_gone(heard->service)) return;
  const auto* const told = std::get_if<recorded::Told>(&item.what);
  if (told != nullptr && is_gone(told->service)) return;
  const std::shared_ptr<const Graph> former = rules_;
  if (begun != nullptr) take_rules(begun->rules);
  if (reloaded != nullptr) take_rules(reloaded->rules);
  tell_time(item, out);
  std::visit([&](const auto& what) { write(what, item, bytes); }, item.what);
  if (begun != nullptr && rules_) {
    head(Tag::Services, out);
    put(names_beyond(*rules_, Graph{}), out);
  } else if (reloaded != nullptr && former) {
    head(Tag::Changes, out);
    out.byte(reloaded->edited ? 1 : 0);
    put(names_beyond(*rules_, *former), out);
    put(names_beyond(*former, *rules_), out);
  }
  const std::optional<TextNumber> text = begun != nullptr      ? begun->number
                                         : reloaded != nullptr ? reloaded->number
                                                               : std::nullopt;
  if (text) {
    head(Tag::Text, out);
    out.number(*text);
  }
  mono_ = item.mono;
}

void ChunkWriter::write(const Ran& ran, const Item& item, std::string& bytes) {
  Known& known = name(ran.service, bytes);
  std::string difference;
  const bool other = ran.seen && write_difference(known.seen ? *known.seen : nothing_seen(), *ran.seen, difference);
  ByteWriter out(bytes);
  head(!ran.seen ? Tag::Cancelled : other ? Tag::RanOther : Tag::RanSame, out);
  out.difference((item.mono - mono_).count());
  out.difference(static_cast<std::int64_t>(known.number) - static_cast<std::int64_t>(last_) - 1);
  out.difference((item.mono - ran.begun).count());
  bytes += difference;
  last_ = known.number;
  if (ran.seen) known.seen = ran.seen;  // the engine has it, too
}

void ChunkWriter::write(const recorded::Died& died, const Item& item, std::string& bytes) {
  const std::uint32_t number = name(died.service, bytes).number;
  ByteWriter out(bytes);
  head(Tag::Died, out);
  out.difference((item.mono - mono_).count());
  out.number(number);
  out.difference(died.pid);
  out.number(died.start_ticks);
  out.byte(died.end ? 1 : 0);
  if (!died.end) return;
  out.byte(static_cast<std::uint8_t>(died.end->outcome));
  out.difference(died.end->status);
}

void ChunkWriter::write(const recorded::Heard& heard, const Item& item, std::string& bytes) {
  const std::uint32_t number = name(heard.service, bytes).number;
  ByteWriter out(bytes);
  head(Tag::Heard, out);
  out.difference((item.mono - mono_).count());
  out.number(number);
  out.text(heard.state);
  out.difference(heard.status);
  out.text(std::string_view(heard.text).substr(0, kMostOutput));
}

void ChunkWriter::write(const recorded::Told& told, const Item& item, std::string& bytes) {
  const std::uint32_t number = name(told.service, bytes).number;
  ByteWriter out(bytes);
  head(Tag::Told, out);
  out.difference((item.mono - mono_).count());
  out.number(number);
  out.text(std::string_view(told.key).substr(0, kMostValue));
  out.text(std::string_view(told.state).substr(0, kMostValue));
  out.text(told.document.size() <= kMostValue ? std::string_view(told.document) : std::string_view("{}"));
  out.number(told.again);
  out.number(told.fields.size());
  for (const auto& [field, value] : told.fields) {
    out.text(field);
    out.text(std::string_view(value).substr(0, kMostValue));
  }
}

void ChunkWriter::write(const recorded::Ordered& ordered, const Item& item, std::string& bytes) {
  std::vector<std::uint32_t> numbers;
  for (const Number slot : ordered.services) numbers.push_back(name(slot, bytes).number);
  ByteWriter out(bytes);
  head(Tag::Ordered, out);
  out.difference((item.mono - mono_).count());
  write_command(ordered.command, out);
  out.number(numbers.size());
  for (const std::uint32_t number : numbers) out.number(number);
}

template <typename Other>
void ChunkWriter::write(const Other& what, const Item& item, std::string& bytes) {
  ByteWriter out(bytes);
  head(tag_of(what), out);
  out.difference((item.mono - mono_).count());
  if constexpr (std::is_same_v<Other, Woke>) {
    if (what.deadline) out.difference((item.mono - *what.deadline).count());
  } else {
    put(what, out);
  }
}

// ---- reading ------------------------------------------------------------------------------------------------------

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
    case Tag::Told: {
      recorded::Told told{.service = known(in.number(), in).number};
      told.key = in.text();
      told.state = in.text();
      told.document = in.text();
      told.again = in.number();
      for (std::size_t left = in.count(); left > 0 && in.ok(); --left) told.fields.push_back({in.text(), in.text()});
      return told;
    }
    case Tag::Died: {
      recorded::Died died{.service = known(in.number(), in).number};
      died.pid = in.difference();
      died.start_ticks = in.number();
      if (in.byte() == 0) return died;
      const Outcome how = read_outcome(in);
      died.end = ProcessEnd{how, in.difference()};
      return died;
    }
    case Tag::Launched: {
      const ActionId action{in.number()};
      const std::uint64_t high = in.number();
      return Launched{action, Hash128{.high = high, .low = in.number()}};
    }
    case Tag::Started: {
      event::ActionStarted started{.action = ActionId{in.number()}};
      started.pid = in.difference();
      started.start_ticks = in.number();
      return started;
    }
    case Tag::Ready: return event::ActionReady{ActionId{in.number()}};
    case Tag::Ended: {
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
    case Tag::Answered: {
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
    case Tag::NotSignalled: {
      event::NotSignalled denied{.pid = in.difference(), .why = {}};
      denied.start_ticks = in.number();
      denied.number = static_cast<int>(in.difference());
      denied.why = in.text();
      return denied;
    }
    case Tag::Ordered: {
      recorded::Ordered ordered{read_command(in), {}};
      for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
        ordered.services.push_back(known(in.number(), in).number);
      return ordered;
    }
    case Tag::Doubted: {
      event::ListsDoubted doubted;
      for (std::size_t left = in.count(); left > 0 && in.ok(); --left) doubted.names.push_back(in.text());
      for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
        const std::string list = in.text();
        doubted.missing.push_back({list, in.text()});
      }
      return doubted;
    }
    case Tag::Sick: return recorded::Sick{in.text()};
    case Tag::Begun: {
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
    case Tag::Reloaded: return recorded::Reloaded{};
    case Tag::Stopping: return event::Stopping{};
    case Tag::Gap: return recorded::Gap{in.text()};
    case Tag::ActionRecord: {
      engine::ActionRecord action_record{.when = WallTime{Duration{in.difference()}}};
      action_record.service = in.text();
      const std::uint8_t kind = in.byte();
      if (kind > static_cast<std::uint8_t>(engine::ActionRecord::Kind::Heal)) in.fail();
      if (in.ok()) action_record.kind = static_cast<engine::ActionRecord::Kind>(kind);
      action_record.text = in.text();
      return action_record;
    }
    default: in.fail(); return recorded::Gap{};
  }
}

}  // namespace healer::readings
