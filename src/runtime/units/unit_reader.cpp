// SPDX-License-Identifier: MIT
#include "runtime/units/unit_reader.hpp"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/units/unit_message.hpp"

namespace healer::runtime {
namespace {

using engine::Attribute;
using engine::Metric;

double machine_memory() {
  struct ::sysinfo info {};
  ::sysinfo(&info);
  return std::max(1.0, static_cast<double>(info.totalram) * info.mem_unit);
}

double machine_cores() {
  static const auto kCores = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return kCores;
}

}  // namespace

UnitReader::UnitReader(Loop& loop, SystemBus& bus, Sink sink) : loop_(loop), bus_(bus), sink_(std::move(sink)) {
  hint_timer_ = loop_.timer([this] { tell_hints(); });
}

// ---- looks --------------------------------------------------------------------------------------------------------

void UnitReader::read(const engine::effect::Measure& run, const engine::measure::ReadUnit& wanted,
                      const std::string& unit) {
  queue_.push_back({.effect = run, .wanted = wanted, .unit = unit, .begun = mono_now()});
  next();
}

void UnitReader::next() {
  while (calls_ < kMostAtOnce && !queue_.empty()) {
    Run run = std::move(queue_.front());
    queue_.pop_front();
    const std::uint64_t number = run.effect.run.number();
    (void)known(run);
    ++calls_;
    const std::string unit = run.unit;
    under_way_.insert_or_assign(number, std::move(run));
    bus_.read(unit, [this, number, alive = std::weak_ptr<char>(alive_)](const Result<UnitReading>& reading) {
      if (!alive.expired()) answered(number, reading);
    });
  }
}

void UnitReader::cancel(engine::RunId run) {
  std::erase_if(queue_, [run](const Run& one) { return one.effect.run == run; });
  under_way_.erase(run.number());
}

void UnitReader::forget(engine::ServiceId service) {
  const auto found = known_.find(service.number());
  if (found == known_.end()) return;
  for (const std::string& path : found->second.paths)
    if (const auto of = of_path_.find(path);
        of != of_path_.end() && of->second.erase(service.number()) > 0 && of->second.empty())
      of_path_.erase(of);
  hinted_.erase(service.number());
  known_.erase(found);
}

/// What is known of the service of a run, which hears of its unit from then on.
UnitReader::Known& UnitReader::known(const Run& run) {
  const std::uint32_t index = run.effect.service.number();
  auto [place, is_new] = known_.try_emplace(index);
  if (!is_new && place->second.unit == run.unit) return place->second;
  if (!is_new) {
    forget(run.effect.service);
    place = known_.try_emplace(index).first;
  }
  place->second.unit = run.unit;
  const std::string path = path_of_unit(run.unit);
  place->second.paths.insert(path);
  of_path_[path].insert(index);
  return place->second;
}

void UnitReader::answered(std::uint64_t number, const Result<UnitReading>& reading) {
  --calls_;
  if (auto node = under_way_.extract(number)) {
    const Run& run = node.mapped();
    engine::Evidence seen;
    if (reading) {
      seen = evidence(run, *reading);
    } else {
      seen.answer = engine::Answer::Unknown;
      seen.output = std::make_shared<const std::string>(reading.error().what);
    }
    seen.elapsed = mono_now() - run.begun;
    // The engine may ask for more: that is another turn's.
    loop_.post([this, event = engine::event::measured(run.effect.service, run.effect.run, std::move(seen)),
                alive = std::weak_ptr<char>(alive_)] {
      if (!alive.expired()) sink_(event);
    });
  }
  next();
}

engine::Evidence UnitReader::evidence(const Run& run, const UnitReading& reading) {
  Known& before = known(run);
  const Duration now = mono_now();
  if (!reading.id.empty() && reading.id != run.unit) {  // its signals come by its own name
    const std::string path = path_of_unit(reading.id);
    if (before.paths.insert(path).second) of_path_[path].insert(run.effect.service.number());
  }
  before.active = reading.facts.active;
  before.sub = reading.facts.sub;
  before.looked = now;

  auto facts = std::make_shared<engine::Facts>();
  facts->attributes.edit() = {{Attribute::UnitState, reading.facts.active},
                              {Attribute::UnitSubstate, reading.facts.sub},
                              {Attribute::UnitStanding, engine::standing_of(reading.facts)}};
  if (!reading.nanoseconds) {
    before.time.reset();
    before.cpu.reset();
  } else if (!before.time || *reading.nanoseconds < before.time->second) {  // it was started anew
    before.time.emplace(now, *reading.nanoseconds);
    before.cpu.reset();
  } else if (const Duration lasted = now - before.time->first; lasted >= kShortestRate) {
    const double used = static_cast<double>(*reading.nanoseconds - before.time->second) / 1e6;
    before.cpu = std::min(100.0, 100 * used / static_cast<double>(lasted.count()) / machine_cores());
    before.time.emplace(now, *reading.nanoseconds);
  }
  if (before.cpu) facts->metrics.set(Metric::Cpu, *before.cpu);
  if (reading.memory) {
    facts->metrics.set(Metric::MemoryPercent, 100 * static_cast<double>(*reading.memory) / machine_memory());
    facts->metrics.set(Metric::MemoryBytes, static_cast<double>(*reading.memory));
  }
  if (reading.tasks) facts->metrics.set(Metric::Tasks, static_cast<double>(*reading.tasks));
  if (reading.restarts) {
    const std::uint64_t count = *reading.restarts;
    // A start by hand begins again at 0.
    const std::uint64_t growth = !before.counted ? 0 : count >= *before.counted ? count - *before.counted : count;
    if (growth > 0) before.history.emplace_back(now, before.grown);
    before.grown += growth;
    before.counted = count;
    facts->metrics.set(Metric::UnitRestarts, static_cast<double>(count));
    Duration longest{0};
    for (const Duration span : run.wanted.spans) {
      longest = std::max(longest, span);
      const auto first =
          std::ranges::lower_bound(before.history, now - span, {}, &std::pair<Duration, std::uint64_t>::first);
      const std::uint64_t then = first == before.history.end() ? before.grown : first->second;
      facts->further.edit().totals.push_back(
          {.what = Metric::UnitRestarts, .span = span, .value = static_cast<double>(before.grown - then)});
    }
    while (!before.history.empty() && before.history.front().first < now - longest) before.history.pop_front();
  }
  engine::Evidence seen;
  seen.output = std::make_shared<const std::string>();
  seen.facts = std::move(facts);
  return seen;
}

// ---- changes ------------------------------------------------------------------------------------------------------

void UnitReader::changed(std::string_view path, std::string_view active, std::string_view sub) {
  const auto found = of_path_.find(std::string(path));
  if (found == of_path_.end() || active.empty()) return;
  for (const std::uint32_t index : found->second)
    if (const Known& unit = known_.at(index); unit.active != active || unit.sub != sub) hint(engine::ServiceId{index});
}

/// A unit that nobody needs is loaded to be looked at, and unloaded after that.
void UnitReader::listed(std::string_view path) {
  const auto found = of_path_.find(std::string(path));
  if (found == of_path_.end()) return;
  for (const std::uint32_t index : found->second)
    if (const Known& unit = known_.at(index); !unit.active.empty() && mono_now() - unit.looked > kOwnEcho)
      hint(engine::ServiceId{index});
}

void UnitReader::reloaded() {
  for (const auto& [index, unit] : known_) hint(engine::ServiceId{index});
}

void UnitReader::hint(engine::ServiceId service) {
  if (hinted_.empty()) hint_timer_.set_deadline(std::max(mono_now() + kGathered, told_ + kHintPause));
  hinted_.insert(service.number());
}

void UnitReader::tell_hints() {
  told_ = mono_now();
  for (const std::uint32_t index : std::exchange(hinted_, {}))
    sink_(engine::event::ProcessDied{.service = engine::ServiceId{index}});
}

}  // namespace healer::runtime
