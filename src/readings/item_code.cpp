// SPDX-License-Identifier: MIT
#include "readings/item_code.hpp"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <optional>
#include <utility>
#include <variant>

#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "readings/evidence_code.hpp"
#include "readings/recorded_fields.hpp"
#include "readings/walk.hpp"

namespace healer::readings {

using namespace engine;
using namespace engine::recorded;

namespace {

/// The wall clock is told again where it is off by more: it is slewed all the time.
constexpr Duration kSlewed{20};
constexpr std::uint64_t kMostServices = 1U << 20;
constexpr std::uint64_t kMostTexts = 1U << 20;

Duration later_by(Duration span, Duration time) { return Duration{sum(time.count(), span.count())}; }
Duration earlier_by(Duration span, Duration time) { return Duration{difference(time.count(), span.count())}; }

/// The services of `rules` that `others` do not have.
std::vector<std::string> names_beyond(const Graph& rules, const Graph& others) {
  std::vector<std::string> names;
  for (const ServiceId id : rules.order)
    if (!others.find(rules.at(id).name)) names.push_back(rules.at(id).name);
  return names;
}

}  // namespace

// ---- walks: services are told by their numbers in the chunk ---------------------------------------------------------

class ChunkWriter::Walk : public FieldWriter<Walk> {
 public:
  /// `named`: where services are named that were not.
  Walk(ChunkWriter& chunk, std::string& bytes, std::string& named) : FieldWriter(bytes), chunk_(chunk), named_(named) {}

  void service(Number slot) { bytes().number(chunk_.name(slot, named_).number); }

 private:
  ChunkWriter& chunk_;
  std::string& named_;
};

class ChunkReader::Walk : public FieldReader<Walk> {
 public:
  Walk(ChunkReader& chunk, ByteReader& in) : FieldReader(in), chunk_(chunk) {}

  void service(Number& number) { number = chunk_.known(bytes().number(), bytes()).number; }

 private:
  ChunkReader& chunk_;
};

// ---- services -------------------------------------------------------------------------------------------------------

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
  const bool is_here = slot < rules_->slots.size() && rules_->slots[slot];
  PlainWriter{bytes}(Tag::Named, is_here ? service_of(*rules_->slots[slot]) : Service{});
  return known;
}

