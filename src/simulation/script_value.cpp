// SPDX-License-Identifier: MIT
#include "simulation/script_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/service.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

namespace healer::engine {
namespace {

/// How much a size is, "MB" or "MB/s"; none: it is no size.
std::optional<double> size_of(std::string_view unit, bool rate) {
  constexpr std::array<std::string_view, 5> kSizes{"B", "kB", "MB", "GB", "TB"};
  if (rate && unit.ends_with("/s")) unit.remove_suffix(2);
  double times = 1;
  for (const std::string_view known : kSizes) {
    if (iequals(known, unit)) return times;
    times *= 1024;
  }
  return std::nullopt;
}

bool counts(Unit unit) { return unit == Unit::Number || unit == Unit::OperationsPerSecond; }

/// What one of this unit is, where `written` stands behind the number; none: it is another one.
std::optional<double> times_of(Unit unit, std::string_view written) {
  switch (unit) {
    case Unit::Percent: return written == "%" ? std::optional(1.0) : std::nullopt;
    case Unit::Bytes: return size_of(written, false);
    case Unit::BytesPerSecond: return size_of(written, true);
    case Unit::Seconds:
      if (const auto one = parse_duration(fmt::format("1{}", written))) return static_cast<double>(one->count()) / 1000;
      return std::nullopt;
    case Unit::Milliseconds:
      if (const auto one = parse_duration(fmt::format("1{}", written))) return static_cast<double>(one->count());
      return std::nullopt;
    case Unit::Packets: return written == "packets" ? std::optional(1.0) : std::nullopt;
    case Unit::PacketsPerSecond: return written == "packets/s" ? std::optional(1.0) : std::nullopt;
    case Unit::PagesPerSecond: return written == "pages/s" ? std::optional(1.0) : std::nullopt;
    case Unit::Number:
    case Unit::OperationsPerSecond:
    case Unit::Load: break;
  }
  return std::nullopt;
}

/// The words of the language. What a process reads and writes is the disk's to a script.
std::string_view words_of(const ServiceBlock& block, Metric metric) {
  if (block.has_process() && metric == Metric::ReadRate) metric = Metric::DiskReadRate;
  if (block.has_process() && metric == Metric::WriteRate) metric = Metric::DiskWriteRate;
  const Quantity* row = block.kind->find(metric);
  return row != nullptr ? row->words : std::string_view{};
}

std::set<Metric> compared_by(const ServiceBlock& block) {
  std::set<Metric> metrics;
  for (const Rule& rule : block.rules)
    for (const Test& asked : rule->condition->tests)
      if (const auto* test = std::get_if<Compare>(&asked); test != nullptr && test->what != Metric::Status)
        metrics.insert(test->what);
      else if (const auto* total = std::get_if<Total>(&asked))
        metrics.insert(total->what);
  return metrics;
}

std::string_view form_of(Unit unit) {
  switch (unit) {
    case Unit::Percent: return "10%";
    case Unit::Bytes: return "500MB";
    case Unit::BytesPerSecond: return "2MB/s";
    case Unit::Seconds: return "90s";
    case Unit::Milliseconds: return "20ms";
    case Unit::Packets: return "500packets";
    case Unit::PacketsPerSecond: return "50packets/s";
    case Unit::PagesPerSecond: return "50pages/s";
    case Unit::Load: return "0.5";
    case Unit::Number:
    case Unit::OperationsPerSecond: break;
  }
  return "100";
}

}  // namespace

std::vector<Metric> compared_metrics(const ServiceBlock& block, std::string_view words) {
  std::vector<Metric> called;
  for (const Metric metric : compared_by(block))
    if (words_of(block, metric) == words) called.push_back(metric);
  return called;
}

std::vector<std::string> compared_words(const ServiceBlock& block) {
  std::vector<std::string> words;
  for (const Metric metric : compared_by(block))
    if (std::ranges::find(words, words_of(block, metric)) == words.end()) words.emplace_back(words_of(block, metric));
  return words;
}

std::optional<MeasuredValue> read_value(std::string_view text, std::span<const Metric> metrics) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;  // no sign, no "inf"
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (failure != std::errc{}) return std::nullopt;
  const std::string_view written = text.substr(static_cast<std::size_t>(end - text.data()));
  if (written.empty()) {
    const auto found = metrics.size() == 1
                           ? metrics.begin()
                           : std::ranges::find_if(metrics, [](Metric metric) { return counts(unit_of(metric)); });
    return found == metrics.end() ? std::nullopt : std::optional(MeasuredValue{*found, value});
  }
  for (const Metric metric : metrics)
    if (const auto times = times_of(unit_of(metric), written)) return MeasuredValue{metric, value * *times};
  return std::nullopt;
}

std::string value_form(std::span<const Metric> metrics) {
  std::vector<std::string> forms;
  for (const Metric metric : metrics) forms.emplace_back(form_of(unit_of(metric)));
  return join_words(forms, "or");
}

}  // namespace healer::engine
