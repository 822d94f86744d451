// SPDX-License-Identifier: MIT
#include "config/compile/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/diagnostic.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

using engine::CheckKind;
using engine::Metric;
using engine::Quantity;

/// What a number counts. Sizes may be per second: what is read and written always is.
enum class Measure : std::uint8_t { Percent, Size, Operations, Packets, Pages, Count, Time, Latency, Load, None };

Measure measure_of(const Quantity& row) {
  switch (engine::unit_of(row.metric)) {
    case engine::Unit::Percent: return Measure::Percent;
    case engine::Unit::Bytes:
    case engine::Unit::BytesPerSecond: return Measure::Size;
    case engine::Unit::OperationsPerSecond: return Measure::Operations;
    case engine::Unit::Packets:
    case engine::Unit::PacketsPerSecond: return Measure::Packets;
    case engine::Unit::PagesPerSecond: return Measure::Pages;
    case engine::Unit::Number: return Measure::Count;
    case engine::Unit::Seconds: return Measure::Time;
    case engine::Unit::Milliseconds: return Measure::Latency;
    case engine::Unit::Load: return Measure::Load;
  }
  return Measure::None;
}

/// A unit: what it is written as, in the singular and the shortest form, and how much it is.
struct UnitWord {
  std::string_view word;
  Measure measure;
  double times;
  std::string_view canonical;
};

constexpr double kKilo = 1024;
constexpr double kDay = 86'400;
constexpr UnitWord kUnits[] = {
    {"%", Measure::Percent, 1, "%"},
    {"percent", Measure::Percent, 1, "%"},
    {"b", Measure::Size, 1, "B"},
    {"byte", Measure::Size, 1, "B"},
    {"kb", Measure::Size, kKilo, "kB"},
    {"kilobyte", Measure::Size, kKilo, "kB"},
    {"mb", Measure::Size, kKilo* kKilo, "MB"},
    {"megabyte", Measure::Size, kKilo* kKilo, "MB"},
    {"gb", Measure::Size, kKilo* kKilo* kKilo, "GB"},
    {"gigabyte", Measure::Size, kKilo* kKilo* kKilo, "GB"},
    {"tb", Measure::Size, kKilo* kKilo* kKilo* kKilo, "TB"},
    {"terabyte", Measure::Size, kKilo* kKilo* kKilo* kKilo, "TB"},
    {"operation", Measure::Operations, 1, "operations/s"},
    {"packet", Measure::Packets, 1, "packets"},
    {"ms", Measure::Latency, 1, "ms"},
    {"millisecond", Measure::Latency, 1, "ms"},
    {"s", Measure::Time, 1, "seconds"},
    {"second", Measure::Time, 1, "seconds"},
    {"m", Measure::Time, 60, "minutes"},
    {"minute", Measure::Time, 60, "minutes"},
    {"h", Measure::Time, 3600, "hours"},
    {"hour", Measure::Time, 3600, "hours"},
    {"day", Measure::Time, kDay, "days"},
    {"week", Measure::Time, 7 * kDay, "weeks"},
    {"month", Measure::Time, 31 * kDay, "months"},
};

/// The unit of that spelling: with "/s" or the plural's s it is the same.
const UnitWord* find_unit(std::string_view written) {
  if (written.size() > 2 && written[written.size() - 2] == '/') written.remove_suffix(2);
  const auto find = [](std::string_view word) {
    const auto* found = std::ranges::find_if(kUnits, [&](const UnitWord& unit) { return iequals(unit.word, word); });
    return found == std::end(kUnits) ? nullptr : found;
  };
  if (const UnitWord* unit = find(written)) return unit;
  return written.size() > 2 && (written.back() == 's' || written.back() == 'S')
             ? find(written.substr(0, written.size() - 1))
             : nullptr;
}

/// Without a unit: percentages must have one.
bool goes_without_unit(Measure measure) {
  return measure != Measure::Percent && measure != Measure::Operations && measure != Measure::Packets &&
         measure != Measure::Latency;
}

bool is_whole(Measure measure) {
  return measure == Measure::Count || measure == Measure::Pages || measure == Measure::Operations ||
         measure == Measure::Packets || measure == Measure::Time || measure == Measure::Latency;
}

/// How much one of this unit is of what is measured so; none: it is not a unit of that.
std::optional<double> times_of(const UnitWord& unit, Measure measure) {
  if (unit.measure == measure) return unit.times;
  if (measure == Measure::Latency && unit.canonical == "seconds") return 1000;
  return std::nullopt;
}

/// Whether it is told per second.
bool is_rate(const Quantity& row) {
  const engine::Unit unit = engine::unit_of(row.metric);
  return unit == engine::Unit::BytesPerSecond || unit == engine::Unit::PacketsPerSecond;
}

/// Whether a number of the quantity may have this unit (null: none).
bool fits(const Quantity& row, const UnitWord* unit) {
  const Measure measure = measure_of(row);
  return unit != nullptr ? times_of(*unit, measure).has_value() : goes_without_unit(measure);
}