void ChunkReader::read_named(ByteReader& in) {
  Service service;
  PlainReader{in}(service);
  if (known_.size() >= kMostServices) in.fail();
  if (!in.ok()) return;
  // The same as in an earlier chunk keeps its number.
  const auto found = std::ranges::find(services_, service);
  known_.push_back({static_cast<Number>(found - services_.begin()), nullptr});
  if (found == services_.end()) services_.push_back(std::move(service));
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

/// A run that was cancelled, since a reload has taken its service away, is nobody's; the same of a beat and an event.
template <typename What>
bool ChunkWriter::is_nobodys(const What& what) const {
  if constexpr (std::same_as<What, Ran> || std::same_as<What, recorded::Heard> || std::same_as<What, recorded::Told>)
    return what.service >= rules_->slots.size() || !rules_->slots[what.service];
  else
    return false;
}

// ---- time -----------------------------------------------------------------------------------------------------------

void ChunkWriter::write_clock(const Item& item, std::string& bytes) {
  const Duration offset = item.wall.time_since_epoch() - item.mono;
  if (timed_ && std::chrono::abs(offset - offset_) <= kSlewed) return;
  timed_ = true;
  offset_ = offset;
  PlainWriter{bytes}(Tag::Clock, offset);
}

// ---- rules: what is said of them stands behind the Begun or Reloaded that it is about -------------------------------

void ChunkWriter::write_rules(const Item& item, const Graph* former, std::string& bytes) {
  PlainWriter walk(bytes);
  std::optional<TextNumber> text;
  if (const auto* const begun = std::get_if<recorded::Begun>(&item.what)) {
    text = begun->number;
    if (rules_) walk(Tag::Services, names_beyond(*rules_, Graph{}));
  } else if (const auto* const reloaded = std::get_if<recorded::Reloaded>(&item.what)) {
    text = reloaded->number;
    if (former != nullptr)
      walk(Tag::Changes, reloaded->edited,
           recorded::Reloaded::Difference{names_beyond(*rules_, *former), names_beyond(*former, *rules_)});
  }
  if (text) walk(Tag::Text, *text);
}

void ChunkReader::read_rules(Tag tag, ByteReader& in, Item& item) {
  auto* const begun = std::get_if<recorded::Begun>(&item.what);
  auto* const reloaded = std::get_if<recorded::Reloaded>(&item.what);
  PlainReader walk(in);
  if (tag == Tag::Services && begun != nullptr) return walk(begun->services.emplace());
  if (tag == Tag::Changes && reloaded != nullptr) return walk(reloaded->edited, reloaded->services.emplace());
  std::uint64_t number = 0;
  walk(number);
  walk.require(tag == Tag::Text && (begun != nullptr || reloaded != nullptr) && number < kMostTexts);
  if (in.ok()) (begun != nullptr ? begun->number : reloaded->number) = static_cast<TextNumber>(number);
}

// ---- runs and wakings -----------------------------------------------------------------------------------------------

void ChunkWriter::write(const Ran& ran, const Item& item, std::string& bytes) {
  Known& known = name(ran.service, bytes);
  own_.clear();
  const bool other = ran.seen && write_difference(known.seen ? *known.seen : nothing_seen(), *ran.seen, own_);
  const Tag tag = !ran.seen ? Tag::Cancelled : other ? Tag::RanOther : Tag::RanSame;
  const std::int64_t step = std::int64_t{known.number} - std::int64_t{last_} - 1;
  PlainWriter{bytes}(tag, item.mono - mono_, step, item.mono - ran.begun);
  bytes += own_;
  last_ = known.number;
  if (ran.seen) known.seen = ran.seen;  // the engine has it, too
}

void ChunkReader::read_ran(Tag tag, ByteReader& in, Ran& ran) {
  std::int64_t step = 0;
  Duration elapsed{0};
  PlainReader{in}(step, elapsed);
  const std::uint64_t number = static_cast<std::uint64_t>(step) + last_ + 1;
  Known& service = known(number, in);
  if (!in.ok()) return;
  last_ = static_cast<std::uint32_t>(number);
  ran.service = service.number;
  ran.begun = earlier_by(elapsed, mono_);
  if (tag == Tag::RanOther) {
    Evidence seen = read_difference(service.seen ? *service.seen : nothing_seen(), in);
    seen.elapsed = elapsed;
    service.seen = std::make_shared<const Evidence>(std::move(seen));
  } else if (!service.seen) {
    service.seen = std::make_shared<const Evidence>(nothing_seen());
  }
  if (tag != Tag::Cancelled) ran.seen = service.seen;
}

void ChunkWriter::write(const Woke& woke, const Item& item, std::string& bytes) {
  PlainWriter walk(bytes);
  walk(woke.deadline ? Tag::Woke : Tag::WokeAtWill, item.mono - mono_);
  if (woke.deadline) walk(item.mono - *woke.deadline);
}

void ChunkReader::read_woke(Tag tag, ByteReader& in, Woke& woke) {
  if (tag == Tag::Woke) woke.deadline = earlier_by(Duration{in.difference()}, mono_);
}

// ---- items ----------------------------------------------------------------------------------------------------------

void ChunkWriter::write(const Item& item, std::string& bytes) {
  if (std::visit([this](const auto& what) { return is_nobodys(what); }, item.what)) return;
  const std::shared_ptr<const Graph> former = rules_;
  if (const auto* const begun = std::get_if<recorded::Begun>(&item.what)) take_rules(begun->rules);
  if (const auto* const reloaded = std::get_if<recorded::Reloaded>(&item.what)) take_rules(reloaded->rules);
  write_clock(item, bytes);
  std::visit([&](const auto& what) { write(what, item, bytes); }, item.what);
  write_rules(item, former.get(), bytes);
  mono_ = item.mono;
}

template <typename What>
void ChunkWriter::write(const What& what, const Item& item, std::string& bytes) {
  own_.clear();
  Walk{*this, own_, bytes}(tag_of(For<What>{}), item.mono - mono_, what);
  bytes += own_;
}

bool ChunkReader::read(std::string_view part, std::vector<Item>& items) {
  ByteReader in(part);
  while (!in.at_end()) read_item(in, items);
  return in.ok();
}

void ChunkReader::read_item(ByteReader& in, std::vector<Item>& items) {
  Tag tag{};
  PlainReader{in}(tag);
  switch (tag) {
    case Tag::Named: return read_named(in);
    case Tag::Clock: offset_ = Duration{in.difference()}; return;
    case Tag::Services:
    case Tag::Changes:
    case Tag::Text: return items.empty() ? in.fail() : read_rules(tag, in, items.back());
    default: break;
  }
  mono_ = later_by(Duration{in.difference()}, mono_);
  Item item{.mono = mono_, .wall = WallTime{later_by(offset_, mono_)}, .what = {}};
  read_what(tag, in, item.what);
  if (in.ok()) items.push_back(std::move(item));
}

void ChunkReader::read_what(Tag tag, ByteReader& in, What& what) {
  switch (tag) {
    case Tag::RanSame:
    case Tag::RanOther:
    case Tag::Cancelled: return read_ran(tag, in, what.emplace<Ran>());
    case Tag::Woke:
    case Tag::WokeAtWill: return read_woke(tag, in, what.emplace<Woke>());
    default: break;
  }
  Walk walk(*this, in);
  const auto read = [&]<typename Kind>(For<Kind> kind) {
    if constexpr (requires { tag_of(kind); }) {
      if (tag_of(kind) != tag) return false;
      walk(what.emplace<Kind>());
      return true;
    }
    return false;
  };
  const auto read_one_of = [&]<typename... Kinds>(For<std::variant<Kinds...>>) { return (read(For<Kinds>{}) || ...); };
  if (!read_one_of(For<What>{})) in.fail();
}

}  // namespace healer::readings
