// SPDX-License-Identifier: MIT
#include "replay/recorded.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::engine {

namespace recorded {

Service service_of(const ServiceBlock& block) {
  Service service{.name = block.name, .patterns = block.program->patterns, .probes = {}};
  for (const LinePattern& pattern : block.lines->patterns)
    service.patterns.push_back((pattern.negated ? "!" : "") + pattern.text);
  // Filters are found again by their texts; here they tell whether they were asked.
  for (const std::string& filter : block.program->filters) service.patterns.push_back("json\n" + filter);
  for (const std::string& filter : block.other->event.filters) service.patterns.push_back("json\n" + filter);
  for (const Rule& rule : block.rules) {
    for (const Test& asked : rule->condition->tests) {
      const auto* reached = std::get_if<Reached>(&asked);
      if (reached == nullptr) continue;
      if (service.probes.size() <= reached->probe) service.probes.resize(reached->probe + 1);
      service.probes[reached->probe] = rule.identity().condition;
    }
  }
  return service;
}

Hash128 what_of(const effect::Exec& exec) {
  return hash128(fmt::format("{}\n{}\n{}", to_lower(exec.cause->service), exec.foreground ? "runs" : "acts",
                             fmt::join(exec.command.arguments, "\n")));
}

Hash128 what_of(const effect::Request& request) {
  return hash128(fmt::format("{}\n{}\n{}", request.healing.number(), request.method, request.shown));
}

namespace {

/// By index into what is asked now, the index into what was asked then; -1: that was not asked.
template <typename Asked>
std::vector<int> places(const std::vector<Asked>& then, const std::vector<Asked>& now) {
  std::vector<int> from;
  for (const Asked& one : now) {
    const auto found = std::ranges::find(then, one);
    from.push_back(found == then.end() ? -1 : static_cast<int>(found - then.begin()));
  }
  return from;
}

}  // namespace

event::Arrived as_event(const Told& told, ServiceId service) {
  event::Arrived arrived = event::occurred(service, told.key, told.state, told.document, told.fields);
  arrived.again = told.again;
  return arrived;
}

bool asks_more(const Service& then, const Service& now) {
  const auto lacks = [](const auto& has, const auto& wants) { return std::ranges::count(places(has, wants), -1) > 0; };
  return lacks(then.patterns, now.patterns) || lacks(then.probes, now.probes);
}

std::shared_ptr<const Evidence> as_asked(std::shared_ptr<const Evidence> seen, const Service& then,
                                         const Service& now) {
  if (then.patterns == now.patterns && then.probes == now.probes) return seen;
  auto asked = std::make_shared<Evidence>(*seen);
  const std::vector<int> patterns = places(then.patterns, now.patterns);
  asked->matches = 0;
  for (std::size_t i = 0; i < std::min(patterns.size(), kMaxPatterns); ++i)
    if (patterns[i] >= 0 && patterns[i] < static_cast<int>(kMaxPatterns) && (seen->matches >> patterns[i] & 1) != 0)
      asked->matches |= std::uint64_t{1} << i;
  if (seen->facts == nullptr) return asked;
  auto facts = std::make_shared<Facts>(*seen->facts);
  FurtherFacts further = *seen->facts->further;
  const std::vector<std::string> lines = std::move(further.lines.edit());
  further.lines.clear();
  for (const int from : patterns)
    if (!lines.empty())
      further.lines.push_back(from < 0 ? std::string() : lines[static_cast<std::size_t>(from) % lines.size()]);
  const std::vector<ConnectionSeen> connections = std::move(further.connections.edit());
  further.connections.clear();
  for (const int from : places(then.probes, now.probes)) {
    const auto index = static_cast<std::size_t>(from);
    if (connections.empty()) break;
    further.connections.push_back(from >= 0 && index < connections.size()
                                      ? connections[index]
                                      : ConnectionSeen{.reach = Reach::Unknown, .text = "it was not recorded"});
  }
  facts->further = std::move(further);
  asked->facts = std::move(facts);
  return asked;
}

}  // namespace recorded
}  // namespace healer::engine
