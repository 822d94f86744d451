// SPDX-License-Identifier: MIT
#include "engine/words/occurrence.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr std::array<std::string_view, 4> kStages{"waiting", "judged", "dropped", "refused"};
constexpr std::array<std::string_view, 5> kFormats{"json", "aodh", "zaqar", "alertmanager", "cloudevents"};
constexpr std::size_t kMostShown = 100;

std::string shortened(const std::string& text) {
  return printable(text.substr(0, kMostShown)) + (text.size() > kMostShown ? "..." : "");
}

}  // namespace

std::string_view to_string(OccurrenceStage stage) { return kStages[static_cast<std::size_t>(stage)]; }

OccurrenceStage occurrence_stage_of(std::string_view name) {
  const auto found = std::ranges::find(kStages, name);
  return found == kStages.end() ? OccurrenceStage::Dropped : static_cast<OccurrenceStage>(found - kStages.begin());
}

std::string_view to_string(EventFormat format) { return kFormats[static_cast<std::size_t>(format)]; }

std::optional<EventFormat> event_format_of(std::string_view name) {
  const auto found = std::ranges::find(kFormats, to_lower(name));
  if (found == kFormats.end()) return std::nullopt;
  return static_cast<EventFormat>(found - kFormats.begin());
}

bool Occurrence::operator==(const Occurrence& other) const {
  const auto text = [](const std::shared_ptr<const std::string>& json) {
    return json ? std::string_view(*json) : std::string_view();
  };
  return number == other.number && service == other.service && key == other.key && state == other.state &&
         sender == other.sender && remark == other.remark && first == other.first && last == other.last &&
         count == other.count && again == other.again && status == other.status && answer == other.answer &&
         stage == other.stage && outcome == other.outcome && standing == other.standing && fields == other.fields &&
         text(document) == text(other.document);
}

std::string describe_event(const std::string& key, const std::string& state) {
  return state.empty() ? shortened(key) : fmt::format("{}: {}", shortened(key), shortened(state));
}

std::string name_of(const Occurrence& occurrence) {
  return fmt::format("event {} ({})", occurrence.number, describe_event(occurrence.key, occurrence.state));
}

std::size_t count_of(const EventSeen& seen, const EventCount& test) {
  return static_cast<std::size_t>(std::ranges::count_if(seen.ages, [&](Duration age) { return age < test.within; }));
}

std::string describe(const EventSeen& seen, const EventCount& test) {
  const std::size_t count = count_of(seen, test);
  return fmt::format("{} event{} within {} (limit {})", count, count == 1 ? "" : "s", format_duration(test.within),
                     test.above);
}

std::string environment_name(std::string_view field) {
  std::string name = "HEALER_";
  for (const char c : field) {
    const bool is_lower = c >= 'a' && c <= 'z', is_upper = c >= 'A' && c <= 'Z';
    name += is_lower ? static_cast<char>(c - 'a' + 'A') : is_upper || is_digit(c) ? c : '_';
  }
  return name;
}

EventFields unshadowed(EventFields fields, const std::vector<std::string>& named) {
  std::erase_if(fields, [&](const auto& field) {
    return std::ranges::any_of(named, [&](const std::string& name) {
      return name != field.first && environment_name(name) == environment_name(field.first);
    });
  });
  return fields;
}

std::string outcome_of(const ServiceBlock& block, const std::vector<Record>& records, std::size_t begin,
                       const Evidence& seen) {
  std::vector<std::string> parts;
  for (std::size_t i = begin; i < records.size(); ++i) {
    const Record& record = records[i];
    if (!iequals(record.service, block.name)) continue;
    switch (record.kind) {
      case RecordKind::RuleMatched:
      case RecordKind::RuleFailed: {
        const auto rule = std::ranges::find(block.rules, record.rule, &Rule::key);
        if (rule != block.rules.end()) parts.push_back((*rule)->text);
        break;
      }
      case RecordKind::HealingAsked:
      case RecordKind::HealingHeld:
      case RecordKind::ActionHeld: parts.push_back(record.text); break;
      default: break;
    }
  }
  if (parts.empty() && seen.facts != nullptr)
    for (const ValueSeen& value : seen.facts->further->values)
      if (!value.value) parts.push_back(fmt::format("json {} is not known: {}", printable(value.filter), value.why));
  return parts.empty() ? "no condition of its rules holds" : fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace healer::engine
