// SPDX-License-Identifier: MIT
// What the webhook of Prometheus Alertmanager tells: a group of alerts, each of which is an event of its own.
#include <array>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "hooks/parse.hpp"

namespace healer::hooks {

Reading read_alertmanager(const Message& message) {
  constexpr std::array<std::string_view, 3> kOfGroup{"receiver", "groupKey", "externalURL"};
  constexpr std::size_t kMostBytes = std::size_t{8} << 20;  // of all documents: eight times a body
  auto parsed = parse(message.body);
  if (const auto* const refusal = std::get_if<Refusal>(&parsed)) return *refusal;
  Json& group = std::get<Json>(parsed);
  const auto alerts = group.is_object() ? group.find("alerts") : group.end();
  if (!group.is_object() || alerts == group.end() || !alerts->is_array())
    return Refusal{400, "what Alertmanager tells has no \"alerts\" that is an array"};
  std::string remark;
  if (const auto left_out = group.find("truncatedAlerts"); left_out != group.end() && left_out->is_number_unsigned())
    if (const auto count = left_out->get<std::uint64_t>(); count > 0)
      remark = fmt::format("Alertmanager has left out {} further alert{} of this group (max_alerts)", count,
                           count == 1 ? "" : "s");
  std::vector<std::pair<std::string, std::string>> shared;
  for (const std::string_view field : kOfGroup)
    if (auto value = text_of(group, field)) shared.emplace_back(field, std::move(*value));
  std::vector<Occurrence> occurrences;
  std::size_t bytes = 0;
  for (Json& alert : *alerts) {
    for (const std::string_view field : {"fingerprint", "startsAt", "status"})
      if (!text_of(alert, field)) return lacks("an alert of Alertmanager", field);
    Occurrence& occurrence = occurrences.emplace_back();
    occurrence.id = *text_of(alert, "fingerprint") + ' ' + *text_of(alert, "startsAt");
    occurrence.state = *text_of(alert, "status");
    occurrence.remark = remark;
    for (const auto& [field, value] : shared) alert[field] = value;
    occurrence.document = write(alert);
    if ((bytes += occurrence.document.size()) > kMostBytes)
      return Refusal{413, fmt::format("its alerts, each with what is said of their group, have more than {} bytes; "
                                      "max_alerts of Alertmanager bounds them",
                                      kMostBytes)};
  }
  return occurrences;
}

}  // namespace healer::hooks