/// A quantity of that name and unit: what is called alike is counted alike, whatever kind has it. Null: none has.
const Quantity* find_row(std::string_view words, const UnitWord* unit) {
  for (const CheckKind* kind : engine::all_kinds())
    for (const Quantity& row : kind->quantities)
      if (row.words == words && fits(row, unit)) return &row;
  return nullptr;
}

double number_of(std::string_view digits) {
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// The number without zeros that say nothing.
std::string number_text(std::string_view digits) {
  const std::size_t point = std::min(digits.find('.'), digits.size());
  std::string_view whole = digits.substr(0, point);
  std::string_view fraction = digits.substr(point);
  while (whole.size() > 1 && whole.front() == '0') whole.remove_prefix(1);
  while (!fraction.empty() && (fraction.back() == '0' || fraction.back() == '.')) fraction.remove_suffix(1);
  return fmt::format("{}{}", whole, fraction);
}

/// The units of these measures, for people.
std::string units_text(const CheckKind& kind, std::string_view words) {
  std::vector<std::string> units;
  for (const Quantity& row : kind.quantities) {
    if (row.words != words) continue;
    switch (measure_of(row)) {
      case Measure::Percent: units.emplace_back("'%'"); break;
      case Measure::Size: units.emplace_back(is_rate(row) ? "'MB/s'" : "'MB'"); break;
      case Measure::Operations: units.emplace_back("'operations/s'"); break;
      case Measure::Packets: units.emplace_back(is_rate(row) ? "'packets/s'" : "'packets'"); break;
      case Measure::Pages: units.emplace_back("'per second'"); break;
      case Measure::Latency: units.insert(units.end(), {"'ms'", "'seconds'"}); break;
      case Measure::Time: units.insert(units.end(), {"'minutes'", "'hours'", "'days'"}); break;
      case Measure::Count:
      case Measure::Load:
      case Measure::None: units.emplace_back("nothing"); break;
    }
  }
  // Rows of one test have one unit, and stand one after the other.
  units.erase(std::unique(units.begin(), units.end()), units.end());
  return join_words(units, "or");
}

}  // namespace

QuantityReading read_quantity(const CheckKind& kind, const CompareSyntax& test) {
  QuantityReading reading;
  const auto refuse = [&](const SourceRange& place, std::string error, std::string remedy) {
    reading.place = place;
    reading.error = std::move(error);
    reading.remedy = std::move(remedy);
    return reading;
  };
  if (kind.find_quantity(test.name.value) == nullptr) {
    std::vector<std::string> others;
    for (const CheckKind* other : engine::all_kinds())
      if (other->find_quantity(test.name.value) != nullptr) others.push_back(fmt::format("'check {}'", other->word));
    return refuse(test.name.range, fmt::format("'check {}' has no test of '{}'", kind.word, test.name.value),
                  fmt::format("it is a test of {}", join_words(others, "and")));
  }

  const UnitWord* unit = test.unit ? find_unit(test.unit->value) : nullptr;
  const bool is_unknown = test.unit && unit == nullptr;
  const auto found = std::ranges::find_if(kind.quantities, [&](const Quantity& row) {
    return row.words == test.name.value && !is_unknown && fits(row, unit);
  });
  if (found == kind.quantities.end()) {
    if (!test.unit)
      return refuse(test.number.range, fmt::format("this number of '{}' needs a unit", test.name.value),
                    fmt::format("write {} after it", units_text(kind, test.name.value)));
    return refuse(test.unit->range,
                  fmt::format("{} is not a unit of '{}'", in_quotes(test.unit->value), test.name.value),
                  fmt::format("the number must be followed by {}", units_text(kind, test.name.value)));
  }
  if (is_whole(measure_of(*found)) && test.number.value.find('.') != std::string::npos)
    return refuse(test.number.range, fmt::format("this must be a whole number, not {}", test.number.value), "");
  reading.row = &*found;
  reading.value =
      number_of(test.number.value) * (unit != nullptr ? times_of(*unit, measure_of(*found)).value_or(1) : 1);
  return reading;
}

std::optional<std::int64_t> permission_of(std::string_view digits) {
  constexpr std::int64_t kMost = 07777;
  std::int64_t mode = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), mode, 8);
  if (failure != std::errc{} || end != digits.data() + digits.size() || mode > kMost) return std::nullopt;
  return mode;
}

std::string quantity_text(const CompareSyntax& test) {
  const std::string number = number_text(test.number.value);
  const UnitWord* unit = test.unit ? find_unit(test.unit->value) : nullptr;
  const Quantity* row = find_row(test.name.value, unit);
  const bool per_second = row != nullptr && is_rate(*row);
  if (unit == nullptr) {
    const Measure measure = row != nullptr ? measure_of(*row) : Measure::None;
    if (measure == Measure::Pages) return number + " per second";
    if (measure == Measure::Time) return number + (number == "1" ? " second" : " seconds");
    return number + (measure == Measure::Size ? per_second ? " B/s" : " B" : "");
  }
  std::string_view canonical = unit->canonical;
  if (unit->measure == Measure::Percent) return fmt::format("{}%", number);
  if (unit->measure == Measure::Time && number == "1") canonical.remove_suffix(1);
  return fmt::format("{} {}{}", number, canonical, per_second ? "/s" : "");
}

}  // namespace healer::config
