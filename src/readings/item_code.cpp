// SPDX-License-Identifier: MIT
#include "readings/item_code.hpp"

#include <chrono>
#include <utility>
#include <variant>

#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "readings/evidence_code.hpp"
#include "readings/item_tags.hpp"

namespace healer::readings {

using namespace engine;
using namespace engine::recorded;

namespace {

/// The wall clock is told again where it is off by more: it is slewed all the time.
constexpr Duration kSlewed{20};
constexpr std::size_t kMostOutput = 256;
constexpr std::size_t kMostValue = (std::size_t{1} << 16) + 1;  // what is longer is refused as this is
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

/// The services of `rules` that `others` do not have.
std::vector<std::string> names_beyond(const Graph& rules, const Graph& others) {
  std::vector<std::string> names;
  for (const ServiceId id : rules.order)
    if (!others.find(rules.at(id).name)) names.push_back(rules.at(id).name);
  return names;
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

}  // namespace

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

}  // namespace healer::readings
