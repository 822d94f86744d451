// SPDX-License-Identifier: MIT
#include "config/quantity.hpp"

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

using Checked = CheckSyntax::Kind;
using engine::Metric;

/// What a number counts. Sizes may be per second: what is read and written always is.
enum class Measure : std::uint8_t { Percent, Size, Operations, Count, Time, Load, None };

struct Quantity {
  std::string_view name;
  Checked kind;
  Measure measure;
  Metric metric;
};

constexpr Quantity kQuantities[] = {
    {"cpu", Checked::Process, Measure::Percent, Metric::Cpu},
    {"total cpu", Checked::Process, Measure::Percent, Metric::TotalCpu},
    {"memory", Checked::Process, Measure::Percent, Metric::MemoryPercent},
    {"memory", Checked::Process, Measure::Size, Metric::MemoryBytes},
    {"total memory", Checked::Process, Measure::Percent, Metric::TotalMemory},
    {"total memory", Checked::Process, Measure::Size, Metric::TotalMemoryBytes},
    {"children", Checked::Process, Measure::Count, Metric::Children},
    {"threads", Checked::Process, Measure::Count, Metric::Threads},
    {"filedescriptors", Checked::Process, Measure::Count, Metric::FileDescriptors},
    {"filedescriptors", Checked::Process, Measure::Percent, Metric::FileDescriptorsPercent},
    {"total filedescriptors", Checked::Process, Measure::Count, Metric::TotalFileDescriptors},
    {"read", Checked::Process, Measure::Size, Metric::ReadRate},
    {"disk read", Checked::Process, Measure::Size, Metric::DiskReadRate},
    {"disk read", Checked::Process, Measure::Operations, Metric::ReadOperations},
    {"write", Checked::Process, Measure::Size, Metric::WriteRate},
    {"disk write", Checked::Process, Measure::Size, Metric::DiskWriteRate},
    {"disk write", Checked::Process, Measure::Operations, Metric::WriteOperations},
    {"uptime", Checked::Process, Measure::Time, Metric::Uptime},
    {"loadavg(1min)", Checked::Process, Measure::Load, Metric::Load1},
    {"loadavg(5min)", Checked::Process, Measure::Load, Metric::Load5},
    {"loadavg(15min)", Checked::Process, Measure::Load, Metric::Load15},
    {"loadavg(1min) per core", Checked::Process, Measure::Load, Metric::Load1PerCore},
    {"loadavg(5min) per core", Checked::Process, Measure::Load, Metric::Load5PerCore},
    {"loadavg(15min) per core", Checked::Process, Measure::Load, Metric::Load15PerCore},
    {"loadavg(1min)", Checked::System, Measure::Load, Metric::Load1},
    {"loadavg(5min)", Checked::System, Measure::Load, Metric::Load5},
    {"loadavg(15min)", Checked::System, Measure::Load, Metric::Load15},
    {"loadavg(1min) per core", Checked::System, Measure::Load, Metric::Load1PerCore},
    {"loadavg(5min) per core", Checked::System, Measure::Load, Metric::Load5PerCore},
    {"loadavg(15min) per core", Checked::System, Measure::Load, Metric::Load15PerCore},
    {"cpu", Checked::System, Measure::Percent, Metric::SystemCpu},
    {"cpu(user)", Checked::System, Measure::Percent, Metric::CpuUser},
    {"cpu(system)", Checked::System, Measure::Percent, Metric::CpuSystem},
    {"cpu(nice)", Checked::System, Measure::Percent, Metric::CpuNice},
    {"cpu(wait)", Checked::System, Measure::Percent, Metric::CpuWait},
    {"cpu(hardirq)", Checked::System, Measure::Percent, Metric::CpuHardIrq},
    {"cpu(softirq)", Checked::System, Measure::Percent, Metric::CpuSoftIrq},
    {"cpu(steal)", Checked::System, Measure::Percent, Metric::CpuSteal},
    {"cpu(guest)", Checked::System, Measure::Percent, Metric::CpuGuest},
    {"cpu(guestnice)", Checked::System, Measure::Percent, Metric::CpuGuestNice},
    {"memory", Checked::System, Measure::Percent, Metric::SystemMemory},
    {"memory", Checked::System, Measure::Size, Metric::SystemMemoryBytes},
    {"swap", Checked::System, Measure::Percent, Metric::Swap},
    {"swap", Checked::System, Measure::Size, Metric::SwapBytes},
    {"uptime", Checked::System, Measure::Time, Metric::Uptime},
    {"filedescriptors", Checked::System, Measure::Count, Metric::SystemFileDescriptors},
    {"filedescriptors", Checked::System, Measure::Percent, Metric::SystemFileDescriptorsPercent},
};

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
    {"operation", Measure::Operations, 1, "operations/s"},
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

