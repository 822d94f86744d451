// SPDX-License-Identifier: MIT
#include "runtime/measurer.hpp"

#include <algorithm>
#include <variant>

#include "engine/rules/service.hpp"
#include "runtime/inspection/inspector.hpp"
#include "runtime/net/reacher.hpp"
#include "runtime/process/process_runner.hpp"
#include "runtime/units/units.hpp"
#include "util/overloaded.hpp"

namespace healer::runtime {

void Measurer::measure(const engine::effect::Measure& effect,
                       const std::shared_ptr<const engine::ServiceBlock>& block) {
  namespace measure = engine::measure;
  for (const engine::Measurement& part : block->plan->parts) {
    std::visit(
        Overloaded{
            [&](const measure::Run&) {
              runs_.start(
                  {.service = effect.service, .run = effect.run, .block = block, .environment = environment_(*block)});
            },
            [&](const measure::FindProcess& wanted) { inspector_.search_process(effect, wanted, block); },
            [&](const measure::ReadSystem&) { inspector_.read_system(effect); },
            [&](const measure::ReadPath& wanted) { inspector_.read_path(effect, wanted, block); },
            [&](const measure::ReadRow&) {},  // whoever reads lists does
            [&](const measure::ReadFilesystem&) { inspector_.read_filesystem(effect, block); },
            [&](const measure::ReadInterface& wanted) { inspector_.read_interface(effect, wanted, block); },
            [&](const measure::ReadUnit& wanted) { units_.read(effect, wanted, block->other->unit); },
            [&](const measure::Connect& wanted) {
              if (block->plan->parts.size() == 1)
                connections_.connect(effect, block);
              else if (!effect.presence_only)
                connections_.connect_after_inspection(effect, wanted, block);
            }},
        part);
  }
}

void Measurer::cancel(engine::RunId run) {  // who does not know it ignores it
  connections_.cancel(run);
  runs_.cancel(run);
  inspector_.cancel(run);
  units_.cancel(run);
}

void Measurer::forget(engine::ServiceId service, const engine::ServiceBlock* now) {
  const bool is_inspected =
      now != nullptr && std::ranges::none_of(now->plan->parts, [](const engine::Measurement& part) {
        return std::holds_alternative<engine::measure::Run>(part);
      });
  if (!is_inspected) inspector_.forget(service);
  if (now == nullptr || !now->is_unit()) units_.forget(service);
}

}  // namespace healer::runtime
