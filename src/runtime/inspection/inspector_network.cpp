// SPDX-License-Identifier: MIT
// Looks at network interfaces.
#include <algorithm>

#include "engine/rules/service.hpp"
#include "runtime/inspection/inspector_impl.hpp"

namespace healer::runtime {
namespace {

using engine::Metric;

/// The totals of the times that were asked for.
std::vector<engine::TotalSeen> totals_of(const Traffic& traffic, const std::vector<Duration>& spans) {
  std::vector<engine::TotalSeen> totals;
  for (const Duration span : spans) {
    const InterfaceCounters sum = traffic.since(span);
    const auto add = [&](Metric what, std::uint64_t count) {
      totals.push_back({what, span, static_cast<double>(count)});
    };
    add(Metric::TotalUpload, sum.bytes_out);
    add(Metric::TotalDownload, sum.bytes_in);
    add(Metric::TotalUploadPackets, sum.packets_out);
    add(Metric::TotalDownloadPackets, sum.packets_in);
  }
  return totals;
}

/// 0 is the longest: all that is kept.
Duration longest(const std::vector<Duration>& spans) {
  const bool all = std::ranges::find(spans, Duration{0}) != spans.end();
  return all ? Duration{0} : *std::ranges::max_element(spans);
}

}  // namespace

void Inspector::read_interface(const engine::effect::Measure& run, const engine::measure::ReadInterface& wanted,
                               std::shared_ptr<const engine::ServiceBlock> block) {
  add(run).read = [this, id = run.run.number(), wanted, block = std::move(block)]() -> Loop::Callback {
    auto seen = std::make_shared<NetworkInspection>(inspect_network(block->other->interface));
    return [this, id, wanted, seen] { found_interface(id, wanted, *seen); };
  };
}

void Inspector::found_interface(std::uint64_t run, const engine::measure::ReadInterface& wanted,
                                NetworkInspection& inspection) {
  const auto entry = inspections_.find(run);
  if (entry == inspections_.end()) return;
  Memory& memory = memory_of(entry->second->service);
  if (inspection.answer == engine::Answer::Absent) {
    memory.interface = {};
    memory.traffic = {};
  }
  if (inspection.sample) {
    const InterfaceSample& sample = *inspection.sample;
    const auto& former = memory.interface.add(sample);
    // Of a link that is down nothing else is told, as in Monit; what it had carried before still counts.
    if (former && former->interface == sample.interface && inspection.up) add_means(inspection.facts, *former, sample);
    if (wanted.spans.empty()) {
      memory.traffic = {};
    } else {
      memory.traffic.add(sample, longest(wanted.spans));
      if (inspection.up)
        inspection.facts.further.set(&engine::FurtherFacts::totals, totals_of(memory.traffic, wanted.spans));
    }
  }
  answer(run, std::make_shared<const engine::Facts>(std::move(inspection.facts)), std::move(inspection.output),
         inspection.answer);
}

}  // namespace healer::runtime