/// What is read and written is told per second.
bool is_rate(std::string_view name) { return name.ends_with("read") || name.ends_with("write"); }

/// Without a unit: percentages must have one.
bool goes_without_unit(Measure measure) { return measure != Measure::Percent && measure != Measure::Operations; }

bool is_whole(Measure measure) {
  return measure == Measure::Count || measure == Measure::Operations || measure == Measure::Time;
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
std::string units_text(const std::vector<const Quantity*>& rows) {
  std::vector<std::string> units;
  for (const Quantity* row : rows) {
    switch (row->measure) {
      case Measure::Percent: units.emplace_back("'%'"); break;
      case Measure::Size: units.emplace_back(is_rate(row->name) ? "'MB/s'" : "'MB'"); break;
      case Measure::Operations: units.emplace_back("'operations/s'"); break;
      case Measure::Time: units.insert(units.end(), {"'minutes'", "'hours'", "'days'"}); break;
      case Measure::Count:
      case Measure::Load:
      case Measure::None: units.emplace_back("nothing"); break;
    }
  }
  return join_words(units, "or");
}

}  // namespace

std::string_view to_string(Checked kind) {
  switch (kind) {
    case Checked::Program: return "program";
    case Checked::Process: return "process";
    case Checked::System: return "system";
  }
  return "";
}

QuantityReading read_quantity(Checked kind, const ResourceSyntax& test) {
  QuantityReading reading;
  const auto refuse = [&](const SourceRange& place, std::string error, std::string remedy) {
    reading.place = place;
    reading.error = std::move(error);
    reading.remedy = std::move(remedy);
    return reading;
  };
  std::vector<const Quantity*> rows;
  std::vector<std::string> others;
  for (const Quantity& row : kQuantities) {
    if (row.kind == kind && row.name == test.name.value) rows.push_back(&row);
    if (row.kind != kind && row.name == test.name.value && (others.empty() || others.back() != to_string(row.kind)))
      others.emplace_back(to_string(row.kind));
  }
  if (rows.empty())
    return refuse(test.name.range, fmt::format("'check {}' has no test of '{}'", to_string(kind), test.name.value),
                  fmt::format("'check {}' has", join_words(others, "and")));

  const UnitWord* unit = test.unit ? find_unit(test.unit->value) : nullptr;
  const Measure measure = unit != nullptr ? unit->measure : Measure::None;
  const auto found = std::ranges::find_if(
      rows, [&](const Quantity* row) { return test.unit ? row->measure == measure : goes_without_unit(row->measure); });
  if (found == rows.end()) {
    if (!test.unit)
      return refuse(test.number.range, fmt::format("this number of '{}' needs a unit", test.name.value),
                    fmt::format("write {} after it", units_text(rows)));
    return refuse(test.unit->range, fmt::format("{} is no unit of '{}'", in_quotes(test.unit->value), test.name.value),
                  fmt::format("after the number comes {}", units_text(rows)));
  }
  if (is_whole((*found)->measure) && test.number.value.find('.') != std::string::npos)
    return refuse(test.number.range, fmt::format("this must be a whole number, not {}", test.number.value), "");
  reading.metric = (*found)->metric;
  reading.value = number_of(test.number.value) * (unit != nullptr ? unit->times : 1);
  return reading;
}

std::string quantity_text(const ResourceSyntax& test) {
  const std::string number = number_text(test.number.value);
  const std::string_view name = test.name.value;
  const bool per_second = is_rate(name);
  const UnitWord* unit = test.unit ? find_unit(test.unit->value) : nullptr;
  if (unit == nullptr) {
    if (name == "uptime") return number + (number == "1" ? " second" : " seconds");
    const bool is_size = per_second || name == "memory" || name == "total memory" || name == "swap";
    return number + (is_size ? per_second ? " B/s" : " B" : "");
  }
  std::string_view canonical = unit->canonical;
  if (unit->measure == Measure::Percent) return fmt::format("{}%", number);
  if (unit->measure == Measure::Time && number == "1") canonical.remove_suffix(1);
  return fmt::format("{} {}{}", number, canonical, per_second && unit->measure == Measure::Size ? "/s" : "");
}

}  // namespace healer::config
